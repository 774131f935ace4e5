//! Exchanges of clock readings between a host and the runner: small authenticated datagrams.
//!
//! A host asks and the runner answers, so that the bookkeeping is spread over the hosts. A datagram cannot be forged
//! without the key of its line, and one that is delayed, lost or played again only widens an interval or is dropped:
//! the host measures the round trip on its own clock, and accepts nothing but the answer to its latest question.
//!
//! Each side is one blocking thread: nothing but the kernel is between a datagram and the reading of the clock.

use std::collections::HashMap;
use std::io;
use std::net::{ToSocketAddrs, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::sign::Signer;

use crate::{ask_for_short_slices, monotonic_ns};

const MAC_BYTES: usize = 16;
const QUESTION_BYTES: usize = 12; // line, number of the question
const ANSWER_BYTES: usize = 16; // number of the question, the runner's time
const LONGEST: usize = 64;
const LOOK_UP: Duration = Duration::from_millis(100); // a responder that nobody asks looks so often whether it ends
const AFTER_FAILURE: Duration = Duration::from_millis(10); // the runner's port is closed, or no way leads there

/// One question and its answer: asked and answered on the host's clock, told on the runner's. Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The host's time before it sent its question.
    pub asked_ns: i64,
    /// The runner's time between question and answer.
    pub told_ns: i64,
    /// The host's time when it had the answer.
    pub answered_ns: i64,
}

/// How often a host asks.
#[derive(Clone, Copy, Debug)]
pub struct AskingPlan {
    /// Between two questions.
    pub every: Duration,
    /// For an answer to come.
    pub patience: Duration,
    /// Questions at once at the beginning.
    pub burst: u64,
}

/// The key of one line.
struct Key(PKey<Private>);

impl Key {
    fn new(bytes: &[u8]) -> io::Result<Key> {
        Ok(Key(PKey::hmac(bytes)?))
    }

    /// The body with its authentication code: the first bytes of HMAC-SHA-256 over kind and body.
    fn seal(&self, kind: &[u8], body: &[u8]) -> io::Result<Vec<u8>> {
        let mut signer = Signer::new(MessageDigest::sha256(), &self.0)?;
        signer.update(kind)?;
        signer.update(body)?;
        let mut code = [0; 32];
        signer.sign(&mut code)?;
        Ok([body, &code[..MAC_BYTES]].concat())
    }

    /// The body of a datagram of so many bytes that this key vouches for.
    fn open<'a>(&self, kind: &[u8], datagram: &'a [u8], bytes: usize) -> Option<&'a [u8]> {
        if datagram.len() != bytes + MAC_BYTES {
            return None;
        }
        let body = &datagram[..bytes];
        let sealed = self.seal(kind, body).ok()?;
        openssl::memcmp::eq(&sealed, datagram).then_some(body)
    }
}

/// The runner's side: answers every question that a key vouches for with the time of CLOCK_MONOTONIC.
pub struct ClockResponder {
    shared: Arc<Answering>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Answering {
    socket: UdpSocket,
    keys: Mutex<HashMap<u32, Key>>,
    ended: AtomicBool,
}

impl ClockResponder {
    /// Listens there, in a thread of its own.
    pub fn start(address: impl ToSocketAddrs) -> io::Result<ClockResponder> {
        let shared = Arc::new(Answering {
            socket: UdpSocket::bind(address)?,
            keys: Mutex::default(),
            ended: AtomicBool::new(false),
        });
        shared.socket.set_read_timeout(Some(LOOK_UP))?;
        let thread = spawn("clock-responder", {
            let shared = shared.clone();
            move || shared.serve()
        })?;
        Ok(ClockResponder { shared, thread })
    }

    /// Answers questions of this line from now on.
    pub fn admit(&self, line: u32, key: &[u8]) -> io::Result<()> {
        locked(&self.shared.keys).insert(line, Key::new(key)?);
        Ok(())
    }

    /// Answers it no more.
    pub fn dismiss(&self, line: u32) {
        locked(&self.shared.keys).remove(&line);
    }

    /// Stops answering. Safe to call twice.
    pub fn close(&self) {
        self.shared.ended.store(true, Ordering::Release);
        join(&self.thread);
    }
}

impl Drop for ClockResponder {
    fn drop(&mut self) {
        self.close();
    }
}

impl Answering {
    fn serve(&self) {
        let mut buffer = [0; LONGEST];
        loop {
            let received = self.socket.recv_from(&mut buffer);
            if self.ended.load(Ordering::Acquire) {
                return;
            }
            let Ok((length, sender)) = received else { continue }; // nobody asked, or a host has gone
            if let Some(answer) = self.answer(&buffer[..length]) {
                let _ = self.socket.send_to(&answer, sender); // the host may have gone
            }
        }
    }

