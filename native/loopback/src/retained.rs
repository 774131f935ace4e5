//! The last retained message of every topic.

use std::collections::HashMap;
use std::sync::Arc;

use telemark_mqtt::topic;

use crate::message::Message;

/// Retained messages by topic.
#[derive(Debug, Default)]
pub struct Retained {
    messages: HashMap<Box<str>, Arc<Message>>,
}

impl Retained {
    /// Keeps a message for its topic; one without payload ends the keeping [3.3.1.3].
    pub fn set(&mut self, message: &Arc<Message>) {
        if message.payload.is_empty() {
            self.messages.remove(&message.topic);
        } else {
            self.messages.insert(message.topic.clone(), Arc::clone(message));
        }
    }

    /// Messages whose topic matches the filter and that are not too old.
    #[must_use]
    pub fn matching(&self, filter: &str, now_ns: u64) -> Vec<Arc<Message>> {
        let exact = !filter.contains(['+', '#']);
        let found: Vec<&Arc<Message>> = if exact {
            self.messages.get(filter).into_iter().collect()
        } else {
            let matching = self
                .messages
                .values()
                .filter(|message| topic::matches(filter, &message.topic));
            matching.collect()
        };
        found
            .into_iter()
            .filter(|message| !message.is_expired(now_ns))
            .cloned()
            .collect()
    }

    /// Topics with a message.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use telemark_mqtt::packet::Publish;

    fn message(topic: &str, payload: &[u8]) -> Arc<Message> {
        let publish = Publish {
            topic,
            payload,
            retain: true,
            ..Publish::default()
        };
        Arc::new(Message::keep(&publish, topic, 0))
    }

    #[test]
    fn the_last_message_of_each_topic_is_kept_until_an_empty_one() {
        let mut retained = Retained::default();
        for (topic, payload) in [("a/b", "1"), ("a/b", "2"), ("a/c", "3"), ("$x/c", "4")] {
            retained.set(&message(topic, payload.as_bytes()));
        }
        assert_eq!(b"2", &*retained.matching("a/b", 0)[0].payload);
        assert_eq!(2, retained.matching("#", 0).len());
        retained.set(&message("a/b", b""));
        assert_eq!((0, 2), (retained.matching("a/b", 0).len(), retained.len()));
    }
}
