//! `telemark-fuzz [TARGET] [--seconds N] [--inputs N] [--seed N] [--first N]`: without a target, each in turn.

use std::process::ExitCode;
use std::time::Duration;

use telemark_fuzz::{run, Limit, TARGETS};

struct Options {
    target: Option<String>,
    seed: u64,
    first: u64,
    limit: Limit,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        target: None,
        seed: 1,
        first: 0,
        limit: Limit {
            inputs: u64::MAX,
            time: Duration::from_secs(60),
        },
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if TARGETS.iter().any(|(name, _)| *name == word) {
            options.target = Some(word);
            continue;
        }
        let value = words.next().and_then(|value| value.parse().ok());
        match (word.as_str(), value) {
            ("--seconds", Some(value)) => options.limit.time = Duration::from_secs(value),
            ("--inputs", Some(value)) => options.limit.inputs = value,
            ("--seed", Some(value)) => options.seed = value,
            ("--first", Some(value)) => options.first = value,
            _ => {
                let names = TARGETS.map(|(name, _)| name).join(", ");
                return Err(format!(
                    "found {word:?}; use one of {names}, and --seconds, --inputs, --seed or --first with a number"
                ));
            }
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    for (name, target) in TARGETS {
        if options.target.as_deref().map_or(true, |wanted| wanted == name) {
            let survived = run(name, target, options.seed, options.first, options.limit);
            println!("{name}: {survived} inputs of seed {}, none failed", options.seed);
        }
    }
    ExitCode::SUCCESS
}
