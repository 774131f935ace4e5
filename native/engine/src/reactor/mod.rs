//! A reactor thread: sleeps in one poll, and connects, reads, writes and keeps time for its devices' sessions.

mod connect;
mod leave;
mod load;
mod read;
mod write;

use std::io;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use telemark_net::{
    choosable_ports, monotonic_ns, thread_cpu_ns, Event, Events, Interest, Poller, SessionSlot, Stream, Waker,
};

use crate::cohort::Crew;
use crate::hub::{Hub, Order};
use crate::ports::Ports;
use crate::session::{Context, Fault, Session};
use crate::wheel::TICK_NS;
use load::Loader;

/// Token of the waker; devices use their place and generation.
const WAKER: u64 = u64::MAX;
/// While messages are due all the time, this much time lies between two rounds of sending: several messages then share
/// one wake-up, at the price of a send delay of this order (it is measured and recorded). Slower loads are not delayed.
const ROUND_NS: i64 = 500_000;
/// Room for the bytes of one read.
const READ_BYTES: usize = 256 << 10;

/// A device's session with its connection.
struct Device {
    session: Session,
    /// The connection; None while there is none.
    stream: Option<Stream>,
    /// It has to be read again although the poller is silent.
    again: bool,
    /// Its TLS session.
    tls_session: Option<SessionSlot>,
}

/// One reactor thread's whole state.
pub struct Reactor {
    thread: usize,
    crew: Arc<Crew>,
    hub: Arc<Hub>,
    poller: Poller,
    waker: Waker,
    devices: Vec<Device>,
    /// For each publisher of the plan: the place of its device here, or u32::MAX when another thread plays it.
    places: Vec<u32>,
    ports: Ports,
    /// What the sessions share.
    context: Context,
    /// Devices whose socket may have more to read.
    again: Vec<u32>,
    buffer: Vec<u8>,
    loader: Loader,
    last_round_ns: i64,
    cpu_ns: i64,
    received_before: i64,
    second_ns: i64,
    finish_by_ns: i64,
}

impl Reactor {
    /// The thread with this number; `poller` and `waker` are its own.
    pub fn new(thread: usize, crew: Arc<Crew>, hub: Arc<Hub>, waker: Waker) -> io::Result<Reactor> {
        let poller = Poller::new()?;
        poller.add(&waker, WAKER, Interest::READ)?;
        let now = monotonic_ns();
        let mut reactor = Reactor {
            thread,
            poller,
            waker,
            devices: Vec::new(),
            places: Vec::new(),
            ports: Ports::new(choosable_ports(), thread, crew.plan.threads as usize),
            context: Context::new(&crew.plan, Arc::clone(&hub), thread, now),
            again: Vec::new(),
            buffer: vec![0; READ_BYTES],
            loader: Loader::Idle,
            last_round_ns: 0,
            cpu_ns: 0,
            received_before: 0,
            second_ns: now,
            finish_by_ns: i64::MAX,
            crew: Arc::clone(&crew),
            hub,
        };
        reactor.populate(now);
        Ok(reactor)
    }

    /// Makes this thread's devices: every `threads`-th of the plan.
    fn populate(&mut self, now: i64) {
        let threads = self.crew.plan.threads as usize;
        let mut number = 0;
        for (cohort_place, cohort) in self.crew.cohorts.iter().enumerate() {
            for within in 0..cohort.plan.count {
                let is_mine = number % threads == self.thread;
                let place = if is_mine { self.devices.len() as u32 } else { u32::MAX };
                if cohort.topic.is_some() {
                    self.places.push(place);
                }
                if is_mine {
                    self.devices.push(Device {
                        session: Session::new(cohort, cohort_place as u32, within, place),
                        stream: None,
                        again: false,
                        tls_session: None,
                    });
                    self.context.dial.want(place, now);
                }
                number += 1;
            }
        }
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
            let counts = self.context.timeline.at(woke);
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
        let device = self.devices.get(place);
        if device.is_some_and(|device| device.session.generation == generation) {
            self.on_ready(place, event);
        }
    }

