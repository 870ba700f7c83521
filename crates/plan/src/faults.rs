//! Faults to inject, by count and by the clock, never at random, so that every run is the same.
//! They prove that tickpath sees what it must see.

use crate::range::{OutOfRange, require, within};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A tenth of a second: a server that delays each answer by more would look dead.
pub const DELAY_US_MAX: u64 = 100_000;
/// A second: after some more the other end would look dead.
pub const STALL_MS_MAX: u64 = 1_000;
/// An hour.
pub const STALL_EVERY_MS_MAX: u64 = 3_600_000;
/// Logging on takes some writes on each stream; if one of them were dropped, nothing would be
/// measured.
pub const DROP_EVERY_MIN: u64 = 10;

/// Faults of a stream; none by default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Inject {
    /// Delay of each write, us: the thread spins before the write, and the stamp follows the delay.
    /// Meant for an exchange's answers; a client's service time does not see its own delay.
    pub delay_us: u64,
    /// Time for which the thread stands still where it would wait, ms.
    pub stall_ms: u64,
    /// Time from one stall to the next, and to the first, ms.
    pub stall_every_ms: u64,
    /// Every n-th write of a stream vanishes and is reported as written. If the write before was
    /// taken in part, the next one vanishes instead, so that no message is torn.
    pub drop_every: u64,
}

impl Default for Inject {
    fn default() -> Inject {
        Inject { delay_us: 0, stall_ms: 0, stall_every_ms: 1_000, drop_every: 0 }
    }
}

impl Inject {
    /// Whether there is no harm to do.
    pub fn is_none(&self) -> bool {
        self.delay_us == 0 && self.stall_ms == 0 && self.drop_every == 0
    }

    /// Checks every key against its range.
    ///
    /// # Errors
    /// The first key that is out of range, with what it may be.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let Inject { delay_us, stall_ms, stall_every_ms: every, drop_every } = *self;
        within("inject.delay_us", delay_us, 0..=DELAY_US_MAX, "a write is delayed by {} us")?;
        within("inject.stall_ms", stall_ms, 0..=STALL_MS_MAX, "a stall lasts {} ms")?;
        within("inject.stall_every_ms", every, 1..=STALL_EVERY_MS_MAX, "stalls come every {} ms")?;
        let why =
            format!("a stall every {every} ms must be shorter than that; set stall_every_ms too");
        require(stall_ms < every, "inject.stall_ms", stall_ms, why)?;
        let why = format!(
            "0 (none), or {DROP_EVERY_MIN} or more: with less not even logging on would succeed"
        );
        let holds = drop_every == 0 || drop_every >= DROP_EVERY_MIN;
        require(holds, "inject.drop_every", drop_every, why)
    }

    /// Reads `KEY=VALUE` words, as [`Inject::words`] writes them.
    ///
    /// # Errors
    /// If a key is unknown, or a value no number or out of its range.
    pub fn from_words(words: &[String]) -> Result<Inject, OutOfRange> {
        let mut inject = Inject::default();
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let bad = |key: String, why: String| OutOfRange::new(key, value, why);
            let mut keys = inject.keys();
            let known = keys.each_ref().map(|(key, _)| *key).join(", ");
            let Some((_, place)) = keys.iter_mut().find(|(known, _)| *known == key) else {
                let why = format!("there is no {key:?}; write KEY=VALUE with one of {known}");
                return Err(bad("inject".to_owned(), why));
            };
            **place = value
                .parse()
                .map_err(|_| bad(format!("inject.{key}"), "write a whole number".to_owned()))?;
        }
        inject.check()?;
        Ok(inject)
    }

    /// The injected faults as `KEY=VALUE`; for stalls also their interval.
    pub fn words(&self) -> Vec<String> {
        let mut inject = self.clone();
        if inject.stall_ms == 0 {
            inject.stall_every_ms = 0;
        }
        set_keys(inject.keys().map(|(key, value)| (key, *value)))
    }

    fn keys(&mut self) -> [(&'static str, &mut u64); 4] {
        [
            ("delay_us", &mut self.delay_us),
            ("stall_ms", &mut self.stall_ms),
            ("stall_every_ms", &mut self.stall_every_ms),
            ("drop_every", &mut self.drop_every),
        ]
    }
}

/// One line, as in a record: `delay_us=50 drop_every=100`.
impl fmt::Display for Inject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join(" "))
    }
}

/// Faults of received datagrams; none by default. If several are due for one datagram, the first in
/// this order happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DatagramHarm {
    /// Every n-th datagram is lost.
    pub drop_every: u64,
    /// Every n-th datagram arrives twice.
    pub duplicate_every: u64,
    /// Every n-th datagram arrives after the one that follows it.
    pub reorder_every: u64,
}

impl DatagramHarm {
    /// Whether there is no fault to inject.
    pub fn is_none(&self) -> bool {
        *self == DatagramHarm::default()
    }

    /// The faults as `KEY=VALUE`; `None` if there are none.
    pub fn words(&self) -> Option<String> {
        let DatagramHarm { drop_every, duplicate_every, reorder_every } = *self;
        let parts = set_keys([
            ("drop_every", drop_every),
            ("duplicate_every", duplicate_every),
            ("reorder_every", reorder_every),
        ]);
        (!parts.is_empty()).then(|| parts.join(" "))
    }
}

/// The keys that are not 0, as `KEY=VALUE`.
fn set_keys<const N: usize>(keys: [(&str, u64); N]) -> Vec<String> {
    let set = keys.into_iter().filter(|(_, value)| *value > 0);
    set.map(|(key, value)| format!("{key}={value}")).collect()
}

#[cfg(test)]
#[path = "faults_tests.rs"]
mod tests;
