//! Topic aliases [3.3.2.3.4]: numbers that stand for topics within one connection.

use crate::error::ProtocolError;
use std::collections::HashMap;

/// How to send a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AliasUse {
    /// Full topic without an alias: none is free.
    None,
    /// Full topic together with this new alias.
    Introduce(u16),
    /// Empty topic with this alias: the peer knows it.
    Known(u16),
}

/// Aliases this side introduced. The first topics get them; they are never taken back.
#[derive(Clone, Debug, Default)]
pub struct OutboundAliases {
    #[allow(clippy::box_collection)] // 8 bytes instead of 48 for the many that use no alias
    known: Option<Box<HashMap<Box<str>, u16>>>,
    maximum: u16,
}

impl OutboundAliases {
    /// For a peer that announced this topic alias maximum.
    pub const fn new(maximum: u16) -> Self {
        Self { known: None, maximum }
    }

    /// How to send this topic; remembers a newly introduced alias.
    pub fn resolve(&mut self, topic: &str) -> AliasUse {
        if self.maximum == 0 {
            return AliasUse::None;
        }
        let known = self.known.get_or_insert_with(Box::default);
        if let Some(&alias) = known.get(topic) {
            return AliasUse::Known(alias);
        }
        if known.len() >= usize::from(self.maximum) {
            return AliasUse::None;
        }
        let alias = known.len() as u16 + 1;
        known.insert(topic.into(), alias);
        AliasUse::Introduce(alias)
    }
}

/// Aliases the peer introduced.
#[derive(Clone, Debug, Default)]
pub struct InboundAliases {
    topics: Vec<Box<str>>,
    maximum: u16,
}

impl InboundAliases {
    /// With the topic alias maximum this side announced.
    pub const fn new(maximum: u16) -> Self {
        Self {
            topics: Vec::new(),
            maximum,
        }
    }

    /// The topic a PUBLISH with this topic and alias means; remembers an introduced alias.
    pub fn resolve<'s>(&'s mut self, topic: &'s str, alias: u16) -> Result<&'s str, ProtocolError> {
        let invalid = ProtocolError::InvalidTopicAlias(alias);
        if alias == 0 || alias > self.maximum {
            return Err(invalid);
        }
        let at = usize::from(alias) - 1;
        if topic.is_empty() {
            let known = self.topics.get(at).filter(|known| !known.is_empty());
            return known.map(|known| &**known).ok_or(invalid);
        }
        if self.topics.len() <= at {
            self.topics.resize(at + 1, Box::default());
        }
        if &*self.topics[at] != topic {
            self.topics[at] = topic.into();
        }
        Ok(topic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_get_aliases_until_the_maximum_is_reached() {
        let mut aliases = OutboundAliases::new(2);
        assert_eq!(AliasUse::Introduce(1), aliases.resolve("a"));
        assert_eq!(AliasUse::Introduce(2), aliases.resolve("b"));
        assert_eq!(AliasUse::None, aliases.resolve("c"));
        assert_eq!(AliasUse::Known(1), aliases.resolve("a"));
        assert_eq!(AliasUse::None, OutboundAliases::new(0).resolve("a"));
    }

    #[test]
    fn an_introduced_alias_stands_for_its_topic_until_it_is_changed() {
        let mut aliases = InboundAliases::new(2);
        assert_eq!(Ok("a"), aliases.resolve("a", 2));
        assert_eq!(Ok("a"), aliases.resolve("", 2));
        assert_eq!(Ok("b"), aliases.resolve("b", 2));
        assert_eq!(Ok("b"), aliases.resolve("", 2));
    }

    #[test]
    fn unknown_aliases_are_protocol_errors() {
        let mut aliases = InboundAliases::new(2);
        for (topic, alias) in [("", 1), ("a", 0), ("a", 3)] {
            assert_eq!(
                Err(ProtocolError::InvalidTopicAlias(alias)),
                aliases.resolve(topic, alias)
            );
        }
    }
}
