//! The house's own orders: a flow that enters the books on its schedule, so that there are ticks.

use crate::account::sessions::Sender;
use clock::Clock;
use engine::Command;
use flow::{Script, SkippedInputs};
use serde::Serialize;
use wire::administration::FlowEnded;

/// From `FLOW_STARTED` to the first input, so that it is not late because of that.
const LEAD_NS: u64 = 1_000_000;

/// What became of the house's orders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowCounts {
    /// Inputs that there are.
    pub scheduled: u64,
    /// For how long there are some, ns: as asked, or to the last one of a file that ends before.
    pub duration_ns: u64,
    /// Inputs that were executed.
    pub inputs: u64,
    /// Inputs among these that the engine rejected: a client traded with the order before its
    /// cancel.
    pub refused: u64,
    /// What was left out when the flow was made: inputs without effect.
    pub without_effect: u64,
    /// Recorded changes of orders that had traded already.
    pub traded_already: u64,
    /// Times that a recorded order was held back because it would have traded.
    pub crossing: u64,
    /// Turns of the loop in which the journal had no room for an input that was due.
    pub journal_full: u64,
    /// How long after it was due an input was done, ns: half of them.
    pub late_ns_p50: Option<u64>,
    /// 99 of 100.
    pub late_ns_p99: Option<u64>,
    /// All.
    pub late_ns_max: Option<u64>,
}

/// How far the feed is, order by order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FeedPosition {
    /// Datagrams so far.
    pub datagrams: u64,
    /// Messages so far.
    pub sequence: u64,
}

/// A flow that is under way.
#[derive(Clone, Copy, Debug)]
struct Run {
    started_ns: u64,
    /// The sender that is told when it ends.
    by: Sender,
    /// Where the feed was when it began.
    feed: FeedPosition,
}

pub(crate) struct House {
    script: Script,
    clock: Clock,
    next: usize,
    /// Inputs that are to be executed: all, unless the journal ends it.
    end: usize,
    run: Option<Run>,
    has_run: bool,
    refused: u64,
    journal_full: u64,
    /// By input, cut off at four seconds.
    late_ns: Vec<u32>,
}

impl House {
    pub fn new(script: Script, clock: Clock) -> House {
        // Written to, so that its pages are there.
        let mut late_ns = std::hint::black_box(vec![1; script.len()]);
        late_ns.clear();
        House {
            end: script.len(),
            script,
            clock,
            next: 0,
            run: None,
            has_run: false,
            refused: 0,
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
            inputs: self.next as u64,
            refused: self.refused,
            without_effect,
            traded_already,
            crossing,
            journal_full: self.journal_full,
            late_ns_p50: at(0.5),
            late_ns_p99: at(0.99),
            late_ns_max: at(1.0),
        }
    }

    /// Begins the flow.
    ///
    /// # Errors
    /// Why it can't begin.
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

    /// The next input and when it is due, if it is now.
    #[inline]
    pub fn due(&self, now_ns: u64) -> Option<(u64, Command)> {
        let due_ns = self.run?.started_ns + self.script.offset_ns(self.next)?;
        let is_due = self.next < self.end && due_ns <= now_ns;
        is_due.then(|| (due_ns, self.script.command(self.next)))
    }

    /// Notes the outcome of the next input: when it was acknowledged, or that the journal did not
    /// take it; the engine may have `refused` it. Returns whether it was executed.
    pub fn executed(
        &mut self,
        due_ns: u64,
        acknowledged_ns: Result<u64, journal::AppendError>,
        refused: bool,
    ) -> bool {
        match acknowledged_ns {
            Ok(acknowledged_ns) => {
                self.next += 1;
                self.refused += u64::from(refused);
                let late_ns = acknowledged_ns.saturating_sub(due_ns);
                self.late_ns.push(u32::try_from(late_ns).unwrap_or(u32::MAX));
                true
            }
            Err(journal::AppendError::Full { .. }) => {
                self.journal_full += 1;
                false
            }
            Err(_) => {
                // It will not get better: what is left is not executed.
                self.end = self.next;
                false
            }
        }
    }

    /// Whether it is under way and all of it is executed.
    #[inline]
    pub fn is_through(&self) -> bool {
        self.run.is_some() && self.next >= self.end
    }

    /// Ends the flow: who is told, and what. `None` where none is under way.
    pub fn end(&mut self, feed: FeedPosition) -> Option<(Sender, FlowEnded)> {
        let run = self.run.take()?;
        let ended = FlowEnded {
            inputs: self.next as u64,
            datagrams: feed.datagrams - run.feed.datagrams,
            messages: feed.sequence - run.feed.sequence,
            feed_sequence: feed.sequence,
        };
        Some((run.by, ended))
    }
}

#[cfg(test)]
#[path = "house_tests.rs"]
mod tests;
