//! Protocol state of one connection or session, for both ends of it. No sockets, no clock: times are passed in.
//!
//! Everything is empty at first and allocates when used, because one process simulates many idle devices.

mod alias;
mod inbound;
mod keep_alive;
mod outbound;

pub use alias::{AliasUse, InboundAliases, OutboundAliases};
pub use inbound::{Inbound, Received};
pub use keep_alive::{ClientAction, ClientKeepAlive, ServerKeepAlive};
pub use outbound::{Outbound, Pubrec, Resend};
