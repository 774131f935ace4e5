//! What the reactor threads, the control thread and the owner of the server have in common.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use telemark_net::{Socket, Waker};

use crate::faults::StallWindow;
use crate::hub::Hub;

/// One instance per running server.
pub struct Shared {
    hub: Mutex<Hub>,
    inboxes: Vec<Mutex<Vec<Accepted>>>,
    /// One per reactor thread, then the control thread's.
    pub wakers: Vec<Waker>,
    stop: AtomicBool,
    /// The next time to stand still.
    pub stall: Arc<StallWindow>,
    failure: Mutex<Option<String>>,
    running: Mutex<usize>,
    ended: Condvar,
}

/// A connection on its way from the accepting thread to its owner.
pub struct Accepted {
    /// The connection.
    pub socket: Socket,
    /// Index of the listener it came from.
    pub listener: usize,
}

impl Shared {
    /// State for `threads` reactors.
    pub fn new(hub: Hub, threads: usize) -> std::io::Result<Self> {
        let wakers = (0..=threads)
            .map(|_| Waker::new())
            .collect::<std::io::Result<Vec<_>>>()?;
        Ok(Self {
            stall: Arc::clone(&hub.stall),
            hub: Mutex::new(hub),
            inboxes: (0..threads).map(|_| Mutex::new(Vec::new())).collect(),
            wakers,
            stop: AtomicBool::new(false),
            failure: Mutex::new(None),
            running: Mutex::new(0),
            ended: Condvar::new(),
        })
    }

    /// The routing state. Held for one step at a time, never during a system call.
    #[inline]
    pub fn hub(&self) -> MutexGuard<'_, Hub> {
        self.hub.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a connection to a thread.
    pub fn give(&self, thread: usize, accepted: Accepted) {
        lock(&self.inboxes[thread]).push(accepted);
        self.wakers[thread].wake();
    }

    /// Connections handed to a thread since the last call.
    pub fn given(&self, thread: usize) -> Vec<Accepted> {
        std::mem::take(&mut *lock(&self.inboxes[thread]))
    }

    /// Wakes the threads whose bits are set.
    pub fn wake(&self, threads: u64) {
        for (thread, waker) in self.wakers.iter().enumerate() {
            if threads & (1 << thread) != 0 {
                waker.wake();
            }
        }
    }

    /// Ends all threads.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.wakers.iter().for_each(Waker::wake);
    }

    /// Whether the threads are to end.
    #[must_use]
    pub fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Remembers why a thread died and ends the others. The first reason stays.
    pub fn fail(&self, reason: String) {
        lock(&self.failure).get_or_insert(reason);
        self.stop();
    }

    /// A thread is about to run.
    pub fn thread_started(&self) {
        *lock(&self.running) += 1;
    }

    /// A thread is over.
    pub fn thread_ended(&self) {
        *lock(&self.running) -= 1;
        self.ended.notify_all();
    }

    /// Sleeps until no thread runs; false when the time is up before.
    #[must_use]
    pub fn wait_for_end(&self, timeout: Duration) -> bool {
        let running = lock(&self.running);
        let waited = self.ended.wait_timeout_while(running, timeout, |running| *running > 0);
        let (running, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *running == 0
    }

    /// Why the server died, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        lock(&self.failure).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
