//! One reactor thread: reads each ready socket once, lets the hub route, writes each destination once.

use std::io::ErrorKind;
use std::sync::Arc;

use telemark_net::{monotonic_ns, Event, Events, Interest, Poller, Socket};

use crate::alarm::Alarm;
use crate::connection::{Connection, Pumped};
use crate::listener::Entrance;
use crate::shared::{Accepted, Shared};

const READ_BUFFER: usize = 256 * 1024;
const EVENTS: usize = 1024;
const WAKE: u64 = u64::MAX;
const ALARM: u64 = u64::MAX - 1;
/// Tokens from here on are listeners.
const FIRST_LISTENER: u64 = u64::MAX - 4096;
/// A sleeping thread looks this often whether the stall was called off.
const STALL_STEP_NS: i64 = 20_000_000;
/// How long accepting is suspended when no file can be opened.
const REST_NS: u64 = 100_000_000;
/// Connections taken in one go, so that a connect storm does not starve those already there.
const ACCEPT_BATCH: usize = 64;

/// Thread 0 accepts for all and keeps the hub's timers; the others only serve their connections.
pub struct Reactor {
    thread: usize,
    shared: Arc<Shared>,
    entrances: Arc<Vec<Entrance>>,
    poller: Poller,
    alarm: Alarm,
    connections: Vec<Option<Connection>>,
    free: Vec<u32>,
    buffer: Vec<u8>,
    /// Connections with more to read than one turn takes.
    again: Vec<u32>,
    dirty: Vec<u32>,
    next_thread: usize,
    /// Accepting is suspended: the process has no room for another open file.
    resting: bool,
}

impl Reactor {
    /// Prepares a thread: from here on connections wait in the listeners' backlog.
    pub fn new(thread: usize, shared: Arc<Shared>, entrances: Arc<Vec<Entrance>>) -> std::io::Result<Self> {
        let poller = Poller::new()?;
        poller.add(&shared.wakers[thread], WAKE, Interest::READ)?;
        let alarm = Alarm::new()?;
        poller.add(&alarm, ALARM, Interest::READ | Interest::EDGE)?;
        if thread == 0 {
            for (index, entrance) in entrances.iter().enumerate() {
                poller.add(&entrance.listener, FIRST_LISTENER + index as u64, Interest::READ)?;
            }
        }
        Ok(Self {
            thread,
            shared,
            entrances,
            poller,
            alarm,
            connections: Vec::new(),
            free: Vec::new(),
            buffer: vec![0; READ_BUFFER],
            again: Vec::new(),
            dirty: Vec::new(),
            next_thread: 0,
            resting: false,
        })
    }

