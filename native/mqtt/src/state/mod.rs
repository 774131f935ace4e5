//! Protocol state of one connection or session, for both ends of it. No sockets, no clock: times are passed in.
//!
//! Everything is empty at first and allocates when used, because one process simulates many idle devices.

mod alias;
mod inbound;
mod keep_alive;
mod outbound;
mod slots;

pub use alias::{AliasUse, InboundAliases, OutboundAliases};
pub use inbound::{Inbound, Received};
pub use keep_alive::{ClientAction, ClientKeepAlive, ServerKeepAlive};
pub use outbound::{Outbound, Pubrec, Resend};

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::size_of;

    #[test]
    fn the_whole_state_of_an_idle_device_is_below_200_bytes() {
        let ours = size_of::<Outbound<(u64, i64)>>() + size_of::<Inbound>() + size_of::<ClientKeepAlive>();
        let aliases = size_of::<OutboundAliases>() + size_of::<InboundAliases>();
        assert!(ours + aliases <= 200, "{ours} + {aliases}");
    }
}