    fn obey(&mut self) {
        for order in self.hub.take_orders(self.thread) {
            match order {
                Order::Begin(start_ns) => self.begin(start_ns),
                Order::Halt => self.halt(),
                Order::Flush => self.context.recorder.flush(),
                Order::Finish => self.leave(),
            }
        }
    }

    /// When to wake up if nothing happens.
    fn wake_time(&mut self, now: i64) -> Option<i64> {
        if !self.context.due.is_empty() || !self.again.is_empty() {
            return Some(now);
        }
        let send = self.next_due().map(|due| due.max(self.last_round_ns + ROUND_NS));
        let context = &self.context;
        let sweep = (!context.arena.is_empty()).then_some(context.next_sweep_ns);
        let finish = context.finishing.then_some(self.finish_by_ns);
        let second = Some(context.timeline.next_end(now));
        [
            send,
            sweep,
            finish,
            second,
            context.wheel.next(),
            context.dial.next(now),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn is_done(&self) -> bool {
        self.context.finishing && (self.context.totals.connected == 0 || monotonic_ns() >= self.finish_by_ns)
    }

    /// Gives every timer that is due to its session.
    fn fire_timers(&mut self, now: i64) {
        while let Some(timers) = self.context.wheel.pop(now) {
            for timer in timers {
                let place = timer.device as usize;
                let session = &mut self.devices[place].session;
                if session.generation == timer.generation {
                    let result = session.on_timer(&mut self.context, now);
                    self.follow(place, result);
                }
            }
        }
    }

    /// Does what a session asks for: writes what it has to say, or ends its connection.
    fn follow(&mut self, place: usize, result: Result<(), Fault>) {
        match result {
            Ok(()) => self.write_out(place),
            Err(fault) => self.lose(place, fault),
        }
    }

    /// The connection of a device failed, was lost, or has ended as planned.
    fn lose(&mut self, place: usize, fault: Fault) {
        let device = &mut self.devices[place];
        let cohort = &self.crew.cohorts[device.session.cohort as usize];
        device.session.lose(cohort, &mut self.context, fault, monotonic_ns());
        device.close();
    }

    /// Closes the seconds that are over.
    fn turn_second(&mut self, now: i64) {
        let context = &mut self.context;
        context.timeline.at(now).connected = context.totals.connected as i32;
        if now < self.second_ns {
            return;
        }
        self.second_ns = context.timeline.next_end(now);
        let cpu = thread_cpu_ns();
        // The CPU time belongs to the second that just ended: the thread wakes up at its end.
        context.timeline.at(now - TICK_NS).cpu_ns += cpu - self.cpu_ns;
        self.cpu_ns = cpu;
        self.hub.add_latency(now / 1_000_000_000, &context.histogram);
        context.histogram.clear();
        let closed = context.timeline.close_before(now);
        if context.timeline.is_started() {
            let below = context.timeline.first_open();
            self.hub.close_seconds(self.thread, closed, below);
        }
    }

    fn publish_totals(&mut self) {
        let (live, totals) = (self.hub.live(self.thread), &self.context.totals);
        live.connected.store(totals.connected, Ordering::Relaxed);
        live.ready.store(totals.ready, Ordering::Relaxed);
        live.failed.store(totals.failed, Ordering::Relaxed);
        live.intended.store(totals.intended, Ordering::Relaxed);
        live.sent.store(totals.sent, Ordering::Relaxed);
        live.acked.store(totals.acked, Ordering::Relaxed);
        live.dropped.store(totals.dropped, Ordering::Relaxed);
        live.received.store(totals.received, Ordering::Relaxed);
        live.disconnects.store(totals.disconnects, Ordering::Relaxed);
        let is_sending = self.loader.is_sending() || !self.context.arena.is_empty() || self.context.unsent > 0;
        live.sending.store(is_sending, Ordering::Relaxed);
    }

    /// Hands over all rows there are, whatever state the thread is in.
    pub fn flush_records(&mut self) {
        self.context.recorder.flush();
    }
}

impl Device {
    /// Closes the connection. OpenSSL would forget a TLS session that ends without a farewell: it is to be resumed.
    fn close(&mut self) {
        if let Some(mut stream) = self.stream.take() {
            stream.keep_session();
        }
    }
}
