//! The server without sockets: bytes of a connection in, bytes for connections out.
//!
//! One hub serves all reactor threads behind one lock. The lock is held while packets are parsed and routed (well
//! under a microsecond for a message) and never during a system call, so threads share the expensive work: reading,
//! writing and TLS. It also makes order, faults and counts exact.

mod acknowledge;
mod connect;
mod deliver;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod lifecycle;
mod link;
mod misbehave;
mod publish;
mod report;
mod routes;
mod session;
mod subscribe;
#[cfg(test)]
mod tests;
mod timers;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use telemark_mqtt::frame::{self, Frame};
use telemark_mqtt::{DecodeError, Packet, PacketType, ReasonCode};

use crate::config::Config;
use crate::counters::Counters;
use crate::faults::{Faults, StallWindow};
use crate::outbox::{Block, SpareBlocks};
use crate::retained::Retained;

use deliver::Delayed;
use link::{Link, Stage};
use routes::Routes;
use session::Session;
use timers::{Timer, Timers};

pub use link::{LinkId, Next};

/// A connection that has not sent CONNECT by then is closed: it holds memory and a file.
const CONNECT_PATIENCE_NS: u64 = 30_000_000_000;
/// Bytes of a CONNECT: all its texts at their longest and some properties, and no more is kept of a stranger.
const LARGEST_CONNECT: u32 = 512 << 10;

/// Why a packet ends its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fatal(ReasonCode);

impl From<DecodeError> for Fatal {
    fn from(error: DecodeError) -> Self {
        Self(error.reason())
    }
}

impl From<telemark_mqtt::ProtocolError> for Fatal {
    fn from(error: telemark_mqtt::ProtocolError) -> Self {
        Self(error.reason())
    }
}

/// All state of the server.
pub struct Hub {
    config: Arc<Config>,
    links: Vec<Option<Link>>,
    free_links: Vec<u32>,
    sessions: Vec<Option<Session>>,
    free_sessions: Vec<u32>,
    clients: HashMap<Box<str>, u32>,
    routes: Routes,
    retained: Retained,
    /// What to do wrong, and what was done.
    pub faults: Faults,
    /// The next time to stand still, as the reactor threads see it.
    pub stall: Arc<StallWindow>,
    counters: Counters,
    spares: SpareBlocks,
    /// Connections with something to write, by thread.
    mail: Vec<Vec<u32>>,
    /// Threads that have to be woken, one bit each.
    wakes: u64,
    timers: Timers,
    delayed: VecDeque<Delayed>,
    serial: u64,
}

