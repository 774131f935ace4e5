//! Misbehaviour on command: exact, repeatable, and accounted for.

mod account;
mod selector;
mod settings;
mod stall;

use serde::Serialize;

pub use account::{Account, Affected, StallDone};
pub use selector::{Action, Selector};
pub use settings::{Disconnect, FaultSettings, Stall};
pub use stall::StallWindow;

use crate::choice::scatter;

const NANOSECONDS: f64 = 1e9;

/// The faults in force and the account of what they did.
#[derive(Debug)]
pub struct Faults {
    /// What is in force.
    pub settings: FaultSettings,
    /// Chooses which messages are hit.
    pub seed: u64,
    /// Counts the times settings were set; selectors start again when it changes.
    pub epoch: u64,
    /// What was done.
    pub account: Account,
    /// Whether single deliveries have to be looked at.
    pub touch_deliveries: bool,
    /// The fixed delay; 0 for none.
    pub delay_ns: u64,
    first_publish_ns: Option<u64>,
    connects: u64,
    subscribes: u64,
    cuts: Vec<Cut>,
    stalls: Vec<PlannedStall>,
}

#[derive(Debug)]
struct Cut {
    client: String,
    after: u64,
    times_left: u64,
    seen: u64,
}

#[derive(Debug)]
struct PlannedStall {
    after_ns: u64,
    length_ns: u64,
    done: bool,
}

/// What `GET /faults` answers.
#[derive(Debug, Serialize)]
pub struct FaultReport<'a> {
    seed: u64,
    settings: &'a FaultSettings,
    first_publish_ns: Option<u64>,
    #[serde(flatten)]
    account: &'a Account,
}

impl Faults {
    /// Faults as configured, with an empty account.
    #[must_use]
    pub fn new(settings: FaultSettings, seed: u64, account_limit: usize) -> Self {
        let mut faults = Self {
            settings: FaultSettings::default(),
            seed,
            epoch: 0,
            account: Account::new(account_limit),
            touch_deliveries: false,
            delay_ns: 0,
            first_publish_ns: None,
            connects: 0,
            subscribes: 0,
            cuts: Vec::new(),
            stalls: Vec::new(),
        };
        faults.set(settings);
        faults
    }

    /// Puts other faults in force. Their counts and times start again; the account goes on.
    pub fn set(&mut self, settings: FaultSettings) {
        self.epoch += 1;
        self.touch_deliveries = settings.touch_deliveries();
        self.delay_ns = settings.delay_ns();
        self.first_publish_ns = None;
        self.connects = 0;
        self.subscribes = 0;
        self.cuts = settings.disconnect.iter().map(Cut::new).collect();
        self.stalls = settings.stall.iter().map(PlannedStall::new).collect();
        self.settings = settings;
    }

    /// Whether this PUBLISH is the first since the faults were set, from which stalls are timed.
    pub fn note_publish(&mut self, now_ns: u64) -> bool {
        if self.first_publish_ns.is_some() {
            return false;
        }
        self.first_publish_ns = Some(now_ns);
        true
    }

    /// The stall to begin at `now_ns` or the next one after it, as (from, until). None when no more is planned.
    #[must_use]
    pub fn next_stall(&self) -> Option<(u64, u64)> {
        let first = self.first_publish_ns?;
        let pending = self.stalls.iter().filter(|stall| !stall.done);
        pending
            .map(|stall| (first + stall.after_ns, first + stall.after_ns + stall.length_ns))
            .min()
    }

    /// Records that the stall `next_stall` named is over.
    pub fn stall_done(&mut self, from_ns: u64, until_ns: u64) {
        let Some(first) = self.first_publish_ns else { return };
        for stall in &mut self.stalls {
            if first + stall.after_ns == from_ns && first + stall.after_ns + stall.length_ns == until_ns {
                stall.done = true;
            }
        }
        self.account.stalls.push(StallDone { from_ns, until_ns });
    }

