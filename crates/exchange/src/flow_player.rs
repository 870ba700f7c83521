//! Plays the exchange's own order flow into the books on its schedule, so that there are ticks.
//!
//! See docs/decisions/037-a-flow-goes-on.md.

use crate::account::sessions::Sender;
use crate::config::ConfigError;
use clock::Clock;
use engine::Command;
use flow::{Script, SkippedInputs};
use journal::OwnCommands;
use serde::Serialize;
use wire::administration::FlowEnded;

/// From `FLOW_STARTED` to the first input, so that sending the notice does not make it late.
const LEAD_NS: u64 = 1_000_000;

/// Counters of the exchange's own flow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowCounts {
    /// Inputs in the flow.
    pub scheduled: u64,
    /// Inputs that the journal had at the start, and that this exchange did not execute.
    pub recovered: u64,
    /// Duration of the flow, ns: as configured, or shorter if a file ends before.
    pub duration_ns: u64,
    /// Inputs that were executed.
    pub inputs: u64,
    /// Executed inputs that the engine rejected: a client traded with the order before its cancel.
    #[serde(rename = "refused")]
    pub rejected: u64,
    /// Inputs without effect that were left out when the flow was made.
    pub without_effect: u64,
    /// Recorded changes of orders that had already traded.
    pub traded_already: u64,
    /// Times that a recorded order was held back because it would have traded.
    pub crossing: u64,
    /// Turns of the loop in which the journal had no room for an input that was due.
    pub journal_full: u64,
    /// Time from due to acknowledged of an input, ns: the median.
    pub late_ns_p50: Option<u64>,
    /// The 99th percentile.
    pub late_ns_p99: Option<u64>,
    /// The maximum.
    pub late_ns_max: Option<u64>,
}

/// Position of the feed's channel of orders.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FeedPosition {
    /// Datagrams so far.
    pub datagrams: u64,
    /// Messages so far.
    pub sequence: u64,
}

/// A running flow.
#[derive(Clone, Copy, Debug)]
struct Run {
    started_ns: u64,
    /// The connection that gets the notice of the end.
    by: Sender,
    /// Position of the feed at the start.
    feed: FeedPosition,
}

pub(crate) struct FlowPlayer {
    script: Script,
    clock: Clock,
    /// The first input to execute; those before it are in the journal.
    first: usize,
    /// When that is due in the whole flow, if others were before it: they had their time.
    played_ns: u64,
    next: usize,
    /// Number of inputs to execute: all, unless the journal fails.
    end: usize,
    run: Option<Run>,
    has_run: bool,
    rejected: u64,
    journal_full: u64,
    /// By input; at most four seconds each.
    late_ns: Vec<u32>,
}

/// Number of the flow's inputs that a journal has in `there`, after the orders of `start`. The flag
/// says whether it must have all of these.
///
/// # Errors
/// It has others.
pub(crate) fn inputs_played(
    script: &Script,
    (start, has_start): (&[Command], bool),
    there: OwnCommands,
) -> Result<usize, ConfigError> {
    let (mut ours, mut played) = (OwnCommands::default(), 0);
    for command in start {
        if has_start || ours.count() < there.count() {
            ours.add(command);
        }
    }
    while ours.count() < there.count() && played < script.len() {
        ours.add(&script.command(played));
        played += 1;
    }
    if ours == there { Ok(played) } else { Err(ConfigError::OtherFlow { there: there.count() }) }
}

impl FlowPlayer {
    /// Begins after the inputs that were played already. The schedule goes on there: the first
    /// input is due at the start.
    pub fn new(script: Script, played: usize, clock: Clock) -> FlowPlayer {
        // Touch the pages before the measurement.
        let mut late_ns = std::hint::black_box(vec![1; script.len().saturating_sub(played)]);
        late_ns.clear();
        let played_ns = if played == 0 { None } else { script.offset_ns(played) };
        FlowPlayer {
            end: script.len(),
            script,
            clock,
            first: played,
            played_ns: played_ns.unwrap_or(0),
            next: played,
            run: None,
            has_run: false,
            rejected: 0,
            journal_full: 0,
            late_ns,
        }
    }

