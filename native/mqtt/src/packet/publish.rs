//! PUBLISH [3.3]: the hot path. Reading and writing allocate nothing (beyond a growing output buffer).

use crate::error::{DecodeError, EncodeError};
use crate::frame::{Frame, PacketType};
use crate::properties::{Place, Properties, Property};
use crate::version::{QoS, Version};
use crate::wire::{encode, has_byte, remaining_length, Body, Measure, Reader, Sink};

const DUP: u8 = 0b1000;
const RETAIN: u8 = 0b0001;

/// A message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Publish<'a> {
    /// Sent before, perhaps; only with QoS 1 and 2.
    pub dup: bool,
    /// Quality of service.
    pub qos: QoS,
    /// To the server: keep it. From the server: it was kept.
    pub retain: bool,
    /// Name without wildcards; empty only in MQTT 5 with a topic alias.
    pub topic: &'a str,
    /// Zero exactly when QoS is 0.
    pub packet_id: u16,
    /// MQTT 5 only.
    pub properties: Properties<'a>,
    /// The application's bytes.
    pub payload: &'a [u8],
}

impl<'a> Publish<'a> {
    /// Reads the body of a frame that is a PUBLISH.
    // Always: as a call it returns through memory, field by field, and reading that back at once stalls the processor
    // until every store before it has reached the cache; a caller that records rows has many of those under way.
    #[inline(always)]
    pub fn decode(frame: Frame<'a>, version: Version) -> Result<Self, DecodeError> {
        let qos = QoS::from_bits(frame.first >> 1 & 0b11)?;
        let dup = frame.first & DUP != 0;
        if dup && qos == QoS::AtMostOnce {
            return Err(DecodeError::DupWithoutQos);
        }
        let mut reader = Reader::new(frame.body);
        let topic = reader.text()?;
        let packet_id = if qos == QoS::AtMostOnce { 0 } else { reader.packet_id()? };
        let properties = Properties::read(&mut reader, version, Place::Publish)?;
        check_topic(topic, &properties)?;
        let retain = frame.first & RETAIN != 0;
        let payload = reader.remainder();
        Ok(Self {
            dup,
            qos,
            retain,
            topic,
            packet_id,
            properties,
            payload,
        })
    }

    /// Appends the packet.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode(self, version, out)
    }

    /// The topic alias, if the packet has one.
    pub fn topic_alias(&self) -> Option<u16> {
        if self.properties.is_empty() {
            return None;
        }
        self.properties.find(|property| match property {
            Property::TopicAlias(alias) => Some(alias),
            _ => None,
        })
    }

    fn flags(&self) -> u8 {
        let dup = if self.dup { DUP } else { 0 };
        dup | self.qos.bits() << 1 | u8::from(self.retain)
    }

    fn write_variable_header<S: Sink>(&self, version: Version, out: &mut S) {
        out.text(self.topic);
        if self.qos != QoS::AtMostOnce {
            out.short(self.packet_id);
        }
        self.properties.write(version, out);
    }

    fn check_header(&self, version: Version) -> Result<(), EncodeError> {
        self.properties.check_for(version, Place::Publish)?;
        check_topic(self.topic, &self.properties)
            .map_err(|_| EncodeError::Forbidden("a topic name is empty or contains a wildcard"))?;
        if self.dup && self.qos == QoS::AtMostOnce {
            return Err(EncodeError::Forbidden("DUP is set on a QoS 0 PUBLISH"));
        }
        Ok(())
    }
}

/// No wildcards; empty only together with an alias [3.3.2.1].
#[inline]
fn check_topic(topic: &str, properties: &Properties<'_>) -> Result<(), DecodeError> {
    let has_wildcard = has_byte(topic.as_bytes(), |byte| (byte == b'+') | (byte == b'#'));
    let has_alias = || {
        properties
            .iter()
            .any(|property| matches!(property, Property::TopicAlias(_)))
    };
    if has_wildcard || (topic.is_empty() && !has_alias()) {
        return Err(DecodeError::InvalidTopicName);
    }
    Ok(())
}

impl Body for Publish<'_> {
    fn first_byte(&self) -> u8 {
        PacketType::Publish.first_byte() | self.flags()
    }

    fn check(&self, version: Version) -> Result<(), EncodeError> {
        if (self.qos == QoS::AtMostOnce) != (self.packet_id == 0) {
            return Err(EncodeError::PacketIdMismatch);
        }
        self.check_header(version)
    }

    fn write<S: Sink>(&self, version: Version, out: &mut S) {
        self.write_variable_header(version, out);
        out.put(self.payload);
    }
}

