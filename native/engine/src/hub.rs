//! What the reactor threads and the caller share: finished batches, orders, status, failure.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use telemark_net::{monotonic_ns, Waker};

use crate::histogram::Histogram;
use crate::records::Batch;
use crate::schedule::Window;
use crate::timeline::{Counts, Seconds};

/// Rows that may wait for the caller before the run is given up: about 1 GB of encoded deliveries.
const MOST_WAITING_ROWS: usize = 64 << 20;

/// An order to every thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// Send from this time on.
    Begin(i64),
    /// Send nothing new.
    Halt,
    /// Disconnect, write the last rows, end.
    Finish,
    /// Hand over partly filled batches.
    Flush,
}

/// A thread's live figures; written by the thread, read by anyone.
#[derive(Default)]
#[allow(missing_docs)]
pub struct Live {
    pub connected: AtomicI64,
    pub ready: AtomicI64,
    pub failed: AtomicI64,
    pub intended: AtomicI64,
    pub sent: AtomicI64,
    pub acked: AtomicI64,
    pub dropped: AtomicI64,
    pub received: AtomicI64,
    pub disconnects: AtomicI64,
    pub sending: AtomicBool,
    /// The thread knows the common start.
    pub has_begun: AtomicBool,
}

/// Sums of the live figures of all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Status {
    pub devices: i64,
    pub connected: i64,
    pub ready: i64,
    pub failed: i64,
    pub pending: i64,
    pub intended: i64,
    pub sent: i64,
    pub acked: i64,
    pub dropped: i64,
    pub received: i64,
    pub disconnects: i64,
    pub received_for_credit: i64,
    pub sending: bool,
    pub finished: bool,
}

/// One thread's mailbox.
struct Mailbox {
    orders: Mutex<Vec<Order>>,
    waker: Waker,
    live: Live,
}

/// Batches on their way to the caller.
#[derive(Default)]
struct Outlet {
    batches: VecDeque<Batch>,
    rows: usize,
    running: usize,
}

/// Shared by all threads of an engine and its owner.
pub struct Hub {
    mailboxes: Vec<Mailbox>,
    outlet: Mutex<Outlet>,
    arrived: Condvar,
    seconds: Mutex<Seconds>,
    latency: Mutex<LatencyOfSeconds>,
    rates: Mutex<Vec<(i64, f64)>>,
    failure: Mutex<Option<String>>,
    stop: AtomicBool,
    received: AtomicU64,
    credited: AtomicU64,
    returned: AtomicU64,
    begun: AtomicBool,
    devices: i64,
}

/// The histogram of the running second and that of the last full one.
#[derive(Default)]
struct LatencyOfSeconds {
    second: i64,
    running: Histogram,
    full: Histogram,
}

