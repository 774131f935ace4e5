//! Non-blocking TCP sockets. TCP_NODELAY is always on: Nagle's delay would be measured as the server's.

use std::io;
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::address::{raw_address, read_address, zeroed, RawAddress};

/// Option of Linux 6.3: the ports that the kernel may choose from for this socket (the highest in the upper half).
const IP_LOCAL_PORT_RANGE: i32 = 51;

/// How a socket is made.
#[derive(Clone, Debug, Default)]
pub struct SocketOptions {
    /// Local address of an outgoing connection; None: the system chooses.
    pub source: Option<IpAddr>,
    /// Local ports that the kernel may choose from; None: all. See [`choosable_ports`].
    pub ports: Option<RangeInclusive<u16>>,
    /// SO_SNDBUF in bytes (the kernel doubles it); None: the system's automatic size.
    pub send_buffer: Option<u32>,
    /// SO_RCVBUF in bytes (the kernel doubles it); None: the system's automatic size.
    pub receive_buffer: Option<u32>,
}

/// A connected (or connecting) TCP socket. Dropping it closes it.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
}

/// Begins to connect. The poller reports the socket writable when it is done; then ask [`Socket::take_error`].
///
/// With a source address the kernel picks the port when it knows the destination (IP_BIND_ADDRESS_NO_PORT), so that
/// every source address has all its ports for each destination.
pub fn connect(address: SocketAddr, options: &SocketOptions) -> io::Result<Socket> {
    let socket = Socket::open(address)?;
    socket.apply(options)?;
    // The ACK that ends the handshake waits for the first bytes (CONNECT, ClientHello), which follow at once: a packet less.
    socket.set(libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, 1)?;
    if let Some(ports) = &options.ports {
        socket.choose_from(ports)?;
    }
    if let Some(source) = options.source {
        socket.set(libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
        socket.bind(SocketAddr::new(source, 0))?;
    }
    let (raw, length) = raw_address(address);
    // SAFETY: `raw` is a filled address of `length` bytes.
    let result = unsafe { libc::connect(socket.raw(), (&raw as *const RawAddress).cast(), length) };
    if result == 0 {
        return Ok(socket);
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(socket),
        error => Err(error),
    }
}

/// The ports for outgoing connections, if the kernel lets a socket choose among them; None otherwise.
pub fn choosable_ports() -> Option<RangeInclusive<u16>> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut numbers = text.split_whitespace().map(str::parse);
    let ports = numbers.next()?.ok()?..=numbers.next()?.ok()?;
    let probe = Socket::open(SocketAddr::from(([127, 0, 0, 1], 0))).ok()?;
    probe.choose_from(&ports).ok()?;
    Some(ports)
}

impl Socket {
    fn open(address: SocketAddr) -> io::Result<Socket> {
        let family = if address.is_ipv4() {
            libc::AF_INET
        } else {
            libc::AF_INET6
        };
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: plain system call; the result is checked by `from_result`.
        Socket::from_result(unsafe { libc::socket(family, kind, 0) })
    }

