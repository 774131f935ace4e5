//! Who is subscribed to what: literal filters in one hash map, filters with wildcards in a tree of levels.

use super::filter::Filter;
use super::hash::BuildTopicHasher;
use super::subscribers::{Subscribers, Target};
use std::collections::HashMap;

/// Subscriptions of many subscribers. `K` names a subscriber, `V` holds the subscription's options.
///
/// Looking up takes `&self` and allocates nothing, so many reader threads may share the tree behind a lock.
#[derive(Debug)]
pub struct SubscriptionTree<K, V> {
    literal: HashMap<Box<str>, Subscribers<K, V>, BuildTopicHasher>,
    wildcard: Node<K, V>,
    wildcards: usize,
    generation: u64,
}

#[derive(Debug)]
struct Node<K, V> {
    children: HashMap<Box<str>, Node<K, V>, BuildTopicHasher>,
    any_level: Option<Box<Node<K, V>>>,
    here: Subscribers<K, V>,
    below: Subscribers<K, V>,
}

impl<K, V> Default for Node<K, V> {
    fn default() -> Self {
        Self {
            children: HashMap::default(),
            any_level: None,
            here: Subscribers::default(),
            below: Subscribers::default(),
        }
    }
}

impl<K, V> Default for SubscriptionTree<K, V> {
    fn default() -> Self {
        Self {
            literal: HashMap::default(),
            wildcard: Node::default(),
            wildcards: 0,
            generation: 0,
        }
    }
}

impl<K: PartialEq, V> Node<K, V> {
    fn is_empty(&self) -> bool {
        self.children.is_empty() && self.any_level.is_none() && self.here.is_empty() && self.below.is_empty()
    }

    fn insert(&mut self, path: &str, share: Option<&str>, key: K, value: V) -> Option<V> {
        let mut node = self;
        for level in path.split('/') {
            node = match level {
                "#" => return node.below.insert(share, key, value),
                "+" => node.any_level.get_or_insert_with(Box::default),
                literal => node.children.entry(literal.into()).or_default(),
            };
        }
        node.here.insert(share, key, value)
    }

    /// Recursive so that emptied nodes can be taken away on the way back; depth is bounded by `Filter::parse`.
    fn remove(&mut self, path: Option<&str>, share: Option<&str>, key: &K) -> Option<V> {
        let Some(path) = path else {
            return self.here.remove(share, key);
        };
        let (level, rest) = split_level(path);
        match level {
            "#" => self.below.remove(share, key),
            "+" => {
                let child = self.any_level.as_mut()?;
                let removed = child.remove(rest, share, key);
                if child.is_empty() {
                    self.any_level = None;
                }
                removed
            }
            literal => {
                let child = self.children.get_mut(literal)?;
                let removed = child.remove(rest, share, key);
                if child.is_empty() {
                    self.children.remove(literal);
                }
                removed
            }
        }
    }

    /// `wild` is false on the first level of a `$` topic, where wildcards do not match [4.7.2].
    fn visit<'s>(&'s self, path: Option<&str>, wild: bool, visitor: &mut impl FnMut(Target<'s, K, V>)) {
        if wild {
            self.below.visit(visitor);
        }
        let Some(path) = path else {
            return self.here.visit(visitor);
        };
        let (level, rest) = split_level(path);
        if let (Some(child), true) = (&self.any_level, wild) {
            child.visit(rest, true, visitor);
        }
        if let Some(child) = self.children.get(level) {
            child.visit(rest, true, visitor);
        }
    }
}

/// The first level and, if there is a slash, what follows it.
fn split_level(path: &str) -> (&str, Option<&str>) {
    match path.split_once('/') {
        Some((level, rest)) => (level, Some(rest)),
        None => (path, None),
    }
}

impl<K: PartialEq, V> SubscriptionTree<K, V> {
    /// Without subscriptions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a subscription; returns the replaced one's value.
    pub fn insert(&mut self, filter: &Filter<'_>, key: K, value: V) -> Option<V> {
        self.generation += 1;
        if !filter.has_wildcard() {
            let subscribers = self.literal.entry(filter.path.into()).or_default();
            return subscribers.insert(filter.share, key, value);
        }
        let replaced = self.wildcard.insert(filter.path, filter.share, key, value);
        self.wildcards += usize::from(replaced.is_none());
        replaced
    }

    /// Takes a subscription away; returns its value if it existed.
    pub fn remove(&mut self, filter: &Filter<'_>, key: &K) -> Option<V> {
        self.generation += 1;
        if filter.has_wildcard() {
            let removed = self.wildcard.remove(Some(filter.path), filter.share, key);
            self.wildcards -= usize::from(removed.is_some());
            return removed;
        }
        let subscribers = self.literal.get_mut(filter.path)?;
        let removed = subscribers.remove(filter.share, key);
        if subscribers.is_empty() {
            self.literal.remove(filter.path);
        }
        removed
    }