/// A panic elsewhere must not hide what was recorded: a poisoned lock is used as it is.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    /// A hub for threads with these wakers.
    pub fn new(process: i16, devices: u64, wakers: Vec<Waker>) -> Hub {
        let threads = wakers.len();
        let mailbox = |waker| Mailbox {
            orders: Mutex::default(),
            waker,
            live: Live::default(),
        };
        Hub {
            mailboxes: wakers.into_iter().map(mailbox).collect(),
            outlet: Mutex::new(Outlet {
                running: threads,
                ..Outlet::default()
            }),
            arrived: Condvar::new(),
            seconds: Mutex::new(Seconds::new(process, threads)),
            latency: Mutex::default(),
            rates: Mutex::default(),
            failure: Mutex::default(),
            stop: AtomicBool::new(false),
            received: AtomicU64::new(0),
            credited: AtomicU64::new(0),
            returned: AtomicU64::new(0),
            begun: AtomicBool::new(false),
            devices: devices as i64,
        }
    }

    // ---- orders

    /// Tells every thread.
    pub fn order(&self, order: Order) {
        if matches!(order, Order::Begin(_)) {
            self.begun.store(true, Ordering::Relaxed);
        }
        for mailbox in &self.mailboxes {
            lock(&mailbox.orders).push(order);
            mailbox.waker.wake();
        }
    }

    /// Takes the orders of a thread.
    pub fn take_orders(&self, thread: usize) -> Vec<Order> {
        std::mem::take(&mut lock(&self.mailboxes[thread].orders))
    }

    /// The aggregate rate is another one from `at_ns` on, but never before now or before an earlier change: what was
    /// due by then may have been sent already. Returns when it is.
    pub fn set_rate(&self, at_ns: i64, rate: f64) -> i64 {
        let mut rates = lock(&self.rates);
        let earlier = rates.last().map_or(i64::MIN, |(at, _)| *at);
        let effective_ns = at_ns.max(earlier).max(monotonic_ns());
        rates.push((effective_ns, rate));
        drop(rates);
        self.wake_all();
        effective_ns
    }

    /// Rate changes beyond the first `known`, and the time until which they are complete: no later change can lie before it.
    pub fn rates_since(&self, known: usize) -> (Vec<(i64, f64)>, i64) {
        let rates = lock(&self.rates);
        (
            rates.get(known..).map(<[_]>::to_vec).unwrap_or_default(),
            monotonic_ns(),
        )
    }

    fn wake_all(&self) {
        self.mailboxes.iter().for_each(|mailbox| mailbox.waker.wake());
    }

    // ---- closed loop

    /// Messages were received elsewhere.
    pub fn credit(&self, messages: u64) {
        self.credited.fetch_add(messages, Ordering::Relaxed);
        self.wake_all();
    }

    /// Messages were received here. With `wake`, threads that may have to send for it are woken.
    pub fn count_received(&self, messages: u64, thread: usize, wake: bool) {
        self.received.fetch_add(messages, Ordering::Relaxed);
        if wake {
            let others = self
                .mailboxes
                .iter()
                .enumerate()
                .filter(|(number, _)| *number != thread);
            others.for_each(|(_, mailbox)| mailbox.waker.wake());
        }
    }

    /// A granted message was dropped: another one may go in its place.
    pub fn return_credit(&self, messages: u64) {
        self.returned.fetch_add(messages, Ordering::Relaxed);
    }

    /// How many messages a windowed load may have sent by now.
    pub fn granted(&self, window: &Window, relayed: bool) -> u64 {
        let returned = self.returned.load(Ordering::Relaxed);
        if relayed {
            return window.size + self.credited.load(Ordering::Relaxed) + returned;
        }
        window.granted(self.received.load(Ordering::Relaxed)) + returned
    }

    // ---- failure

    /// A thread failed: all threads end, the first reason is kept.
    pub fn fail(&self, reason: String) {
        lock(&self.failure).get_or_insert(reason);
        self.stop.store(true, Ordering::Relaxed);
        self.wake_all();
    }

    /// Why the engine failed, if it did.
    pub fn failure(&self) -> Option<String> {
        lock(&self.failure).clone()
    }

    /// Whether threads have to end at once.
    pub fn must_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Ends all threads without farewell.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wake_all();
    }

    // ---- records

    /// Hands rows over to the caller.
    pub fn hand_over(&self, batch: Batch) {
        let mut outlet = lock(&self.outlet);
        outlet.rows += batch.rows;
        outlet.batches.push_back(batch);
        let behind = outlet.rows;
        drop(outlet);
        self.arrived.notify_all();
        if behind > MOST_WAITING_ROWS {
            self.fail(format!(
                "{behind} recorded rows wait to be written: the disk or the processor is too slow"
            ));
        }
    }

    /// All batches there are; waits up to `timeout` for one unless every thread has ended.
    pub fn drain(&self, timeout: Duration) -> Vec<Batch> {
        let outlet = lock(&self.outlet);
        let nothing = |outlet: &mut Outlet| outlet.batches.is_empty() && outlet.running > 0;
        let (mut outlet, _) = self
            .arrived
            .wait_timeout_while(outlet, timeout, nothing)
            .unwrap_or_else(PoisonError::into_inner);
        outlet.rows = 0;
        outlet.batches.drain(..).collect()
    }

    /// A thread has ended and hands nothing over any more.
    pub fn thread_ended(&self) {
        lock(&self.outlet).running -= 1;
        self.arrived.notify_all();
    }

    /// Waits until every thread has ended, at most `timeout`; whether they have.
    pub fn wait_ended(&self, timeout: Duration) -> bool {
        let outlet = lock(&self.outlet);
        let running = |outlet: &mut Outlet| outlet.running > 0;
        let (outlet, _) = self
            .arrived
            .wait_timeout_while(outlet, timeout, running)
            .unwrap_or_else(PoisonError::into_inner);
        outlet.running == 0
    }

    /// A thread closed some seconds; complete ones become rows.
    pub fn close_seconds(&self, thread: usize, seconds: Vec<(i64, Counts)>, below: i64) {
        let batch = lock(&self.seconds).close(thread, seconds, below);
        if let Some(batch) = batch {
            self.hand_over(batch);
        }
    }

    // ---- live view

    /// A thread's live figures.
    pub fn live(&self, thread: usize) -> &Live {
        &self.mailboxes[thread].live
    }

    /// Adds a thread's latencies of the second (of any clock) that just ended.
    pub fn add_latency(&self, second: i64, histogram: &Histogram) {
        let mut latency = lock(&self.latency);
        if second > latency.second {
            let LatencyOfSeconds { running, full, .. } = &mut *latency;
            std::mem::swap(running, full);
            running.clear();
            latency.second = second;
        }
        latency.running.add(histogram);
    }

    /// Count, median and 99th percentile in microseconds of the last second.
    pub fn latency(&self) -> (u64, u64, u64) {
        let latency = lock(&self.latency);
        // With one thread the running second is complete as soon as it is told; with several, the one before is.
        let shown = if self.mailboxes.len() == 1 {
            &latency.running
        } else {
            &latency.full
        };
        (shown.total(), shown.quantile(0.5), shown.quantile(0.99))
    }

    /// The figures of all threads together.
    pub fn status(&self) -> Status {
        let mut status = Status {
            devices: self.devices,
            ..Status::default()
        };
        let read = |value: &AtomicI64| value.load(Ordering::Relaxed);
        for Mailbox { live, .. } in &self.mailboxes {
            status.connected += read(&live.connected);
            status.ready += read(&live.ready);
            status.failed += read(&live.failed);
            status.intended += read(&live.intended);
            status.sent += read(&live.sent);
            status.acked += read(&live.acked);
            status.dropped += read(&live.dropped);
            status.received += read(&live.received);
            status.disconnects += read(&live.disconnects);
            let has_begun = live.has_begun.load(Ordering::Relaxed);
            status.sending |= live.sending.load(Ordering::Relaxed) || (self.has_begun() && !has_begun);
        }
        status.received_for_credit = self.received.load(Ordering::Relaxed) as i64;
        status.finished = lock(&self.outlet).running == 0;
        status.sending &= !status.finished;
        if !status.finished {
            status.pending = status.devices - status.ready - status.failed;
        }
        status
    }

    /// Whether `begin` was ordered.
    pub fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }
}
