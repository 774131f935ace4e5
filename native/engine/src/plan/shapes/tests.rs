//! What every shape keeps to, and that a new one needs nothing but its own file.

use super::*;
use crate::plan::Load;
use crate::schedule::{Due, OpenLoop, Program, Schedule};

/// A shape that no other file of the engine has heard of: the rate halves after a second.
struct Halving {
    rate: f64,
}

impl LoadShape for Halving {
    fn check(&self, problems: &mut Problems) {
        problems.positive("load.rate", self.rate);
    }

    fn pacing(&self, share: Share) -> Pacing {
        Pacing::Open(OpenLoop {
            program: Program::Steps([(1_000_000_000, self.rate / 2.0)].into()),
            ..OpenLoop::in_turn(self.rate, share.offset)
        })
    }
}

#[test]
fn a_new_shape_needs_one_file() {
    let shape: &dyn LoadShape = &Halving { rate: 10.0 };
    let Pacing::Open(open) = shape.pacing(Share::default()) else {
        panic!("it goes by the clock");
    };
    let mut schedule = Schedule::new(open, 2, None, 0, 3_000_000_000);
    let dues: Vec<Due> = std::iter::from_fn(|| schedule.pop(i64::MAX)).collect();
    assert_eq!(dues.iter().filter(|due| due.intended_ns < 1_000_000_000).count(), 10);
    assert_eq!(dues.len(), 20);
    let mut problems = Problems::default();
    Halving { rate: 0.0 }.check(&mut problems);
    assert!(problems.into_result().unwrap_err().to_string().contains("load.rate"));
}

fn refusal(load: &str) -> String {
    serde_json::from_str::<Load>(load).unwrap_err().to_string()
}

#[test]
fn a_shape_takes_its_own_fields_and_the_common_ones() {
    let load: Load = serde_json::from_str(
        r#"{"shape": "paced", "rate": 5, "arrivals": "poisson", "limit": 3, "max_lateness_s": 2}"#,
    )
    .unwrap();
    assert!(matches!(load.shape, Shape::Paced(_)));
    assert_eq!((load.limit, load.max_lateness_s), (Some(3), 2.0));
    assert!(refusal(r#"{"shape": "paced", "rate": 5, "window": 1}"#).contains("unknown field `window`"));
    assert!(refusal(r#"{"shape": "paced"}"#).contains("missing field `rate`"));
    assert!(refusal(r#"{"shape": "sine"}"#).contains("expected one of `idle`, `paced`"));
    assert!(refusal(r#"{"shape": "idle", "limit": "x"}"#).contains("limit: "));
}
