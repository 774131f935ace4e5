//! The pattern language of plans: `p{index/1000}/d{index%100}/v{sequence%10}`.
//!
//! `{index}` and `{sequence}` are numbers of the device and of the message. A chain of `/n`, `%n` and `+n` with whole
//! numbers may follow, applied left to right. `{{` is a literal brace; `}}` and a lone `}` are a literal `}`.

use thiserror::Error;

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    /// A `{` without its `}`. Remedy: close it, or write `{{` for a literal brace.
    #[error("the brace at character {at} is not closed; write {{{{ for a literal brace")]
    Unclosed {
        /// Position of the brace in characters, from 0.
        at: usize,
    },
    /// A name other than index and sequence. Remedy: use one of those.
    #[error("{{{name}}} is unknown; expected {{index}} or {{sequence}}")]
    UnknownName {
        /// The name found.
        name: String,
    },
    /// Something after the name that is no chain of `/n`, `%n`, `+n`. Remedy: write whole numbers up to 2^64-1.
    #[error("\"{found}\" is not a chain of /n, %n and +n with whole numbers")]
    BadOperation {
        /// The rest of the placeholder that was not understood.
        found: String,
    },
    /// Division by zero, or remainder of it. Remedy: use a number from 1 on.
    #[error("division by zero in \"{found}\"")]
    DivisionByZero {
        /// The operation found.
        found: String,
    },
    /// `{sequence}` where only `{index}` has a meaning. Remedy: use it in topics of publishers only.
    #[error("{{sequence}} is allowed in the topics of publishers only")]
    SequenceNotAllowed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Index,
    Sequence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Divide(u64),
    Remainder(u64),
    Add(u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(Box<str>),
    Number(Name, Box<[Operation]>),
}

/// A compiled pattern: read once, expanded many times without allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    parts: Box<[Part]>,
}

impl Pattern {
    /// Reads a pattern.
    pub fn compile(text: &str) -> Result<Self, PatternError> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            literal.push_str(&rest[..at]);
            let brace = &rest[at..at + 1];
            let after = &rest[at + 1..];
            if brace == "}" || after.starts_with('{') {
                literal.push_str(brace);
                rest = after.strip_prefix(brace).unwrap_or(after);
                continue;
            }
            let Some((inside, after)) = after.split_once('}') else {
                let at = text.chars().count() - rest[at..].chars().count();
                return Err(PatternError::Unclosed { at });
            };
            push_literal(&mut parts, &mut literal);
            parts.push(compile_number(inside)?);
            rest = after;
        }
        literal.push_str(rest);
        push_literal(&mut parts, &mut literal);
        Ok(Self {
            parts: parts.into_boxed_slice(),
        })
    }

    /// Reads a pattern that must not use `{sequence}`.
    pub fn compile_without_sequence(text: &str) -> Result<Self, PatternError> {
        let pattern = Self::compile(text)?;
        if pattern.uses_sequence() {
            return Err(PatternError::SequenceNotAllowed);
        }
        Ok(pattern)
    }

    /// Whether the text differs from message to message.
    pub fn uses_sequence(&self) -> bool {
        self.uses(Name::Sequence)
    }

    /// Whether the text differs from device to device.
    pub fn uses_index(&self) -> bool {
        self.uses(Name::Index)
    }

    /// Appends the text for these numbers. Allocates only if `out` has to grow.
    pub fn expand(&self, index: u64, sequence: u64, out: &mut String) {
        for part in &*self.parts {
            match part {
                Part::Literal(text) => out.push_str(text),
                Part::Number(Name::Index, chain) => push_number(apply(chain, index), out),
                Part::Number(Name::Sequence, chain) => push_number(apply(chain, sequence), out),
            }
        }
    }

    fn uses(&self, wanted: Name) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, Part::Number(name, _) if *name == wanted))
    }
}

fn push_literal(parts: &mut Vec<Part>, literal: &mut String) {
    if !literal.is_empty() {
        parts.push(Part::Literal(std::mem::take(literal).into_boxed_str()));
    }
}