    /// Calls the visitor for every subscription that matches. A subscriber with several matching
    /// filters is visited once for each.
    pub fn visit<'s>(&'s self, topic: &str, mut visitor: impl FnMut(Target<'s, K, V>)) {
        if let Some(subscribers) = self.literal.get(topic) {
            subscribers.visit(&mut visitor);
        }
        if self.wildcards > 0 {
            self.wildcard.visit(Some(topic), !topic.starts_with('$'), &mut visitor);
        }
    }

    /// Changes with every insert and remove: a cached route is good while this stays the same.
    pub const fn generation(&self) -> u64 {
        self.generation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(filters: &[(&str, u32)]) -> SubscriptionTree<u32, ()> {
        let mut tree = SubscriptionTree::new();
        for (text, key) in filters {
            tree.insert(&Filter::parse(text).unwrap(), *key, ());
        }
        tree
    }

    /// Plain subscribers found, sorted; shared groups give the member in turn.
    fn found(tree: &SubscriptionTree<u32, ()>, topic: &str) -> Vec<u32> {
        let mut keys = Vec::new();
        tree.visit(topic, |target| match target {
            Target::Plain(key, ()) => keys.push(*key),
            Target::Shared(group) => keys.extend(group.next().map(|(key, ())| *key)),
        });
        keys.sort_unstable();
        keys
    }

    #[test]
    fn literal_and_wildcard_filters_are_found_together() {
        let tree = tree(&[
            ("a/b", 1),
            ("a/+", 2),
            ("a/#", 3),
            ("#", 4),
            ("+/b", 5),
            ("a/c", 6),
            ("a/b/c", 7),
        ]);
        assert_eq!(vec![1, 2, 3, 4, 5], found(&tree, "a/b"));
        assert_eq!(vec![3, 4], found(&tree, "a"));
        assert_eq!(vec![3, 4, 7], found(&tree, "a/b/c"));
    }

    #[test]
    fn wildcards_leave_dollar_topics_alone() {
        let tree = tree(&[("#", 1), ("+/x", 2), ("$SYS/#", 3), ("$SYS/+", 4), ("$SYS/x", 5)]);
        assert_eq!(vec![3, 4, 5], found(&tree, "$SYS/x"));
        assert_eq!(vec![1, 2], found(&tree, "a/x"));
    }

    #[test]
    fn the_members_of_a_group_take_turns() {
        let tree = tree(&[
            ("$share/g/t/#", 1),
            ("$share/g/t/#", 2),
            ("$share/h/t/#", 3),
            ("t/#", 4),
        ]);
        assert_eq!(vec![1, 3, 4], found(&tree, "t/1"));
        assert_eq!(vec![2, 3, 4], found(&tree, "t/1"));
        assert_eq!(vec![1, 3, 4], found(&tree, "t/1"));
    }

    #[test]
    fn a_group_passes_over_members_that_are_not_accepted() {
        let tree = tree(&[("$share/g/t", 1), ("$share/g/t", 2)]);
        tree.visit("t", |target| {
            let Target::Shared(group) = target else { panic!("plain") };
            assert_eq!(("g", 2), (group.name(), group.members().len()));
            assert_eq!(Some(&(2, ())), group.next_where(|key, ()| *key == 2));
            assert_eq!(None, group.next_where(|_, ()| false));
        });
    }

    #[test]
    fn subscribing_again_replaces_the_options() {
        let filter = Filter::parse("a/+").unwrap();
        let mut tree = SubscriptionTree::new();
        assert_eq!(None, tree.insert(&filter, 1, "old"));
        assert_eq!(Some("old"), tree.insert(&filter, 1, "new"));
        assert_eq!(Some("new"), tree.remove(&filter, &1));
        assert_eq!(None, tree.remove(&filter, &1));
    }

    #[test]
    fn nothing_is_left_when_all_have_gone() {
        let filters = [
            ("a/b", 1),
            ("a/+/c", 2),
            ("a/#", 3),
            ("$share/g/a/b", 4),
            ("$share/g/+/b", 5),
        ];
        let mut tree = tree(&filters);
        let before = tree.generation();
        for (text, key) in filters {
            assert_eq!(Some(()), tree.remove(&Filter::parse(text).unwrap(), &key));
        }
        assert!(tree.literal.is_empty() && tree.wildcard.is_empty() && tree.wildcards == 0);
        assert!(tree.generation() > before);
    }
}
