//! The evidence that a run leaves: results, latencies, failures, and what its cores were seen to
//! do.

pub(crate) mod idle;
pub(crate) mod moment;
pub(crate) mod seen;
pub(crate) mod taken;

use self::idle::Idle;
use self::moment::Moment;
use self::seen::EntrantDisturbance;
use self::taken::RunPreemptions;
use crate::conduct::Entrant;
use hdrhistogram::Histogram;
use ipc_bench::judge::DisturbedShares;
use plan::scenario::Measure;
use plan::tables::subject::Dialect;
use plan::tables::ticks::FeedDialect;
use record::{ClientResult, ExchangeResult, Kind, MessageBytes};
use std::collections::BTreeMap;
use transport::acked::HEADER_BYTES;
use transport::tls::RECORD_OVERHEAD_BYTES;

/// Input of the integrity rules: one subject in one run.
pub(crate) struct Evidence<'a> {
    pub kind: Measure,
    pub result: &'a ClientResult,
    /// The result of an exchange that we started; `None` for a raw echo and for a foreign exchange.
    pub exchange: Option<&'a ExchangeResult>,
    /// Messages that the scenario asks for, whatever the client says.
    pub planned: Option<u64>,
    /// Service times in the log.
    pub recorded: u64,
    /// Expected properties of the feed.
    pub asked: FeedExpectation,
    pub is_floor: bool,
    pub interrupted: bool,
}

#[cfg(test)]
impl<'a> Evidence<'a> {
    /// For a test: with a client's result, and nothing else.
    pub(crate) fn of(kind: Measure, result: &'a ClientResult) -> Evidence<'a> {
        Evidence {
            kind,
            result,
            exchange: None,
            planned: None,
            recorded: 0,
            asked: FeedExpectation::default(),
            is_floor: false,
            interrupted: false,
        }
    }
}

/// Expected properties of the feed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct FeedExpectation {
    pub receive_buffer_bytes: u64,
    /// Datagrams are damaged on purpose, so gaps are expected.
    pub is_harmed: bool,
    /// Length of the flow, including the warm-up.
    pub flow_seconds: f64,
    /// The trader's orders may trade with the flow.
    pub trades: bool,
    /// The trader follows the best prices, and no deeper ones.
    pub is_top: bool,
}

/// The outcome of the processes of one entrant in one run.
pub(crate) struct Outcome {
    pub result: ClientResult,
    pub exchange: Option<ExchangeResult>,
    /// Threads and causes that took the cores of both ends, if traced.
    pub taking: Option<RunPreemptions>,
    /// Disturbed shares that are known message by message.
    pub exact: BTreeMap<String, DisturbedShares>,
    /// The clock of the ticks' stamps and the kernel's, before and after, if known.
    pub moments: Option<(Moment, Moment)>,
}

impl From<ClientResult> for Outcome {
    fn from(result: ClientResult) -> Outcome {
        Outcome { result, exchange: None, taking: None, exact: BTreeMap::new(), moments: None }
    }
}

/// One subject's result in one run.
pub(crate) struct SubjectResult {
    pub subject: String,
    /// The scenario's kind.
    pub kind: Measure,
    /// Messages that the scenario asks for in the measured part; `None` without a schedule.
    pub planned: Option<u64>,
    pub result: ClientResult,
    pub exchange: Option<ExchangeResult>,
    pub asked: FeedExpectation,
    pub is_floor: bool,
    /// Disturbance of its cores.
    pub seen: EntrantDisturbance,
    /// Threads and causes that took the cores of both ends, if traced.
    pub taking: Option<RunPreemptions>,
}

/// One run: every subject and floor once.
#[derive(Default)]
pub(crate) struct Run {
    pub measured: Vec<SubjectResult>,
    /// Idle looks before the run, and after it if there were any.
    pub idle: Vec<Idle>,
    /// Failures that no result mentions.
    pub failures: Vec<String>,
    /// The latencies of this run, by tag.
    pub totals: BTreeMap<String, Histogram<u64>>,
    pub interrupted: bool,
    /// A process failed; another attempt would be no measurement either.
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

    pub(crate) fn evidence<'a>(&self, measured: &'a SubjectResult) -> Evidence<'a> {
        let subject = &measured.subject;
        let service = |name: &&str| self.histogram(subject, name, Kind::Service);
        let recorded = plan::measure::of(measured.kind).recorded().iter().filter_map(service);
        Evidence {
            kind: measured.kind,
            result: &measured.result,
            exchange: measured.exchange.as_ref(),
            planned: measured.planned,
            recorded: recorded.map(Histogram::len).sum(),
            asked: measured.asked,
            is_floor: measured.is_floor,
            interrupted: self.interrupted,
        }
    }
}

/// Lengths of messages, and of a feed's ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lengths {
    pub messages: MessageBytes,
    /// 0 without a feed.
    pub datagram: u64,
    /// Ticks of the measured part; 0 without a feed.
    pub ticks: u64,
}

/// Lengths of these messages as TLS records, one each.
fn as_records(plain: MessageBytes) -> MessageBytes {
    longer(plain, RECORD_OVERHEAD_BYTES)
}

/// Lengths of these messages as acknowledged datagrams, one each. The echo over UDP sends nothing
/// longer than what came, so a request is at least as long as its reply.
fn as_datagrams(plain: MessageBytes) -> MessageBytes {
    let datagram = longer(plain, HEADER_BYTES);
    MessageBytes {
        order: datagram.order.max(datagram.order_reply),
        cancel: datagram.cancel.max(datagram.cancel_reply),
        ..datagram
    }
}

fn longer(plain: MessageBytes, by: usize) -> MessageBytes {
    let longer = |bytes| bytes + by as u64;
    MessageBytes {
        order: longer(plain.order),
        order_reply: longer(plain.order_reply),
        cancel: longer(plain.cancel),
        cancel_reply: longer(plain.cancel_reply),
    }
}

/// The lengths of the messages of `floor`'s subject, if `run` has them.
pub(crate) fn lengths(run: &Run, entrants: &[Entrant], floor: &Entrant) -> Option<Lengths> {
    let subject = &entrants.iter().find(|one| !one.is_floor && one.index == floor.index)?.name;
    let load = &run.measured.iter().find(|measured| measured.subject == *subject)?.result.load;
    // All messages of a tick leave in one write, so in one record. Datagrams are always plain.
    let is_in_record = floor.has_tls && floor.feed != FeedDialect::Sbe;
    let record = if is_in_record { RECORD_OVERHEAD_BYTES as u64 } else { 0 };
    let tick = load.tick.first();
    let datagram = tick.map_or(0, |tick| tick.datagram_bytes + record);
    let plain = Some(load.message_bytes).filter(|bytes| bytes.order > 0)?;
    let messages = match floor.dialect {
        Dialect::SbeUdp => as_datagrams(plain),
        _ if floor.has_tls => as_records(plain),
        _ => plain,
    };
    Some(Lengths { messages, datagram, ticks: tick.map_or(0, |tick| tick.datagrams) })
}
