//! What is wrong with a plan, collected so that the user sees everything at once.

use std::fmt::{self, Display};

/// The plan cannot be used: one line per problem, each with field, value found and remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanProblem {
    lines: Vec<String>,
}

impl PlanProblem {
    /// A single problem.
    pub fn one(line: String) -> PlanProblem {
        PlanProblem { lines: vec![line] }
    }
}

impl Display for PlanProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.lines.join("\n"))
    }
}

impl std::error::Error for PlanProblem {}

/// Problems found so far.
#[derive(Default)]
pub struct Problems {
    lines: Vec<String>,
}

impl Problems {
    /// Notes a problem of `field`: what was found, and what to do about it.
    pub fn add(&mut self, field: impl Display, found: impl Display, remedy: impl Display) {
        self.lines.push(format!("{field}: found {found}; {remedy}"));
    }

    /// Notes a problem that is a whole sentence already.
    pub fn add_line(&mut self, line: String) {
        self.lines.push(line);
    }

    /// Notes a problem unless `holds`.
    pub fn check(&mut self, holds: bool, field: impl Display, found: impl Display, remedy: impl Display) {
        if !holds {
            self.add(field, found, remedy);
        }
    }

    /// Notes a problem unless the number is above 0.
    pub fn positive(&mut self, field: &str, value: f64) {
        self.check(
            value.is_finite() && value > 0.0,
            field,
            value,
            "a number above 0 is needed",
        );
    }

    /// Notes a problem if the number is negative, or none.
    pub fn not_negative(&mut self, field: &str, value: f64) {
        self.check(
            value.is_finite() && value >= 0.0,
            field,
            value,
            "it must not be negative",
        );
    }

    /// The error if there was any problem.
    pub fn into_result(self) -> Result<(), PlanProblem> {
        match self.lines.is_empty() {
            true => Ok(()),
            false => Err(PlanProblem { lines: self.lines }),
        }
    }
}