    /// Serves until the server stops.
    pub fn run(&mut self) -> std::io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        while !self.shared.stopping() {
            let timeout = self.prepare_sleep();
            self.poller.wait(&mut events, timeout)?;
            self.stall();
            self.serve(&events);
            if self.thread == 0 {
                self.shared.hub().tick(now());
            }
            self.flush();
        }
        Ok(())
    }

    fn serve(&mut self, events: &Events) {
        let now = now();
        if std::mem::take(&mut self.resting) {
            self.listen(Interest::READ);
        }
        for slot in std::mem::take(&mut self.again) {
            self.read(slot, true, now);
        }
        for event in events.iter() {
            match event.token {
                WAKE => self.woken(),
                ALARM => {}
                token if token >= FIRST_LISTENER => self.accept((token - FIRST_LISTENER) as usize),
                token => self.attend(token as u32, &event, now),
            }
        }
    }

    /// Sets the alarm for the next thing this thread has to do by itself; how long to wait for events at most.
    fn prepare_sleep(&mut self) -> Option<i64> {
        if !self.again.is_empty() {
            return Some(0);
        }
        if self.thread == 0 {
            let timer = self.shared.hub().next_deadline();
            let stall = self.shared.stall.planned().map(|(from, _)| from);
            let rest = self.resting.then(|| now() + REST_NS);
            self.alarm.set([timer, stall, rest].into_iter().flatten().min());
        }
        None
    }

    fn woken(&mut self) {
        self.shared.wakers[self.thread].drain();
        for accepted in self.shared.given(self.thread) {
            self.adopt(accepted.socket, accepted.listener);
        }
    }

    fn accept(&mut self, listener: usize) {
        for _ in 0..ACCEPT_BATCH {
            let socket = match self.entrances[listener].listener.accept() {
                Ok(socket) => socket,
                Err(error) if is_not_now(&error) => return,
                Err(_no_room) => return self.rest_from_accepting(),
            };
            let thread = self.next_thread;
            self.next_thread = (thread + 1) % (self.shared.wakers.len() - 1);
            if thread == self.thread {
                self.adopt(socket, listener);
            } else {
                self.shared.give(thread, Accepted { socket, listener });
            }
        }
    }

    /// Without room for another open file the backlog would wake this thread for ever: look again in a while.
    fn rest_from_accepting(&mut self) {
        self.resting = true;
        self.listen(Interest::NONE);
    }

    fn listen(&self, interest: Interest) {
        for (index, entrance) in self.entrances.iter().enumerate() {
            // It is registered, so this cannot fail.
            let _ = self
                .poller
                .modify(&entrance.listener, FIRST_LISTENER + index as u64, interest);
        }
    }

    fn adopt(&mut self, socket: Socket, listener: usize) {
        let Some(stream) = self.entrances[listener].secure(socket) else {
            return;
        };
        let slot = self.free.pop().unwrap_or(self.connections.len() as u32);
        let interest = Interest::READ | Interest::WRITE | Interest::EDGE;
        if self.poller.add(&stream, u64::from(slot), interest).is_err() {
            self.free.push(slot);
            return;
        }
        let link = self.shared.hub().open(self.thread, slot, now());
        let connection = Some(Connection::new(stream, link));
        match self.connections.get_mut(slot as usize) {
            Some(place) => *place = connection,
            None => self.connections.push(connection),
        }
    }

    fn attend(&mut self, slot: u32, event: &Event, now: u64) {
        if event.readable || self.is_shaking_hands(slot) {
            self.read(slot, event.closed, now);
        }
        if event.writable {
            self.pump_blocked(slot);
        }
    }

    fn is_shaking_hands(&self, slot: u32) -> bool {
        matches!(self.connections.get(slot as usize), Some(Some(connection)) if connection.is_shaking_hands())
    }

    fn read(&mut self, slot: u32, until_end: bool, now: u64) {
        let Some(Some(connection)) = self.connections.get_mut(slot as usize) else {
            return;
        };
        match connection.read(&self.shared, &mut self.buffer, until_end, now) {
            Ok(true) => self.again.push(slot),
            Ok(false) => {}
            Err(_gone) => self.close(slot),
        }
    }

    /// Goes on where a full socket stopped the writing.
    fn pump_blocked(&mut self, slot: u32) {
        if matches!(self.connections.get(slot as usize), Some(Some(connection)) if connection.is_writing()) {
            self.pump(slot);
        }
    }

    fn pump(&mut self, slot: u32) {
        let Some(Some(connection)) = self.connections.get_mut(slot as usize) else {
            return;
        };
        match connection.pump(&self.shared) {
            Pumped::Waiting => {}
            Pumped::Close => self.close(slot),
        }
    }

    fn close(&mut self, slot: u32) {
        if let Some(mut connection) = self.connections[slot as usize].take() {
            self.shared
                .hub()
                .closed(connection.link, connection.take_unwritten(), now());
            self.free.push(slot);
        }
    }

    /// Writes what the hub has for this thread's connections and wakes the other threads it has something for.
    fn flush(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        loop {
            let wakes = {
                let mut hub = self.shared.hub();
                hub.take_dirty(self.thread, &mut dirty);
                hub.take_wakes(Some(self.thread))
            };
            self.shared.wake(wakes);
            if dirty.is_empty() {
                break;
            }
            // A connection that breaks while it is written to may have a will: then there is more to write.
            dirty.drain(..).for_each(|slot| self.pump(slot));
        }
        self.dirty = dirty;
    }

    /// Stands still while a stall is under way: reads nothing, writes nothing.
    fn stall(&self) {
        let Some((from, until)) = self.shared.stall.planned() else {
            return;
        };
        if now() < from {
            return;
        }
        while !self.shared.stopping() && self.shared.stall.planned() == Some((from, until)) {
            let left = until as i64 - monotonic_ns();
            if left <= 0 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_nanos(left.min(STALL_STEP_NS) as u64));
        }
        if self.thread == 0 {
            self.shared.hub().stall_done(from, until);
        }
    }
}

/// CLOCK_MONOTONIC as an unsigned number.
#[inline]
pub fn now() -> u64 {
    monotonic_ns() as u64
}

/// Whether an error means "not now".
pub fn is_not_now(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
