//! epoll with a timeout in nanoseconds.

use std::io;
use std::ops::BitOr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// What to be told about a file descriptor. Combine with `|`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest(u32);

impl Interest {
    /// Nothing but errors and hang-ups.
    pub const NONE: Interest = Interest(0);
    /// Bytes to read, a connection to accept, or the peer's end of stream.
    pub const READ: Interest = Interest((libc::EPOLLIN | libc::EPOLLRDHUP) as u32);
    /// Room to write, or a finished connect.
    pub const WRITE: Interest = Interest(libc::EPOLLOUT as u32);
    /// Tell once for each change: the owner then has to read until nothing is left.
    pub const EDGE: Interest = Interest(libc::EPOLLET as u32);
    /// For a listener shared by several pollers: wake only one of them.
    pub const EXCLUSIVE: Interest = Interest(libc::EPOLLEXCLUSIVE as u32);
}

impl BitOr for Interest {
    type Output = Interest;
    fn bitor(self, other: Interest) -> Interest {
        Interest(self.0 | other.0)
    }
}

/// One file descriptor that is ready.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The token it was registered with.
    pub token: u64,
    /// Reading will not block (it may return the end of the stream or an error).
    pub readable: bool,
    /// Writing will not block.
    pub writable: bool,
    /// The peer has gone or the connect failed; reading tells the reason.
    pub closed: bool,
}

impl Event {
    fn from_epoll(event: &libc::epoll_event) -> Event {
        let bits = event.events;
        let failed = bits & (libc::EPOLLERR | libc::EPOLLHUP) as u32 != 0;
        Event {
            token: event.u64,
            readable: failed || bits & (libc::EPOLLIN | libc::EPOLLRDHUP) as u32 != 0,
            writable: failed || bits & libc::EPOLLOUT as u32 != 0,
            closed: failed || bits & libc::EPOLLRDHUP as u32 != 0,
        }
    }
}

/// Room for the events of one `wait`, reused from call to call.
pub struct Events {
    ready: Vec<libc::epoll_event>,
    count: usize,
}

impl Events {
    /// Room for `capacity` events at once; more wait for the next call.
    pub fn with_capacity(capacity: usize) -> Events {
        let empty = libc::epoll_event { events: 0, u64: 0 };
        Events {
            ready: vec![empty; capacity.max(1)],
            count: 0,
        }
    }

    /// The events of the last `wait`.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.ready[..self.count].iter().map(Event::from_epoll)
    }

    /// The n-th event of the last `wait`, for loops that need the rest of their owner mutable meanwhile.
    pub fn get(&self, index: usize) -> Option<Event> {
        self.ready[..self.count].get(index).map(Event::from_epoll)
    }

    /// How many events the last `wait` gave.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether the last `wait` ended without an event.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// One epoll instance. It can be shared between threads; usually each reactor thread has its own.
pub struct Poller {
    epoll: OwnedFd,
    /// The kernel lacks epoll_pwait2 (before 5.11): timeouts are rounded up to milliseconds.
    coarse: AtomicBool,
}

impl Poller {
    /// A new, empty epoll instance.
    pub fn new() -> io::Result<Poller> {
        // SAFETY: plain system call; the result is checked before it becomes an OwnedFd.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` is open and belongs to nobody else.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Poller {
            epoll,
            coarse: AtomicBool::new(false),
        })
    }

    /// Registers a file descriptor. Closing it (dropping its owner) removes it.
    pub fn add(&self, source: &impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, source, token, interest)
    }

    /// Changes token or interest of a registered file descriptor.
    pub fn modify(&self, source: &impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, source, token, interest)
    }

    /// Forgets a registered file descriptor without closing it.
    pub fn remove(&self, source: &impl AsFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, source, 0, Interest::NONE)
    }

    fn control(&self, operation: i32, source: &impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: interest.0,
            u64: token,
        };
        let fd = source.as_fd().as_raw_fd();
        // SAFETY: both descriptors are open for the length of the call; `event` is valid.
        match unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, fd, &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Waits for events, at most `timeout_ns` (None: for ever; 0: not at all). A signal ends the wait early, without events.
    pub fn wait(&self, events: &mut Events, timeout_ns: Option<i64>) -> io::Result<()> {
        events.count = 0;
        let found = if self.coarse.load(Ordering::Relaxed) {
            self.wait_coarse(events, timeout_ns)
        } else {
            self.wait_fine(events, timeout_ns)
        };
        if found >= 0 {
            events.count = found as usize;
            return Ok(());
        }
        match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            error if error.raw_os_error() == Some(libc::ENOSYS) => {
                self.coarse.store(true, Ordering::Relaxed);
                self.wait(events, timeout_ns)
            }
            error => Err(error),
        }
    }

    fn wait_fine(&self, events: &mut Events, timeout_ns: Option<i64>) -> i64 {
        let time = timeout_ns.map(|ns| libc::timespec {
            tv_sec: ns.max(0) / 1_000_000_000,
            tv_nsec: ns.max(0) % 1_000_000_000,
        });
        let time_pointer = time.as_ref().map_or(std::ptr::null(), |time| time as *const _);
        // SAFETY: the buffer holds `ready.len()` events; `time` outlives the call; no signal mask is passed.
        unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                events.ready.as_mut_ptr(),
                events.ready.len() as i32,
                time_pointer,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        }
    }

    fn wait_coarse(&self, events: &mut Events, timeout_ns: Option<i64>) -> i64 {
        let milliseconds = timeout_ns.map_or(-1, |ns| {
            (ns.max(0) as u64).div_ceil(1_000_000).min(i32::MAX as u64) as i32
        });
        // SAFETY: the buffer holds `ready.len()` events.
        let found = unsafe {
            libc::epoll_wait(
                self.epoll.as_raw_fd(),
                events.ready.as_mut_ptr(),
                events.ready.len() as i32,
                milliseconds,
            )
        };
        i64::from(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{monotonic_ns, Waker};

    #[test]
    fn a_wait_without_events_ends_after_its_timeout_and_not_before() {
        let poller = Poller::new().unwrap();
        let mut events = Events::with_capacity(4);
        let start = monotonic_ns();
        poller.wait(&mut events, Some(300_000)).unwrap();
        assert!(monotonic_ns() - start >= 300_000);
        assert!(events.is_empty());
    }

    #[test]
    fn the_fallback_for_old_kernels_never_ends_early_either() {
        let poller = Poller::new().unwrap();
        poller.coarse.store(true, Ordering::Relaxed);
        let mut events = Events::with_capacity(4);
        let start = monotonic_ns();
        poller.wait(&mut events, Some(1_300_000)).unwrap();
        assert!(monotonic_ns() - start >= 1_300_000);
    }

    #[test]
    fn a_wake_from_another_thread_ends_the_wait_and_carries_its_token() {
        let poller = Poller::new().unwrap();
        let waker = Waker::new().unwrap();
        poller.add(&waker, 42, Interest::READ).unwrap();
        let other = waker.clone();
        let thread = std::thread::spawn(move || other.wake());
        let mut events = Events::with_capacity(4);
        poller.wait(&mut events, None).unwrap();
        thread.join().unwrap();
        assert_eq!(events.iter().map(|event| event.token).collect::<Vec<_>>(), [42]);
        waker.drain();
        poller.wait(&mut events, Some(0)).unwrap();
        assert!(events.is_empty());
    }
}
