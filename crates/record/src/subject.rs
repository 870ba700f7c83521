//! A measured client in a record.

use crate::engine::EMPTY_DISPATCH;
use crate::load::Load;
use crate::series::Series;
use clock::kind::Kind;
use serde::{Deserialize, Serialize};

/// A subject: one client that was measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Subject {
    /// Its name in the scenario; `floor`, `bare` and `hiccup` are tickpath's own.
    pub name: String,
    /// Its way of waiting and reading: `spin`, `block`, …
    #[serde(default)]
    pub backend: String,
    /// The class of its measuring thread: `other`, `fifo:PRIORITY`, …
    #[serde(default)]
    pub scheduling: String,
    /// Whether it used TLS; for a floor, whether its messages were as long as TLS records.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tls: bool,
    /// The program that started it over another stack, with its arguments; empty: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrapper: Vec<String>,
    /// Dialect of its orders, `sbe`, `sbe-udp` or `fix`; empty for JSON and for all that sends no
    /// orders. For a floor: its messages were as long as those.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dialect: String,
    /// Dialect of the market data that it follows, `json`, `json-top` or `fix`; empty for SBE and
    /// for all that follows none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub feed: String,
    /// The cores of its exchange and of its measuring thread, in this order.
    #[serde(default)]
    pub cores: Vec<usize>,
    /// Its messages.
    #[serde(default)]
    pub load: Load,
    /// Its latencies.
    #[serde(default)]
    pub series: Vec<Series>,
    /// For ticks that led to orders, the mean stages around percentiles of the path, over all runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attribution: Vec<crate::tick::Attribution>,
    /// The worst of these ticks, the worst first, as many as requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traced: Vec<crate::tick::TracedTick>,
}

impl Subject {
    /// Whether it is a raw echo, one of tickpath's own floors.
    pub fn is_floor(&self) -> bool {
        self.name.starts_with("floor")
    }

    /// Whether it is the bare echo below a floor.
    pub fn is_bare(&self) -> bool {
        self.name.starts_with("bare")
    }

    /// Whether it is a floor or the bare echo below one, not a subject of the scenario.
    pub fn is_reference(&self) -> bool {
        self.is_floor() || self.is_bare()
    }

    /// The series of that name and kind.
    pub fn series(&self, name: &str, kind: Kind) -> Option<&Series> {
        self.series.iter().find(|series| series.name == name && series.kind == kind)
    }

    /// Whether it is the floor of `subject`: the same way, cores and class.
    pub fn is_floor_of(&self, subject: &Subject) -> bool {
        // The empty dispatch is the floor of every engine.
        let same_backend = self.backend == subject.backend || self.backend == EMPTY_DISPATCH;
        let same_way = same_backend && self.wrapper == subject.wrapper;
        let same_place = self.cores == subject.cores && self.scheduling == subject.scheduling;
        let same_bytes = self.tls == subject.tls && self.dialect == subject.dialect;
        let same_feed = self.feed == subject.feed;
        self.is_floor() && same_way && same_place && same_bytes && same_feed
    }

    /// Whether it is the bare echo below `floor`.
    pub(crate) fn is_bare_of(&self, floor: &Subject) -> bool {
        self.is_bare()
            && (&self.backend, &self.wrapper) == (&floor.backend, &floor.wrapper)
            && (&self.cores, &self.scheduling) == (&floor.cores, &floor.scheduling)
            && (self.tls, &self.dialect, &self.feed) == (floor.tls, &floor.dialect, &floor.feed)
    }

    /// Whether it is the reference right below `subject`.
    pub(crate) fn is_below(&self, subject: &Subject) -> bool {
        match subject.is_floor() {
            true => self.is_bare_of(subject),
            false => !subject.is_bare() && self.is_floor_of(subject),
        }
    }
}
