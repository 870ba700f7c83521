//! From a loop that is over to what its thread has to tell.

use crate::tick::event_loop::state::TickLoop;
use crate::tick::logic::TradingLogic;
use crate::tick::phase::Course;
use crate::tick::result::{BookCounts, ReceiverCounts, ThreadResult};
use crate::tick::session::OrderSession;
use crate::tick::stages::Stages;
use crate::tick::stamped_orders::StampedOrders;
use record::tick::MarketMaking;

/// Ends the loop. `stopped`: it was stopped before the flow was over.
pub(crate) fn finish<M: TradingLogic, L: OrderSession>(
    ticks: TickLoop<M, L>,
    stopped: bool,
    following: Option<BookCounts>,
    market_making: Option<MarketMaking>,
    memory_locked: bool,
) -> ThreadResult {
    let TickLoop { stages, parts, failure, course, usage, .. } = ticks;
    let Stages { logic, session, orders, mut counts, .. } = stages;
    let (ended_ns, processor_ns) = (parts.clock.now_ns(), parts.processor.used_ns());
    if let Some(shown) = parts.shown {
        shown.finish(ended_ns);
    }
    let has_all = stopped || course.flow_ended.is_some_and(|last| logic.sequence() >= last);
    let mut failures: Vec<String> = failure.into_iter().collect();
    failures.extend(missing(&failures, has_all, &course, following.as_ref()));
    let lost = parts.samples.lost;
    if lost > 0 {
        failures.push(format!("{lost} ticks found no room for their stamps; raise samples_max"));
    }
    let complete = failures.is_empty() && !stopped;
    // A market maker's quote that would trade is rejected, which is normal.
    let traded = orders.orders_filled();
    if traded > 0 && market_making.is_none() {
        counts.unexpected += traded;
        failures.push(format!(
            "{traded} orders traded that were not to; raise strategy.distance_ticks"
        ));
    }
    let is_odd = counts.unexpected > 0 || (counts.rejected > 0 && market_making.is_none());
    let complaint = session.first_complaint().filter(|_| is_odd);
    failures.extend(complaint.map(|what| format!("first complaint: {what}")));
    let mut samples = parts.samples.into_all();
    let outages = parts
        .addresses
        .map(|addresses| addresses.finish(&mut samples, &parts.clock, ended_ns))
        .unwrap_or_default();
    let mut receiver = parts.receiver;
    ThreadResult {
        counts,
        unanswered: orders.unanswered().into(),
        usage: host::thread::usage().since(usage),
        measured_from_ns: course.measured_from_ns,
        complete,
        failures,
        receiving: ReceiverCounts::of(&mut receiver),
        following,
        followed: course.followed,
        market_making,
        description: course.description,
        memory_locked,
        processor_ns,
        stack: None,
        hold: parts.releases.map(|releases| releases.finish()),
        samples,
        outages,
        stamped: parts.stamped.map(StampedOrders::finish),
    }
}

/// Ticks that did not come, if nothing else has failed.
fn missing(
    failures: &[String],
    has_all: bool,
    course: &Course,
    following: Option<&BookCounts>,
) -> Option<String> {
    if !failures.is_empty() {
        return None;
    }
    if !has_all {
        return Some("the flow is over, and its last messages did not come".to_owned());
    }
    let (ours, theirs) = following.zip(course.description.as_ref())?;
    course.followed.miscounted(&theirs.feeds, ours.sequence, ours.counts.messages)
}
