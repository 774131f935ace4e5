//! A timer without slack.
//!
//! A timeout given to epoll is stretched by the kernel in proportion to its length to join wake-ups, 0.1 ms at 20 ms
//! here; a timerfd goes off when it should. A fixed delay is measured by tests, so it needs the latter.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Goes off at a CLOCK_MONOTONIC time. Register it edge-triggered: then it needs no reading.
pub struct Alarm {
    fd: OwnedFd,
    set_for: u64,
}

const NEVER: u64 = 0;
const SECOND_NS: u64 = 1_000_000_000;

impl Alarm {
    /// An alarm that is not set.
    pub fn new() -> io::Result<Self> {
        // SAFETY: plain system call; the result is checked before it becomes an OwnedFd.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC | libc::TFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` is open and belongs to nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { fd, set_for: NEVER })
    }

    /// Sets it for a time, or not at all. Costs nothing when nothing changes.
    pub fn set(&mut self, deadline_ns: Option<u64>) {
        let wanted = deadline_ns.map_or(NEVER, |deadline| deadline.max(1));
        if wanted == self.set_for {
            return;
        }
        self.set_for = wanted;
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let at = libc::timespec {
            tv_sec: (wanted / SECOND_NS) as libc::time_t,
            tv_nsec: (wanted % SECOND_NS) as libc::c_long,
        };
        let time = libc::itimerspec {
            it_interval: zero,
            it_value: at,
        };
        // SAFETY: `time` is valid and the old value is not asked for; a valid time on an open timer cannot fail.
        unsafe {
            libc::timerfd_settime(
                self.fd.as_raw_fd(),
                libc::TFD_TIMER_ABSTIME,
                &time,
                std::ptr::null_mut(),
            )
        };
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use telemark_net::{monotonic_ns, Events, Interest, Poller};

    #[test]
    fn it_goes_off_at_its_time_each_time_it_is_set() {
        let poller = Poller::new().unwrap();
        let mut alarm = Alarm::new().unwrap();
        poller.add(&alarm, 1, Interest::READ | Interest::EDGE).unwrap();
        let mut events = Events::with_capacity(1);
        for _ in 0..3 {
            let deadline = monotonic_ns() + 3_000_000;
            alarm.set(Some(deadline as u64));
            poller.wait(&mut events, Some(SECOND_NS as i64)).unwrap();
            assert!(monotonic_ns() >= deadline);
            assert_eq!(1, events.len());
        }
        alarm.set(None);
        poller.wait(&mut events, Some(5_000_000)).unwrap();
        assert!(events.is_empty());
    }
}