    fn from_result(fd: i32) -> io::Result<Socket> {
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just returned by the kernel and belongs to nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Socket { fd })
    }

    fn raw(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    fn apply(&self, options: &SocketOptions) -> io::Result<()> {
        self.set(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
        if let Some(bytes) = options.send_buffer {
            self.set(libc::SOL_SOCKET, libc::SO_SNDBUF, bytes.min(i32::MAX as u32) as i32)?;
        }
        if let Some(bytes) = options.receive_buffer {
            self.set(libc::SOL_SOCKET, libc::SO_RCVBUF, bytes.min(i32::MAX as u32) as i32)?;
        }
        Ok(())
    }

    fn choose_from(&self, ports: &RangeInclusive<u16>) -> io::Result<()> {
        let packed = u32::from(*ports.end()) << 16 | u32::from(*ports.start());
        self.set(libc::IPPROTO_IP, IP_LOCAL_PORT_RANGE, packed as i32)
    }

    fn set(&self, level: i32, name: i32, value: i32) -> io::Result<()> {
        let size = mem::size_of::<i32>() as libc::socklen_t;
        // SAFETY: passes a live i32 with its size.
        let result = unsafe { libc::setsockopt(self.raw(), level, name, (&value as *const i32).cast(), size) };
        if result == 0 {
            return Ok(());
        }
        Err(io::Error::last_os_error())
    }

    fn bind(&self, address: SocketAddr) -> io::Result<()> {
        let (raw, length) = raw_address(address);
        // SAFETY: `raw` is a filled address of `length` bytes.
        match unsafe { libc::bind(self.raw(), (&raw as *const RawAddress).cast(), length) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// This end's address, with the real port.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        let mut raw = RawAddress { storage: zeroed() };
        let mut length = mem::size_of::<RawAddress>() as libc::socklen_t;
        // SAFETY: `raw` has room for every kind of address and `length` says so.
        let result = unsafe { libc::getsockname(self.raw(), (&mut raw as *mut RawAddress).cast(), &mut length) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        read_address(&raw)
    }

    /// The error of a failed connect, once; None when it succeeded (or is still under way).
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        let mut code = 0i32;
        let mut size = mem::size_of::<i32>() as libc::socklen_t;
        // SAFETY: the answer goes into a live i32 of the stated size.
        let result = unsafe {
            libc::getsockopt(
                self.raw(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                (&mut code as *mut i32).cast(),
                &mut size,
            )
        };
        match (result, code) {
            (0, 0) => Ok(None),
            (0, code) => Ok(Some(io::Error::from_raw_os_error(code))),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Reads what is there: Ok(0) is the end of the stream, WouldBlock means nothing now.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the buffer is writable for its whole length.
        let got = unsafe { libc::recv(self.raw(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        usize::try_from(got).map_err(|_| io::Error::last_os_error())
    }

    /// Writes what fits: WouldBlock means the socket is full. A closed peer is an error, never a signal.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the bytes are readable for their whole length.
        let put = unsafe {
            libc::send(
                self.raw(),
                bytes.as_ptr().cast(),
                bytes.len(),
                libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT,
            )
        };
        usize::try_from(put).map_err(|_| io::Error::last_os_error())
    }

    /// Says that nothing more will be written, so that the peer reads everything and then the end of the stream.
    pub fn shutdown_write(&self) {
        // SAFETY: plain system call on an open descriptor; an already closed peer is fine.
        unsafe { libc::shutdown(self.raw(), libc::SHUT_WR) };
    }

    /// Makes closing send a reset instead of the usual farewell: no TIME_WAIT is left behind.
    pub fn reset_on_close(&self) -> io::Result<()> {
        let linger = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        let size = mem::size_of::<libc::linger>() as libc::socklen_t;
        // SAFETY: passes a live linger structure with its size.
        let result = unsafe {
            libc::setsockopt(
                self.raw(),
                libc::SOL_SOCKET,
                libc::SO_LINGER,
                (&linger as *const libc::linger).cast(),
                size,
            )
        };
        match result {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl io::Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Socket::read(self, buffer)
    }
}

impl io::Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Socket::write(self, bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A listening socket.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
}

impl Listener {
    /// Listens at `address` (port 0: any free one). Buffer sizes are set before the first connection, as TCP needs it.
    pub fn bind(address: SocketAddr, options: &SocketOptions) -> io::Result<Listener> {
        let socket = Socket::open(address)?;
        socket.set(libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        socket.apply(options)?;
        socket.bind(address)?;
        // SAFETY: plain system call on an open descriptor. The kernel lowers the backlog to its own limit.
        if unsafe { libc::listen(socket.raw(), 65_535) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Listener { socket })
    }

    /// The address it listens at, with the real port.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.socket.local_address()
    }

    /// Takes one waiting connection; WouldBlock when there is none. It has the listener's options from the kernel.
    pub fn accept(&self) -> io::Result<Socket> {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: plain system call; the caller's address is not asked for.
        let fd = unsafe { libc::accept4(self.socket.raw(), std::ptr::null_mut(), std::ptr::null_mut(), flags) };
        Socket::from_result(fd)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
