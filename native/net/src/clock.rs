//! The one clock of a run, and the CPU time of the calling thread.

fn read(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer. Both clocks used here exist on every Linux, so it cannot fail.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// CLOCK_MONOTONIC in nanoseconds: the same for all processes of a host.
#[inline]
pub fn monotonic_ns() -> i64 {
    read(libc::CLOCK_MONOTONIC)
}

/// CPU time the calling thread has used, in nanoseconds.
pub fn thread_cpu_ns() -> i64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_goes_back() {
        let first = monotonic_ns();
        assert!(monotonic_ns() >= first);
    }

    #[test]
    fn cpu_time_grows_with_work() {
        let before = thread_cpu_ns();
        let mut sum = 0u64;
        while thread_cpu_ns() == before {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(thread_cpu_ns() > before);
    }
}
