//! Reason codes [2.4]: one list for both versions. 3.1.1 return codes are translated at the edge.

use crate::frame::PacketType;

macro_rules! reason_codes {
    ($($code:literal $name:ident $text:literal $allowed:expr;)*) => {
        /// How the peer answered. Codes below 0x80 are successes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum ReasonCode {
            $(#[doc = concat!("`", stringify!($code), "`: ", $text, ".")] $name = $code,)*
        }

        impl ReasonCode {
            /// The code with this number, if the standard has one.
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// The standard's name in lower case, for event rows and messages.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// Packet types that may carry the code, one bit per type number.
            const fn allowed(self) -> u16 {
                match self {
                    $(Self::$name => $allowed,)*
                }
            }
        }
    };
}

const fn bit(kind: PacketType) -> u16 {
    1 << kind as u8
}

const CONNACK: u16 = bit(PacketType::Connack);
const PUBACK: u16 = bit(PacketType::Puback) | bit(PacketType::Pubrec);
const PUBREL: u16 = bit(PacketType::Pubrel) | bit(PacketType::Pubcomp);
const SUBACK: u16 = bit(PacketType::Suback);
const UNSUBACK: u16 = bit(PacketType::Unsuback);
const DISCONNECT: u16 = bit(PacketType::Disconnect);
const AUTH: u16 = bit(PacketType::Auth);

reason_codes! {
    0x00 Success "success" CONNACK | PUBACK | PUBREL | SUBACK | UNSUBACK | DISCONNECT | AUTH;
    0x01 GrantedQos1 "granted QoS 1" SUBACK;
    0x02 GrantedQos2 "granted QoS 2" SUBACK;
    0x04 DisconnectWithWill "disconnect with will message" DISCONNECT;
    0x10 NoMatchingSubscribers "no matching subscribers" PUBACK;
    0x11 NoSubscriptionExisted "no subscription existed" UNSUBACK;
    0x18 ContinueAuthentication "continue authentication" AUTH;
    0x19 ReAuthenticate "re-authenticate" AUTH;
    0x80 UnspecifiedError "unspecified error" CONNACK | PUBACK | SUBACK | UNSUBACK | DISCONNECT;
    0x81 MalformedPacket "malformed packet" CONNACK | DISCONNECT;
    0x82 ProtocolError "protocol error" CONNACK | DISCONNECT;
    0x83 ImplementationSpecificError "implementation specific error" CONNACK | PUBACK | SUBACK | UNSUBACK | DISCONNECT;
    0x84 UnsupportedProtocolVersion "unsupported protocol version" CONNACK;
    0x85 ClientIdentifierNotValid "client identifier not valid" CONNACK;
    0x86 BadUserNameOrPassword "bad user name or password" CONNACK;
    0x87 NotAuthorized "not authorized" CONNACK | PUBACK | SUBACK | UNSUBACK | DISCONNECT;
    0x88 ServerUnavailable "server unavailable" CONNACK;
    0x89 ServerBusy "server busy" CONNACK | DISCONNECT;
    0x8A Banned "banned" CONNACK;
    0x8B ServerShuttingDown "server shutting down" DISCONNECT;
    0x8C BadAuthenticationMethod "bad authentication method" CONNACK | DISCONNECT;
    0x8D KeepAliveTimeout "keep alive timeout" DISCONNECT;
    0x8E SessionTakenOver "session taken over" DISCONNECT;
    0x8F TopicFilterInvalid "topic filter invalid" SUBACK | UNSUBACK | DISCONNECT;
    0x90 TopicNameInvalid "topic name invalid" CONNACK | PUBACK | DISCONNECT;
    0x91 PacketIdentifierInUse "packet identifier in use" PUBACK | SUBACK | UNSUBACK;
    0x92 PacketIdentifierNotFound "packet identifier not found" PUBREL;
    0x93 ReceiveMaximumExceeded "receive maximum exceeded" DISCONNECT;
    0x94 TopicAliasInvalid "topic alias invalid" DISCONNECT;
    0x95 PacketTooLarge "packet too large" CONNACK | DISCONNECT;
    0x96 MessageRateTooHigh "message rate too high" DISCONNECT;
    0x97 QuotaExceeded "quota exceeded" CONNACK | PUBACK | SUBACK | DISCONNECT;
    0x98 AdministrativeAction "administrative action" DISCONNECT;
    0x99 PayloadFormatInvalid "payload format invalid" CONNACK | PUBACK | DISCONNECT;
    0x9A RetainNotSupported "retain not supported" CONNACK | DISCONNECT;
    0x9B QosNotSupported "QoS not supported" CONNACK | DISCONNECT;
    0x9C UseAnotherServer "use another server" CONNACK | DISCONNECT;
    0x9D ServerMoved "server moved" CONNACK | DISCONNECT;
    0x9E SharedSubscriptionsNotSupported "shared subscriptions not supported" SUBACK | DISCONNECT;
    0x9F ConnectionRateExceeded "connection rate exceeded" CONNACK | DISCONNECT;
    0xA0 MaximumConnectTime "maximum connect time" DISCONNECT;
    0xA1 SubscriptionIdentifiersNotSupported "subscription identifiers not supported" SUBACK | DISCONNECT;
    0xA2 WildcardSubscriptionsNotSupported "wildcard subscriptions not supported" SUBACK | DISCONNECT;
}

