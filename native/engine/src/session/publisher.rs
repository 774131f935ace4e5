//! The sending side of a device.

use telemark_mqtt::packet::{Publish, PublishTemplate};
use telemark_mqtt::state::{Outbound, OutboundAliases};

use crate::cohort::{expand, Cohort};

/// What must be known of a message until its last acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct InFlight {
    /// Number in the stream.
    pub sequence: u64,
    /// When it was due.
    pub intended_ns: i64,
    /// When it was sent first.
    pub sent_ns: i64,
    /// When the packet that is to be acknowledged next was sent.
    pub step_ns: i64,
    /// Payload bytes.
    pub size: u32,
}

/// What a device has sent and has in flight.
pub struct Publisher {
    /// `{index}` of the patterns.
    pub index: u64,
    /// Stream number in the run.
    pub stream: u32,
    /// Number of the next message.
    pub sequence: u64,
    /// Messages the kernel took whole.
    pub sent: i64,
    /// Messages acknowledged to the end.
    pub acked: i64,
    /// Due messages given up.
    pub dropped: i64,
    /// Payload bytes sent.
    pub bytes: i64,
    /// Everything of its PUBLISH that never changes; None: topic or alias differ from message to message.
    pub template: Option<PublishTemplate>,
    /// QoS 1 and 2 messages in flight.
    pub outbound: Outbound<InFlight>,
    /// MQTT 5 topic aliases of this connection.
    pub aliases: Option<Box<OutboundAliases>>,
}

impl Publisher {
    /// Nothing sent yet; None when the devices of the cohort do not publish.
    pub fn new(cohort: &Cohort, index: u64, within: u32) -> Option<Publisher> {
        let plan = cohort.plan.publish.as_ref()?;
        Some(Publisher {
            index,
            stream: plan.first_stream + within,
            sequence: 0,
            sent: 0,
            acked: 0,
            dropped: 0,
            bytes: 0,
            template: template(cohort, index),
            outbound: Outbound::new(plan.in_flight as u16),
            aliases: None,
        })
    }

    /// Gives a packet id back that was never used on the wire; 0 is none.
    pub fn release(&mut self, packet_id: u16) {
        if packet_id != 0 && self.outbound.on_puback(packet_id).is_err() {
            // Not QoS 1, so QoS 2, which is released as if it had been refused.
            let _ = self.outbound.on_pubrec(packet_id, true);
        }
    }
}

/// The fixed part of a device's PUBLISH; None when topic or alias change from message to message.
fn template(cohort: &Cohort, index: u64) -> Option<PublishTemplate> {
    let (plan, pattern) = (cohort.plan.publish.as_ref()?, cohort.topic.as_ref()?);
    if plan.topic_alias || pattern.uses_sequence() {
        return None;
    }
    let topic = expand(pattern, index);
    let message = Publish {
        qos: cohort.publish_qos,
        retain: plan.retain,
        topic: &topic,
        ..Publish::default()
    };
    PublishTemplate::new(&message, cohort.version).ok()
}
