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
