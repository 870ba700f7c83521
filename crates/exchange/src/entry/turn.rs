//! The work of every turn of the loop: publish pending market data, and execute the inputs of the
//! exchange's own flow, and the orders that waited for their delivery windows, that are due.

use crate::account::sessions::EXCHANGE_ACCOUNT;
use crate::entry::deliveries;
use crate::entry::state::OrderEntry;
use crate::execution::Execution;
use crate::flow_player::{FeedPosition, FlowPlayer};
use crate::market_data::json::JsonOutput;
use crate::reply::reports::{RequestKind, Requester};
use crate::reply::text::{send, wire_time};
use engine::Event;
use feed::Channel;
use transport::serve::Outbound;
use wire::administration::{Notice, encode_notice};

/// The most inputs of the flow in one turn of the loop, which bounds how long clients wait.
const INPUTS_PER_TURN_MAX: usize = 64;

/// The instrument of the flow: the first.
const FLOW_INSTRUMENT: u16 = 0;

/// The requester of the flow's inputs.
const FLOW: Requester<'static> =
    Requester { from: None, client_id: None, account: EXCHANGE_ACCOUNT, kind: RequestKind::Flow };

/// One turn of the loop: publishes pending market data, executes the flow's inputs that are due,
/// and publishes their events. Returns whether there is more to do.
#[inline]
pub(crate) fn turn(entry: &mut OrderEntry, wall_ns: fn() -> u64, outbound: &mut Outbound) -> bool {
    let OrderEntry { core, flow, .. } = entry;
    let mut awaits = publish(core, wall_ns, outbound);
    if let Some(flow) = flow
        && run_flow(core, flow, wall_ns, outbound)
    {
        publish(core, wall_ns, outbound);
        end_flow(core, flow, outbound);
        awaits = true;
    }
    awaits |= deliveries::release(core, wall_ns, outbound);
    awaits
}

#[inline]
fn publish(core: &mut Execution, wall_ns: fn() -> u64, outbound: &mut Outbound) -> bool {
    let Execution { plant: Some(plant), instruments, deliveries, observed, .. } = core else {
        return false;
    };
    if !plant.has_work() {
        return false;
    }
    let time_ms = if plant.data.is_empty() { 0 } else { wire_time(wall_ns()) };
    let Some(deliveries) = deliveries else {
        return plant.publish(JsonOutput { instruments, outbound, time_ms });
    };
    // Before the first datagram leaves: nobody can have answered it earlier.
    let at_ns = observed.now_ns();
    let awaits = plant.publish(JsonOutput { instruments, outbound, time_ms });
    deliveries.window.published(plant.sequence(Channel::Orders), at_ns);
    awaits
}

/// Executes the flow's inputs that are due. Returns whether the flow is running.
#[inline]
fn run_flow(
    core: &mut Execution,
    flow: &mut FlowPlayer,
    wall_ns: fn() -> u64,
    outbound: &mut Outbound,
) -> bool {
    if !flow.is_under_way() {
        return false;
    }
    let now_ns = flow.now_ns();
    if flow.due(now_ns).is_none() {
        return true;
    }
    let time_ns = wall_ns();
    for _ in 0..INPUTS_PER_TURN_MAX {
        if !run_input(core, flow, now_ns, time_ns, outbound) {
            break;
        }
    }
    true
}

/// Executes the next input if it is due. Returns whether it did.
fn run_input(
    core: &mut Execution,
    flow: &mut FlowPlayer,
    now_ns: u64,
    time_ns: u64,
    outbound: &mut Outbound,
) -> bool {
    let Some((due_ns, command)) = flow.due(now_ns) else { return false };
    core.observed.cause_ns = due_ns;
    let done = core.execute_observed(&FLOW, command, time_ns, outbound);
    let last = core.observed.events.last();
    let rejected = last.is_some_and(|last| matches!(last.event, Event::Rejected { .. }));
    flow.executed(due_ns, done, rejected)
}

/// Notifies the connection that started the flow of its end, once all events are published.
#[inline]
fn end_flow(core: &Execution, flow: &mut FlowPlayer, outbound: &mut Outbound) {
    if !flow.is_through() || core.plant.as_ref().is_some_and(|plant| plant.is_pending()) {
        return;
    }
    let Some((by, mut ended)) = flow.end(feed_position(core)) else { return };
    let data = core.plant.as_ref().map(|plant| &plant.data);
    ended.book_sequence = data.and_then(|data| data.book_sequence(FLOW_INSTRUMENT));
    ended.top_sequence = data.and_then(|data| data.top_sequence(FLOW_INSTRUMENT));
    if let Some(to) = core.sessions.connection(by) {
        send(outbound.to(to), |out| encode_notice(out, &Notice::FlowEnded(ended)));
    }
}

/// Position of the feed's channel of orders.
pub(crate) fn feed_position(core: &Execution) -> FeedPosition {
    core.plant.as_ref().map_or_else(FeedPosition::default, |plant| FeedPosition {
        datagrams: plant.datagrams(Channel::Orders),
        sequence: plant.sequence(Channel::Orders),
    })
}
