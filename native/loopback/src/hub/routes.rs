//! From a topic to the subscriptions that get its messages, remembered per topic.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use telemark_mqtt::topic::{Filter, SubscriptionTree, Target};
use telemark_mqtt::QoS;

use super::session::Session;

/// Topics remembered before the memory is emptied: a bound for runs whose topics never repeat.
const MOST_TOPICS: usize = 200_000;

/// One subscription of one session, by their numbers in the hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subscriber {
    /// Slot of the session.
    pub session: u32,
    /// Index of the subscription in its session.
    pub subscription: u32,
}

/// A subscription with what a delivery needs to know of it.
#[derive(Debug, Clone)]
pub struct Destination {
    /// Whose.
    pub to: Subscriber,
    /// The highest QoS wanted.
    pub qos: QoS,
    /// Not the subscriber's own messages.
    pub no_local: bool,
    /// Leave the retain flag alone.
    pub retain_as_published: bool,
    /// MQTT 5 subscription identifiers.
    pub ids: Option<Arc<[u32]>>,
}

/// Everyone who gets the messages of one topic.
#[derive(Debug, Default)]
pub struct Route {
    /// Each of these gets every message. A session whose filters overlap is here once.
    pub plain: Vec<Destination>,
    /// One member of each of these gets it.
    pub groups: Vec<RouteGroup>,
}

/// A shared subscription.
#[derive(Debug)]
pub struct RouteGroup {
    /// Its members.
    pub members: Vec<Destination>,
    turn: Arc<AtomicUsize>,
}

impl RouteGroup {
    /// The members, beginning with the one whose turn it is.
    pub fn in_turn(&self) -> impl Iterator<Item = &Destination> {
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let count = self.members.len();
        (0..count).map(move |step| &self.members[first.wrapping_add(step) % count])
    }
}

/// All subscriptions, and the routes found so far.
#[derive(Debug, Default)]
pub struct Routes {
    tree: SubscriptionTree<Subscriber, ()>,
    known: FxHashMap<Box<str>, Arc<Route>>,
    /// Whose turn it is, by filter with its $share prefix: one turn for all topics a group takes.
    turns: HashMap<Box<str>, Arc<AtomicUsize>>,
}

impl Routes {
    /// Adds a subscription, or forgets the routes that knew its old options.
    pub fn insert(&mut self, filter: &Filter<'_>, subscriber: Subscriber) {
        self.tree.insert(filter, subscriber, ());
        self.known.clear();
    }

    /// Takes a subscription away.
    pub fn remove(&mut self, filter: &Filter<'_>, subscriber: Subscriber) {
        self.tree.remove(filter, &subscriber);
        self.known.clear();
    }

    /// The route of a topic.
    #[inline]
    pub fn of(&mut self, topic: &str, sessions: &[Option<Session>]) -> Arc<Route> {
        if let Some(route) = self.known.get(topic) {
            return Arc::clone(route);
        }
        let route = Arc::new(self.find(topic, sessions));
        if self.known.len() >= MOST_TOPICS {
            self.known.clear();
        }
        self.known.insert(topic.into(), Arc::clone(&route));
        route
    }

    fn find(&mut self, topic: &str, sessions: &[Option<Session>]) -> Route {
        let mut route = Route::default();
        let turns = &mut self.turns;
        self.tree.visit(topic, |target| match target {
            Target::Plain(subscriber, ()) => route.plain.extend(destination(*subscriber, sessions)),
            Target::Shared(group) => {
                let members = group.members().iter();
                let members: Vec<_> = members
                    .filter_map(|(member, ())| destination(*member, sessions))
                    .collect();
                let Some(filter) = members.first().and_then(|first| filter_of(first.to, sessions)) else {
                    return;
                };
                let turn = Arc::clone(turns.entry(filter.into()).or_default());
                route.groups.push(RouteGroup { members, turn });
            }
        });
        merge_overlapping(&mut route.plain);
        route
    }
}

fn destination(to: Subscriber, sessions: &[Option<Session>]) -> Option<Destination> {
    let session = sessions.get(to.session as usize)?.as_ref()?;
    let subscription = session.subscriptions.get(to.subscription as usize)?.as_ref()?;
    Some(Destination {
        to,
        qos: subscription.qos,
        no_local: subscription.no_local,
        retain_as_published: subscription.retain_as_published,
        ids: subscription.id.map(|id| Arc::from([id])),
    })
}

