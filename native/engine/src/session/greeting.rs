//! What a device says in CONNECT, and whether the server's answer suits the plan.

use telemark_mqtt::error::EncodeError;
use telemark_mqtt::limits::Limits;
use telemark_mqtt::packet::{Connect, Will};
use telemark_mqtt::properties::{Property, PropertyBuffer};
use telemark_mqtt::QoS;

use super::Context;
use crate::cohort::{expand, Cohort};

/// What the plan needs and the server says it does not do.
pub(super) fn unsupported(cohort: &Cohort, limits: &Limits) -> Option<String> {
    let publish = cohort.plan.publish.as_ref()?;
    if cohort.publish_qos > limits.maximum_qos {
        let (highest, planned) = (limits.maximum_qos.bits(), cohort.publish_qos.bits());
        return Some(format!(
            "the server takes QoS {highest} at most, the plan publishes with QoS {planned}"
        ));
    }
    if publish.retain && !limits.retain_available {
        return Some("the server keeps no retained messages, the plan publishes some".to_owned());
    }
    let largest = publish.size_max.unwrap_or(publish.size);
    (largest >= limits.maximum_packet_size).then(|| {
        let maximum = limits.maximum_packet_size;
        format!("the server takes packets of {maximum} bytes at most, the plan publishes {largest} bytes")
    })
}

/// The CONNECT of the device with this index, with the attempts it has made.
pub(super) fn encode_connect(
    cohort: &Cohort,
    index: u64,
    attempts: u16,
    context: &mut Context,
) -> Result<(), EncodeError> {
    let plan = &cohort.plan;
    let client_id = expand(&cohort.client_id, index);
    let username = cohort.username.as_ref().map(|pattern| expand(pattern, index));
    let mut properties = PropertyBuffer::new();
    let mut will_properties = PropertyBuffer::new();
    if cohort.version.is_v5() {
        if plan.session_expiry_s > 0 {
            properties.push(Property::SessionExpiryInterval(plan.session_expiry_s))?;
        }
        properties.push(Property::MaximumPacketSize(context.max_packet_size))?;
        if let Some(maximum) = plan.receive_maximum {
            properties.push(Property::ReceiveMaximum(maximum as u16))?;
        }
        if let Some(delay) = plan.will.as_ref().map(|will| will.delay_s).filter(|delay| *delay > 0) {
            will_properties.push(Property::WillDelayInterval(delay))?;
        }
    }
    let will_topic = cohort.will_topic.as_ref().map(|pattern| expand(pattern, index));
    let will_payload = vec![0; plan.will.as_ref().map_or(0, |will| will.size as usize)];
    let will = plan.will.as_ref().zip(will_topic.as_ref()).map(|(will, topic)| Will {
        qos: QoS::from_bits(will.qos).unwrap_or_default(),
        retain: will.retain,
        properties: will_properties.as_properties(),
        topic,
        payload: &will_payload,
    });
    Connect {
        clean_start: plan.clean_start && !(cohort.is_durable() && attempts > 1),
        keep_alive: plan.keep_alive_s as u16,
        properties: properties.as_properties(),
        will,
        username: username.as_deref(),
        password: cohort.password.as_deref(),
        ..Connect::new(cohort.version, &client_id)
    }
    .encode(&mut context.out)
}