    pub fn counts(&self) -> FlowCounts {
        let SkippedInputs { without_effect, traded_already, crossing } = self.script.skipped();
        let mut late_ns = self.late_ns.clone();
        late_ns.sort_unstable();
        let at = |share: f64| {
            let last = late_ns.len().checked_sub(1)?;
            late_ns.get((last as f64 * share).round() as usize).map(|ns| u64::from(*ns))
        };
        FlowCounts {
            scheduled: self.script.len() as u64,
            duration_ns: self.script.duration_ns(),
            recovered: self.first as u64,
            inputs: self.executed_inputs(),
            rejected: self.rejected,
            without_effect,
            traded_already,
            crossing,
            journal_full: self.journal_full,
            late_ns_p50: at(0.5),
            late_ns_p99: at(0.99),
            late_ns_max: at(1.0),
        }
    }

    /// Inputs that this exchange has executed.
    fn executed_inputs(&self) -> u64 {
        (self.next - self.first) as u64
    }

    /// Starts the flow.
    ///
    /// # Errors
    /// The reason why it can't start.
    pub fn start(&mut self, by: Sender, feed: FeedPosition) -> Result<(), &'static str> {
        if self.has_run {
            return Err("the flow has begun already, and runs once");
        }
        let started_ns = self.clock.now_ns() + LEAD_NS;
        self.has_run = true;
        self.run = Some(Run { started_ns, by, feed });
        Ok(())
    }

    #[inline]
    pub fn is_under_way(&self) -> bool {
        self.run.is_some()
    }

    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// The next input and its due time, if it is due.
    #[inline]
    pub fn due(&self, now_ns: u64) -> Option<(u64, Command)> {
        let due_ns = self.run?.started_ns + (self.script.offset_ns(self.next)? - self.played_ns);
        let is_due = self.next < self.end && due_ns <= now_ns;
        is_due.then(|| (due_ns, self.script.command(self.next)))
    }

    /// Records the outcome of the next input: when it was acknowledged, or the journal's error;
    /// `rejected` says that the engine rejected it. Returns whether it was executed.
    pub fn executed(
        &mut self,
        due_ns: u64,
        acknowledged_ns: Result<u64, journal::AppendError>,
        rejected: bool,
    ) -> bool {
        match acknowledged_ns {
            Ok(acknowledged_ns) => {
                self.next += 1;
                self.rejected += u64::from(rejected);
                let late_ns = acknowledged_ns.saturating_sub(due_ns);
                self.late_ns.push(u32::try_from(late_ns).unwrap_or(u32::MAX));
                true
            }
            Err(journal::AppendError::Full { .. }) => {
                self.journal_full += 1;
                false
            }
            Err(_) => {
                // The journal does not recover: skip the remaining inputs.
                self.end = self.next;
                false
            }
        }
    }

    /// Whether it is running and all inputs are executed.
    #[inline]
    pub fn is_through(&self) -> bool {
        self.run.is_some() && self.next >= self.end
    }

    /// Ends the flow. Returns the notice and its recipient; `None` if no flow is running.
    pub fn end(&mut self, feed: FeedPosition) -> Option<(Sender, FlowEnded)> {
        let run = self.run.take()?;
        let ended = FlowEnded {
            inputs: self.executed_inputs(),
            datagrams: feed.datagrams - run.feed.datagrams,
            messages: feed.sequence - run.feed.sequence,
            feed_sequence: feed.sequence,
            book_sequence: None,
            top_sequence: None,
        };
        Some((run.by, ended))
    }
}

#[cfg(test)]
#[path = "flow_player_tests.rs"]
mod tests;
