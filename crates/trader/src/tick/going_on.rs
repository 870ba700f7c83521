//! Goes on at another address when the exchange is lost: logs on, asks what became of the orders in
//! flight, follows that exchange's feed from a snapshot, and starts its flow again, which goes on
//! where the lost exchange was.
//!
//! See docs/decisions/037-a-flow-goes-on.md.

use crate::load::addresses::search;
use crate::session::standing::OrderStanding;
use crate::tick::addresses::Addresses;
use crate::tick::event_loop::state::TickLoop;
use crate::tick::logic::TradingLogic;
use crate::tick::session::{Join, JoinedSession, OrderSession};
use record::Outage;
use std::sync::atomic::AtomicBool;
use transport::datagram::Datagram;

/// Limit on datagrams to drop: a lost exchange may still be sending.
const DROPPED_MAX: u32 = 1 << 16;

/// Finds another exchange if this one was lost. Returns whether the run goes on there.
#[cold]
pub(crate) fn go_on<M: TradingLogic, L: OrderSession>(
    ticks: &mut TickLoop<M, L>,
    stop: &AtomicBool,
) -> bool {
    let Some(mut addresses) = ticks.parts.addresses.take() else { return false };
    let goes_on = addresses.takes_another() && change(ticks, &mut addresses, stop);
    ticks.parts.addresses = Some(addresses);
    goes_on
}

fn change<M: TradingLogic, L: OrderSession>(
    ticks: &mut TickLoop<M, L>,
    addresses: &mut Addresses,
    stop: &AtomicBool,
) -> bool {
    let why = ticks.failure.take().unwrap_or_default();
    let lost_ns = ticks.parts.clock.now_ns();
    ticks.parts.connection.remove();
    ticks.stages.outbox.clear();
    drop_datagrams(ticks);
    let numbers = ticks.stages.orders.pending();
    let session = &mut ticks.stages.session;
    let Addresses { plan, current, .. } = addresses;
    let targets = plan.targets();
    let joined = ticks.parts.receiver.datagrams().and_then(|feed| {
        let feed = feed.local_addr().ok()?;
        search(current, targets.len(), stop, |index| {
            session.join(&Join { plan, target: targets[index], feed, orders: &numbers }).ok()
        })
    });
    let Some(JoinedSession { stream, standings, clock }) = joined else {
        ticks.fail(format!("lost the exchange ({why}) and found no other one"));
        return false;
    };
    if let Err(error) = ticks.parts.connection.replace(stream) {
        ticks.fail(format!("lost the exchange ({why}), then: {error}"));
        return false;
    }
    let now_ns = ticks.parts.clock.now_ns();
    let since_ns = lost_ns.saturating_sub(ticks.course.measured_from_ns);
    let mut outage = addresses.outage(since_ns, now_ns - lost_ns);
    for (number, standing) in numbers.into_iter().zip(standings) {
        settle(ticks, number, standing, &mut outage);
    }
    let clock = clock.filter(|_| ticks.parts.is_shared);
    addresses.join(outage, ticks.parts.samples.next_place() as usize, clock);
    ticks.follow_anew(now_ns, clock.is_some());
    true
}

/// Datagrams from before the loss are of no use: the book begins with a snapshot.
fn drop_datagrams<M: TradingLogic, L: OrderSession>(ticks: &mut TickLoop<M, L>) {
    for _ in 0..DROPPED_MAX {
        let Datagram::Bytes { .. } = ticks.parts.receiver.receive(&mut ticks.datagram) else {
            return;
        };
    }
}

/// Answers an order in flight, once.
fn settle<M: TradingLogic, L: OrderSession>(
    ticks: &mut TickLoop<M, L>,
    number: u64,
    standing: OrderStanding,
    outage: &mut Outage,
) {
    let accepted = standing != OrderStanding::Unknown;
    outage.unanswered += 1;
    *if accepted { &mut outage.accepted_late } else { &mut outage.rejected } += 1;
    let (orders, counts) = (&mut ticks.stages.orders, &mut ticks.stages.counts);
    if standing == OrderStanding::Filled {
        let order = orders.at(number);
        let (price_ticks, open_lots) = (order.price_ticks, order.open_lots);
        orders.filled(number, price_ticks, open_lots);
    }
    if let Some(order) = orders.answered(number, accepted) {
        counts.received += u64::from(order.measured);
        counts.rejected += u64::from(order.measured && !accepted);
    }
    if matches!(standing, OrderStanding::Ended | OrderStanding::Filled) {
        orders.end(number);
    }
}
