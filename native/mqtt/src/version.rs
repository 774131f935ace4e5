//! The two protocol versions, and the quality-of-service levels they share.

use crate::error::DecodeError;

/// A protocol version this crate speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// MQTT 3.1.1, protocol level 4.
    V311,
    /// MQTT 5.0, protocol level 5.
    V5,
}

impl Version {
    /// The protocol level byte of CONNECT.
    pub const fn level(self) -> u8 {
        match self {
            Self::V311 => 4,
            Self::V5 => 5,
        }
    }

    /// True for MQTT 5, the version with properties and reason codes everywhere.
    pub const fn is_v5(self) -> bool {
        matches!(self, Self::V5)
    }
}

/// Quality of service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum QoS {
    /// Fire and forget.
    #[default]
    AtMostOnce = 0,
    /// Acknowledged with PUBACK; may arrive again.
    AtLeastOnce = 1,
    /// Four-way handshake; arrives once.
    ExactlyOnce = 2,
}

impl QoS {
    /// From the two bits of a header or an options byte; 3 is not a QoS.
    pub const fn from_bits(bits: u8) -> Result<Self, DecodeError> {
        match bits {
            0 => Ok(Self::AtMostOnce),
            1 => Ok(Self::AtLeastOnce),
            2 => Ok(Self::ExactlyOnce),
            other => Err(DecodeError::InvalidQos(other)),
        }
    }

    /// The level as a number.
    pub const fn bits(self) -> u8 {
        self as u8
    }
}
