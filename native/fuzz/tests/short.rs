//! A short round of every target, the same each time.

use std::time::Duration;

use telemark_fuzz::{run, Inputs, Limit, TARGETS};

#[test]
fn no_target_fails_in_a_short_round() {
    for (name, target) in TARGETS {
        let limit = Limit {
            inputs: 3_000,
            time: Duration::MAX,
        };
        assert_eq!(3_000, run(name, target, 7, 0, limit), "{name}");
    }
}

#[test]
fn an_input_is_known_by_its_numbers() {
    for (name, _) in TARGETS {
        let input = Inputs::new(name, 3).get(41).to_vec();
        let mut again = Inputs::new(name, 3);
        again.get(40);
        assert_eq!(input, again.get(41));
    }
}
