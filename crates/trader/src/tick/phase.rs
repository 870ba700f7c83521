//! The phases of a run: flow, drain, close, compare. Each ends with the reply that it waits for or
//! at a deadline. Pure: the loop tells what it sees, and does what the phase asks for.

use crate::tick::followed_state::FollowedState;
use wire::administration::Description;

/// Time limit for the exchange to start the flow.
const START_PATIENCE_NS: u64 = 5_000_000_000;
/// Time limit for the exchange to end the flow, counted from its planned end.
const OVERRUN_NS: u64 = 10_000_000_000;
/// Time limit of each phase after the flow.
const PATIENCE_NS: u64 = 2_000_000_000;
/// The exchange sends at least ten datagrams per second: after this silence the book is stale.
const SILENCE_NS_MAX: u64 = 2_000_000_000;
/// If the loop itself stood still for this long, the datagrams may be waiting in the socket.
const STOOD_STILL_NS: u64 = 500_000_000;
/// Limit on attempts to compare books that are never at the same message.
const COMPARISONS_MAX: u32 = 5;

/// The phase of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Ticks arrive.
    #[default]
    Flowing,
    /// The flow is over; its last ticks and replies may arrive until then.
    Draining { until_ns: u64 },
    /// The trader cancels its own orders.
    Closing { until_ns: u64 },
    /// The exchange was asked for the hash of its book.
    Comparing { until_ns: u64, times: u32 },
    /// The run is over.
    Over,
}

/// The loop's view of the feed and its own orders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// The number of the last message applied.
    pub(crate) sequence: u64,
    pub(crate) is_in_sync: bool,
    /// Requests about orders without a reply.
    pub(crate) unanswered: u32,
    /// There are quotes to cancel.
    pub(crate) has_quotes: bool,
}

/// The loop's next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Nothing,
    /// Measuring begins.
    Measure,
    /// No tick may become an order any more.
    StopTrading,
    /// Cancel the trader's quotes.
    CancelQuotes,
    /// Ask the exchange to describe itself.
    Describe,
    Fail(&'static str),
}

/// The course of a run: its phase and its times.
#[derive(Default)]
pub(crate) struct Course {
    phase: Phase,
    compares: bool,
    pub(crate) followed: FollowedState,
    /// When measuring begins, on our clock.
    pub(crate) measured_from_ns: u64,
    started_ns: u64,
    deadline_ns: u64,
    is_measuring: bool,
    /// A request that is not about an order waits for its reply.
    pub(crate) awaits: bool,
    pub(crate) flow_has_started: bool,
    /// Number of the flow's last message, after its end.
    pub(crate) flow_ended: Option<u64>,
    pub(crate) description: Option<Box<Description>>,
    /// Time of the feed's last datagram.
    pub(crate) heard_at_ns: u64,
    looked_at_ns: u64,
}

impl Course {
    /// Before the start. `compares`: the books of both ends are compared at the end.
    pub(crate) fn new(compares: bool, followed: FollowedState) -> Course {
        Course { compares, followed, deadline_ns: u64::MAX, ..Course::default() }
    }

    /// Starts the flow. Inputs that are intended `warm_up_ns` later or more are measured; after
    /// `flow_ns` the flow should be over.
    pub(crate) fn start(&mut self, now_ns: u64, warm_up_ns: u64, flow_ns: u64) {
        self.started_ns = now_ns;
        self.measured_from_ns = now_ns + warm_up_ns;
        self.deadline_ns = now_ns.saturating_add(flow_ns).saturating_add(OVERRUN_NS);
        self.awaits = true;
    }

    /// Whether ticks may still come.
    pub(crate) fn is_flowing(&self) -> bool {
        matches!(self.phase, Phase::Flowing | Phase::Draining { .. })
    }

    /// The exchange was lost, and another one found: the flow waits there.
    pub(crate) fn lose(&mut self, now_ns: u64) {
        (self.phase, self.flow_has_started, self.flow_ended) = (Phase::Flowing, false, None);
        (self.awaits, self.started_ns, self.heard_at_ns) = (false, now_ns, now_ns);
    }

