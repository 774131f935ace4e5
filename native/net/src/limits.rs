//! How many files (and so sockets) this process may open.

use std::io;

fn read() -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid place for the answer.
    match unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } {
        0 => Ok(limit),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The highest number of open files this process can have: the hard limit.
pub fn open_file_limit() -> io::Result<u64> {
    Ok(read()?.rlim_max)
}

/// Raises the soft limit to the hard one and returns it.
pub fn raise_open_file_limit() -> io::Result<u64> {
    let mut limit = read()?;
    if limit.rlim_cur < limit.rlim_max {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: `limit` is a valid rlimit, and raising the soft limit to the hard one needs no privilege.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(limit.rlim_cur)
}
