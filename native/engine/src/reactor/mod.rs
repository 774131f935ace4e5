//! A reactor thread: owns its devices, sleeps in one poll, and does everything its devices have to do.

mod acknowledge;
mod attempt;
mod dial;
mod fault;
mod greeting;
mod leave;
mod load;
mod outgoing;
mod receive;
mod send;
mod subscribe;
mod timer;
mod write;

use std::io;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use telemark_net::{monotonic_ns, thread_cpu_ns, Event, Events, Interest, Poller, Waker};

use crate::cohort::Crew;
use crate::device::{Device, Publisher, State};
use crate::histogram::Histogram;
use crate::hub::{Hub, Order};
use crate::pending::Arena;
use crate::random::Random;
use crate::recorder::Recorder;
use crate::timeline::Timeline;
use crate::wheel::{Wheel, TICK_NS};
use dial::Dial;
use load::Loader;
use outgoing::Outgoing;

/// Token of the waker; devices use their place and generation.
const WAKER: u64 = u64::MAX;
/// While messages are due all the time, this much time lies between two rounds of sending: several messages then share
/// one wake-up, at the price of a send delay of this order (it is measured and recorded). Slower loads are not delayed.
const ROUND_NS: i64 = 500_000;
/// Room for the bytes of one read.
const READ_BYTES: usize = 256 << 10;

/// Running totals, published for the live view after every round.
#[derive(Default)]
pub(crate) struct Totals {
    connected: i64,
    ready: i64,
    failed: i64,
    intended: i64,
    sent: i64,
    acked: i64,
    dropped: i64,
    received: i64,
    disconnects: i64,
}

/// One reactor thread's whole state.
pub struct Reactor {
    thread: usize,
    crew: Arc<Crew>,
    hub: Arc<Hub>,
    poller: Poller,
    waker: Waker,
    pub(crate) devices: Vec<Device>,
    pub(crate) publishers: Vec<Publisher>,
    /// For each publisher of the plan: its place here, or u32::MAX when another thread plays it.
    places: Vec<u32>,
    recorder: Recorder,
    timeline: Timeline,
    totals: Totals,
    histogram: Histogram,
    wheel: Wheel,
    arena: Arena,
    /// Publishers that have something to send and may be able to.
    due: Vec<u32>,
    /// Publishers whose messages wait for room; looked at when they get too late.
    waiting: Vec<u32>,
    next_sweep_ns: i64,
    /// Devices whose socket may have more to read.
    again: Vec<u32>,
    buffer: Vec<u8>,
    replies: Vec<u8>,
    outgoing: Outgoing,
    /// Messages of which bytes wait with their devices.
    unsent: usize,
    random: Random,
    loader: Loader,
    dial: Dial,
    last_round_ns: i64,
    cpu_ns: i64,
    received_before: i64,
    second_ns: i64,
    finishing: bool,
    finish_by_ns: i64,
}

impl Reactor {
    /// The thread with this number; `poller` and `waker` are its own.
    pub fn new(thread: usize, crew: Arc<Crew>, hub: Arc<Hub>, waker: Waker) -> io::Result<Reactor> {
        let poller = Poller::new()?;
        poller.add(&waker, WAKER, Interest::READ)?;
        let now = monotonic_ns();
        let plan = &crew.plan;
        let mut reactor = Reactor {
            thread,
            poller,
            waker,
            devices: Vec::new(),
            publishers: Vec::new(),
            places: Vec::new(),
            recorder: Recorder::new(Arc::clone(&hub), plan.process),
            timeline: Timeline::new(now),
            totals: Totals::default(),
            histogram: Histogram::default(),
            wheel: Wheel::default(),
            arena: Arena::default(),
            due: Vec::new(),
            waiting: Vec::new(),
            next_sweep_ns: i64::MAX,
            again: Vec::new(),
            buffer: vec![0; READ_BYTES],
            replies: Vec::new(),
            outgoing: Outgoing::new(plan),
            unsent: 0,
            random: Random::new(plan.seed ^ (thread as u64 + 1).wrapping_mul(0xA076_1D64_78BD_642F)),
            loader: Loader::Idle,
            dial: Dial::new(plan, thread, now),
            last_round_ns: 0,
            cpu_ns: 0,
            received_before: 0,
            second_ns: now,
            finishing: false,
            finish_by_ns: i64::MAX,
            crew: Arc::clone(&crew),
            hub,
        };
        reactor.populate();
        Ok(reactor)
    }

