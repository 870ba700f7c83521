//! Tests that depend on time. On a busy machine an effect drowns in what else happens; a longer or
//! larger effect doesn't. So a test states what it assumes of the machine, and tries again with
//! twice the effect: never with a wider tolerance.

use std::fmt::Display;

/// How often a test is tried: the last time with sixteen times the effect.
const TRIES: u32 = 5;

/// Runs `test` until it finds its effect; returns what it found. `test` gets the factor by which it
/// enlarges its effect (and what it expects in proportion to it): 1, then 2, 4, 8, 16.
///
/// `assumption` is what a quiet machine would give, such as "a thread of 20 ms runs for 1 ms of
/// them". A test whose subject is broken finds its effect at no size, and fails.
///
/// # Panics
/// If `test` fails at every size; the message has the assumption, and why each try failed.
pub fn or_doubled<T, E: Display>(assumption: &str, mut test: impl FnMut(u32) -> Result<T, E>) -> T {
    let mut failures = String::new();
    for factor in (0..TRIES).map(|exponent| 1 << exponent) {
        match test(factor) {
            Ok(found) => return found,
            Err(why) => failures.push_str(&format!("\n{factor} x: {why}")),
        }
    }
    panic!("not found at any size, assuming that {assumption}:{failures}")
}

/// `Err` with the text unless the condition holds: for the tests that [`or_doubled`] runs.
#[macro_export]
macro_rules! unless {
    ($condition:expr, $($why:tt)+) => {
        if !$condition {
            return Err(format!($($why)+));
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_doubled_until_it_is_found() {
        let mut factors = Vec::new();
        let found = or_doubled("nothing", |factor| {
            factors.push(factor);
            crate::unless!(factor >= 4, "{factor} is too small");
            Ok::<_, String>(factor)
        });
        assert_eq!((found, &factors[..]), (4, &[1, 2, 4][..]));
    }

    #[test]
    #[should_panic(
        expected = "assuming that pigs fly:\n1 x: no\n2 x: no\n4 x: no\n8 x: no\n16 x: no"
    )]
    fn an_effect_that_is_never_found_is_a_failure() {
        or_doubled("pigs fly", |_| Err::<(), _>("no"));
    }
}