impl Hub {
    /// A hub for the configured number of threads.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let faults = Faults::new(config.faults.clone(), config.seed, config.account_limit);
        Self {
            links: Vec::new(),
            free_links: Vec::new(),
            sessions: Vec::new(),
            free_sessions: Vec::new(),
            clients: HashMap::new(),
            routes: Routes::default(),
            retained: Retained::default(),
            faults,
            stall: Arc::default(),
            counters: Counters::default(),
            spares: SpareBlocks::default(),
            mail: vec![Vec::new(); config.threads],
            wakes: 0,
            timers: Timers::default(),
            delayed: VecDeque::new(),
            serial: 0,
            config: Arc::new(config),
        }
    }

    /// A new connection of a thread, which calls it `token`.
    pub fn open(&mut self, thread: usize, token: u32, now_ns: u64) -> LinkId {
        self.serial += 1;
        let link = Link::new(thread, token, self.serial, now_ns);
        let slot = self.free_links.pop().unwrap_or_else(|| {
            self.links.push(None);
            (self.links.len() - 1) as u32
        });
        let serial = link.serial;
        self.links[slot as usize] = Some(link);
        self.set_timer(now_ns + CONNECT_PATIENCE_NS, Timer::Connect { link: slot, serial });
        LinkId(slot)
    }

    /// Bytes from a connection. Whole packets are handled in place, the rest is kept.
    pub fn receive(&mut self, id: LinkId, bytes: &[u8], now_ns: u64) {
        self.counters.bytes_in += bytes.len() as u64;
        let Some(link) = self.link(id.0) else { return };
        link.last_seen_ns = now_ns;
        if link.partial.is_empty() {
            let used = self.handle_all(id.0, bytes, now_ns);
            self.keep_partial(id.0, &bytes[used..]);
            return;
        }
        let mut joined = std::mem::take(&mut link.partial);
        joined.extend_from_slice(bytes);
        let used = self.handle_all(id.0, &joined, now_ns);
        joined.drain(..used);
        if let Some(link) = self.link(id.0).filter(|_| !joined.is_empty()) {
            link.partial = joined;
        }
    }

    fn keep_partial(&mut self, link: u32, rest: &[u8]) {
        if rest.is_empty() {
            return;
        }
        if let Some(link) = self.link(link) {
            link.partial = rest.to_vec();
        }
    }

    /// Handles every whole packet; returns the bytes used. A connection that is over uses all.
    fn handle_all(&mut self, link: u32, bytes: &[u8], now_ns: u64) -> usize {
        let mut used = 0;
        while used < bytes.len() {
            let Some(stage) = self.link(link).map(|link| link.stage) else {
                return bytes.len();
            };
            if stage == Stage::Closing {
                return bytes.len();
            }
            let largest = match stage {
                Stage::Silent => self.config.max_packet_size.min(LARGEST_CONNECT),
                _ => self.config.max_packet_size,
            };
            match frame::split(&bytes[used..], largest) {
                Ok(None) => return used,
                Ok(Some(frame)) => {
                    let raw = &bytes[used..used + frame.length];
                    used += frame.length;
                    let outcome = match stage {
                        Stage::Open => self.handle(link, frame, raw, now_ns),
                        _ => self.greet(link, frame, now_ns),
                    };
                    if let Err(Fatal(reason)) = outcome {
                        self.end(link, Some(reason), now_ns);
                    }
                }
                Err(error) => self.end(link, Some(error.reason()), now_ns),
            }
        }
        used
    }

    #[inline]
    fn handle(&mut self, link: u32, frame: Frame<'_>, raw: &[u8], now_ns: u64) -> Result<(), Fatal> {
        let version = self.links[link as usize]
            .as_ref()
            .map_or(telemark_mqtt::Version::V311, |link| link.version);
        if frame.kind()? == PacketType::Publish {
            let publish = telemark_mqtt::packet::Publish::decode(frame, version)?;
            return self.publish(link, &publish, raw, now_ns);
        }
        match Packet::decode(frame, version)? {
            Packet::Ack(ack) => self.acknowledge(link, &ack, now_ns),
            Packet::Subscribe(subscribe) => self.subscribe(link, &subscribe, now_ns),
            Packet::Unsubscribe(unsubscribe) => self.unsubscribe(link, &unsubscribe),
            Packet::Pingreq => self.pong(link),
            Packet::Disconnect(disconnect) => self.leave(link, &disconnect, now_ns),
            // A second CONNECT, or something only a server may send.
            _ => Err(Fatal(ReasonCode::ProtocolError)),
        }
    }

    fn pong(&mut self, link: u32) -> Result<(), Fatal> {
        self.write(link, telemark_mqtt::packet::ping::encode_response);
        Ok(())
    }

    /// Appends a packet other than PUBLISH to a connection's bytes.
    fn write(&mut self, link: u32, encode: impl FnOnce(&mut Vec<u8>)) {
        let Some(Some(place)) = self.links.get_mut(link as usize) else {
            return;
        };
        encode(&mut place.outbox.open(&mut self.spares).bytes);
        self.mark_dirty(link);
    }

    #[inline]
    fn link(&mut self, slot: u32) -> Option<&mut Link> {
        self.links.get_mut(slot as usize)?.as_mut()
    }

    #[inline]
    fn session(&mut self, slot: u32) -> Option<&mut Session> {
        self.sessions.get_mut(slot as usize)?.as_mut()
    }

    fn session_of(&mut self, link: u32) -> Result<(u32, &mut Session), Fatal> {
        let slot = self.link(link).and_then(|link| link.session);
        let found = slot.and_then(|slot| self.session(slot).map(|session| (slot, session)));
        found.ok_or(Fatal(ReasonCode::ProtocolError))
    }

    /// Tells a connection's thread that there is something to write, once.
    #[inline]
    fn mark_dirty(&mut self, slot: u32) {
        let Some(Some(link)) = self.links.get_mut(slot as usize) else {
            return;
        };
        if !link.dirty {
            link.dirty = true;
            self.mail[link.thread].push(link.token);
            self.wakes |= 1 << link.thread;
        }
    }

    /// Tokens of a thread's connections that have something to write.
    pub fn take_dirty(&mut self, thread: usize, tokens: &mut Vec<u32>) {
        tokens.clear();
        std::mem::swap(tokens, &mut self.mail[thread]);
    }

    /// Threads to wake, one bit each; the caller itself is awake.
    pub fn take_wakes(&mut self, caller: Option<usize>) -> u64 {
        let own = caller.map_or(0, |thread| 1 << thread);
        std::mem::take(&mut self.wakes) & !own
    }

    /// The next thing a connection has to do. `done` is the block it has written.
    pub fn next_block(&mut self, id: LinkId, done: Option<Block>) -> Next {
        if let Some(block) = done {
            self.counters.bytes_out += block.bytes.len() as u64;
            self.spares.put(block);
        }
        let Some(link) = self.link(id.0) else {
            return Next::Close;
        };
        let Some(mut block) = link.outbox.take() else {
            link.dirty = false;
            return if link.stage == Stage::Closing {
                Next::Close
            } else {
                Next::Nothing
            };
        };
        let session = link.session;
        self.counters.messages_out += block.messages;
        self.settle(session, &mut block);
        Next::Block(block)
    }

    /// The QoS 0 messages of a block no longer wait.
    fn settle(&mut self, session: Option<u32>, block: &mut Block) {
        for (subscription, messages) in std::mem::take(&mut block.waiting) {
            self.counters.unbuffer(messages);
            let session = session.and_then(|slot| self.session(slot));
            if let Some(subscription) = session.and_then(|session| session.subscription(subscription)) {
                subscription.depth = subscription.depth.saturating_sub(messages);
            }
        }
    }

    /// Whether a connection is over and should not wait for a slow reader.
    #[must_use]
    pub fn is_closing(&self, id: LinkId) -> bool {
        matches!(self.links.get(id.0 as usize), Some(Some(link)) if link.stage == Stage::Closing)
    }

    /// When the hub has to be called again.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        let delayed = self.delayed.front().map(|delayed| delayed.due_ns);
        [self.timers.next(), delayed].into_iter().flatten().min()
    }

    fn set_timer(&mut self, due_ns: u64, timer: Timer) {
        if self.timers.set(due_ns, timer) {
            self.wakes |= 1; // thread 0 keeps the timers
        }
    }

    /// Does what is due.
    pub fn tick(&mut self, now_ns: u64) {
        self.release_delayed(now_ns);
        while let Some(timer) = self.timers.pop(now_ns) {
            match timer {
                Timer::KeepAlive { link, serial } => self.check_silence(link, serial, now_ns),
                Timer::Connect { link, serial } => self.check_connected(link, serial, now_ns),
                Timer::Will { session, serial } => self.send_late_will(session, serial, now_ns),
                Timer::Expiry { session, serial } => self.expire(session, serial, now_ns),
                Timer::Held { session } => self.release_held(session, now_ns),
            }
        }
    }
}
