//! The exact account of what the server did wrong: the truth that tests compare a report with.

use serde::Serialize;

use telemark_mqtt::stamp::Stamp;

/// One thing done to one message, connection or subscription.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Affected {
    /// drop, duplicate, reorder, refuse_connect, refuse_subscribe, disconnect.
    pub fault: &'static str,
    /// Client id of the device it happened to.
    pub client: String,
    /// Filter of the subscription, where there is one.
    pub filter: Option<String>,
    /// Topic of the message, where there is one.
    pub topic: Option<String>,
    /// Stream of the message, when its payload carries a stamp.
    pub stream: Option<u32>,
    /// Its number in the stream.
    pub sequence: Option<u64>,
}

impl Affected {
    /// An entry about a device, without a message.
    #[must_use]
    pub fn device(fault: &'static str, client: &str) -> Self {
        let client = client.to_owned();
        Self {
            fault,
            client,
            filter: None,
            topic: None,
            stream: None,
            sequence: None,
        }
    }

    /// An entry about a message on its way to a subscription.
    #[must_use]
    pub fn message(fault: &'static str, client: &str, filter: &str, topic: &str, stamp: Option<Stamp>) -> Self {
        Self {
            fault,
            client: client.to_owned(),
            filter: Some(filter.to_owned()),
            topic: Some(topic.to_owned()),
            stream: stamp.map(|stamp| stamp.stream),
            sequence: stamp.map(|stamp| stamp.sequence),
        }
    }
}

/// A time in which the server stood still, in CLOCK_MONOTONIC nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StallDone {
    /// First nanosecond of it.
    pub from_ns: u64,
    /// Last of it.
    pub until_ns: u64,
}

/// Counts, and the first entries in full.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Account {
    /// Messages not delivered.
    pub dropped: u64,
    /// Messages delivered twice.
    pub duplicated: u64,
    /// Messages that changed places with their successor.
    pub reordered: u64,
    /// Messages held back for a successor that never came, delivered late but in order.
    pub released: u64,
    /// CONNECTs refused.
    pub connects_refused: u64,
    /// SUBSCRIBEs refused.
    pub subscribes_refused: u64,
    /// Connections cut.
    pub disconnected: u64,
    /// Times the server stood still.
    pub stalls: Vec<StallDone>,
    /// The first entries, in order.
    pub affected: Vec<Affected>,
    /// Entries that are counted above but not listed.
    pub not_listed: u64,
    #[serde(skip)]
    limit: usize,
}

impl Account {
    /// An empty account that lists up to `limit` entries.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Counts an entry and lists it while there is room.
    pub fn note(&mut self, entry: Affected) {
        *self.count_of(entry.fault) += 1;
        if self.affected.len() < self.limit {
            self.affected.push(entry);
        } else {
            self.not_listed += 1;
        }
    }

    fn count_of(&mut self, fault: &str) -> &mut u64 {
        match fault {
            "drop" => &mut self.dropped,
            "duplicate" => &mut self.duplicated,
            "reorder" => &mut self.reordered,
            "refuse_connect" => &mut self.connects_refused,
            "refuse_subscribe" => &mut self.subscribes_refused,
            _ => &mut self.disconnected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_on_when_the_list_is_full() {
        let mut account = Account::new(2);
        for sequence in 0..5 {
            let stamp = Some(Stamp {
                stream: 1,
                sequence,
                ..Stamp::default()
            });
            account.note(Affected::message("drop", "device", "a/#", "a/b", stamp));
        }
        account.note(Affected::device("disconnect", "device"));
        assert_eq!(
            (5, 1, 2, 4),
            (
                account.dropped,
                account.disconnected,
                account.affected.len(),
                account.not_listed
            )
        );
        assert_eq!(Some(1), account.affected[1].sequence);
    }
}
