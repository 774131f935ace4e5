//! The bytes of one write: PUBLISH packets with their stamps.

use telemark_mqtt::error::EncodeError;
use telemark_mqtt::packet::{Publish, PublishTemplate};
use telemark_mqtt::properties::{Property, PropertyBuffer};
use telemark_mqtt::state::AliasUse;
use telemark_mqtt::Stamp;

use super::publisher::{InFlight, Publisher};
use crate::cohort::Cohort;
use crate::plan::EnginePlan;
use crate::random::Random;

/// A message in the write being prepared.
pub(super) struct Prepared {
    pub(super) end: usize,
    pub(super) intended_ns: i64,
    pub(super) size: u32,
    pub(super) packet_id: u16,
}

/// The write being prepared.
pub struct Outgoing {
    /// Whole packets.
    pub bytes: Vec<u8>,
    pub(super) messages: Vec<Prepared>,
    pub(super) encoder: Encoder,
}

impl Outgoing {
    pub(super) fn new(plan: &EnginePlan) -> Outgoing {
        Outgoing {
            bytes: Vec::new(),
            messages: Vec::new(),
            encoder: Encoder::new(plan),
        }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.messages.clear();
    }

    /// Appends a message; false, and nothing is changed, when it cannot be written.
    #[inline]
    pub(super) fn append(
        &mut self,
        cohort: &Cohort,
        publisher: &mut Publisher,
        packet_id: u16,
        message: &InFlight,
    ) -> bool {
        let start = self.bytes.len();
        let encoded = self
            .encoder
            .encode(&mut self.bytes, cohort, publisher, packet_id, false, message);
        if encoded.is_err() {
            self.bytes.truncate(start);
            return false;
        }
        self.messages.push(Prepared {
            end: self.bytes.len(),
            intended_ns: message.intended_ns,
            size: message.size,
            packet_id,
        });
        true
    }
}

/// Writes PUBLISH packets; holds what payloads are filled with.
pub(super) struct Encoder {
    filler: Vec<u8>,
    topic: String,
}

impl Encoder {
    fn new(plan: &EnginePlan) -> Encoder {
        let publishes = plan.groups.iter().filter_map(|group| group.publish.as_ref());
        let largest = publishes
            .map(|publish| publish.size_max.unwrap_or(publish.size))
            .max()
            .unwrap_or(0);
        // Not zeros: a server or link that compresses must not look faster than it is.
        let mut random = Random::new(plan.seed);
        Encoder {
            filler: (0..largest).map(|_| random.bits() as u8).collect(),
            topic: String::new(),
        }
    }

    /// Appends one PUBLISH with its stamp.
    #[inline]
    pub(super) fn encode(
        &mut self,
        to: &mut Vec<u8>,
        cohort: &Cohort,
        publisher: &mut Publisher,
        packet_id: u16,
        dup: bool,
        message: &InFlight,
    ) -> Result<(), EncodeError> {
        let size = message.size as usize;
        match &publisher.template {
            Some(template) => template.append_header(to, packet_id, dup, size)?,
            None => {
                let template = self.own_template(cohort, publisher, message.sequence)?;
                template.append_header(to, packet_id, dup, size)?;
            }
        }
        let stamp = Stamp {
            stream: publisher.stream,
            sequence: message.sequence,
            intended_ns: message.intended_ns,
            sent_ns: message.sent_ns,
        };
        let stamp = stamp.encode();
        to.extend_from_slice(&stamp);
        to.extend_from_slice(&self.filler[stamp.len()..size]);
        Ok(())
    }

    /// The header of a message whose topic or alias is its own.
    fn own_template(
        &mut self,
        cohort: &Cohort,
        publisher: &mut Publisher,
        sequence: u64,
    ) -> Result<PublishTemplate, EncodeError> {
        self.topic.clear();
        if let Some(pattern) = &cohort.topic {
            pattern.expand(publisher.index, sequence, &mut self.topic);
        }
        let alias = publisher
            .aliases
            .as_mut()
            .map_or(AliasUse::None, |aliases| aliases.resolve(&self.topic));
        let mut properties = PropertyBuffer::new();
        let topic = match alias {
            AliasUse::None => self.topic.as_str(),
            AliasUse::Introduce(number) => {
                properties.push(Property::TopicAlias(number))?;
                self.topic.as_str()
            }
            AliasUse::Known(number) => {
                properties.push(Property::TopicAlias(number))?;
                ""
            }
        };
        let header = Publish {
            qos: cohort.publish_qos,
            retain: cohort.plan.publish.as_ref().is_some_and(|publish| publish.retain),
            topic,
            properties: properties.as_properties(),
            ..Publish::default()
        };
        PublishTemplate::new(&header, cohort.version)
    }
}
