//! The subscribers of one filter: ordinary ones, and groups that share.

use std::sync::atomic::{AtomicUsize, Ordering};

/// A match: one subscriber, or a group of which one member gets the message.
#[derive(Debug)]
pub enum Target<'s, K, V> {
    /// An ordinary subscription.
    Plain(&'s K, &'s V),
    /// A shared subscription: deliver to `group.next()`.
    Shared(&'s Group<K, V>),
}

/// Members of one shared subscription (one share name on one filter).
#[derive(Debug)]
pub struct Group<K, V> {
    name: Box<str>,
    members: Vec<(K, V)>,
    turn: AtomicUsize,
}

impl<K, V> Group<K, V> {
    /// The share name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All members in order of joining.
    pub fn members(&self) -> &[(K, V)] {
        &self.members
    }

    /// The member whose turn it is: round robin.
    pub fn next(&self) -> Option<&(K, V)> {
        self.next_where(|_, _| true)
    }

    /// The next member in turn that the closure accepts (is connected, has room).
    pub fn next_where(&self, accepts: impl Fn(&K, &V) -> bool) -> Option<&(K, V)> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let count = self.members.len();
        (0..count)
            .map(|step| &self.members[turn.wrapping_add(step) % count])
            .find(|(key, value)| accepts(key, value))
    }
}

#[derive(Debug)]
pub(super) struct Subscribers<K, V> {
    plain: Vec<(K, V)>,
    groups: Vec<Group<K, V>>,
}

impl<K, V> Default for Subscribers<K, V> {
    fn default() -> Self {
        Self {
            plain: Vec::new(),
            groups: Vec::new(),
        }
    }
}

impl<K: PartialEq, V> Subscribers<K, V> {
    pub(super) fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.groups.is_empty()
    }

    pub(super) fn insert(&mut self, share: Option<&str>, key: K, value: V) -> Option<V> {
        let members = match share {
            None => &mut self.plain,
            Some(name) => &mut self.group(name).members,
        };
        if let Some((_, old)) = members.iter_mut().find(|(member, _)| *member == key) {
            return Some(std::mem::replace(old, value));
        }
        members.push((key, value));
        None
    }

    fn group(&mut self, name: &str) -> &mut Group<K, V> {
        let at = self
            .groups
            .iter()
            .position(|group| &*group.name == name)
            .unwrap_or_else(|| {
                self.groups.push(Group {
                    name: name.into(),
                    members: Vec::new(),
                    turn: AtomicUsize::new(0),
                });
                self.groups.len() - 1
            });
        &mut self.groups[at]
    }

    pub(super) fn remove(&mut self, share: Option<&str>, key: &K) -> Option<V> {
        let members = match share {
            None => &mut self.plain,
            Some(name) => &mut self.groups.iter_mut().find(|group| &*group.name == name)?.members,
        };
        let at = members.iter().position(|(member, _)| member == key)?;
        let (_, value) = members.remove(at);
        self.groups.retain(|group| !group.members.is_empty());
        Some(value)
    }

    pub(super) fn visit<'s>(&'s self, visitor: &mut impl FnMut(Target<'s, K, V>)) {
        for (key, value) in &self.plain {
            visitor(Target::Plain(key, value));
        }
        for group in &self.groups {
            visitor(Target::Shared(group));
        }
    }
}
