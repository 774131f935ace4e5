//! Bytes to the socket. What does not fit waits with the device; nobody waits for the socket.

use std::io;

use telemark_net::monotonic_ns;

use super::fault::Fault;
use super::Reactor;
use crate::device::{Device, Leftover, Unsent, NO_PUBLISHER};

/// Writes as much as the socket takes; Ok(less than all) when it is full.
pub(super) fn write_some(device: &mut Device, bytes: &[u8]) -> io::Result<usize> {
    let Some(stream) = &mut device.stream else {
        return Err(io::ErrorKind::NotConnected.into());
    };
    let mut written = 0;
    while written < bytes.len() {
        match stream.write(&bytes[written..]) {
            Ok(count) => {
                written += count;
                // A short write of a plain socket means that it is full; TLS writes record by record.
                if !stream.is_tls() && written < bytes.len() {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

impl Reactor {
    /// Sends control packets: now, or when the socket has room.
    pub(super) fn write(&mut self, place: usize, bytes: &[u8]) {
        let device = &mut self.devices[place];
        if device.is_blocked() {
            return keep(device, bytes);
        }
        match write_some(device, bytes) {
            Ok(written) => {
                if written < bytes.len() {
                    keep(device, &bytes[written..]);
                }
                device.keep_alive.on_sent(monotonic_ns());
            }
            Err(error) => {
                let fault = Fault::broken(device.state, &error);
                self.lose(place, fault);
            }
        }
    }

    /// The socket has room again.
    pub(super) fn write_leftover(&mut self, place: usize) {
        let device = &mut self.devices[place];
        let Some(mut leftover) = device.leftover.take() else {
            return;
        };
        let result = write_some(device, &leftover.unsent[leftover.written..]);
        let now = monotonic_ns();
        match result {
            Err(error) => {
                device.leftover = Some(leftover);
                let fault = Fault::broken(device.state, &error);
                return self.lose(place, fault);
            }
            Ok(count) => {
                leftover.written += count;
                device.keep_alive.on_sent(now);
            }
        }
        let publisher = device.publisher;
        let reached = leftover.taken_off + leftover.written as u64;
        while leftover.messages.front().is_some_and(|message| message.end <= reached) {
            if let Some(message) = leftover.messages.pop_front() {
                self.unsent -= 1;
                self.count_sent(publisher as usize, message.intended_ns, message.size, now);
            }
        }
        shrink(&mut leftover);
        let blocked = !leftover.unsent.is_empty();
        if !leftover.is_empty() {
            self.devices[place].leftover = Some(leftover);
        }
        if blocked {
            return;
        }
        if publisher != NO_PUBLISHER {
            self.list_due(publisher);
        }
        self.half_close(place);
    }

    /// The connection ends with messages cut in two: they have their numbers, part of them is on its way, so they count as
    /// sent; whether they arrive is for the records to tell.
    pub(super) fn count_cut_messages(&mut self, place: usize) {
        let device = &mut self.devices[place];
        let publisher = device.publisher as usize;
        let Some(leftover) = &mut device.leftover else {
            return;
        };
        let now = monotonic_ns();
        for message in std::mem::take(&mut leftover.messages) {
            self.unsent -= 1;
            self.count_sent(publisher, message.intended_ns, message.size, now);
        }
    }
}

/// Keeps bytes until the socket has room.
fn keep(device: &mut Device, bytes: &[u8]) {
    device
        .leftover
        .get_or_insert_with(Box::default)
        .unsent
        .extend_from_slice(bytes);
}

/// Keeps the bytes of messages that the socket did not take, with what is to be counted when it does.
pub(super) fn keep_messages(device: &mut Device, bytes: &[u8], messages: impl Iterator<Item = (usize, i64, u32)>) {
    let leftover = device.leftover.get_or_insert_with(Box::default);
    let base = leftover.taken_off + leftover.unsent.len() as u64;
    leftover.unsent.extend_from_slice(bytes);
    for (end, intended_ns, size) in messages {
        leftover.messages.push_back(Unsent {
            end: base + end as u64,
            intended_ns,
            size,
        });
    }
}

/// Gives memory back when all bytes are written, or moves them when most are.
fn shrink(leftover: &mut Leftover) {
    if leftover.written == leftover.unsent.len() {
        leftover.unsent = Vec::new();
    } else if leftover.written < leftover.unsent.len() / 2 {
        return;
    } else {
        leftover.unsent.drain(..leftover.written);
    }
    leftover.taken_off += leftover.written as u64;
    leftover.written = 0;
}