#[allow(clippy::derivable_impls)] // the macro cannot mark one variant
impl Default for ReasonCode {
    fn default() -> Self {
        Self::Success
    }
}

impl ReasonCode {
    /// The number on the wire of MQTT 5.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// True from 0x80 on.
    pub const fn is_error(self) -> bool {
        self.code() >= 0x80
    }

    /// Whether a packet of this type may carry the code.
    pub const fn is_allowed_in(self, kind: PacketType) -> bool {
        self.allowed() & bit(kind) != 0
    }

    /// The meaning of a 3.1.1 CONNACK return code [3.1.1: 3.2.2.3].
    pub const fn from_connack_311(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::Success,
            1 => Self::UnsupportedProtocolVersion,
            2 => Self::ClientIdentifierNotValid,
            3 => Self::ServerUnavailable,
            4 => Self::BadUserNameOrPassword,
            5 => Self::NotAuthorized,
            _ => return None,
        })
    }

    /// The nearest 3.1.1 CONNACK return code; what has none becomes "server unavailable".
    pub const fn to_connack_311(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::UnsupportedProtocolVersion => 1,
            Self::ClientIdentifierNotValid => 2,
            Self::BadUserNameOrPassword => 4,
            Self::NotAuthorized | Self::Banned => 5,
            _ => 3,
        }
    }

    /// As a 3.1.1 SUBACK return code: the granted QoS, or 0x80.
    pub const fn to_suback_311(self) -> u8 {
        match self.code() {
            granted @ 0..=2 => granted,
            _ => 0x80,
        }
    }
}

impl std::fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({:#04x})", self.name(), self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_number_and_returns_from_it() {
        let known: Vec<_> = (0..=u8::MAX).filter_map(ReasonCode::from_code).collect();
        assert_eq!(43, known.len());
        assert!(known
            .iter()
            .all(|code| ReasonCode::from_code(code.code()) == Some(*code)));
    }

    #[test]
    fn return_codes_of_3_1_1_survive_the_translation() {
        for code in 0..=5 {
            let reason = ReasonCode::from_connack_311(code).unwrap();
            assert_eq!(code, reason.to_connack_311());
        }
        assert_eq!(None, ReasonCode::from_connack_311(6));
    }

    #[test]
    fn a_code_belongs_only_to_the_packets_of_the_standard() {
        assert!(ReasonCode::PacketIdentifierNotFound.is_allowed_in(PacketType::Pubrel));
        assert!(!ReasonCode::PacketIdentifierNotFound.is_allowed_in(PacketType::Puback));
        assert!(!ReasonCode::NoMatchingSubscribers.is_allowed_in(PacketType::Suback));
    }
}