/// Everything of a PUBLISH that does not change from message to message, encoded once.
///
/// What changes (DUP, packet id, payload and its size) is filled in for each message:
/// a few stores and one copy of the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishTemplate {
    /// Topic, space for the packet id, properties.
    header: Box<[u8]>,
    /// Type and flags, DUP clear.
    first: u8,
    /// Where the packet id goes; zero with QoS 0 (a real one stands behind the topic's length).
    id_at: u32,
}

impl PublishTemplate {
    /// From a message whose packet id, DUP and payload are ignored.
    pub fn new(message: &Publish<'_>, version: Version) -> Result<Self, EncodeError> {
        let message = Publish {
            dup: false,
            packet_id: 0,
            payload: &[],
            ..*message
        };
        message.check_header(version)?;
        let mut measure = Measure::default();
        message.write_variable_header(version, &mut measure);
        measure.remaining_length()?;
        let mut header = Vec::with_capacity(measure.size);
        message.write_variable_header(version, &mut header);
        let id_at = if message.qos == QoS::AtMostOnce {
            0
        } else {
            2 + message.topic.len() as u32
        };
        Ok(Self {
            header: header.into_boxed_slice(),
            first: message.first_byte(),
            id_at,
        })
    }

    /// Size of the whole packet with so many payload bytes.
    pub fn packet_size(&self, payload_size: usize) -> usize {
        let body = self.header.len() + payload_size;
        let length_bytes = match body {
            0..=0x7f => 1,
            0x80..=0x3fff => 2,
            0x4000..=0x1f_ffff => 3,
            _ => 4,
        };
        1 + length_bytes + body
    }

    /// Appends everything up to the payload; the caller must append `payload_size` bytes next.
    ///
    /// `packet_id` must be zero exactly when the template's QoS is 0.
    #[inline]
    pub fn append_header(
        &self,
        out: &mut Vec<u8>,
        packet_id: u16,
        dup: bool,
        payload_size: usize,
    ) -> Result<(), EncodeError> {
        if (self.id_at == 0) != (packet_id == 0) || (dup && packet_id == 0) {
            return Err(EncodeError::PacketIdMismatch);
        }
        let remaining = remaining_length(self.header.len() + payload_size)?;
        out.reserve(5 + remaining as usize);
        out.byte(if dup { self.first | DUP } else { self.first });
        out.variable_integer(remaining);
        let start = out.len();
        out.put(&self.header);
        if packet_id != 0 {
            let at = start + self.id_at as usize;
            out[at..at + 2].copy_from_slice(&packet_id.to_be_bytes());
        }
        Ok(())
    }

    /// Appends a whole packet.
    #[inline]
    pub fn append(&self, out: &mut Vec<u8>, packet_id: u16, dup: bool, payload: &[u8]) -> Result<(), EncodeError> {
        self.append_header(out, packet_id, dup, payload.len())?;
        out.put(payload);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_refused, assert_wire, decode};
    use crate::{Packet, PropertyBuffer};

