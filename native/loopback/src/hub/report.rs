//! What the control interface tells.

use super::Hub;
use crate::counters::{CounterReport, SubscriptionDepth};

/// Subscriptions listed one by one.
const MOST_LISTED: usize = 100;

impl Hub {
    /// Totals and the deepest subscriptions.
    #[must_use]
    pub fn counters(&self) -> CounterReport {
        let mut totals = self.counters.clone();
        totals.retained = self.retained.len() as u64;
        let mut depths: Vec<(u64, usize, usize)> = Vec::new();
        let mut largest_queue_hwm = 0;
        for (slot, session) in self.sessions.iter().enumerate() {
            let subscriptions = session
                .iter()
                .flat_map(|session| session.subscriptions.iter().enumerate());
            let present = subscriptions.filter_map(|(index, place)| place.as_ref().map(|found| (index, found)));
            depths.extend(present.map(|(index, found)| {
                largest_queue_hwm = largest_queue_hwm.max(found.hwm);
                (found.depth, slot, index)
            }));
        }
        depths.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.cmp(b)));
        let deepest = depths.iter().take(MOST_LISTED);
        let deepest = deepest
            .filter_map(|(_, slot, index)| self.describe(*slot, *index))
            .collect();
        CounterReport {
            totals,
            largest_queue: depths.first().map_or(0, |(depth, ..)| *depth),
            largest_queue_hwm,
            deepest,
        }
    }

    fn describe(&self, slot: usize, index: usize) -> Option<SubscriptionDepth> {
        let session = self.sessions[slot].as_ref()?;
        let subscription = session.subscriptions[index].as_ref()?;
        Some(SubscriptionDepth {
            client: session.client.to_string(),
            filter: subscription.filter.to_string(),
            depth: subscription.depth,
            hwm: subscription.hwm,
            dropped: subscription.dropped,
        })
    }
}
