//! How soon the calling thread runs again after it has slept, on a host whose cores are all busy.

use std::io;
use std::mem;

/// The time slice of a thread that must wake up on time. It gets no more processor time than with a longer one, only
/// sooner: Linux lets the thread with the earliest deadline run, and a short slice has an early deadline.
const SLICE_NS: u64 = 200_000;

/// Asks for short time slices for the calling thread. Needs no privilege. Linux before 6.12 does nothing, and a thread
/// with a real-time policy is left as it is.
pub fn ask_for_short_slices() -> io::Result<()> {
    let mut wanted = read()?;
    if wanted.sched_policy != libc::SCHED_OTHER as u32 {
        return Ok(());
    }
    wanted.sched_runtime = SLICE_NS;
    // SAFETY: `wanted` is a complete sched_attr, and 0 stands for the calling thread.
    result(unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &wanted, 0) })
}

fn read() -> io::Result<libc::sched_attr> {
    // SAFETY: all fields are integers, for which zero is a value.
    let mut found: libc::sched_attr = unsafe { mem::zeroed() };
    let size = mem::size_of::<libc::sched_attr>();
    // SAFETY: `found` is a valid place for `size` bytes, and 0 stands for the calling thread.
    result(unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &mut found, size, 0) })?;
    Ok(found)
}

fn result(code: libc::c_long) -> io::Result<()> {
    if code == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_and_nice_value_stay() {
        let before = read().unwrap();
        ask_for_short_slices().unwrap();
        let after = read().unwrap();

        assert_eq!(
            (before.sched_policy, before.sched_nice),
            (after.sched_policy, after.sched_nice)
        );
        // Kernels that know slices tell theirs; the others tell 0.
        assert!(before.sched_runtime == 0 || after.sched_runtime == SLICE_NS);
    }
}
