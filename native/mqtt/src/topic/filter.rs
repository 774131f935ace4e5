//! Topic filters [4.7.1] and shared subscriptions [4.8.2].

use super::name::{check_text, TopicError};

/// Most levels a filter may have here: a bound on the recursion of the routing tree.
pub const MAXIMUM_LEVELS: usize = 128;
const SHARE_PREFIX: &str = "$share/";

/// A checked filter, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter<'a> {
    /// Name of the share group, for `$share/name/path`.
    pub share: Option<&'a str>,
    /// The filter proper, perhaps with wildcards.
    pub path: &'a str,
}

impl<'a> Filter<'a> {
    /// Checks and takes apart a filter as it stands in SUBSCRIBE.
    pub fn parse(text: &'a str) -> Result<Self, TopicError> {
        check_text(text)?;
        let Some(rest) = text.strip_prefix(SHARE_PREFIX) else {
            check_levels(text)?;
            return Ok(Self {
                share: None,
                path: text,
            });
        };
        let (name, path) = rest.split_once('/').ok_or(TopicError::InvalidShare)?;
        if name.is_empty() || path.is_empty() || name.contains(['+', '#']) {
            return Err(TopicError::InvalidShare);
        }
        check_levels(path)?;
        Ok(Self {
            share: Some(name),
            path,
        })
    }

    /// Whether messages of this topic belong to the subscription.
    pub fn matches(&self, topic: &str) -> bool {
        matches(self.path, topic)
    }

    /// Whether the path has a wildcard in it.
    pub fn has_wildcard(&self) -> bool {
        self.path.contains(['+', '#'])
    }
}

/// Whether the text can stand in SUBSCRIBE, `$share/name/` included.
pub fn check_filter(text: &str) -> Result<(), TopicError> {
    Filter::parse(text).map(|_| ())
}

fn check_levels(path: &str) -> Result<(), TopicError> {
    let mut levels = path.split('/');
    let mut count = 0;
    while let Some(level) = levels.next() {
        count += 1;
        let misplaced = level.len() > 1 && level.contains(['+', '#']);
        let after_hash = level == "#" && levels.clone().next().is_some();
        if misplaced || after_hash {
            return Err(TopicError::MisplacedWildcard);
        }
    }
    if count > MAXIMUM_LEVELS {
        return Err(TopicError::TooManyLevels);
    }
    Ok(())
}

/// Whether a filter path (without `$share/name/`) matches a topic name [4.7.1, 4.7.2].
///
/// Topics that begin with `$` are not matched by filters that begin with a wildcard.
pub fn matches(path: &str, topic: &str) -> bool {
    if topic.starts_with('$') && path.starts_with(['+', '#']) {
        return false;
    }
    let mut levels = topic.split('/');
    for wanted in path.split('/') {
        match (wanted, levels.next()) {
            ("#", _) => return true, // also the parent itself: a/# matches a
            ("+", Some(_)) => {}
            (wanted, Some(level)) if wanted == level => {}
            _ => return false,
        }
    }
    levels.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matching_follows_the_examples_of_the_standard() {
        for (path, topic, expected) in [
            ("sport/tennis/player1/#", "sport/tennis/player1", true),
            ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true),
            ("sport/#", "sport", true),
            ("#", "a/b", true),
            ("sport/tennis/+", "sport/tennis/player1", true),
            ("sport/tennis/+", "sport/tennis/player1/ranking", false),
            ("sport/+", "sport", false),
            ("sport/+", "sport/", true),
            ("+/+", "/finance", true),
            ("/+", "/finance", true),
            ("+", "/finance", false),
            ("#", "$SYS/x", false),
            ("+/monitor/Clients", "$SYS/monitor/Clients", false),
            ("$SYS/#", "$SYS/x", true),
            ("$SYS/monitor/+", "$SYS/monitor/Clients", true),
            ("a", "A", false),
            ("a/b", "a/b/c", false),
            ("a//b", "a//b", true),
        ] {
            assert_eq!(expected, matches(path, topic), "{path} on {topic}");
        }
    }

    #[test]
    fn misplaced_wildcards_are_refused() {
        for bad in ["sport/tennis#", "sport/tennis/#/ranking", "sport+", "+a/b", "##", "#/"] {
            assert_eq!(Err(TopicError::MisplacedWildcard), check_filter(bad), "{bad}");
        }
        for good in ["#", "+", "+/tennis/#", "sport/+/player1", "/", "$share/g/#"] {
            assert_eq!(Ok(()), check_filter(good), "{good}");
        }
    }

    #[test]
    fn a_shared_filter_has_a_group_and_a_path() {
        let filter = Filter::parse("$share/benchmark/test/#").unwrap();
        assert_eq!((Some("benchmark"), "test/#"), (filter.share, filter.path));
        assert!(filter.matches("test/1"));
        let slash = Filter::parse("$share/g//x").unwrap();
        assert_eq!("/x", slash.path);
        for bad in ["$share/g", "$share//x", "$share/g/", "$share/+/x", "$share/"] {
            assert_eq!(Err(TopicError::InvalidShare), check_filter(bad), "{bad}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deepest = "/".repeat(MAXIMUM_LEVELS - 1);
        assert_eq!(Ok(()), check_filter(&deepest));
        assert_eq!(Err(TopicError::TooManyLevels), check_filter(&format!("{deepest}/")));
    }
}