    /// The rest of the flow is started, which has waited since then.
    pub(crate) fn resume(&mut self, now_ns: u64, since_ns: u64) {
        (self.awaits, self.started_ns) = (true, now_ns);
        self.deadline_ns = self.deadline_ns.saturating_add(now_ns.saturating_sub(since_ns));
    }

    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Ends the run now, with what was measured so far.
    pub(crate) fn break_off(&mut self, now_ns: u64) -> Step {
        match self.phase {
            Phase::Flowing | Phase::Draining { .. } => self.close(now_ns),
            _ => Step::Nothing,
        }
    }

    /// Whether the feed has been silent for too long. The connection may be alive all the same.
    pub(crate) fn is_silent(&mut self, now_ns: u64) -> bool {
        if self.looked_at_ns + STOOD_STILL_NS < now_ns {
            self.heard_at_ns = now_ns;
        }
        self.looked_at_ns = now_ns;
        now_ns > self.heard_at_ns + SILENCE_NS_MAX
    }

    pub(crate) fn advance(&mut self, now_ns: u64, view: View) -> Step {
        match self.phase {
            Phase::Flowing if self.flow_ended.is_some() => {
                self.phase = Phase::Draining { until_ns: now_ns + PATIENCE_NS };
                Step::Nothing
            }
            Phase::Flowing => self.hold_on(now_ns),
            Phase::Draining { until_ns } => {
                let has_all = view.sequence >= self.flow_ended.unwrap_or(0) && view.is_in_sync;
                match has_all && view.unanswered == 0 || now_ns > until_ns {
                    true => self.close(now_ns),
                    false if has_all => Step::StopTrading,
                    false => Step::Nothing,
                }
            }
            Phase::Closing { until_ns } => match now_ns > until_ns {
                false if view.has_quotes => Step::CancelQuotes,
                false if view.unanswered > 0 => Step::Nothing,
                _ => self.compare(now_ns, 0),
            },
            Phase::Comparing { until_ns, times } => self.compared(now_ns, until_ns, times, view),
            Phase::Over => Step::Nothing,
        }
    }

    /// Fails the run if the flow does not start or end in time.
    fn hold_on(&mut self, now_ns: u64) -> Step {
        if !self.flow_has_started && now_ns > self.started_ns + START_PATIENCE_NS {
            return Step::Fail(
                "the exchange's flow did not begin; is it started with --flow, and is nobody else following it?",
            );
        }
        if now_ns > self.deadline_ns {
            return Step::Fail(
                "the exchange's flow did not end in its time: is it slower than its schedule, or seconds shorter than the flow?",
            );
        }
        if !self.is_measuring && now_ns >= self.measured_from_ns {
            self.is_measuring = true;
            return Step::Measure;
        }
        Step::Nothing
    }

    fn close(&mut self, now_ns: u64) -> Step {
        self.phase = Phase::Closing { until_ns: now_ns + PATIENCE_NS };
        Step::StopTrading
    }

    fn compare(&mut self, now_ns: u64, times: u32) -> Step {
        if !self.compares {
            self.phase = Phase::Over;
            return Step::Nothing;
        }
        (self.description, self.awaits) = (None, true);
        self.phase = Phase::Comparing { until_ns: now_ns + PATIENCE_NS, times };
        Step::Describe
    }

