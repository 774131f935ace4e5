//! From due messages to the socket. A message gets its number and its stamp at the moment of writing; several due
//! messages of one connection go out in one write.

use std::sync::Arc;

use telemark_mqtt::QoS;
use telemark_net::monotonic_ns;

use super::fault::Fault;
use super::outgoing::Prepared;
use super::write::{keep_messages, write_some};
use super::Reactor;
use crate::cohort::Cohort;
use crate::device::{InFlight, Publisher};
use crate::random::Random;
use crate::wheel::TICK_NS;

/// Bytes of one write, unless a single message is larger. It bounds the time other devices wait.
const WRITE_BYTES: usize = 32 << 10;

impl Reactor {
    /// Notes that a publisher has something to send and may be able to.
    #[inline]
    pub(super) fn list_due(&mut self, publisher: u32) {
        let state = &mut self.publishers[publisher as usize];
        if !state.listed && !state.queue.is_empty() {
            state.listed = true;
            self.due.push(publisher);
        }
    }

    /// Lets every publisher that is due write once.
    pub(super) fn send_due(&mut self) {
        if self.due.is_empty() {
            return;
        }
        self.last_round_ns = monotonic_ns();
        for publisher in std::mem::take(&mut self.due) {
            self.publishers[publisher as usize].listed = false;
            self.send(publisher as usize);
        }
    }

    fn send(&mut self, at: usize) {
        let place = self.publishers[at].device as usize;
        if !self.is_ready(place) || self.devices[place].is_blocked() {
            if self.is_ready(place) {
                self.count_pushed_back();
            }
            return self.wait_for_room(at);
        }
        let now = monotonic_ns();
        self.drop_late(at, now);
        if !self.prepare(at, now) {
            self.count_pushed_back();
            return self.wait_for_room(at);
        }
        let device = &mut self.devices[place];
        match write_some(device, &self.outgoing.bytes) {
            Ok(written) => {
                device.keep_alive.on_sent(now);
                self.settle(at, written, now);
            }
            Err(error) => {
                self.settle(at, 0, now);
                let fault = Fault::broken(self.devices[place].state, &error);
                self.lose(place, fault);
            }
        }
    }

    /// Encodes due messages as far as the window and one write allow; false when the window is used up.
    fn prepare(&mut self, at: usize, now: i64) -> bool {
        let crew = Arc::clone(&self.crew);
        let publisher = &mut self.publishers[at];
        let device = &self.devices[publisher.device as usize];
        let cohort = &crew.cohorts[device.cohort as usize];
        let qos = cohort.publish_qos;
        self.outgoing.bytes.clear();
        self.outgoing.messages.clear();
        let mut unwritable = 0;
        while self.outgoing.bytes.len() < WRITE_BYTES {
            if qos != QoS::AtMostOnce && !publisher.outbound.has_room() {
                break;
            }
            let Some(intended_ns) = self.arena.pop(&mut publisher.queue) else {
                break;
            };
            let size = message_size(cohort, &mut self.random);
            let message = InFlight {
                sequence: publisher.sequence,
                intended_ns,
                sent_ns: now,
                step_ns: now,
                size,
            };
            let packet_id = match qos {
                QoS::AtMostOnce => 0,
                _ => publisher.outbound.begin(qos, message).unwrap_or(0),
            };
            let start = self.outgoing.bytes.len();
            if self
                .outgoing
                .append(cohort, device.index, publisher, packet_id, false, &message)
                .is_err()
            {
                // Checked when the plan was read; a topic that only some sequences make too long ends up here.
                self.outgoing.bytes.truncate(start);
                release(publisher, packet_id);
                unwritable += 1;
                continue;
            }
            publisher.sequence += 1;
            self.outgoing.messages.push(Prepared {
                end: self.outgoing.bytes.len(),
                intended_ns,
                size,
                packet_id,
            });
        }
        let is_done = !self.outgoing.messages.is_empty() || publisher.queue.is_empty();
        self.count_dropped(at, unwritable, now);
        is_done
    }

    /// Counts what the kernel took, takes back what it did not touch, keeps the rest of a message cut in two.
    fn settle(&mut self, at: usize, written: usize, now: i64) {
        let messages = std::mem::take(&mut self.outgoing.messages);
        let whole = messages.iter().take_while(|message| message.end <= written).count();
        for message in &messages[..whole] {
            self.count_sent(at, message.intended_ns, message.size, now);
        }
        if whole < messages.len() {
            let kept = self.kept_messages(at, &messages, whole, written);
            let end = messages[..kept].last().map_or(0, |message| message.end);
            let device = &mut self.devices[self.publishers[at].device as usize];
            if end > written {
                let waiting = messages[whole..kept].iter();
                self.unsent += kept - whole;
                let marks = waiting.map(|message| (message.end - written, message.intended_ns, message.size));
                keep_messages(device, &self.outgoing.bytes[written..end], marks);
            }
            self.take_back(at, &messages[kept..]);
            self.count_pushed_back();
            self.wait_for_room(at);
        } else {
            self.list_due(at as u32);
        }
        self.outgoing.messages = messages;
    }