    /// Counts a CONNECT; the configured code when it is to be refused (`default` when none is configured).
    pub fn refuse_connect(&mut self, client: &str, default: u8) -> Option<u8> {
        let refusal = self.settings.refuse_connect.as_ref()?;
        let number = self.connects;
        self.connects += 1;
        if number % refusal.every != scatter(self.seed ^ 1) % refusal.every {
            return None;
        }
        self.account.note(Affected::device("refuse_connect", client));
        Some(refusal.code.unwrap_or(default))
    }

    /// Counts a SUBSCRIBE; the configured code when it is to be refused.
    pub fn refuse_subscribe(&mut self, client: &str) -> Option<u8> {
        let refusal = self.settings.refuse_subscribe.as_ref()?;
        let number = self.subscribes;
        self.subscribes += 1;
        if number % refusal.every != scatter(self.seed ^ 2) % refusal.every {
            return None;
        }
        self.account.note(Affected::device("refuse_subscribe", client));
        Some(refusal.code.unwrap_or(0x80))
    }

    /// Whether any device is to be cut off.
    #[must_use]
    pub fn has_cuts(&self) -> bool {
        !self.cuts.is_empty()
    }

    /// Counts one PUBLISH from or to a device; true when its connection is to be cut now.
    pub fn cut_now(&mut self, client: &str) -> bool {
        let Some(cut) = self.cuts.iter_mut().find(|cut| cut.client == client) else {
            return false;
        };
        if cut.times_left == 0 {
            return false;
        }
        cut.seen += 1;
        if cut.seen < cut.after {
            return false;
        }
        cut.seen = 0;
        cut.times_left -= 1;
        self.account.note(Affected::device("disconnect", client));
        true
    }

    /// The state for `GET /faults`.
    #[must_use]
    pub fn report(&self) -> FaultReport<'_> {
        FaultReport {
            seed: self.seed,
            settings: &self.settings,
            first_publish_ns: self.first_publish_ns,
            account: &self.account,
        }
    }
}

impl Cut {
    fn new(disconnect: &Disconnect) -> Self {
        let client = disconnect.client.clone();
        Self {
            client,
            after: disconnect.after,
            times_left: disconnect.times,
            seen: 0,
        }
    }
}

impl PlannedStall {
    fn new(stall: &Stall) -> Self {
        Self {
            after_ns: (stall.at * NANOSECONDS) as u64,
            length_ns: (stall.seconds * NANOSECONDS) as u64,
            done: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Faults {
        Faults::new(serde_json::from_str(text).unwrap(), 7, 100)
    }

    #[test]
    fn every_third_connect_is_refused() {
        let mut faults = faults(r#"{"refuse_connect": {"every": 3, "code": 5}}"#);
        let refused = (0..30).filter(|_| faults.refuse_connect("a", 3) == Some(5)).count();
        assert_eq!((10, 10), (refused, faults.account.connects_refused as usize));
    }

    #[test]
    fn a_device_is_cut_after_its_nth_message_as_often_as_asked() {
        let mut faults = faults(r#"{"disconnect": [{"client": "a", "after": 3, "times": 2}]}"#);
        let cuts: Vec<usize> = (1..=12).filter(|_| faults.cut_now("a")).collect();
        assert_eq!(vec![3, 6], cuts);
        assert!(!faults.cut_now("b"));
    }

    #[test]
    fn stalls_are_timed_from_the_first_publish_and_happen_once() {
        let mut faults = faults(r#"{"stall": [{"seconds": 1, "at": 3}, {"seconds": 2, "at": 1}]}"#);
        assert_eq!(None, faults.next_stall());
        assert!(faults.note_publish(1_000));
        assert!(!faults.note_publish(2_000));
        let first = (1_000_001_000, 3_000_001_000);
        assert_eq!(Some(first), faults.next_stall());
        faults.stall_done(first.0, first.1);
        assert_eq!(Some((3_000_001_000, 4_000_001_000)), faults.next_stall());
    }

    #[test]
    fn new_settings_keep_the_account() {
        let mut faults = faults(r#"{"refuse_subscribe": {"every": 1}}"#);
        assert_eq!(Some(0x80), faults.refuse_subscribe("a"));
        faults.set(FaultSettings::default());
        assert_eq!(None, faults.refuse_subscribe("a"));
        assert_eq!(1, faults.account.subscribes_refused);
    }
}
