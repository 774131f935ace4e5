//! CONNECT [3.1].

use crate::error::{DecodeError, EncodeError};
use crate::frame::PacketType;
use crate::properties::{Place, Properties};
use crate::version::{QoS, Version};
use crate::wire::{encode, Body, Reader, Sink};

const PROTOCOL_NAME: &str = "MQTT";
const RESERVED: u8 = 0x01;
const CLEAN_START: u8 = 0x02;
const WILL: u8 = 0x04;
const WILL_QOS_SHIFT: u8 = 3;
const WILL_QOS: u8 = 0x18;
const WILL_RETAIN: u8 = 0x20;
const PASSWORD: u8 = 0x40;
const USERNAME: u8 = 0x80;

/// The first packet of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Connect<'a> {
    /// The version all packets of this connection have.
    pub version: Version,
    /// Begin a new session; 3.1.1 calls it clean session and also ends the session with the connection.
    pub clean_start: bool,
    /// Seconds; zero switches keep-alive off.
    pub keep_alive: u16,
    /// MQTT 5 only; see [`crate::limits::Limits`] for what they mean together.
    pub properties: Properties<'a>,
    /// May be empty: the server chooses.
    pub client_id: &'a str,
    /// What the server publishes when the connection is lost.
    pub will: Option<Will<'a>>,
    /// User name.
    pub username: Option<&'a str>,
    /// Password; in 3.1.1 only with a user name. Left out of debug text.
    pub password: Option<&'a [u8]>,
}

/// The message the server sends for a client that vanishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Will<'a> {
    /// Quality of service of the message.
    pub qos: QoS,
    /// The server shall keep it.
    pub retain: bool,
    /// MQTT 5 only: delay, expiry and the like.
    pub properties: Properties<'a>,
    /// Name without wildcards.
    pub topic: &'a str,
    /// The application's bytes.
    pub payload: &'a [u8],
}

impl<'a> Connect<'a> {
    /// A plain CONNECT: clean start, no keep-alive, no will, no credentials.
    pub const fn new(version: Version, client_id: &'a str) -> Self {
        Self {
            version,
            clean_start: true,
            keep_alive: 0,
            properties: Properties::NONE,
            client_id,
            will: None,
            username: None,
            password: None,
        }
    }

    /// Reads the body.
    pub fn decode(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let version = read_version(&mut reader)?;
        let flags = reader.byte()?;
        check_flags(flags, version)?;
        let keep_alive = reader.short()?;
        let properties = Properties::read(&mut reader, version, Place::Connect)?;
        let packet = Self {
            version,
            clean_start: flags & CLEAN_START != 0,
            keep_alive,
            properties,
            client_id: reader.text()?,
            will: Will::read(&mut reader, flags, version)?,
            username: if flags & USERNAME != 0 {
                Some(reader.text()?)
            } else {
                None
            },
            password: if flags & PASSWORD != 0 {
                Some(reader.binary()?)
            } else {
                None
            },
        };
        reader.finish()?;
        Ok(packet)
    }

    /// Appends the packet.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode(self, self.version, out)
    }

    fn flags(&self) -> u8 {
        let mut flags = self.will.as_ref().map_or(0, Will::flags);
        for (bit, set) in [
            (CLEAN_START, self.clean_start),
            (USERNAME, self.username.is_some()),
            (PASSWORD, self.password.is_some()),
        ] {
            flags |= if set { bit } else { 0 };
        }
        flags
    }
}

impl std::fmt::Debug for Connect<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connect")
            .field("version", &self.version)
            .field("clean_start", &self.clean_start)
            .field("keep_alive", &self.keep_alive)
            .field("properties", &self.properties)
            .field("client_id", &self.client_id)
            .field("will", &self.will)
            .field("username", &self.username)
            .field("password", &self.password.map(|_| "(hidden)"))
            .finish()
    }
}

fn read_version(reader: &mut Reader<'_>) -> Result<Version, DecodeError> {
    if reader.binary()? != PROTOCOL_NAME.as_bytes() {
        return Err(DecodeError::InvalidProtocolName);
    }
    match reader.byte()? {
        4 => Ok(Version::V311),
        5 => Ok(Version::V5),
        level => Err(DecodeError::UnsupportedProtocolLevel(level)),
    }
}