    const MESSAGE: Publish<'static> = Publish {
        dup: false,
        qos: QoS::AtMostOnce,
        retain: false,
        topic: "a/b",
        packet_id: 0,
        properties: Properties::NONE,
        payload: b"hi",
    };
    const ACKED: Publish<'static> = Publish {
        dup: true,
        qos: QoS::AtLeastOnce,
        packet_id: 0x0102,
        ..MESSAGE
    };

    #[test]
    fn qos_0_has_topic_and_payload() {
        assert_wire(b"\x30\x07\x00\x03a/bhi", Packet::Publish(MESSAGE), Version::V311);
        assert_wire(b"\x30\x08\x00\x03a/b\x00hi", Packet::Publish(MESSAGE), Version::V5);
    }

    #[test]
    fn qos_1_and_2_have_a_packet_id_and_flags() {
        assert_wire(b"\x3a\x09\x00\x03a/b\x01\x02hi", Packet::Publish(ACKED), Version::V311);
        let kept = Publish {
            dup: false,
            retain: true,
            qos: QoS::ExactlyOnce,
            ..ACKED
        };
        assert_wire(b"\x35\x0a\x00\x03a/b\x01\x02\x00hi", Packet::Publish(kept), Version::V5);
    }

    #[test]
    fn an_alias_replaces_the_topic_in_version_5() {
        let mut buffer = PropertyBuffer::new();
        buffer.push(Property::TopicAlias(7)).unwrap();
        let aliased = Publish {
            topic: "",
            properties: buffer.as_properties(),
            ..MESSAGE
        };
        assert_wire(
            b"\x30\x08\x00\x00\x03\x23\x00\x07hi",
            Packet::Publish(aliased),
            Version::V5,
        );
        assert_eq!(Some(7), aliased.topic_alias());
        assert_eq!(None, MESSAGE.topic_alias());
    }

    #[test]
    fn broken_messages_are_refused() {
        assert_refused(
            b"\x36\x07\x00\x03a/b\x00\x01",
            Version::V311,
            DecodeError::InvalidQos(3),
        );
        assert_refused(b"\x38\x05\x00\x03a/b", Version::V311, DecodeError::DupWithoutQos);
        assert_refused(b"\x32\x07\x00\x03a/b\x00\x00", Version::V311, DecodeError::ZeroPacketId);
        assert_refused(b"\x30\x03\x00\x01#", Version::V311, DecodeError::InvalidTopicName);
        assert_refused(b"\x30\x02\x00\x00", Version::V311, DecodeError::InvalidTopicName);
        assert_refused(b"\x30\x03\x00\x00\x00", Version::V5, DecodeError::InvalidTopicName);
        assert_refused(b"\x30\x03\x00\x02a", Version::V311, DecodeError::Truncated);
        assert_refused(b"\x30\x03\x00\x01\x00", Version::V311, DecodeError::InvalidText);
        assert_refused(b"\x30\x03\x00\x01\xff", Version::V311, DecodeError::InvalidText);
        assert_refused(b"\x30\x05\x00\x01a\x02\x23", Version::V5, DecodeError::Truncated);
    }

    #[test]
    fn impossible_messages_are_not_written() {
        let mut out = Vec::new();
        let mut refused = |message: Publish<'_>| message.encode(Version::V311, &mut out).unwrap_err();
        assert_eq!(
            EncodeError::PacketIdMismatch,
            refused(Publish {
                packet_id: 1,
                ..MESSAGE
            })
        );
        assert_eq!(
            EncodeError::PacketIdMismatch,
            refused(Publish { packet_id: 0, ..ACKED })
        );
        assert!(matches!(
            refused(Publish {
                topic: "a/#",
                ..MESSAGE
            }),
            EncodeError::Forbidden(_)
        ));
        assert!(matches!(
            refused(Publish { dup: true, ..MESSAGE }),
            EncodeError::Forbidden(_)
        ));
        let long = "x".repeat(65_536);
        assert_eq!(
            EncodeError::FieldTooLong,
            refused(Publish {
                topic: &long,
                ..MESSAGE
            })
        );
        assert!(out.is_empty());
    }

    #[test]
    fn a_template_writes_the_same_bytes_as_the_message() {
        for version in [Version::V311, Version::V5] {
            for (message, payload_size) in [
                (MESSAGE, 0),
                (ACKED, 100),
                (ACKED, 118),
                (MESSAGE, 119),
                (ACKED, 20_000),
            ] {
                let payload = vec![7; payload_size];
                let message = Publish {
                    payload: &payload,
                    ..message
                };
                let template = PublishTemplate::new(&message, version).unwrap();
                let (mut expected, mut out) = (Vec::new(), Vec::new());
                message.encode(version, &mut expected).unwrap();
                template
                    .append(&mut out, message.packet_id, message.dup, &payload)
                    .unwrap();
                assert_eq!(expected, out);
                assert_eq!(out.len(), template.packet_size(payload_size));
            }
        }
    }

    #[test]
    fn a_template_refuses_ids_that_do_not_fit_its_qos() {
        let mut out = Vec::new();
        let without = PublishTemplate::new(&MESSAGE, Version::V311).unwrap();
        assert_eq!(
            Err(EncodeError::PacketIdMismatch),
            without.append(&mut out, 1, false, b"")
        );
        assert_eq!(
            Err(EncodeError::PacketIdMismatch),
            without.append(&mut out, 0, true, b"")
        );
        let with = PublishTemplate::new(&ACKED, Version::V311).unwrap();
        assert_eq!(Err(EncodeError::PacketIdMismatch), with.append(&mut out, 0, false, b""));
        assert!(matches!(
            with.append_header(&mut out, 1, false, 268_435_456),
            Err(EncodeError::PacketTooLarge(_))
        ));
        assert!(out.is_empty());
    }

    #[test]
    fn every_cut_of_a_message_is_truncated_or_shorter_but_never_more() {
        let whole = b"\x32\x0b\x00\x03a/b\x01\x02\x02\x01\x01";
        for length in 0..11_u8 {
            let mut cut = whole[..2 + usize::from(length)].to_vec();
            cut[1] = length;
            if let Ok(Packet::Publish(message)) = decode(&cut, Version::V5) {
                assert!(message.payload.is_empty());
            }
        }
    }
}
