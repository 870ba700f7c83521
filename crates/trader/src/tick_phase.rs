//! The parts of a run: the flow, what is still on its way when it is over, the end of the trader's own orders, the comparison of books.

use crate::line::{Ask, Line};
use crate::mind::Mind;
use crate::own_orders::Asked;
use crate::tick_loop::{Phase, TickLoop};
use engine::Side;
use wire::administration::FeedState;
use wire::request::Depth;

/// How long the exchange may take to begin the flow,
const START_PATIENCE_NS: u64 = 5_000_000_000;
/// and how long after its time to end it.
const OVERRUN_NS: u64 = 10_000_000_000;
/// How long each part after the flow may take.
const PATIENCE_NS: u64 = 2_000_000_000;
/// A wish of the feed that nothing came of for so long is said again.
const AGAIN_NS: u64 = 50_000_000;
/// The exchange says something ten times a second at least: who has heard nothing for so long rests on an old book.
const SILENCE_NS_MAX: u64 = 2_000_000_000;
/// Who has not looked for so long has stood still itself, and may have it all before him.
const STOOD_STILL_NS: u64 = 500_000_000;
/// How often the wall clock is read again, by which the kernel's stamps are laid on ours.
const REFRESH_NS: u64 = 1_000_000_000;
/// How often books are compared that never are at the same message.
const COMPARISONS_MAX: u32 = 5;

impl<M: Mind, L: Line> TickLoop<M, L> {
    /// What is looked after between datagrams.
    pub(crate) fn look_after(&mut self, now_ns: u64) {
        if !self.stages.mind.is_in_sync() {
            if now_ns > self.wanted_at_ns + AGAIN_NS {
                self.stages.mind.again();
                self.wanted_at_ns = now_ns;
            }
            self.recover(now_ns);
        }
        if let Some(shown) = &mut self.parts.shown {
            shown.roll(now_ns);
        }
        self.check_silence(now_ns);
        // Some microseconds: not while a reply is on its way.
        if now_ns >= self.next_refresh_ns && self.stages.orders.unanswered() == 0 {
            self.next_refresh_ns = now_ns + REFRESH_NS;
            self.parts.receiver.refresh_wall();
        }
        self.advance(now_ns);
    }

    /// The connection may live while the datagrams don't come.
    fn check_silence(&mut self, now_ns: u64) {
        if self.looked_at_ns + STOOD_STILL_NS < now_ns {
            self.heard_at_ns = now_ns;
        }
        self.looked_at_ns = now_ns;
        if M::THINKS && now_ns > self.heard_at_ns + SILENCE_NS_MAX {
            let seconds = SILENCE_NS_MAX / 1_000_000_000;
            self.fail(format!(
                "no datagram of the feed came for {seconds} s, and heartbeats come ten times a second: is the way of UDP from the exchange still open?"
            ));
        }
    }

    /// The run is to end now, with what was measured until then.
    pub(crate) fn break_off(&mut self, now_ns: u64) {
        if matches!(self.phase, Phase::Flowing | Phase::Draining { .. }) {
            self.close(now_ns);
        }
    }

    fn advance(&mut self, now_ns: u64) {
        match self.phase {
            Phase::Flowing if self.flow_ended.is_some() => {
                self.phase = Phase::Draining { until_ns: now_ns + PATIENCE_NS };
            }
            Phase::Draining { until_ns } => {
                let last = self.flow_ended.unwrap_or(0);
                let has_all = self.stages.mind.sequence() >= last && self.stages.mind.is_in_sync();
                if has_all {
                    self.stages.trades = false;
                }
                if has_all && self.stages.orders.unanswered() == 0 || now_ns > until_ns {
                    self.close(now_ns);
                }
            }
            Phase::Closing { until_ns } => {
                self.end_quotes();
                if self.stages.orders.unanswered() == 0 || now_ns > until_ns {
                    self.compare(now_ns, 0);
                }
            }
            Phase::Comparing { until_ns, times } => self.compared(now_ns, until_ns, times),
            Phase::Flowing => self.hold_on(now_ns),
            Phase::Over => {}
        }
    }

    /// Says so if the flow does not begin, or does not end.
    fn hold_on(&mut self, now_ns: u64) {
        if !self.is_measuring && now_ns >= self.measured_from_ns {
            self.is_measuring = true;
            self.usage = host::thread::usage();
        }
        if !self.flow_has_started && now_ns > self.started_ns + START_PATIENCE_NS {
            let why = "the exchange's flow did not begin; is it started with --flow, and is nobody else following it?";
            self.fail(why.to_owned());
        } else if now_ns > self.deadline_ns {
            let why = "the exchange's flow did not end in its time: is it slower than its schedule, or seconds shorter than the flow?";
            self.fail(why.to_owned());
        }
    }

    /// Begins the flow. What is intended to happen `warm_up_ns` later or more is measured; after `flow_ns` it should be over.
    pub(crate) fn start(&mut self, warm_up_ns: u64, flow_ns: u64) {
        self.started_ns = self.parts.clock.now_ns();
        self.measured_from_ns = self.started_ns + warm_up_ns;
        self.intended_from_ns = self.parts.is_shared.then_some(self.measured_from_ns);
        self.deadline_ns = self.started_ns.saturating_add(flow_ns).saturating_add(OVERRUN_NS);
        if let Some(shown) = &mut self.parts.shown {
            shown.start(self.measured_from_ns);
        }
        self.awaits = true;
        self.ask(Ask::StartFlow);
    }

    fn close(&mut self, now_ns: u64) {
        self.stages.trades = false;
        self.phase = Phase::Closing { until_ns: now_ns + PATIENCE_NS };
    }

    /// So that nothing is left in the exchange's book.
    fn end_quotes(&mut self) {
        for side in [Side::Buy, Side::Sell] {
            let quote = self.stages.orders.quote(side).filter(|quote| quote.asked.is_none());
            if let Some(number) = quote.map(|quote| quote.number)
                && self.stages.orders.ask(number, Asked::End).is_some()
            {
                self.end(number);
            }
        }
    }

    fn compare(&mut self, now_ns: u64, times: u32) {
        if !M::THINKS {
            self.phase = Phase::Over;
            return;
        }
        self.description = None;
        self.awaits = true;
        self.phase = Phase::Comparing { until_ns: now_ns + PATIENCE_NS, times };
        self.ask(Ask::Describe);
    }

    fn compared(&mut self, now_ns: u64, until_ns: u64, times: u32) {
        let theirs =
            self.description.as_ref().and_then(|description| orders_of(&description.feeds));
        let ours = self.stages.mind.sequence();
        let is_same = theirs.is_some_and(|theirs| theirs.sequence == ours);
        if is_same && self.stages.mind.is_in_sync() || now_ns > until_ns {
            self.phase = Phase::Over;
        } else if theirs.is_some_and(|theirs| theirs.sequence < ours) {
            // Others trade on: the book has moved while the answer was on its way.
            match times {
                COMPARISONS_MAX => self.phase = Phase::Over,
                _ => self.compare(now_ns, times + 1),
            }
        }
    }
}

/// The state of the feed that is followed.
pub(crate) fn orders_of(feeds: &[FeedState]) -> Option<&FeedState> {
    feeds.iter().find(|feed| feed.depth == Depth::Orders.name())
}