/// Reserved bit [3.1.2.3], will bits without a will [3.1.2.6], and 3.1.1's password without a user name.
fn check_flags(flags: u8, version: Version) -> Result<(), DecodeError> {
    let will_bits_alone = flags & WILL == 0 && flags & (WILL_QOS | WILL_RETAIN) != 0;
    let password_alone = !version.is_v5() && flags & PASSWORD != 0 && flags & USERNAME == 0;
    if flags & RESERVED != 0 || will_bits_alone || password_alone {
        return Err(DecodeError::InvalidFlagsByte(flags));
    }
    Ok(())
}

impl<'a> Will<'a> {
    fn read(reader: &mut Reader<'a>, flags: u8, version: Version) -> Result<Option<Self>, DecodeError> {
        if flags & WILL == 0 {
            return Ok(None);
        }
        let qos = QoS::from_bits((flags & WILL_QOS) >> WILL_QOS_SHIFT)?;
        let properties = Properties::read(reader, version, Place::Will)?;
        let topic = reader.text()?;
        if crate::topic::check_name(topic).is_err() {
            return Err(DecodeError::InvalidTopicName);
        }
        let payload = reader.binary()?;
        Ok(Some(Self {
            qos,
            retain: flags & WILL_RETAIN != 0,
            properties,
            topic,
            payload,
        }))
    }

    fn flags(&self) -> u8 {
        let retain = if self.retain { WILL_RETAIN } else { 0 };
        WILL | self.qos.bits() << WILL_QOS_SHIFT | retain
    }

    fn check(&self, version: Version) -> Result<(), EncodeError> {
        self.properties.check_for(version, Place::Will)?;
        crate::topic::check_name(self.topic)
            .map_err(|_| EncodeError::Forbidden("the will's topic is empty or contains a wildcard"))
    }
}

