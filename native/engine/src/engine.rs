//! The engine as its owner sees it: orders in, status and batches out.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use telemark_net::{raise_open_file_limit, Waker};

use crate::cohort::Crew;
use crate::hub::{Hub, Order, Status};
use crate::plan::{EnginePlan, PlanProblem};
use crate::reactor::Reactor;
use crate::records::Batch;

/// A thread of the engine failed; nothing may be concluded about the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineFailure(pub String);

impl fmt::Display for EngineFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for EngineFailure {}

/// Simulated devices of one process.
pub struct Engine {
    crew: Arc<Crew>,
    hub: Arc<Hub>,
    wakers: Vec<Waker>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    connected: AtomicBool,
    told_failure: AtomicBool,
}

impl Engine {
    /// Reads and checks a plan. `secrets` maps group names to passwords.
    pub fn new(plan_json: &str, secrets: &HashMap<String, String>) -> Result<Engine, PlanProblem> {
        let plan = EnginePlan::read(plan_json)?;
        let crew = Crew::new(plan, secrets)?;
        let wakers = (0..crew.plan.threads)
            .map(|_| Waker::new())
            .collect::<Result<Vec<_>, _>>();
        let wakers = wakers.map_err(|error| PlanProblem::one(format!("no wake-up channel for a thread: {error}")))?;
        let hub = Hub::new(crew.plan.process, crew.plan.devices(), wakers.clone());
        Ok(Engine {
            crew: Arc::new(crew),
            hub: Arc::new(hub),
            wakers,
            threads: Mutex::default(),
            connected: AtomicBool::new(false),
            told_failure: AtomicBool::new(false),
        })
    }

    /// Starts the reactor threads, which begin to connect. Returns at once.
    pub fn connect(&self) -> Result<(), EngineFailure> {
        if self.connected.swap(true, Ordering::Relaxed) {
            return Err(EngineFailure("connect was called twice".to_owned()));
        }
        // Not being allowed to is no failure yet: the plan was checked against the hard limit.
        let _ = raise_open_file_limit();
        for (number, waker) in self.wakers.iter().enumerate() {
            let (crew, hub, waker) = (Arc::clone(&self.crew), Arc::clone(&self.hub), waker.clone());
            let thread = std::thread::Builder::new()
                .name(format!("devices-{number}"))
                .spawn(move || play(number, crew, hub, waker))
                .map_err(|error| EngineFailure(format!("a reactor thread cannot be started: {error}")))?;
            self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        }
        Ok(())
    }

    /// Sends by the plan's load shape from this CLOCK_MONOTONIC time on.
    pub fn begin(&self, start_ns: i64) -> Result<(), EngineFailure> {
        self.check()?;
        if self.hub.has_begun() {
            return Err(EngineFailure("begin was called twice".to_owned()));
        }
        self.hub.order(Order::Begin(start_ns));
        Ok(())
    }

    /// New aggregate rate from `at_ns` on, or from now on when that has passed; returns which it is.
    pub fn set_rate(&self, rate: f64, at_ns: i64) -> Result<i64, EngineFailure> {
        self.check()?;
        Ok(self.hub.set_rate(at_ns, rate))
    }

    /// Windowed load with relayed credits: so many messages were received elsewhere.
    pub fn credit(&self, messages: u64) -> Result<(), EngineFailure> {
        self.check()?;
        self.hub.credit(messages);
        Ok(())
    }

    /// Stops sending new messages.
    pub fn halt(&self) -> Result<(), EngineFailure> {
        self.check()?;
        self.hub.order(Order::Halt);
        Ok(())
    }

    /// Makes partly filled batches available.
    pub fn flush(&self) -> Result<(), EngineFailure> {
        self.check()?;
        self.hub.order(Order::Flush);
        Ok(())
    }

    /// Tells all devices to disconnect and the threads to end; `wait_ended` says when they have.
    pub fn finish(&self) {
        if self.connected.load(Ordering::Relaxed) {
            self.hub.order(Order::Finish);
        }
    }

