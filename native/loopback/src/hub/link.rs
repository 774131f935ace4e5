//! A connection as the hub sees it: no socket, only bytes and protocol facts.

use telemark_mqtt::state::InboundAliases;
use telemark_mqtt::Version;

use crate::outbox::{Block, Outbox};

/// Slot of a link in the hub. It belongs to one reactor thread until that thread reports it closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkId(pub u32);

/// What a connection is to do next.
#[derive(Debug)]
pub enum Next {
    /// Write these bytes.
    Block(Block),
    /// Wait: nothing to write.
    Nothing,
    /// Everything is written: close.
    Close,
}

/// How far the conversation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Before CONNECT.
    Silent,
    /// Between CONNECT and the end.
    Open,
    /// Over; closes when its last bytes are written.
    Closing,
}

/// One connection.
#[derive(Debug)]
pub struct Link {
    /// Owner thread.
    pub thread: usize,
    /// The owner's name for it.
    pub token: u32,
    /// Distinguishes successive users of the slot.
    pub serial: u64,
    /// How far it is.
    pub stage: Stage,
    /// Protocol version, from CONNECT on.
    pub version: Version,
    /// Session, from CONNECT to the end.
    pub session: Option<u32>,
    /// The owner has been told to write.
    pub dirty: bool,
    /// Bytes of a packet that is not complete.
    pub partial: Vec<u8>,
    /// Bytes to write.
    pub outbox: Outbox,
    /// When it last sent something.
    pub last_seen_ns: u64,
    /// One and a half keep-alive intervals; 0 for no limit.
    pub silence_ns: u64,
    /// Largest packet the device takes.
    pub maximum_packet: u32,
    /// Topics the device has given a number.
    pub aliases: InboundAliases,
}

impl Link {
    /// A connection that has said nothing yet.
    #[must_use]
    pub fn new(thread: usize, token: u32, serial: u64, now_ns: u64) -> Self {
        Self {
            thread,
            token,
            serial,
            stage: Stage::Silent,
            version: Version::V311,
            session: None,
            dirty: false,
            partial: Vec::new(),
            outbox: Outbox::default(),
            last_seen_ns: now_ns,
            silence_ns: 0,
            maximum_packet: u32::MAX,
            aliases: InboundAliases::new(0),
        }
    }
}