impl Body for Connect<'_> {
    fn first_byte(&self) -> u8 {
        PacketType::Connect.first_byte()
    }

    fn check(&self, version: Version) -> Result<(), EncodeError> {
        if !version.is_v5() && self.password.is_some() && self.username.is_none() {
            return Err(EncodeError::NeedsVersion5("a password without a user name"));
        }
        if let Some(will) = &self.will {
            will.check(version)?;
        }
        self.properties.check_for(version, Place::Connect)
    }

    fn write<S: Sink>(&self, version: Version, out: &mut S) {
        out.text(PROTOCOL_NAME);
        out.byte(version.level());
        out.byte(self.flags());
        out.short(self.keep_alive);
        self.properties.write(version, out);
        out.text(self.client_id);
        if let Some(will) = &self.will {
            will.properties.write(version, out);
            out.text(will.topic);
            out.binary(will.payload);
        }
        if let Some(username) = self.username {
            out.text(username);
        }
        if let Some(password) = self.password {
            out.binary(password);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_refused, assert_wire};
    use crate::{Packet, Property, PropertyBuffer};

    #[test]
    fn the_smallest_connect_of_each_version() {
        let old = Connect {
            keep_alive: 60,
            ..Connect::new(Version::V311, "x")
        };
        assert_wire(
            b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01x",
            Packet::Connect(old),
            Version::V311,
        );
        let new = Connect {
            version: Version::V5,
            clean_start: false,
            ..old
        };
        assert_wire(
            b"\x10\x0e\x00\x04MQTT\x05\x00\x00\x3c\x00\x00\x01x",
            Packet::Connect(new),
            Version::V5,
        );
    }

    #[test]
    fn will_and_credentials_follow_the_client_id() {
        let will = Will {
            qos: QoS::AtLeastOnce,
            retain: true,
            topic: "w",
            payload: b"bye",
            ..Will::default()
        };
        let full = Connect {
            will: Some(will),
            username: Some("u"),
            password: Some(b"p"),
            ..Connect::new(Version::V311, "x")
        };
        let bytes = b"\x10\x1b\x00\x04MQTT\x04\xee\x00\x00\x00\x01x\x00\x01w\x00\x03bye\x00\x01u\x00\x01p";
        assert_wire(bytes, Packet::Connect(full), Version::V311);
    }

    #[test]
    fn version_5_has_properties_for_the_connection_and_for_the_will() {
        let (mut own, mut wills) = (PropertyBuffer::new(), PropertyBuffer::new());
        own.push(Property::SessionExpiryInterval(16)).unwrap();
        wills.push(Property::WillDelayInterval(5)).unwrap();
        let will = Will {
            topic: "w",
            properties: wills.as_properties(),
            ..Will::default()
        };
        let packet = Connect {
            properties: own.as_properties(),
            will: Some(will),
            password: Some(b"p"),
            ..Connect::new(Version::V5, "")
        };
        let bytes = b"\x10\x20\x00\x04MQTT\x05\x46\x00\x00\x05\x11\x00\x00\x00\x10\x00\x00\
            \x05\x18\x00\x00\x00\x05\x00\x01w\x00\x00\x00\x01p";
        assert_wire(bytes, Packet::Connect(packet), Version::V5);
    }

    #[test]
    fn the_password_is_not_in_debug_text() {
        let packet = Connect {
            username: Some("u"),
            password: Some(b"secret"),
            ..Connect::new(Version::V5, "x")
        };
        let text = format!("{packet:?}");
        assert!(text.contains("hidden") && !text.contains("115, 101"), "{text}");
    }

    #[test]
    fn other_protocols_and_levels_are_told_apart() {
        let level = |level| [b"\x10\x0c\x00\x04MQTT".as_slice(), &[level], b"\x02\x00\x00\x00\x00"].concat();
        assert_refused(&level(3), Version::V5, DecodeError::UnsupportedProtocolLevel(3));
        assert_refused(&level(6), Version::V5, DecodeError::UnsupportedProtocolLevel(6));
        let oldest = b"\x10\x0e\x00\x06MQIsdp\x03\x02\x00\x00\x00\x00";
        assert_refused(oldest, Version::V5, DecodeError::InvalidProtocolName);
        assert_eq!(
            crate::ReasonCode::UnsupportedProtocolVersion,
            DecodeError::InvalidProtocolName.reason()
        );
    }

    #[test]
    fn contradicting_flags_are_refused() {
        let flags = |level: u8, flags: u8| {
            [
                b"\x10\x10\x00\x04MQTT".as_slice(),
                &[level, flags],
                b"\x00\x00\x00\x00\x00\x00\x00\x00",
            ]
            .concat()
        };
        for (level, bits) in [(4, 0x01), (4, 0x08), (4, 0x20), (4, 0x40), (5, 0x01), (5, 0x10)] {
            assert_refused(&flags(level, bits), Version::V5, DecodeError::InvalidFlagsByte(bits));
        }
        let will_qos_3 = b"\x10\x11\x00\x04MQTT\x04\x1c\x00\x00\x00\x00\x00\x01w\x00\x00";
        assert_refused(will_qos_3, Version::V311, DecodeError::InvalidQos(3));
        let will_wildcard = b"\x10\x11\x00\x04MQTT\x04\x04\x00\x00\x00\x00\x00\x01#\x00\x00";
        assert_refused(will_wildcard, Version::V311, DecodeError::InvalidTopicName);
    }

    #[test]
    fn what_a_version_lacks_is_not_written() {
        let alone = Connect {
            password: Some(b"p"),
            ..Connect::new(Version::V311, "x")
        };
        assert!(matches!(
            alone.encode(&mut Vec::new()),
            Err(EncodeError::NeedsVersion5(_))
        ));
        let mut buffer = PropertyBuffer::new();
        buffer.push(Property::ReceiveMaximum(1)).unwrap();
        let properties = buffer.as_properties();
        let limited = Connect {
            properties,
            ..Connect::new(Version::V311, "x")
        };
        assert!(matches!(
            limited.encode(&mut Vec::new()),
            Err(EncodeError::NeedsVersion5(_))
        ));
        let will = Will {
            topic: "w",
            properties,
            ..Will::default()
        };
        let misplaced = Connect {
            will: Some(will),
            ..Connect::new(Version::V5, "x")
        };
        assert!(matches!(
            misplaced.encode(&mut Vec::new()),
            Err(EncodeError::Forbidden(_))
        ));
    }
}