    /// How many of the messages can no longer be taken back. TLS has encrypted everything it was given, and a topic
    /// alias may have been introduced by any of them; on a plain socket it is the message that was cut in two.
    fn kept_messages(&self, at: usize, messages: &[Prepared], whole: usize, written: usize) -> usize {
        let publisher = &self.publishers[at];
        let stream = self.devices[publisher.device as usize].stream.as_ref();
        if stream.is_some_and(|stream| stream.is_tls()) || publisher.aliases.is_some() {
            return messages.len();
        }
        let start = messages[..whole].last().map_or(0, |message| message.end);
        whole + usize::from(written > start)
    }

    fn take_back(&mut self, at: usize, messages: &[Prepared]) {
        let publisher = &mut self.publishers[at];
        for message in messages.iter().rev() {
            publisher.sequence -= 1;
            self.arena.push_front(&mut publisher.queue, message.intended_ns);
            release(publisher, message.packet_id);
        }
    }

    /// The kernel has taken all bytes of a message.
    pub(super) fn count_sent(&mut self, at: usize, intended_ns: i64, size: u32, now: i64) {
        let publisher = &mut self.publishers[at];
        publisher.sent += 1;
        publisher.bytes += i64::from(size);
        self.totals.sent += 1;
        let counts = self.timeline.at(now);
        counts.sent += 1;
        counts.sent_bytes += i64::from(size);
        counts.send_delay_max_ns = counts.send_delay_max_ns.max(now - intended_ns);
    }

    /// Messages wait for the socket, the window or the connection; they are looked at again when they get late.
    fn wait_for_room(&mut self, at: usize) {
        if self.publishers[at].queue.is_empty() {
            return;
        }
        if self.waiting.is_empty() {
            self.next_sweep_ns = monotonic_ns() + TICK_NS;
        }
        if !self.publishers[at].waits {
            self.publishers[at].waits = true;
            self.waiting.push(at as u32);
        }
    }

    /// A send found the socket full or the window used up.
    fn count_pushed_back(&mut self) {
        self.timeline.at(monotonic_ns()).pushed_back += 1;
    }

    /// Drops what has become too late among the messages that wait.
    pub(super) fn sweep(&mut self, now: i64) {
        if self.waiting.is_empty() || now < self.next_sweep_ns {
            return;
        }
        self.next_sweep_ns = now + TICK_NS;
        for at in std::mem::take(&mut self.waiting) {
            self.drop_late(at as usize, now);
            let publisher = &mut self.publishers[at as usize];
            publisher.waits = !publisher.queue.is_empty();
            if publisher.waits {
                self.waiting.push(at);
            }
        }
    }

    fn drop_late(&mut self, at: usize, now: i64) {
        let latest = now - (self.crew.plan.load.max_lateness_s * 1e9) as i64;
        let mut count = 0;
        let publisher = &mut self.publishers[at];
        while self
            .arena
            .front(&publisher.queue)
            .is_some_and(|intended| intended < latest)
        {
            self.arena.pop(&mut publisher.queue);
            count += 1;
        }
        self.count_dropped(at, count, now);
    }

    pub(super) fn count_dropped(&mut self, at: usize, count: i64, now: i64) {
        if count == 0 {
            return;
        }
        self.publishers[at].dropped += count;
        self.totals.dropped += count;
        self.timeline.at(now).dropped += count;
        self.hub.return_credit(count as u64);
    }
}

/// Gives a packet id back that was never used on the wire; 0 is none.
fn release(publisher: &mut Publisher, packet_id: u16) {
    if packet_id != 0 && publisher.outbound.on_puback(packet_id).is_err() {
        // Not QoS 1, so QoS 2, which is released as if it had been refused.
        let _ = publisher.outbound.on_pubrec(packet_id, true);
    }
}

fn message_size(cohort: &Cohort, random: &mut Random) -> u32 {
    match &cohort.plan.publish {
        None => 0,
        Some(publish) => match publish.size_max {
            Some(largest) if largest > publish.size => publish.size + random.below(largest - publish.size + 1),
            _ => publish.size,
        },
    }
}
