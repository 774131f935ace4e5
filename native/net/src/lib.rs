//! Sockets for the engine and the built-in server: epoll, TCP, TLS through OpenSSL, and the clock.
//!
//! Everything but the exchange of clock readings is non-blocking. Nothing here knows MQTT. A typical reactor thread owns one [`Poller`], a
//! [`Waker`] that other threads use to interrupt it, and many [`Stream`]s; each stream is registered once with
//! a token of the owner's choice:
//!
//! ```no_run
//! use telemark_net::{Events, Interest, Poller, Stream, Waker};
//! # fn main() -> std::io::Result<()> {
//! let poller = Poller::new()?;
//! let waker = Waker::new()?;
//! poller.add(&waker, u64::MAX, Interest::READ)?;
//! let socket = telemark_net::connect("127.0.0.1:1883".parse().unwrap(), &Default::default())?;
//! poller.add(&socket, 7, Interest::READ | Interest::WRITE | Interest::EDGE)?;
//! let mut stream = Stream::Plain(socket);
//! let mut events = Events::with_capacity(1024);
//! poller.wait(&mut events, Some(1_000_000))?; // nanoseconds
//! for event in events.iter() {
//!     if event.token == 7 && event.readable {
//!         let mut buffer = [0; 65536];
//!         match stream.read(&mut buffer) {
//!             Ok(0) => { /* the peer closed */ }
//!             Ok(_bytes) => { /* parse */ }
//!             Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
//!             Err(_broken) => { /* drop the stream: that closes it */ }
//!         }
//!     }
//! }
//! # Ok(()) }
//! ```

mod address;
mod clock;
mod clock_exchange;
mod limits;
mod poller;
mod psk;
mod slices;
mod socket;
mod stream;
mod tls_cipher;
mod tls_client;
mod tls_server;
mod waker;

pub use clock::{monotonic_ns, thread_cpu_ns};
pub use clock_exchange::{AskingPlan, ClockAsker, ClockResponder, Exchange};
pub use limits::{open_file_limit, raise_open_file_limit};
pub use poller::{Event, Events, Interest, Poller};
pub use psk::PskTable;
pub use slices::ask_for_short_slices;
pub use socket::{choosable_ports, connect, Listener, Socket, SocketOptions};
pub use stream::{Handshake, Stream};
pub use tls_cipher::{TlsError, TlsVersion};
pub use tls_client::{ClientIdentity, ClientTls, ClientTlsConfig, Psk, SessionSlot, TlsPeer};
pub use tls_server::{ServerTls, ServerTlsConfig};
pub use waker::Waker;
