//! One accepted socket: bytes in to the hub, blocks out from it.

use telemark_net::{Handshake, Stream};

use crate::hub::{LinkId, Next};
use crate::outbox::Block;
use crate::reactor::is_not_now;
use crate::shared::Shared;

/// Full reads of one connection before the others get their turn.
const READS_IN_A_TURN: usize = 4;

/// What became of a connection after writing.
#[derive(Debug, PartialEq, Eq)]
pub enum Pumped {
    /// Everything is written, or the socket is full.
    Waiting,
    /// The connection is over.
    Close,
}

/// The peer has gone or misbehaved; the connection is to be closed.
#[derive(Debug)]
pub struct Gone;

/// A connection of one reactor thread.
pub struct Connection {
    /// Its counterpart in the hub.
    pub link: LinkId,
    stream: Stream,
    writing: Option<Block>,
    written: usize,
    shaking_hands: bool,
}

impl Connection {
    /// A connection whose TLS handshake, if any, is still to be made.
    pub fn new(stream: Stream, link: LinkId) -> Self {
        let shaking_hands = stream.is_tls();
        Self {
            link,
            stream,
            writing: None,
            written: 0,
            shaking_hands,
        }
    }

    /// Whether a block waits for the socket to drain.
    pub fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Whether the TLS handshake is under way.
    pub fn is_shaking_hands(&self) -> bool {
        self.shaking_hands
    }

    /// The block that was not written to its end.
    pub fn take_unwritten(&mut self) -> Option<Block> {
        self.writing.take()
    }

    /// Reads what is there and hands it to the hub. Ok(true) when there may be more than this turn allows.
    pub fn read(&mut self, shared: &Shared, buffer: &mut [u8], until_end: bool, now: u64) -> Result<bool, Gone> {
        if self.shaking_hands && !self.handshake_done()? {
            return Ok(false);
        }
        for _ in 0..READS_IN_A_TURN {
            let got = match self.stream.read(buffer) {
                Ok(0) => return Err(Gone),
                Ok(got) => got,
                Err(error) if is_not_now(&error) => return Ok(false),
                Err(_broken) => return Err(Gone),
            };
            shared.hub().receive(self.link, &buffer[..got], now);
            // A plain read that did not fill the buffer emptied the socket; TLS gives one record at a time.
            if got < buffer.len() && !self.stream.is_tls() && !until_end {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn handshake_done(&mut self) -> Result<bool, Gone> {
        match self.stream.handshake() {
            Ok(Handshake::Done) => {
                self.shaking_hands = false;
                Ok(true)
            }
            Ok(Handshake::InProgress) => Ok(false),
            Err(_refused) => Err(Gone),
        }
    }

    /// Writes blocks until the hub has no more or the socket is full.
    pub fn pump(&mut self, shared: &Shared) -> Pumped {
        let mut done = None;
        loop {
            if self.writing.is_none() {
                match shared.hub().next_block(self.link, done.take()) {
                    Next::Block(block) => self.writing = Some(block),
                    Next::Nothing => return Pumped::Waiting,
                    Next::Close => return self.say_farewell(),
                }
                self.written = 0;
            }
            match self.write() {
                Ok(true) => done = self.writing.take(),
                // A connection that is to be closed does not wait for a reader that does not read.
                Ok(false) if shared.hub().is_closing(self.link) => return Pumped::Close,
                Ok(false) => return Pumped::Waiting,
                Err(Gone) => return Pumped::Close,
            }
        }
    }

    /// Ok(true) when the whole block is out, Ok(false) when the socket is full.
    fn write(&mut self) -> Result<bool, Gone> {
        let Some(block) = &self.writing else { return Ok(true) };
        while self.written < block.bytes.len() {
            match self.stream.write(&block.bytes[self.written..]) {
                Ok(put) => self.written += put,
                Err(error) if is_not_now(&error) => return Ok(false),
                Err(_broken) => return Err(Gone),
            }
        }
        Ok(true)
    }

    /// Lets the peer read the last packet: unread bytes would turn the close into a reset that destroys it.
    fn say_farewell(&mut self) -> Pumped {
        self.stream.shutdown();
        let mut rest = [0; 4096];
        for _ in 0..16 {
            if !matches!(self.stream.socket().read(&mut rest), Ok(got) if got > 0) {
                break;
            }
        }
        Pumped::Close
    }
}
