//! What the server is told to do wrong, as it stands in the configuration and in `POST /faults`.

use serde::{Deserialize, Serialize};

/// All faults; everything off by default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FaultSettings {
    /// Milliseconds every delivery waits between its arrival and its sending.
    pub delay_ms: Option<f64>,
    /// Times at which the server neither reads nor writes.
    pub stall: Vec<Stall>,
    /// Every n-th message of a subscription is not delivered.
    pub drop: Option<u64>,
    /// Every n-th message of a subscription is delivered twice.
    pub duplicate: Option<u64>,
    /// Every n-th message of a subscription changes places with the next one of its stream.
    pub reorder: Option<u64>,
    /// Every n-th CONNECT is answered with a refusal.
    pub refuse_connect: Option<Refusal>,
    /// Every n-th SUBSCRIBE is answered with failure codes.
    pub refuse_subscribe: Option<Refusal>,
    /// Devices whose connection is cut after some messages.
    pub disconnect: Vec<Disconnect>,
}

/// The server stands still for a while.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    /// Length in seconds.
    pub seconds: f64,
    /// Seconds from the first PUBLISH after the fault was set.
    pub at: f64,
}

/// A refusal of every n-th request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// n.
    pub every: u64,
    /// Return or reason code; None takes "server unavailable" or "failure" of the device's protocol version.
    #[serde(default)]
    pub code: Option<u8>,
}

/// A connection that is cut without a DISCONNECT.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disconnect {
    /// Client id of the device.
    pub client: String,
    /// PUBLISH packets it may send and be sent, counted together, before it is cut.
    pub after: u64,
    /// How often this happens; the count starts again at each.
    #[serde(default = "once")]
    pub times: u64,
}

fn once() -> u64 {
    1
}

impl FaultSettings {
    /// Every value that cannot be used, as "field: found, expected".
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        self.check_times(&mut problems);
        self.check_counts(&mut problems);
        problems
    }

    /// Whether single deliveries have to be looked at: false keeps the hot path short.
    #[must_use]
    pub fn touch_deliveries(&self) -> bool {
        self.drop.is_some() || self.duplicate.is_some() || self.reorder.is_some()
    }

    /// The fixed delay in nanoseconds; 0 when there is none.
    #[must_use]
    pub fn delay_ns(&self) -> u64 {
        self.delay_ms.map_or(0, |milliseconds| (milliseconds * 1e6) as u64)
    }

    fn check_times(&self, problems: &mut Vec<String>) {
        if let Some(delay) = self.delay_ms {
            if !(0.0..=3_600_000.0).contains(&delay) {
                problems.push(format!("faults.delay_ms: {delay}, expected 0 to 3600000"));
            }
        }
        for (index, stall) in self.stall.iter().enumerate() {
            for (field, value) in [("seconds", stall.seconds), ("at", stall.at)] {
                if !(0.0..=86_400.0).contains(&value) {
                    problems.push(format!("faults.stall[{index}].{field}: {value}, expected 0 to 86400"));
                }
            }
        }
    }

    fn check_counts(&self, problems: &mut Vec<String>) {
        let refusals = [
            ("refuse_connect", &self.refuse_connect),
            ("refuse_subscribe", &self.refuse_subscribe),
        ];
        let mut counts = vec![
            ("drop".to_owned(), self.drop, 1),
            ("duplicate".to_owned(), self.duplicate, 1),
        ];
        // A message cannot change places with the next one if that one has to do the same.
        counts.push(("reorder".to_owned(), self.reorder, 2));
        for (name, refusal) in refusals {
            counts.push((
                format!("{name}.every"),
                refusal.as_ref().map(|refusal| refusal.every),
                1,
            ));
            if let Some(code) = refusal
                .as_ref()
                .and_then(|refusal| refusal.code)
                .filter(|code| *code == 0)
            {
                problems.push(format!(
                    "faults.{name}.code: {code}, expected a code that refuses (not 0)"
                ));
            }
        }
        for (index, disconnect) in self.disconnect.iter().enumerate() {
            counts.push((format!("disconnect[{index}].after"), Some(disconnect.after), 1));
            counts.push((format!("disconnect[{index}].times"), Some(disconnect.times), 1));
        }
        for (name, value, least) in counts {
            if let Some(value) = value.filter(|value| *value < least) {
                problems.push(format!("faults.{name}: {value}, expected at least {least}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_value_is_reported_at_once() {
        let text = r#"{"delay_ms": -1, "drop": 0, "reorder": 1, "refuse_connect": {"every": 0, "code": 0},
                       "stall": [{"seconds": -2, "at": 1}], "disconnect": [{"client": "a", "after": 0}]}"#;
        let settings: FaultSettings = serde_json::from_str(text).unwrap();
        assert_eq!(7, settings.problems().len(), "{:?}", settings.problems());
    }

    #[test]
    fn unknown_faults_are_refused_by_name() {
        let error = serde_json::from_str::<FaultSettings>(r#"{"dorp": 3}"#).unwrap_err();
        assert!(error.to_string().contains("dorp"), "{error}");
    }

    #[test]
    fn without_faults_deliveries_are_not_looked_at() {
        assert!(!FaultSettings::default().touch_deliveries());
        assert!(FaultSettings {
            drop: Some(3),
            ..FaultSettings::default()
        }
        .touch_deliveries());
    }
}
