//! Which messages of one subscription a fault hits: every n-th, from a phase the seed chooses.

use super::settings::FaultSettings;
use crate::choice::scatter;

/// What happens to one delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Delivered as it should be.
    Pass,
    /// Not delivered.
    Drop,
    /// Delivered twice.
    Duplicate,
    /// Kept back until the next message of its stream has gone.
    Hold,
}

/// Counts the messages of one subscription and picks the ones to treat wrongly.
#[derive(Debug, Clone, Default)]
pub struct Selector {
    identity: u64,
    /// Which `set` of the settings the count belongs to; a new set starts again at zero.
    epoch: u64,
    seen: u64,
}

impl Selector {
    /// A selector whose phases depend on the subscription, so that not all lose the same messages.
    #[must_use]
    pub fn new(identity: u64) -> Self {
        Self {
            identity,
            epoch: 0,
            seen: 0,
        }
    }

    /// Counts one message and says what happens to it. The first fault that applies wins: drop, duplicate, reorder.
    pub fn next(&mut self, settings: &FaultSettings, seed: u64, epoch: u64) -> Action {
        let number = self.count(epoch);
        let choices = [
            (settings.drop, Action::Drop),
            (settings.duplicate, Action::Duplicate),
            (settings.reorder, Action::Hold),
        ];
        for (salt, (every, action)) in choices.into_iter().enumerate() {
            if every.is_some_and(|every| number % every == self.phase(seed, salt as u64, every)) {
                return action;
            }
        }
        Action::Pass
    }

    /// Counts a message that may not be picked because another one is waiting for it.
    pub fn count(&mut self, epoch: u64) -> u64 {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.seen = 0;
        }
        self.seen += 1;
        self.seen - 1
    }

    fn phase(&self, seed: u64, salt: u64, every: u64) -> u64 {
        scatter(self.identity ^ scatter(seed.wrapping_mul(4).wrapping_add(salt))) % every
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(settings: &FaultSettings, seed: u64, identity: u64, messages: u64) -> Vec<(u64, Action)> {
        let mut selector = Selector::new(identity);
        (0..messages)
            .map(|number| (number, selector.next(settings, seed, 0)))
            .filter(|(_, action)| *action != Action::Pass)
            .collect()
    }

    #[test]
    fn exactly_every_nth_message_is_picked() {
        let settings = FaultSettings {
            drop: Some(10),
            ..FaultSettings::default()
        };
        for seed in 0..20 {
            let numbers: Vec<u64> = picked(&settings, seed, 5, 1000)
                .iter()
                .map(|(number, _)| *number)
                .collect();
            assert_eq!(100, numbers.len());
            assert!(numbers.windows(2).all(|pair| pair[1] - pair[0] == 10));
        }
    }

    #[test]
    fn the_same_seed_picks_the_same_messages_and_another_seed_others() {
        let settings = FaultSettings {
            duplicate: Some(100),
            ..FaultSettings::default()
        };
        assert_eq!(picked(&settings, 1, 9, 500), picked(&settings, 1, 9, 500));
        let firsts: std::collections::HashSet<u64> = (0..50).map(|seed| picked(&settings, seed, 9, 500)[0].0).collect();
        assert!(firsts.len() > 20, "{firsts:?}");
    }

    #[test]
    fn new_settings_start_the_count_again() {
        let settings = FaultSettings {
            drop: Some(1000),
            ..FaultSettings::default()
        };
        let mut selector = Selector::new(3);
        let first = (0..1000).position(|_| selector.next(&settings, 1, 0) == Action::Drop);
        let second = (0..1000).position(|_| selector.next(&settings, 1, 1) == Action::Drop);
        assert_eq!(first, second);
    }

    #[test]
    fn a_message_hit_twice_suffers_the_first_fault_only() {
        let all = FaultSettings {
            drop: Some(1),
            duplicate: Some(1),
            reorder: Some(2),
            ..FaultSettings::default()
        };
        assert!(picked(&all, 1, 1, 50).iter().all(|(_, action)| *action == Action::Drop));
    }
}
