//! The house's own orders: a flow that goes into the books on its schedule, so that there are ticks.

use crate::order_entry::OrderEntry;
use crate::reports::{Asked, What};
use crate::sessions::{HOUSE, Sender};
use crate::text::send;
use engine::Event;
use feed::Channel;
use flow::{Script, Skipped};
use measure::clock::Clock;
use serde::Serialize;
use transport::serve::Outbound;
use wire::administration::{FlowEnded, Notice, encode_notice};

/// From `FLOW_STARTED` to the first input, so that it is not late because of that.
const LEAD_NS: u64 = 1_000_000;
/// Inputs of a turn of the loop at most: clients wait no longer than for these.
const INPUTS_PER_TURN_MAX: usize = 64;

/// What became of the house's orders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowCounts {
    /// Inputs that there are.
    pub scheduled: u64,
    /// When the last of them is due, ns after the start.
    pub duration_ns: u64,
    /// Inputs that were executed.
    pub inputs: u64,
    /// Of these, what the engine refused: a client has traded with the order before it was cancelled.
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

/// A flow that is under way.
#[derive(Clone, Copy, Debug)]
struct Run {
    started_ns: u64,
    /// Who is told of its end.
    by: Sender,
    /// What had been published when it began.
    datagrams: u64,
    sequence: u64,
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
        let Skipped { without_effect, traded_already, crossing } = self.script.skipped();
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

    /// When the next input is due, if it is now.
    #[inline]
    fn due_ns(&self, now_ns: u64) -> Option<u64> {
        let due_ns = self.run?.started_ns + self.script.offset_ns(self.next)?;
        (self.next < self.end && due_ns <= now_ns).then_some(due_ns)
    }
}

impl OrderEntry {
    /// Begins the flow.
    ///
    /// # Errors
    /// Why it can't begin.
    pub fn start_flow(&mut self, by: Sender) -> Result<(), &'static str> {
        let (datagrams, sequence) = self.published();
        let house = self.house.as_mut().ok_or("this exchange has no flow of its own")?;
        if house.has_run {
            return Err("the flow has begun already, and runs once");
        }
        let started_ns = house.clock.now_ns() + LEAD_NS;
        house.has_run = true;
        house.run = Some(Run { started_ns, by, datagrams, sequence });
        Ok(())
    }

    /// Executes what is due. Says whether the flow is under way.
    #[inline]
    pub fn run_flow(&mut self, wall_ns: fn() -> u64, outbound: &mut Outbound) -> bool {
        let Some(house) = &self.house else { return false };
        if house.run.is_none() {
            return false;
        }
        let now_ns = house.clock.now_ns();
        if house.due_ns(now_ns).is_none() {
            return true;
        }
        let time_ns = wall_ns();
        for _ in 0..INPUTS_PER_TURN_MAX {
            if !self.run_input(now_ns, time_ns, outbound) {
                break;
            }
        }
        true
    }

    /// Executes the next input if it is due. Says whether it was.
    fn run_input(&mut self, now_ns: u64, time_ns: u64, outbound: &mut Outbound) -> bool {
        let Some(house) = &mut self.house else { return false };
        let Some(due_ns) = house.due_ns(now_ns) else { return false };
        let command = house.script.command(house.next);
        let asked = Asked { from: None, client_id: None, account: HOUSE, what: What::Flow };
        self.cause_ns = due_ns;
        let done = self.execute_observed(&asked, command, time_ns, outbound);
        let refused = matches!(self.observed.events.last(), Some(last) if matches!(last.event, Event::Rejected { .. }));
        let Some(house) = &mut self.house else { return false };
        match done {
            Ok(acknowledged_ns) => {
                house.next += 1;
                house.refused += u64::from(refused);
                let late_ns = acknowledged_ns.saturating_sub(due_ns);
                house.late_ns.push(u32::try_from(late_ns).unwrap_or(u32::MAX));
                true
            }
            Err(journal::Refused::Full { .. }) => {
                house.journal_full += 1;
                false
            }
            Err(_) => {
                // It will not get better: what is left is not executed.
                house.end = house.next;
                false
            }
        }
    }

    /// Tells who started the flow that it is over, once all of it is published.
    #[inline]
    pub fn end_flow(&mut self, outbound: &mut Outbound) {
        let Some(house) = &self.house else { return };
        let Some(run) = house.run else { return };
        let is_pending = self.plant.as_ref().is_some_and(|plant| plant.is_pending());
        if house.next < house.end || is_pending {
            return;
        }
        let inputs = house.next as u64;
        let (datagrams, feed_sequence) = self.published();
        let ended = FlowEnded {
            inputs,
            datagrams: datagrams - run.datagrams,
            messages: feed_sequence - run.sequence,
            feed_sequence,
        };
        if let Some(house) = &mut self.house {
            house.run = None;
        }
        if let Some(to) = self.sessions.connection(run.by) {
            send(outbound.to(to), |out| encode_notice(out, &Notice::FlowEnded(ended)));
        }
    }

    /// Datagrams and messages so far, order by order.
    fn published(&self) -> (u64, u64) {
        self.plant.as_ref().map_or((0, 0), |plant| {
            (plant.datagrams(Channel::Orders), plant.sequence(Channel::Orders))
        })
    }
}