fn filter_of(to: Subscriber, sessions: &[Option<Session>]) -> Option<&str> {
    let session = sessions.get(to.session as usize)?.as_ref()?;
    Some(&session.subscriptions.get(to.subscription as usize)?.as_ref()?.filter)
}

/// A session with several matching filters gets one copy, with the highest QoS and all identifiers [3.3.4].
fn merge_overlapping(plain: &mut Vec<Destination>) {
    let mut seen: FxHashMap<u32, usize> = FxHashMap::default();
    let mut merged: Vec<Destination> = Vec::with_capacity(plain.len());
    for destination in plain.drain(..) {
        match seen.get(&destination.to.session) {
            None => {
                seen.insert(destination.to.session, merged.len());
                merged.push(destination);
            }
            Some(&place) => merge(&mut merged[place], destination),
        }
    }
    *plain = merged;
}

fn merge(into: &mut Destination, other: Destination) {
    let ids = into.ids.iter().chain(&other.ids).flat_map(|ids| ids.iter().copied());
    let ids: Vec<u32> = ids.collect();
    if other.qos > into.qos {
        (into.to, into.qos) = (other.to, other.qos);
    }
    into.no_local &= other.no_local;
    into.retain_as_published |= other.retain_as_published;
    into.ids = (!ids.is_empty()).then(|| ids.into());
}

#[cfg(test)]
mod tests {
    use super::super::session::Subscription;
    use super::*;

    fn world(filters: &[(&str, QoS, Option<u32>)]) -> (Routes, Vec<Option<Session>>) {
        let mut routes = Routes::default();
        let mut session = Session::new("a", 1);
        for (text, qos, id) in filters {
            let filter = Filter::parse(text).unwrap();
            let mut subscription = Subscription::new("a", text, filter.share);
            (subscription.qos, subscription.id) = (*qos, *id);
            let index = session.add(subscription);
            routes.insert(
                &filter,
                Subscriber {
                    session: 0,
                    subscription: index,
                },
            );
        }
        (routes, vec![Some(session)])
    }

    #[test]
    fn overlapping_filters_give_one_copy_with_the_highest_qos_and_all_identifiers() {
        let (mut routes, sessions) = world(&[
            ("a/#", QoS::AtMostOnce, Some(1)),
            ("a/b", QoS::ExactlyOnce, Some(2)),
            ("a/+", QoS::AtLeastOnce, None),
        ]);
        let route = routes.of("a/b", &sessions);
        assert_eq!((1, QoS::ExactlyOnce), (route.plain.len(), route.plain[0].qos));
        let mut ids = route.plain[0].ids.as_deref().unwrap().to_vec();
        ids.sort_unstable();
        assert_eq!(vec![1, 2], ids);
    }

    #[test]
    fn a_groups_turn_is_common_to_all_its_topics() {
        let (mut routes, mut sessions) = world(&[("$share/g/#", QoS::AtMostOnce, None)]);
        sessions.push(Some(Session::new("b", 2)));
        let subscription = Subscription::new("b", "$share/g/#", Some("g"));
        sessions[1].as_mut().unwrap().add(subscription);
        routes.insert(
            &Filter::parse("$share/g/#").unwrap(),
            Subscriber {
                session: 1,
                subscription: 0,
            },
        );
        let taken: Vec<u32> = (0..6)
            .map(|number| {
                let route = routes.of(&format!("topic/{number}"), &sessions);
                let session = route.groups[0].in_turn().next().unwrap().to.session;
                session
            })
            .collect();
        assert_eq!(vec![0, 1, 0, 1, 0, 1], taken);
    }

    #[test]
    fn a_new_subscription_is_seen_by_known_topics() {
        let (mut routes, mut sessions) = world(&[]);
        assert!(routes.of("x", &sessions).plain.is_empty());
        sessions[0].as_mut().unwrap().add(Subscription::new("a", "x", None));
        routes.insert(
            &Filter::parse("x").unwrap(),
            Subscriber {
                session: 0,
                subscription: 0,
            },
        );
        assert_eq!(1, routes.of("x", &sessions).plain.len());
    }
}