    /// Until the engine is finished, stopped or broken.
    pub fn run(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        self.cpu_ns = thread_cpu_ns();
        while !self.hub.must_stop() && !self.is_done() {
            let before = monotonic_ns();
            let timeout = self.wake_time(before).map(|time| (time - before).max(0));
            self.poller.wait(&mut events, timeout)?;
            let woke = monotonic_ns();
            for place in 0..events.len() {
                if let Some(event) = events.get(place) {
                    self.on_event(&event);
                }
            }
            self.round();
            let away = monotonic_ns() - woke;
            let counts = self.timeline.at(woke);
            counts.loop_lag_max_ns = counts.loop_lag_max_ns.max(away);
        }
        self.close_books();
        Ok(())
    }

    /// Everything that is not an answer to the poller.
    fn round(&mut self) {
        self.read_again();
        let now = monotonic_ns();
        self.dial(now);
        self.fire_timers(now);
        self.load();
        self.sweep(now);
        self.send_due();
        self.turn_second(now);
        self.publish_totals();
    }

    fn on_event(&mut self, event: &Event) {
        let token = event.token;
        if token == WAKER {
            self.waker.drain();
            return self.obey();
        }
        let (place, generation) = ((token & 0xFFFF_FFFF) as usize, (token >> 32) as u32);
        if self
            .devices
            .get(place)
            .is_some_and(|device| device.generation == generation)
        {
            self.on_ready(place, event);
        }
    }

    fn obey(&mut self) {
        for order in self.hub.take_orders(self.thread) {
            match order {
                Order::Begin(start_ns) => self.begin(start_ns),
                Order::Halt => self.halt(),
                Order::Flush => self.recorder.flush(),
                Order::Finish => self.leave(),
            }
        }
    }

    /// When to wake up if nothing happens.
    fn wake_time(&mut self, now: i64) -> Option<i64> {
        if !self.due.is_empty() || !self.again.is_empty() {
            return Some(now);
        }
        let send = self.next_due().map(|due| due.max(self.last_round_ns + ROUND_NS));
        let sweep = (!self.arena.is_empty()).then_some(self.next_sweep_ns);
        let finish = self.finishing.then_some(self.finish_by_ns);
        let second = Some(self.timeline.next_end(now));
        [send, sweep, finish, second, self.wheel.next(), self.dial.next(now)]
            .into_iter()
            .flatten()
            .min()
    }

    fn is_done(&self) -> bool {
        self.finishing && (self.totals.connected == 0 || monotonic_ns() >= self.finish_by_ns)
    }

    /// Closes the seconds that are over.
    fn turn_second(&mut self, now: i64) {
        self.timeline.at(now).connected = self.totals.connected as i32;
        if now < self.second_ns {
            return;
        }
        self.second_ns = self.timeline.next_end(now);
        let cpu = thread_cpu_ns();
        // The CPU time belongs to the second that just ended: the thread wakes up at its end.
        self.timeline.at(now - TICK_NS).cpu_ns += cpu - self.cpu_ns;
        self.cpu_ns = cpu;
        self.hub.add_latency(now / 1_000_000_000, &self.histogram);
        self.histogram.clear();
        let closed = self.timeline.close_before(now);
        if self.timeline.is_started() {
            self.hub.close_seconds(self.thread, closed, self.timeline.first_open());
        }
    }

    fn publish_totals(&mut self) {
        let live = self.hub.live(self.thread);
        live.connected.store(self.totals.connected, Ordering::Relaxed);
        live.ready.store(self.totals.ready, Ordering::Relaxed);
        live.failed.store(self.totals.failed, Ordering::Relaxed);
        live.intended.store(self.totals.intended, Ordering::Relaxed);
        live.sent.store(self.totals.sent, Ordering::Relaxed);
        live.acked.store(self.totals.acked, Ordering::Relaxed);
        live.dropped.store(self.totals.dropped, Ordering::Relaxed);
        live.received.store(self.totals.received, Ordering::Relaxed);
        live.disconnects.store(self.totals.disconnects, Ordering::Relaxed);
        live.sending.store(
            self.loader.is_sending() || !self.arena.is_empty() || self.unsent > 0,
            Ordering::Relaxed,
        );
    }

    /// Hands over all rows there are, whatever state the thread is in.
    pub fn flush_records(&mut self) {
        self.recorder.flush();
    }

    fn place_of(&self, publisher: u32) -> Option<usize> {
        self.places
            .get(publisher as usize)
            .filter(|place| **place != u32::MAX)
            .map(|place| *place as usize)
    }

    fn is_ready(&self, place: usize) -> bool {
        self.devices[place].state == State::Ready
    }
}
