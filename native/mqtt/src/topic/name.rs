//! Topic names [4.7.3].

use thiserror::Error;

/// Why a topic name or filter cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TopicError {
    /// At least one character is needed [4.7.3]. Remedy: name a topic.
    #[error("topic is empty")]
    Empty,
    /// 65,535 bytes at most [4.7.3]. Remedy: shorten it.
    #[error("topic has {0} bytes; 65,535 are allowed")]
    TooLong(usize),
    /// U+0000 is forbidden [4.7.3]. Remedy: remove it.
    #[error("topic contains U+0000")]
    NulCharacter,
    /// Names have no wildcards [4.7.1]. Remedy: publish to a name without + and #.
    #[error("topic name contains a wildcard")]
    WildcardInName,
    /// + and # fill a level, and # is the last [4.7.1]. Remedy: write a/+/b or a/#.
    #[error("wildcard is not alone in its level, or # is not the last")]
    MisplacedWildcard,
    /// More levels than this crate routes (a bound on recursion). Remedy: use fewer slashes.
    #[error("filter has more than {} levels", super::MAXIMUM_LEVELS)]
    TooManyLevels,
    /// `$share/name/filter` with an empty name, wildcards in it, or no filter [4.8.2]. Remedy: write $share/name/filter.
    #[error("shared subscription is not of the form $share/name/filter")]
    InvalidShare,
}

/// Whether the text can be the topic of a message.
pub fn check_name(topic: &str) -> Result<(), TopicError> {
    check_text(topic)?;
    if topic.contains(['+', '#']) {
        return Err(TopicError::WildcardInName);
    }
    Ok(())
}

/// Rules common to names and filters.
pub(super) fn check_text(topic: &str) -> Result<(), TopicError> {
    if topic.is_empty() {
        return Err(TopicError::Empty);
    }
    if topic.len() > usize::from(u16::MAX) {
        return Err(TopicError::TooLong(topic.len()));
    }
    if topic.contains('\0') {
        return Err(TopicError::NulCharacter);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_spaces_empty_levels_and_dollars() {
        for name in ["a", "/", "a//b", "$SYS/x", "with space/é"] {
            assert_eq!(Ok(()), check_name(name), "{name}");
        }
    }

    #[test]
    fn names_that_mqtt_forbids_are_refused_with_the_rule() {
        assert_eq!(Err(TopicError::Empty), check_name(""));
        assert_eq!(Err(TopicError::WildcardInName), check_name("a/+"));
        assert_eq!(Err(TopicError::WildcardInName), check_name("a#"));
        assert_eq!(Err(TopicError::NulCharacter), check_name("a\0"));
        assert_eq!(Err(TopicError::TooLong(65_536)), check_name(&"a".repeat(65_536)));
    }
}