    fn answer(&self, datagram: &[u8]) -> Option<Vec<u8>> {
        let line = u32::from_be_bytes(datagram.get(..4)?.try_into().ok()?);
        let keys = locked(&self.keys);
        let key = keys.get(&line)?;
        let question = key.open(b"question", datagram, QUESTION_BYTES)?;
        let told = monotonic_ns().to_be_bytes();
        key.seal(b"answer", &[&question[4..], &told].concat()).ok()
    }
}

/// The host's side: asks until it is closed and keeps every exchange until it is taken.
pub struct ClockAsker {
    shared: Arc<Asking>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Asking {
    socket: UdpSocket,
    line: u32,
    key: Key,
    plan: AskingPlan,
    found: Mutex<Vec<Exchange>>,
    ended: Mutex<bool>,
    end: Condvar,
}

impl ClockAsker {
    /// Asks the runner at that address, in a thread of its own.
    pub fn start(address: impl ToSocketAddrs, line: u32, key: &[u8], plan: AskingPlan) -> io::Result<ClockAsker> {
        let shared = Arc::new(Asking {
            socket: connected(address, plan.patience)?,
            line,
            key: Key::new(key)?,
            plan,
            found: Mutex::default(),
            ended: Mutex::new(false),
            end: Condvar::new(),
        });
        let thread = spawn("clock-asker", {
            let shared = shared.clone();
            move || shared.ask_until_end()
        })?;
        Ok(ClockAsker { shared, thread })
    }

    /// The exchanges since the last call.
    pub fn drain(&self) -> Vec<Exchange> {
        std::mem::take(&mut locked(&self.shared.found))
    }

    /// Asks no more. Safe to call twice.
    pub fn close(&self) {
        *locked(&self.shared.ended) = true;
        self.shared.end.notify_all();
        join(&self.thread);
    }
}

impl Drop for ClockAsker {
    fn drop(&mut self) {
        self.close();
    }
}

impl Asking {
    fn ask_until_end(&self) {
        let mut due = Instant::now();
        let mut number = 0;
        loop {
            number += 1;
            match self.ask(number) {
                Ok(Some(exchange)) => locked(&self.found).push(exchange),
                Ok(None) => {}
                Err(_) => due = due.max(Instant::now() + AFTER_FAILURE), // it may come back
            }
            let next = if number < self.plan.burst {
                due
            } else {
                due + self.plan.every
            };
            due = next.max(Instant::now());
            if self.ended_before(due) {
                return;
            }
        }
    }

    /// One exchange; none when no answer came in time.
    fn ask(&self, number: u64) -> io::Result<Option<Exchange>> {
        let body = [&self.line.to_be_bytes()[..], &number.to_be_bytes()].concat();
        let question = self.key.seal(b"question", &body)?;
        let mut buffer = [0; LONGEST];
        let deadline = Instant::now() + self.plan.patience;
        let asked_ns = monotonic_ns();
        self.socket.send(&question)?;
        while Instant::now() < deadline {
            let length = match self.socket.recv(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                received => received?,
            };
            let answered_ns = monotonic_ns();
            if let Some(told_ns) = self.told(&buffer[..length], number) {
                return Ok(Some(Exchange {
                    asked_ns,
                    told_ns,
                    answered_ns,
                }));
            }
        }
        Ok(None)
    }

    /// The runner's time, when this is its answer to that question.
    fn told(&self, datagram: &[u8], number: u64) -> Option<i64> {
        let body = self.key.open(b"answer", datagram, ANSWER_BYTES)?;
        let (asked, told) = body.split_at(8);
        (asked == number.to_be_bytes()).then(|| i64::from_be_bytes(told.try_into().unwrap_or_default()))
    }

    /// Waits until a time; true when asking ends before.
    fn ended_before(&self, due: Instant) -> bool {
        let left = due.saturating_duration_since(Instant::now());
        let waited = self.end.wait_timeout_while(locked(&self.ended), left, |ended| !*ended);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// A socket on which the kernel drops what comes from elsewhere.
fn connected(address: impl ToSocketAddrs, patience: Duration) -> io::Result<UdpSocket> {
    let there = address
        .to_socket_addrs()?
        .next()
        .ok_or(io::ErrorKind::AddrNotAvailable)?;
    let any = if there.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
    let socket = UdpSocket::bind(any)?;
    socket.connect(there)?;
    socket.set_read_timeout(Some(patience))?;
    Ok(socket)
}

/// Every moment between a datagram and the reading of the clock widens the error, so these threads want to run soon.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<Mutex<Option<JoinHandle<()>>>> {
    let thread = std::thread::Builder::new().name(name.into()).spawn(move || {
        let _ = ask_for_short_slices(); // without them it only wakes later
        work();
    })?;
    Ok(Mutex::new(Some(thread)))
}

fn join(thread: &Mutex<Option<JoinHandle<()>>>) {
    if let Some(thread) = locked(thread).take() {
        let _ = thread.join();
    }
}

fn locked<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}
