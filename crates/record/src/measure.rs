//! The kinds of measurement. A record has its kind in its resolved scenario.

use crate::RunRecord;
use serde::{Deserialize, Serialize};

/// A kind of measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Measure {
    /// Orders and cancels to an exchange, and their acks.
    #[serde(rename = "order-entry")]
    Orders,
    /// Messages from one thread to another.
    #[serde(rename = "ipc")]
    Ipc,
    /// One cache line, back and forth between every two cores.
    #[serde(rename = "core-to-core")]
    Cores,
    /// Orders through a matching engine, one after the other or on a schedule.
    #[serde(rename = "engine")]
    Engine,
    /// The same, for a long time.
    #[serde(rename = "soak")]
    Soak,
    /// Orders through an engine and its journal.
    #[serde(rename = "journal")]
    Journal,
    /// Ticks of an exchange, and the orders that follow from them.
    #[serde(rename = "tick")]
    Ticks,
    /// Probes of an address that belongs to somebody else.
    #[serde(rename = "endpoint")]
    Endpoint,
    /// TCP requests and replies of fixed lengths.
    #[serde(rename = "network")]
    Network,
    /// A source, a replicator and its subscribers.
    #[serde(rename = "fan-out")]
    FanOut,
    /// A feed on a schedule, into a book.
    #[serde(rename = "feed")]
    Feed,
}

impl Measure {
    /// Every kind.
    pub const ALL: [Measure; 11] = [
        Measure::Orders,
        Measure::Ticks,
        Measure::Ipc,
        Measure::Cores,
        Measure::Engine,
        Measure::Soak,
        Measure::Journal,
        Measure::Endpoint,
        Measure::Network,
        Measure::FanOut,
        Measure::Feed,
    ];

    /// The name in scenario files and records.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Orders => "order-entry",
            Measure::Ticks => "tick",
            Measure::Ipc => "ipc",
            Measure::Cores => "core-to-core",
            Measure::Engine => "engine",
            Measure::Soak => "soak",
            Measure::Journal => "journal",
            Measure::Endpoint => "endpoint",
            Measure::Network => "network",
            Measure::FanOut => "fan-out",
            Measure::Feed => "feed",
        }
    }
}

impl RunRecord {
    /// The kind of its scenario; `None` without a scenario, as in a look at a machine's noise.
    ///
    /// # Errors
    /// The name of a kind that this version doesn't know.
    pub fn measure(&self) -> Result<Option<Measure>, &str> {
        let Some(name) = self.resolved["kind"].as_str() else { return Ok(None) };
        let known = Measure::ALL.into_iter().find(|measure| measure.name() == name);
        known.map(Some).ok_or(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_one_name_in_files_and_records() {
        for measure in Measure::ALL {
            assert_eq!(serde_json::to_value(measure).unwrap(), measure.name());
        }
    }

    /// An unknown kind was shown as orders.
    #[test]
    fn an_unknown_kind_is_an_error_and_none_is_not() {
        let of = |resolved| RunRecord { resolved, ..RunRecord::default() };
        assert_eq!(of(serde_json::json!({"kind": "race"})).measure(), Err("race"));
        assert_eq!(of(serde_json::json!({"kind": "tick"})).measure(), Ok(Some(Measure::Ticks)));
        assert_eq!(of(serde_json::Value::Null).measure(), Ok(None));
    }
}