    fn compared(&mut self, now_ns: u64, until_ns: u64, times: u32, view: View) -> Step {
        let description = self.description.as_ref();
        let theirs = description.and_then(|description| self.followed.of(&description.feeds));
        let theirs = theirs.map(|feed| feed.sequence);
        let is_same = theirs == Some(view.sequence) && view.is_in_sync;
        let is_behind = theirs.is_some_and(|theirs| theirs < view.sequence);
        match is_behind {
            // Others continue to trade: the book changed while the reply was in flight.
            true if now_ns <= until_ns && times < COMPARISONS_MAX => {
                return self.compare(now_ns, times + 1);
            }
            true => self.phase = Phase::Over,
            false if is_same || now_ns > until_ns => self.phase = Phase::Over,
            false => {}
        }
        Step::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const DONE: View = View { sequence: 9, is_in_sync: true, unanswered: 0, has_quotes: false };

    fn started(compares: bool) -> Course {
        let mut course = Course::new(compares, FollowedState::Orders);
        course.start(0, S, 3 * S);
        course
    }

    #[test]
    fn a_run_goes_through_its_phases() {
        let mut course = started(true);
        course.flow_has_started = true;
        assert_eq!(course.advance(S / 2, DONE), Step::Nothing);
        assert_eq!(course.advance(S, DONE), Step::Measure);
        assert_eq!(course.advance(S + 1, DONE), Step::Nothing, "measuring begins once");
        course.flow_ended = Some(9);
        assert_eq!(course.advance(3 * S, DONE), Step::Nothing);
        let late = View { sequence: 8, ..DONE };
        assert_eq!(course.advance(3 * S, late), Step::Nothing, "the last datagram is missing");
        assert_eq!(course.advance(3 * S, View { unanswered: 1, ..DONE }), Step::StopTrading);
        assert_eq!(course.advance(3 * S, DONE), Step::StopTrading);
        assert_eq!(course.advance(3 * S, View { has_quotes: true, ..DONE }), Step::CancelQuotes);
        assert_eq!(course.advance(3 * S, View { unanswered: 2, ..DONE }), Step::Nothing);
        assert_eq!(course.advance(3 * S, DONE), Step::Describe);
        assert!(!course.is_over());
        course.advance(6 * S, DONE);
        assert!(course.is_over(), "the exchange never answered");
    }

    #[test]
    fn the_floor_compares_no_books() {
        let mut course = started(false);
        assert_eq!(course.break_off(S), Step::StopTrading);
        assert_eq!(course.break_off(S), Step::Nothing);
        assert_eq!(course.advance(S, DONE), Step::Nothing);
        assert!(course.is_over());
    }

    #[test]
    fn every_wait_has_a_deadline() {
        assert!(matches!(started(true).advance(6 * S, DONE), Step::Fail(_)), "it never starts");
        let mut course = started(true);
        course.flow_has_started = true;
        assert!(matches!(course.advance(14 * S, DONE), Step::Fail(_)), "it never ends");
        course.flow_ended = Some(10);
        course.advance(S, DONE);
        assert_eq!(course.advance(4 * S, DONE), Step::StopTrading, "a datagram never comes");
        let stuck = View { unanswered: 1, has_quotes: true, ..DONE };
        assert_eq!(course.advance(7 * S, stuck), Step::Describe, "a reply never comes");
    }

    #[test]
    fn after_a_loss_the_flow_starts_again_and_has_its_time() {
        let mut course = started(true);
        (course.flow_has_started, course.flow_ended) = (true, Some(9));
        course.advance(3 * S, DONE);
        assert!(course.is_flowing());
        course.lose(4 * S);
        assert_eq!((course.flow_ended, course.awaits), (None, false));
        assert_eq!(course.advance(4 * S, DONE), Step::Measure);
        course.resume(5 * S, 2 * S);
        assert!(course.awaits);
        assert_eq!(course.advance(9 * S, DONE), Step::Nothing);
        assert!(matches!(course.advance(11 * S, DONE), Step::Fail(_)), "it does not start again");
        course.flow_has_started = true;
        assert_eq!(course.advance(15 * S, DONE), Step::Nothing, "three seconds later than planned");
        assert!(matches!(course.advance(17 * S, DONE), Step::Fail(_)));
        course.flow_ended = Some(9);
        course.advance(16 * S, DONE);
        course.advance(16 * S, DONE);
        assert!(!course.is_flowing(), "it closes");
    }

    #[test]
    fn silence_counts_only_while_the_loop_runs() {
        let mut course = started(true);
        course.heard_at_ns = 0;
        assert!((1..=20).all(|tenth| !course.is_silent(tenth * S / 10)));
        assert!(course.is_silent(21 * S / 10));
        assert!(!course.is_silent(30 * S / 10), "it stood still");
    }
}
