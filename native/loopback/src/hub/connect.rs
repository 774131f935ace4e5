//! CONNECT: from a silent connection to a session.

use std::sync::Arc;

use telemark_mqtt::frame::Frame;
use telemark_mqtt::packet::{Connack, Connect, Will};
use telemark_mqtt::state::InboundAliases;
use telemark_mqtt::{DecodeError, Limits, PacketType, Property, PropertyBuffer, ReasonCode, Version};

use super::link::Stage;
use super::session::{Session, Testament, FOR_EVER};
use super::timers::Timer;
use super::{Fatal, Hub};
use crate::config::LARGEST_PACKET;
use crate::message::Message;

const SECOND_NS: u64 = 1_000_000_000;

impl Hub {
    /// The first packet of a connection has to be a CONNECT.
    pub(super) fn greet(&mut self, link: u32, frame: Frame<'_>, now_ns: u64) -> Result<(), Fatal> {
        if frame.kind()? != PacketType::Connect {
            return Err(Fatal(ReasonCode::ProtocolError));
        }
        match Connect::decode(frame.body) {
            Ok(connect) => self.connect(link, &connect, now_ns),
            Err(DecodeError::UnsupportedProtocolLevel(_)) => {
                self.refuse(link, Version::V311, ReasonCode::UnsupportedProtocolVersion, now_ns);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn connect(&mut self, link: u32, connect: &Connect<'_>, now_ns: u64) {
        let version = connect.version;
        if let Err(reason) = acceptable(connect) {
            return self.refuse(link, version, reason, now_ns);
        }
        if let Some(code) = self.faults.refuse_connect(connect.client_id, 3) {
            return self.refuse(link, version, refusal(code), now_ns);
        }
        let assigned = connect.client_id.is_empty().then(|| self.invent_client_id());
        let client = assigned.as_deref().unwrap_or(connect.client_id);
        let limits = Limits::of(&connect.properties);
        let (session, present) = self.take_session(client, connect.clean_start, now_ns);
        self.bind(link, session, connect, &limits, now_ns);
        self.connack(link, version, present, assigned.as_deref());
        self.resume(session, link, now_ns);
    }

    fn invent_client_id(&mut self) -> String {
        self.serial += 1;
        format!("auto-{:08x}", self.serial)
    }

    /// The device's session: its old one, taken over from an older connection if need be, or a new one.
    fn take_session(&mut self, client: &str, clean_start: bool, now_ns: u64) -> (u32, bool) {
        let old = self.clients.get(client).copied();
        if let Some(link) = old.and_then(|slot| self.session(slot)).and_then(|session| session.link) {
            self.end(link, Some(ReasonCode::SessionTakenOver), now_ns);
        }
        // Ending the old connection may have ended its session too.
        let old = self.clients.get(client).copied();
        match old {
            Some(slot) if !clean_start => return (slot, true),
            Some(slot) => self.remove_session(slot, now_ns),
            None => {}
        }
        (self.new_session(client), false)
    }

    fn new_session(&mut self, client: &str) -> u32 {
        let slot = self.free_sessions.pop().unwrap_or_else(|| {
            self.sessions.push(None);
            (self.sessions.len() - 1) as u32
        });
        self.serial += 1;
        self.sessions[slot as usize] = Some(Session::new(client, self.serial));
        self.clients.insert(client.into(), slot);
        self.counters.sessions += 1;
        slot
    }

    fn bind(&mut self, link: u32, session: u32, connect: &Connect<'_>, limits: &Limits, now_ns: u64) {
        let window = limits.receive_maximum.min(self.config.receive_maximum);
        let expiry_s = self.expiry_of(connect, limits);
        let aliases = InboundAliases::new(self.config.topic_alias_maximum);
        let will = connect.will.as_ref().map(|will| testament(will, now_ns));
        if let Some(owner) = self.session(session) {
            owner.link = Some(link);
            owner.serial += 1;
            owner.expiry_s = expiry_s;
            owner.will = will;
            owner.window.set_window(window);
        }
        let silence_ns = u64::from(connect.keep_alive) * SECOND_NS * 3 / 2;
        let Some(place) = self.link(link) else { return };
        place.stage = Stage::Open;
        place.version = connect.version;
        place.session = Some(session);
        place.maximum_packet = limits.maximum_packet_size;
        place.aliases = aliases;
        place.silence_ns = silence_ns;
        let serial = place.serial;
        self.counters.connections += 1;
        self.counters.connects += 1;
        if silence_ns > 0 {
            self.set_timer(now_ns + silence_ns, Timer::KeepAlive { link, serial });
        }
    }

    fn expiry_of(&self, connect: &Connect<'_>, limits: &Limits) -> u32 {
        match (connect.version, connect.clean_start) {
            (Version::V5, _) => limits.session_expiry_s.unwrap_or(0),
            (Version::V311, true) => 0,
            (Version::V311, false) => self.config.session_expiry_s.unwrap_or(FOR_EVER),
        }
    }

    fn connack(&mut self, link: u32, version: Version, session_present: bool, assigned: Option<&str>) {
        let mut properties = PropertyBuffer::new();
        if version.is_v5() {
            let config = Arc::clone(&self.config);
            let announced = [
                Some(Property::TopicAliasMaximum(config.topic_alias_maximum)),
                (config.max_packet_size < LARGEST_PACKET)
                    .then_some(Property::MaximumPacketSize(config.max_packet_size)),
                (config.receive_maximum < u16::MAX).then_some(Property::ReceiveMaximum(config.receive_maximum)),
                assigned.map(Property::AssignedClientIdentifier),
            ];
            // Values of a checked configuration are in range.
            for property in announced.into_iter().flatten() {
                let _ = properties.push(property);
            }
        }
        let properties = properties.as_properties();
        self.write(link, |out| {
            let _ = Connack {
                session_present,
                reason: ReasonCode::Success,
                properties,
            }
            .encode(version, out);
        });
    }

    fn refuse(&mut self, link: u32, version: Version, reason: ReasonCode, now_ns: u64) {
        self.write(link, |out| {
            let _ = Connack {
                reason,
                ..Connack::default()
            }
            .encode(version, out);
        });
        self.end(link, None, now_ns);
    }
}

fn acceptable(connect: &Connect<'_>) -> Result<(), ReasonCode> {
    if connect.client_id.is_empty() && !connect.version.is_v5() && !connect.clean_start {
        return Err(ReasonCode::ClientIdentifierNotValid); // [3.1.1: 3.1.3.1]
    }
    let wants_method = |property| matches!(property, Property::AuthenticationMethod(_));
    if connect.properties.iter().any(wants_method) {
        return Err(ReasonCode::BadAuthenticationMethod);
    }
    Ok(())
}

/// A configured code, of either version, as a reason that CONNACK may carry.
fn refusal(code: u8) -> ReasonCode {
    let reason = ReasonCode::from_connack_311(code).or_else(|| ReasonCode::from_code(code));
    let allowed = reason.filter(|reason| reason.is_error() && reason.is_allowed_in(PacketType::Connack));
    allowed.unwrap_or(ReasonCode::ServerUnavailable)
}

fn testament(will: &Will<'_>, now_ns: u64) -> Testament {
    let mut message = Message {
        topic: will.topic.into(),
        payload: will.payload.into(),
        qos: will.qos,
        retain: will.retain,
        properties: PropertyBuffer::new(),
        expires_ns: None,
    };
    let mut delay_s = 0;
    for property in will.properties.iter() {
        if let Property::WillDelayInterval(seconds) = property {
            delay_s = seconds;
        }
        message.keep_property(property, now_ns);
    }
    Testament {
        message: Arc::new(message),
        delay_s,
    }
}
