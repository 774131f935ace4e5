//! The server's own counts, as `GET /counters` gives them.

use serde::Serialize;

/// Totals since the start. Names are those of the adapter contract.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Counters {
    /// PUBLISH packets received.
    pub messages_in: u64,
    /// PUBLISH packets handed to the network.
    pub messages_out: u64,
    /// Deliveries given up: queue full, no session to keep them, connection lost before they were written.
    /// Those a fault dropped are not among them; `GET /faults` has them.
    pub messages_dropped: u64,
    /// Devices connected now.
    pub connections: u64,
    /// Subscriptions that exist now.
    pub subscriptions: u64,
    /// Sessions that exist now, connected or not.
    pub sessions: u64,
    /// Topics with a retained message.
    pub retained: u64,
    /// Deliveries waiting: not yet written (QoS 0) or not yet acknowledged (QoS 1 and 2).
    pub buffered_messages: u64,
    /// The highest `buffered_messages` so far.
    pub buffered_hwm: u64,
    /// Bytes read from devices.
    pub bytes_in: u64,
    /// Bytes written to devices.
    pub bytes_out: u64,
    /// CONNECT packets accepted since the start.
    pub connects: u64,
}

impl Counters {
    /// One more delivery is waiting.
    #[inline]
    pub fn buffer(&mut self) {
        self.buffered_messages += 1;
        self.buffered_hwm = self.buffered_hwm.max(self.buffered_messages);
    }

    /// Deliveries that no longer wait.
    #[inline]
    pub fn unbuffer(&mut self, messages: u64) {
        self.buffered_messages = self.buffered_messages.saturating_sub(messages);
    }
}

/// How many deliveries wait for one subscription.
#[derive(Debug, Clone, Serialize)]
pub struct SubscriptionDepth {
    /// Client id.
    pub client: String,
    /// Filter, with its $share prefix.
    pub filter: String,
    /// Deliveries waiting now.
    pub depth: u64,
    /// The most that waited.
    pub hwm: u64,
    /// Deliveries given up.
    pub dropped: u64,
}

/// What `GET /counters` answers.
#[derive(Debug, Serialize)]
pub struct CounterReport {
    /// Totals.
    #[serde(flatten)]
    pub totals: Counters,
    /// Deliveries that wait now for the subscription with the most of them.
    pub largest_queue: u64,
    /// The most that waited at once for one of the subscriptions that exist now.
    pub largest_queue_hwm: u64,
    /// The deepest subscriptions, deepest first.
    pub deepest: Vec<SubscriptionDepth>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_high_water_mark_stays() {
        let mut counters = Counters::default();
        (0..5).for_each(|_| counters.buffer());
        counters.unbuffer(4);
        counters.buffer();
        assert_eq!((2, 5), (counters.buffered_messages, counters.buffered_hwm));
    }
}
