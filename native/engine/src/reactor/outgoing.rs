//! The bytes of one write: PUBLISH packets with their stamps.

use telemark_mqtt::error::EncodeError;
use telemark_mqtt::packet::{Publish, PublishTemplate};
use telemark_mqtt::properties::{Property, PropertyBuffer};
use telemark_mqtt::state::AliasUse;
use telemark_mqtt::Stamp;

use crate::cohort::Cohort;
use crate::device::{InFlight, Publisher};
use crate::plan::EnginePlan;
use crate::random::Random;

/// A message in the write being prepared.
pub(super) struct Prepared {
    pub(super) end: usize,
    pub(super) intended_ns: i64,
    pub(super) size: u32,
    pub(super) packet_id: u16,
}

/// The write being prepared, and what payloads are filled with.
pub(super) struct Outgoing {
    pub(super) bytes: Vec<u8>,
    pub(super) messages: Vec<Prepared>,
    filler: Vec<u8>,
    topic: String,
}

impl Outgoing {
    pub(super) fn new(plan: &EnginePlan) -> Outgoing {
        let publishes = plan.groups.iter().filter_map(|group| group.publish.as_ref());
        let largest = publishes
            .map(|publish| publish.size_max.unwrap_or(publish.size))
            .max()
            .unwrap_or(0);
        // Not zeros: a server or link that compresses must not look faster than it is.
        let mut random = Random::new(plan.seed);
        let filler = (0..largest).map(|_| random.bits() as u8).collect();
        Outgoing {
            bytes: Vec::new(),
            messages: Vec::new(),
            filler,
            topic: String::new(),
        }
    }

    /// Appends one PUBLISH with its stamp.
    pub(super) fn append(
        &mut self,
        cohort: &Cohort,
        index: u64,
        publisher: &mut Publisher,
        packet_id: u16,
        dup: bool,
        message: &InFlight,
    ) -> Result<(), EncodeError> {
        let stamp = Stamp {
            stream: publisher.stream,
            sequence: message.sequence,
            intended_ns: message.intended_ns,
            sent_ns: message.sent_ns,
        };
        let size = message.size as usize;
        match &publisher.template {
            Some(template) => template.append_header(&mut self.bytes, packet_id, dup, size)?,
            None => self.append_variable_header(cohort, index, publisher, packet_id, dup, message)?,
        }
        let stamp = stamp.encode();
        self.bytes.extend_from_slice(&stamp);
        self.bytes.extend_from_slice(&self.filler[stamp.len()..size]);
        Ok(())
    }

    /// The header of a message whose topic or alias is its own.
    fn append_variable_header(
        &mut self,
        cohort: &Cohort,
        index: u64,
        publisher: &mut Publisher,
        packet_id: u16,
        dup: bool,
        message: &InFlight,
    ) -> Result<(), EncodeError> {
        self.topic.clear();
        if let Some(pattern) = &cohort.topic {
            pattern.expand(index, message.sequence, &mut self.topic);
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
        let retain = cohort.plan.publish.as_ref().is_some_and(|publish| publish.retain);
        let properties = properties.as_properties();
        let header = Publish {
            qos: cohort.publish_qos,
            retain,
            topic,
            properties,
            ..Publish::default()
        };
        let template = PublishTemplate::new(&header, cohort.version)?;
        template.append_header(&mut self.bytes, packet_id, dup, message.size as usize)
    }
}