    /// Waits up to `timeout` for the end of all threads; whether they have ended.
    pub fn wait_ended(&self, timeout: Duration) -> bool {
        !self.connected.load(Ordering::Relaxed) || self.hub.wait_ended(timeout)
    }

    /// Sums over all threads; cheap.
    pub fn status(&self) -> Status {
        self.hub.status()
    }

    /// Count, median and 99th percentile (microseconds) of the last second, for display only.
    pub fn latency_last_second(&self) -> (u64, u64, u64) {
        self.hub.latency()
    }

    /// Finished batches; waits up to `timeout` for one. A failure is told once, after the last batch.
    pub fn drain(&self, timeout: Duration) -> Result<Vec<Batch>, EngineFailure> {
        if !self.connected.load(Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        let batches = self.hub.drain(timeout);
        if batches.is_empty() && self.hub.failure().is_some() && !self.told_failure.swap(true, Ordering::Relaxed) {
            self.check()?;
        }
        Ok(batches)
    }

    /// The failure, if there is one.
    pub fn check(&self) -> Result<(), EngineFailure> {
        match self.hub.failure() {
            Some(reason) => Err(EngineFailure(reason)),
            None if !self.connected.load(Ordering::Relaxed) => {
                Err(EngineFailure("connect must be called first".to_owned()))
            }
            None => Ok(()),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.hub.stop();
        for thread in std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner)) {
            // A panic inside was caught and told already.
            let _ = thread.join();
        }
    }
}

/// The life of a reactor thread. Whatever happens in it, its rows are handed over and the others hear of it.
fn play(number: usize, crew: Arc<Crew>, hub: Arc<Hub>, waker: Waker) {
    match Reactor::new(number, crew, Arc::clone(&hub), waker) {
        Err(error) => hub.fail(format!("thread {number}: {error}")),
        Ok(mut reactor) => {
            tell_failure(number, &hub, || reactor.run());
            reactor.flush_records();
            // Nothing more comes from this thread: the others' seconds need not wait for it.
            hub.close_seconds(number, Vec::new(), i64::MAX);
        }
    }
    hub.thread_ended();
}

/// Runs a thread's work; an error or a panic becomes the engine's failure.
fn tell_failure(number: usize, hub: &Hub, work: impl FnOnce() -> io::Result<()>) {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => hub.fail(format!("thread {number}: {error}")),
        Err(panic) => hub.fail(format!("thread {number} panicked: {}", panic_text(panic.as_ref()))),
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no reason given")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"{"run": "test", "process": 0, "seed": 1, "groups": [{"name": "devices", "count": 2}],
        "endpoints": [{"name": "plain", "host": "127.0.0.1", "port": 1, "tls": null}], "threads": 2}"#;

    fn engine() -> Engine {
        Engine::new(PLAN, &HashMap::new()).unwrap()
    }

    fn events(batches: &[Batch]) -> usize {
        batches
            .iter()
            .filter(|batch| batch.table == "events")
            .map(|batch| batch.rows)
            .sum()
    }

    #[test]
    fn a_panic_in_one_thread_stops_all_and_is_told_once_after_the_last_rows() {
        let engine = engine();
        engine.connect().unwrap();
        while engine.status().failed < 2 {
            std::thread::yield_now(); // nobody listens at port 1: both devices fail and leave an event each
        }
        tell_failure(7, &engine.hub, || panic!("the sky fell"));
        assert!(engine.wait_ended(Duration::from_secs(10)));
        let mut found = 0;
        let failure = loop {
            match engine.drain(Duration::from_secs(1)) {
                Ok(batches) => found += events(&batches),
                Err(failure) => break failure,
            }
        };
        assert_eq!(found, 2);
        assert_eq!(failure.to_string(), "thread 7 panicked: the sky fell");
        assert!(engine.drain(Duration::ZERO).unwrap().is_empty());
        assert!(engine.begin(0).is_err());
    }

    #[test]
    fn an_engine_that_is_dropped_ends_its_threads() {
        let engine = engine();
        engine.connect().unwrap();
        let hub = Arc::clone(&engine.hub);
        drop(engine);
        assert!(hub.wait_ended(Duration::ZERO));
    }
}
