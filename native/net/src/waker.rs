//! Interrupts another thread's poll.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;

/// An eventfd: register a clone with the poller, call `wake` from any thread.
#[derive(Clone)]
pub struct Waker {
    fd: Arc<OwnedFd>,
}

impl Waker {
    /// A new eventfd, not woken yet.
    pub fn new() -> io::Result<Waker> {
        // SAFETY: plain system call; the result is checked before it becomes an OwnedFd.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` is open and belongs to nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Waker { fd: Arc::new(fd) })
    }

    /// Makes the poller's `wait` return. Waking an awake thread costs one system call and changes nothing.
    pub fn wake(&self) {
        let one = 1u64;
        // SAFETY: writes eight bytes of a live local. It can only fail when the counter is full, which is awake too.
        unsafe { libc::write(self.fd.as_raw_fd(), (&one as *const u64).cast(), 8) };
    }

    /// Takes the wake-ups back; to be called when the poller reports the waker's token.
    pub fn drain(&self) {
        let mut count = 0u64;
        // SAFETY: reads eight bytes into a live local; nothing to read is fine.
        unsafe { libc::read(self.fd.as_raw_fd(), (&mut count as *mut u64).cast(), 8) };
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
