//! What one run has left: results, latencies, what broke.

use crate::conduct::Entrant;
use crate::file::Kind as ScenarioKind;
use crate::taken::Taking;
use hdrhistogram::Histogram;
use measure::record::{ClientResult, ExchangeResult, Kind, MessageBytes};
use noise::hiccup;
use std::collections::BTreeMap;

/// A message is late that left later than this share of the service time's p50 after it was due,
pub(crate) const LATE_SHARE_OF_SERVICE: f64 = 0.1;
/// and later than so many readings of the clock take: a pacer can't do better than to look.
pub(crate) const LATE_CLOCK_READINGS: u64 = 4;
/// Fewer samples than this have no p50 (invariant 8).
const SAMPLES_FOR_P50_MIN: u64 = 20;
/// Fewer samples than this can't tell one in a hundred (invariant 8).
const SAMPLES_FOR_ONE_PERCENT_MIN: u64 = 1000;

/// One subject in one run.
pub(crate) struct Evidence<'a> {
    pub kind: ScenarioKind,
    pub result: &'a ClientResult,
    /// Of the exchange that we started; `None` for the raw echo and for another's exchange.
    pub exchange: Option<&'a ExchangeResult>,
    /// What the scenario asks for; not what the client says that it was asked.
    pub offered: Option<f64>,
    pub planned: Option<u64>,
    /// Service times of all messages in the log.
    pub recorded: u64,
    /// From here on a message is late; `None` where there are too few to tell.
    pub late_from_ns: Option<u64>,
    /// Share of messages that were late.
    pub late: Option<f64>,
    /// Share of looks of an idle thread on the same core, just before this run, that were late by the
    /// same measure.
    pub late_without_load: Option<f64>,
    /// What a feed was to be like.
    pub asked: Asked,
    pub is_floor: bool,
    pub interrupted: bool,
}

/// What a feed was to be like.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Asked {
    pub receive_buffer_bytes: u64,
    /// Datagrams are harmed on purpose: gaps are to be.
    pub is_harmed: bool,
    /// How long it lasts, the warm-up included.
    pub flow_seconds: f64,
    /// From one burst to the next; 0 where its inputs come one by one.
    pub burst_seconds: f64,
    /// The trader trades with it.
    pub trades: bool,
}

/// What one subject did in one run.
pub(crate) struct Measured {
    pub subject: String,
    /// What it measures.
    pub kind: ScenarioKind,
    /// Of the thread that sends.
    pub core: Option<usize>,
    /// The rate that the scenario asks for; `None` in ping-pong.
    pub offered: Option<f64>,
    /// Messages that the scenario asks for in the measured part; `None` in ping-pong.
    pub planned: Option<u64>,
    pub result: ClientResult,
    pub exchange: Option<ExchangeResult>,
    pub asked: Asked,
    pub is_floor: bool,
    /// What took the cores of both ends, where that was looked at.
    pub taking: Option<Taking>,
}

/// One run: every subject once, and the floors.
#[derive(Default)]
pub(crate) struct Run {
    pub measured: Vec<Measured>,
    /// What broke in it beside what the results say.
    pub failures: Vec<String>,
    /// The latencies of this run, by tag.
    pub totals: BTreeMap<String, Histogram<u64>>,
    pub interrupted: bool,
    /// A process broke; another try would not be a measurement either.
    pub failed: bool,
}

impl Run {
    pub(crate) fn histogram(
        &self,
        subject: &str,
        name: &str,
        kind: Kind,
    ) -> Option<&Histogram<u64>> {
        self.totals.get(&format!("{subject}.{name}.{}", kind.name()))
    }

    pub(crate) fn evidence<'a>(&self, measured: &'a Measured) -> Evidence<'a> {
        let subject = &measured.subject;
        let service = |name: &&str| self.histogram(subject, name, Kind::Service);
        let first = measured.kind.replies().first().and_then(service);
        let recorded = measured.kind.recorded().iter().filter_map(service);
        let late_from_ns = first.filter(|one| one.len() >= SAMPLES_FOR_P50_MIN).map(|first| {
            let p50 = first.value_at_quantile(0.5) as f64;
            let looks_ns = LATE_CLOCK_READINGS * measured.result.clock.cost_ns;
            ((p50 * LATE_SHARE_OF_SERVICE) as u64).max(looks_ns) + 1
        });
        let late = |histogram: &Histogram<u64>| {
            let late = histogram.count_between(late_from_ns?, u64::MAX);
            (histogram.len() >= SAMPLES_FOR_ONE_PERCENT_MIN)
                .then(|| late as f64 / histogram.len() as f64)
        };
        let idle = measured
            .core
            .and_then(|core| self.histogram(hiccup::SUBJECT, &format!("core{core}"), Kind::Noise));
        Evidence {
            kind: measured.kind,
            result: &measured.result,
            exchange: measured.exchange.as_ref(),
            offered: measured.offered,
            planned: measured.planned,
            recorded: recorded.map(Histogram::len).sum(),
            late_from_ns,
            late: self.histogram(subject, "send", Kind::Lateness).and_then(late),
            late_without_load: idle.and_then(late),
            asked: measured.asked,
            is_floor: measured.is_floor,
            interrupted: self.interrupted,
        }
    }
}

/// How long messages are, and datagrams of a feed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lengths {
    pub messages: MessageBytes,
    /// 0 without a feed.
    pub datagram: u64,
}

/// The lengths of the messages of the subject that `floor` is the floor of, if `run` has it.
pub(crate) fn lengths(run: &Run, entrants: &[Entrant], floor: &Entrant) -> Option<Lengths> {
    let subject = &entrants.iter().find(|one| !one.is_floor && one.index == floor.index)?.name;
    let load = &run.measured.iter().find(|measured| measured.subject == *subject)?.result.load;
    let datagram = load.tick.first().map_or(0, |tick| tick.datagram_bytes);
    Some(Lengths { messages: load.message_bytes, datagram }).filter(|all| all.messages.order > 0)
}
