//! Fault injection: a decorator around any [`Streams`], so that tickpath can prove that it sees
//! what it must see. Code above the streams knows nothing of it, and without faults there is no
//! decorator.
//!
//! It is deterministic: by count and by the clock, never at random.

use crate::{Connection, Read, Ready, StreamId, Streams, Write};
use clock::Clock;
use clock::range::{OutOfRange, require, within};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};

/// A tenth of a second: a server that delays each answer by more would look dead.
pub const DELAY_US_MAX: u64 = 100_000;
/// A second: past some more whoever waits takes the other end for dead.
pub const STALL_MS_MAX: u64 = 1_000;
/// An hour.
pub const STALL_EVERY_MS_MAX: u64 = 3_600_000;
/// Logging on takes some writes on each stream; if one of them were dropped, nothing would be
/// measured.
pub const DROP_EVERY_MIN: u64 = 10;

/// What harm to do. The default is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Inject {
    /// Delay of each write, us: the thread spins before the write, and the stamp follows the delay.
    /// Meant for an exchange's answers; a client's service time does not see its own delay.
    pub delay_us: u64,
    /// The thread stands still so long, ms, where it would wait …
    pub stall_ms: u64,
    /// … once every so often, ms; for the first time after so long.
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

    /// What differs from no harm, as `KEY=VALUE`; for stalls also how often.
    pub fn words(&self) -> Vec<String> {
        let mut inject = self.clone();
        if inject.stall_ms == 0 {
            inject.stall_every_ms = 0;
        }
        let keys = inject.keys().map(|(key, value)| (key, *value));
        let set = keys.iter().filter(|(_, value)| *value > 0);
        set.map(|(key, value)| format!("{key}={value}")).collect()
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

/// `streams` with the faults of `inject`; `streams` itself if there are none. `clock` is the one
/// that `streams` was opened with.
pub fn around(streams: Box<dyn Streams>, inject: &Inject, clock: Clock) -> Box<dyn Streams> {
    if inject.is_none() {
        return streams;
    }
    let stall_every_ns = inject.stall_every_ms * 1_000_000;
    Box::new(Injected {
        streams,
        clock,
        delay_ns: inject.delay_us * 1_000,
        stall_ns: inject.stall_ms * 1_000_000,
        stall_every_ns,
        next_stall_ns: match inject.stall_ms {
            0 => u64::MAX,
            _ => clock.now_ns() + stall_every_ns,
        },
        drop_every: inject.drop_every,
        lanes: Vec::new(),
    })
}

struct Injected {
    streams: Box<dyn Streams>,
    clock: Clock,
    delay_ns: u64,
    stall_ns: u64,
    stall_every_ns: u64,
    /// `u64::MAX`: never.
    next_stall_ns: u64,
    drop_every: u64,
    lanes: Vec<Lane>,
}

/// What was written to one stream.
#[derive(Clone, Copy, Default)]
struct Lane {
    /// Writes that began with a message since the last one that vanished.
    writes: u64,
    /// The latest write was taken in part: the next one begins inside a message.
    inside: bool,
}

impl Injected {
    fn spin_until(&self, until_ns: u64) {
        while self.clock.now_ns() < until_ns {
            // No pause instruction: a hypervisor may take the loop for a contended lock and take
            // the core away for some microseconds.
            core::hint::black_box(());
        }
    }

    fn begin(&mut self, id: StreamId) {
        if self.lanes.len() <= id.index() {
            self.lanes.resize(id.index() + 1, Lane::default());
        }
        self.lanes[id.index()] = Lane::default();
    }

    /// Whether the next write of this stream vanishes. Callers write everything they have, which
    /// ends with a whole message. So a write begins with one if the write before was taken whole.
    fn drops(&mut self, id: StreamId) -> bool {
        let Some(lane) = self.lanes.get_mut(id.index()) else { return false };
        if self.drop_every == 0 || lane.inside {
            return false;
        }
        lane.writes += 1;
        let drops = lane.writes == self.drop_every;
        if drops {
            lane.writes = 0;
        }
        drops
    }
}

impl Streams for Injected {
    fn add(&mut self, connection: Connection) -> io::Result<StreamId> {
        let id = self.streams.add(connection)?;
        self.begin(id);
        Ok(id)
    }

    fn remove(&mut self, id: StreamId) {
        self.streams.remove(id);
    }

    fn shutdown(&mut self, id: StreamId) {
        self.streams.shutdown(id);
    }

    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        self.streams.listen(listener)
    }

    fn accept(&mut self) -> io::Result<Option<StreamId>> {
        let accepted = self.streams.accept()?;
        accepted.into_iter().for_each(|id| self.begin(id));
        Ok(accepted)
    }

    fn peer(&self, id: StreamId) -> Option<SocketAddr> {
        self.streams.peer(id)
    }

    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        if self.next_stall_ns != u64::MAX {
            let now_ns = self.clock.now_ns();
            if now_ns >= self.next_stall_ns {
                self.spin_until(now_ns + self.stall_ns);
                while self.next_stall_ns <= now_ns {
                    self.next_stall_ns += self.stall_every_ns;
                }
            }
        }
        // A backend that sleeps wakes for the next stall.
        self.streams.wait(until_ns.min(self.next_stall_ns), ready)
    }

    fn read(&mut self, id: StreamId, into: &mut [u8]) -> Read {
        self.streams.read(id, into)
    }

    fn write(&mut self, id: StreamId, from: &[u8]) -> Write {
        if self.delay_ns > 0 {
            self.spin_until(self.clock.now_ns() + self.delay_ns);
        }
        if self.drops(id) {
            return Write::Bytes { n: from.len(), stamp_ns: self.clock.now_ns() };
        }
        let written = self.streams.write(id, from);
        if let (Write::Bytes { n, .. }, Some(lane)) = (&written, self.lanes.get_mut(id.index())) {
            // Nothing taken changes nothing: the next write begins where this one did.
            if *n > 0 {
                lane.inside = *n < from.len();
            } else if !lane.inside {
                lane.writes = lane.writes.saturating_sub(1);
            }
        }
        written
    }

    fn watch_writable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.streams.watch_writable(id, watch)
    }

    fn watch_readable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.streams.watch_readable(id, watch)
    }
}

#[cfg(test)]
#[path = "inject_tests.rs"]
mod tests;
