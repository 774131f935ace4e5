//! Socket addresses between Rust's form and the kernel's.

use std::io;
use std::mem;
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};

/// A socket address as the kernel wants it.
#[repr(C)]
pub(crate) union RawAddress {
    pub(crate) storage: libc::sockaddr_storage,
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

pub(crate) fn zeroed() -> libc::sockaddr_storage {
    // SAFETY: all zero bytes are a valid (empty) address.
    unsafe { mem::zeroed() }
}

pub(crate) fn raw_address(address: SocketAddr) -> (RawAddress, libc::socklen_t) {
    let mut raw = RawAddress { storage: zeroed() };
    let length = match address {
        SocketAddr::V4(v4) => {
            raw.v4 = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(v4.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            mem::size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            raw.v6 = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: v6.ip().octets(),
                },
                sin6_scope_id: v6.scope_id(),
            };
            mem::size_of::<libc::sockaddr_in6>()
        }
    };
    (raw, length as libc::socklen_t)
}

pub(crate) fn read_address(raw: &RawAddress) -> io::Result<SocketAddr> {
    // SAFETY: every variant begins with the family, and the storage was zeroed before the kernel filled it.
    let family = i32::from(unsafe { raw.storage.ss_family });
    match family {
        libc::AF_INET => {
            // SAFETY: the family says that this is the filled variant.
            let v4 = unsafe { raw.v4 };
            let ip = v4.sin_addr.s_addr.to_ne_bytes().into();
            Ok(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that this is the filled variant.
            let v6 = unsafe { raw.v6 };
            let ip = v6.sin6_addr.s6_addr.into();
            Ok(SocketAddrV6::new(ip, u16::from_be(v6.sin6_port), v6.sin6_flowinfo, v6.sin6_scope_id).into())
        }
        other => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("address family {other} is neither IPv4 nor IPv6"),
        )),
    }
}
