//! Housekeeping between datagrams: the book's gaps, the phases of the run, the trader's quotes.

use crate::strategy::OrderIntent;
use crate::strategy::own_orders::{OwnOrders, PendingRequest};
use crate::tick::event_loop::state::TickLoop;
use crate::tick::logic::TradingLogic;
use crate::tick::phase::{Step, View};
use crate::tick::session::{OrderSession, Request};
use crate::tick::stages::Stages;
use engine::Side;

/// A request to the feed without an effect for this long is sent again.
const AGAIN_NS: u64 = 50_000_000;
/// Interval between readings of the wall clock, which convert the kernel's stamps.
const REFRESH_NS: u64 = 1_000_000_000;
const SIDES: [Side; 2] = [Side::Buy, Side::Sell];
/// Why a run with a silent feed fails.
const SILENT: &str = "no datagram of the feed came for 2 s, and heartbeats come ten times a second: is \
     the way of UDP from the exchange still open?";

/// Housekeeping between datagrams.
pub(super) fn look_after<M: TradingLogic, L: OrderSession>(
    ticks: &mut TickLoop<M, L>,
    now_ns: u64,
) {
    if !ticks.stages.logic.is_in_sync() {
        if now_ns > ticks.wanted_at_ns + AGAIN_NS {
            ticks.stages.logic.again();
            ticks.wanted_at_ns = now_ns;
        }
        ticks.recover(now_ns);
    }
    if let Some(shown) = &mut ticks.parts.shown {
        shown.roll(now_ns);
    }
    if ticks.course.is_silent(now_ns) && M::HAS_HEARTBEATS {
        ticks.lose(SILENT.to_owned());
    }
    start_again(ticks, now_ns);
    // This takes some microseconds: not while a reply is due.
    if now_ns >= ticks.next_refresh_ns && ticks.stages.orders.unanswered() == 0 {
        ticks.next_refresh_ns = now_ns + REFRESH_NS;
        ticks.parts.receiver.look_after();
    }
    let Stages { logic, orders, .. } = &ticks.stages;
    let view = View {
        sequence: logic.sequence(),
        is_in_sync: logic.is_in_sync(),
        unanswered: orders.unanswered(),
        has_quotes: SIDES.iter().any(|side| idle_quote(orders, *side).is_some()),
    };
    let step = ticks.course.advance(now_ns, view);
    follow(ticks, step);
}

/// Does what the phase asks for.
pub(super) fn follow<M: TradingLogic, L: OrderSession>(ticks: &mut TickLoop<M, L>, step: Step) {
    match step {
        Step::Nothing => {}
        Step::Measure => {
            ticks.usage = host::thread::usage();
            ticks.parts.processor.start();
        }
        Step::StopTrading => ticks.stages.trades = false,
        Step::CancelQuotes => SIDES.into_iter().for_each(|side| cancel_quote(ticks, side)),
        Step::Describe => ticks.ask(Request::Describe),
        Step::Fail(why) => ticks.fail(why.to_owned()),
    }
}

/// Cancels the quote of a side, outside of any tick.
fn cancel_quote<M: TradingLogic, L: OrderSession>(ticks: &mut TickLoop<M, L>, side: Side) {
    let Stages { session, outbox, orders, .. } = &mut ticks.stages;
    let Some(number) = idle_quote(orders, side) else { return };
    if orders.ask(number, PendingRequest::Cancel).is_none() {
        return;
    }
    session.encode(&OrderIntent::Cancel { number }, number, &mut outbox.bytes);
    outbox.end_message();
    let written_ns = ticks.write();
    let has_left = ticks.stages.outbox.messages.is_empty();
    if let Some(trail) = &mut ticks.parts.trail {
        trail.cancel(ticks.stages.orders.at(number), if has_left { written_ns } else { 0 });
    }
}

/// Starts the flow of another exchange once the book is there, so that no tick is missed.
fn start_again<M: TradingLogic, L: OrderSession>(ticks: &mut TickLoop<M, L>, now_ns: u64) {
    if !ticks.stages.logic.is_in_sync() {
        return;
    }
    let addresses = ticks.parts.addresses.as_mut();
    if let Some(since_ns) = addresses.and_then(|addresses| addresses.start_flow()) {
        ticks.course.resume(now_ns, since_ns);
        ticks.ask(Request::StartFlow);
    }
}

/// The number of a side's quote without a pending request.
fn idle_quote(orders: &OwnOrders, side: Side) -> Option<u64> {
    orders.quote(side).filter(|quote| quote.pending.is_none()).map(|quote| quote.number)
}
