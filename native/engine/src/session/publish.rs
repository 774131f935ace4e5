//! From due messages to bytes. A message gets its number and its stamp at the moment of writing; several due messages
//! of one connection go out in one write.

use telemark_mqtt::QoS;

use super::outgoing::Prepared;
use super::publisher::InFlight;
use super::{Context, Session, State};
use crate::cohort::Cohort;
use crate::random::Random;
use crate::wheel::TICK_NS;

/// Bytes of one write, unless a single message is larger. It bounds the time other devices wait.
const WRITE_BYTES: usize = 32 << 10;

impl Session {
    /// A message is due.
    #[inline]
    pub fn queue(&mut self, context: &mut Context, intended_ns: i64) {
        context.totals.intended += 1;
        context.timeline.at(intended_ns).intended += 1;
        context.arena.push(&mut self.queue, intended_ns);
        self.list_due(context);
    }

    /// Notes that there is something to send, and that it may be possible.
    #[inline]
    pub(super) fn list_due(&mut self, context: &mut Context) {
        if !self.listed && !self.queue.is_empty() {
            self.listed = true;
            context.due.push(self.place);
        }
    }

    /// Puts due messages into `Context::outgoing`; false when there is no connection, or no room in it or the window.
    pub fn prepare(&mut self, cohort: &Cohort, context: &mut Context, now: i64) -> bool {
        context.outgoing.clear();
        if self.state != State::Ready || self.is_blocked() {
            if self.state == State::Ready {
                context.timeline.at(now).pushed_back += 1;
            }
            self.wait_for_room(context, now);
            return false;
        }
        self.drop_late(context, now);
        self.encode_due(cohort, context, now);
        if context.outgoing.messages.is_empty() && !self.queue.is_empty() {
            context.timeline.at(now).pushed_back += 1;
            self.wait_for_room(context, now);
            return false;
        }
        true
    }

    /// Encodes due messages as far as the window and one write allow.
    fn encode_due(&mut self, cohort: &Cohort, context: &mut Context, now: i64) {
        let Some(publisher) = &mut self.publisher else {
            return;
        };
        let qos = cohort.publish_qos;
        let mut unwritable = 0;
        while context.outgoing.bytes.len() < WRITE_BYTES {
            if qos != QoS::AtMostOnce && !publisher.outbound.has_room() {
                break;
            }
            let Some(intended_ns) = context.arena.pop(&mut self.queue) else {
                break;
            };
            let size = message_size(cohort, &mut context.random);
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
            if !context.outgoing.append(cohort, publisher, packet_id, &message) {
                // Checked when the plan was read; a topic that only some sequences make too long ends up here.
                publisher.release(packet_id);
                unwritable += 1;
                continue;
            }
            publisher.sequence += 1;
        }
        self.count_dropped(context, unwritable, now);
    }

    /// Counts what the kernel took, takes back what it did not touch, keeps the rest of a message cut in two. What was
    /// encrypted (`is_tls`) cannot be taken back.
    pub fn settle(&mut self, context: &mut Context, written: usize, is_tls: bool, now: i64) {
        let messages = std::mem::take(&mut context.outgoing.messages);
        let whole = messages.iter().take_while(|message| message.end <= written).count();
        for message in &messages[..whole] {
            self.count_sent(context, message.intended_ns, message.size, now);
        }
        if whole < messages.len() {
            let kept = self.kept_messages(&messages, whole, written, is_tls);
            let end = messages[..kept].last().map_or(0, |message| message.end);
            if end > written {
                let waiting = messages[whole..kept].iter();
                context.unsent += kept - whole;
                let marks = waiting.map(|message| (message.end - written, message.intended_ns, message.size));
                self.keep_messages(&context.outgoing.bytes[written..end], marks);
            }
            self.take_back(context, &messages[kept..]);
            context.timeline.at(now).pushed_back += 1;
            self.wait_for_room(context, now);
        } else {
            self.list_due(context);
        }
        context.outgoing.messages = messages;
    }

    /// How many of the messages can no longer be taken back. TLS has encrypted everything it was given, and a topic
    /// alias may have been introduced by any of them; on a plain socket it is the message that was cut in two.
    fn kept_messages(&self, messages: &[Prepared], whole: usize, written: usize, is_tls: bool) -> usize {
        let has_aliases = |publisher: &super::Publisher| publisher.aliases.is_some();
        if is_tls || self.publisher.as_deref().is_some_and(has_aliases) {
            return messages.len();
        }
        let start = messages[..whole].last().map_or(0, |message| message.end);
        whole + usize::from(written > start)
    }

    fn take_back(&mut self, context: &mut Context, messages: &[Prepared]) {
        let Some(publisher) = &mut self.publisher else {
            return;
        };
        for message in messages.iter().rev() {
            publisher.sequence -= 1;
            context.arena.push_front(&mut self.queue, message.intended_ns);
            publisher.release(message.packet_id);
        }
    }

    /// The kernel has taken all bytes of a message.
    pub(super) fn count_sent(&mut self, context: &mut Context, intended_ns: i64, size: u32, now: i64) {
        if let Some(publisher) = &mut self.publisher {
            publisher.sent += 1;
            publisher.bytes += i64::from(size);
        }
        context.totals.sent += 1;
        let counts = context.timeline.at(now);
        counts.sent += 1;
        counts.sent_bytes += i64::from(size);
        counts.send_delay_max_ns = counts.send_delay_max_ns.max(now - intended_ns);
    }

    /// Messages wait for the socket, the window or the connection; they are looked at again when they get late.
    fn wait_for_room(&mut self, context: &mut Context, now: i64) {
        if self.queue.is_empty() {
            return;
        }
        if context.waiting.is_empty() {
            context.next_sweep_ns = now + TICK_NS;
        }
        if !self.waits {
            self.waits = true;
            context.waiting.push(self.place);
        }
    }

    /// Drops what has become too late among the messages that wait; whether some still do.
    pub fn sweep(&mut self, context: &mut Context, now: i64) -> bool {
        self.drop_late(context, now);
        self.waits = !self.queue.is_empty();
        self.waits
    }

    fn drop_late(&mut self, context: &mut Context, now: i64) {
        let latest = now - context.max_lateness_ns;
        let mut count = 0;
        let is_late = |intended: i64| intended < latest;
        while context.arena.front(&self.queue).is_some_and(is_late) {
            context.arena.pop(&mut self.queue);
            count += 1;
        }
        self.count_dropped(context, count, now);
    }

    /// Gives up everything that is due.
    pub(super) fn drop_queue(&mut self, context: &mut Context, now: i64) {
        let mut count = 0;
        while context.arena.pop(&mut self.queue).is_some() {
            count += 1;
        }
        self.count_dropped(context, count, now);
    }

    fn count_dropped(&mut self, context: &mut Context, count: i64, now: i64) {
        if count == 0 {
            return;
        }
        if let Some(publisher) = &mut self.publisher {
            publisher.dropped += count;
        }
        context.totals.dropped += count;
        context.timeline.at(now).dropped += count;
        context.hub.return_credit(count as u64);
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