fn compile_number(inside: &str) -> Result<Part, PatternError> {
    let end = inside.find(['/', '%', '+']).unwrap_or(inside.len());
    let (name, chain) = inside.split_at(end);
    let name = match name {
        "index" => Name::Index,
        "sequence" => Name::Sequence,
        other => return Err(PatternError::UnknownName { name: other.to_owned() }),
    };
    Ok(Part::Number(name, compile_chain(chain)?))
}

fn compile_chain(mut chain: &str) -> Result<Box<[Operation]>, PatternError> {
    let mut operations = Vec::new();
    while let Some(operator) = chain.chars().next() {
        let bad = || PatternError::BadOperation {
            found: chain.to_owned(),
        };
        let after = &chain[operator.len_utf8()..];
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let number: u64 = after[..digits].parse().map_err(|_| bad())?;
        operations.push(match (operator, number) {
            ('/' | '%', 0) => {
                return Err(PatternError::DivisionByZero {
                    found: chain.to_owned(),
                })
            }
            ('/', divisor) => Operation::Divide(divisor),
            ('%', divisor) => Operation::Remainder(divisor),
            ('+', summand) => Operation::Add(summand),
            _ => return Err(bad()),
        });
        chain = &after[digits..];
    }
    Ok(operations.into_boxed_slice())
}

/// Divisors are never zero (checked above); a sum that leaves the range stays at its end.
fn apply(chain: &[Operation], number: u64) -> u64 {
    chain.iter().fold(number, |value, operation| match *operation {
        Operation::Divide(divisor) => value.checked_div(divisor).unwrap_or(value),
        Operation::Remainder(divisor) => value.checked_rem(divisor).unwrap_or(value),
        Operation::Add(summand) => value.saturating_add(summand),
    })
}

fn push_number(mut value: u64, out: &mut String) {
    let mut digits = [0_u8; 20]; // u64::MAX has twenty
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend(digits[at..].iter().map(|&digit| char::from(digit)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(pattern: &str, index: u64, sequence: u64) -> String {
        let mut out = String::new();
        Pattern::compile(pattern).unwrap().expand(index, sequence, &mut out);
        out
    }

    #[test]
    fn patterns_expand_as_documented() {
        for (pattern, expected) in [
            ("telemark-{index}", "telemark-2345"),
            ("p{index/1000}/d{index%100}/v{sequence%10}", "p2/d45/v7"),
            ("{index/10%10+1}", "5"),
            ("{index+18446744073709551615}", "18446744073709551615"),
            ("{{index}}", "{index}"),
            ("{{{index}}}", "{2345}"),
            ("a}b", "a}b"),
            ("é/{sequence}", "é/17"),
            ("", ""),
            ("$share/g/#", "$share/g/#"),
        ] {
            assert_eq!(expected, expand(pattern, 2345, 17), "{pattern}");
        }
        assert_eq!("0", expand("{index}", 0, 0));
        assert_eq!(u64::MAX.to_string(), expand("{index}", u64::MAX, 0));
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text| Pattern::compile(text).unwrap_err();
        assert_eq!(PatternError::Unclosed { at: 2 }, error("éx{index"));
        assert_eq!(PatternError::UnknownName { name: "device".into() }, error("{device}"));
        assert_eq!(PatternError::UnknownName { name: "".into() }, error("{}"));
        assert_eq!(PatternError::BadOperation { found: "/x".into() }, error("{index/x}"));
        assert_eq!(PatternError::BadOperation { found: "/".into() }, error("{index%2/}"));
        assert_eq!(PatternError::DivisionByZero { found: "%0".into() }, error("{index%0}"));
        assert_eq!(PatternError::UnknownName { name: "index*2".into() }, error("{index*2}"));
    }

    #[test]
    fn sequence_can_be_forbidden() {
        assert_eq!(
            Err(PatternError::SequenceNotAllowed),
            Pattern::compile_without_sequence("{sequence}")
        );
        let pattern = Pattern::compile_without_sequence("{index}").unwrap();
        assert!(pattern.uses_index() && !pattern.uses_sequence());
    }
}
