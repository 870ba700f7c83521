//! Goes on at another address when the exchange is lost: logs on again, asks what became of the
//! messages in flight, and sends what was not written. In an open loop the schedule goes on
//! meanwhile, so the gap is in the response times. In ping-pong the accounts wait.

use crate::load::addresses::{PATIENCE, SEARCH, search};
use crate::load::desk::Desk;
use crate::load::desk::in_flight::{Order, Progress, Stamps};
use crate::load::desk::lane::UnsentMessage;
use crate::load::desk::redial::Redial;
use crate::load::dialler::{Dialler, accounts};
use crate::load::error::TraderError;
use crate::load::session::{LoadMessage, OrderProtocol, OrderStanding, ReceivedReply, Reply};
use plan::process::orders::OrdersPlan;
use record::Outage;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::AtomicBool;
use transport::Connection;

/// A lane's next connection, and what became of each order that was asked about.
type JoinedLane = (Connection, HashMap<u64, OrderStanding>);

/// Finds another exchange if this one was lost, and returns whether it was. Blocks meanwhile:
/// there is nothing to send to. The messages that it answers itself are in `answered`.
#[inline]
pub(crate) fn go_on<E: OrderProtocol>(desk: &mut Desk<E>, stop: &AtomicBool) -> bool {
    if desk.redial.as_ref().is_some_and(|redial| redial.lost.is_some())
        && let Some(mut redial) = desk.redial.take()
    {
        desk.ledger.answered.clear();
        change(desk, &mut redial, stop);
        desk.redial = Some(redial);
        return true;
    }
    false
}

/// The longest outage that is waited for, ns; 0 without another address for an exchange that is
/// never silent.
pub(crate) fn outage_ns_max<E: OrderProtocol>(desk: &Desk<E>) -> u64 {
    match (&desk.redial, &desk.ledger.silence) {
        (Some(_), _) => SEARCH.as_nanos() as u64,
        (None, Some(silence)) => silence.ns_max,
        (None, None) => 0,
    }
}

#[cold]
fn change<E: OrderProtocol>(desk: &mut Desk<E>, redial: &mut Redial, stop: &AtomicBool) {
    let why = redial.lost.take().unwrap_or_default();
    let lost_ns = desk.clock.now_ns();
    for lane in &desk.connections.lanes {
        desk.connections.streams.remove(lane.stream);
    }
    let waiting = desk.ledger.in_flight.written();
    let Some(joined) = search_all(desk, redial, &waiting, stop) else {
        return give_up(desk, &why);
    };
    if let Err(error) = attach(desk, joined, waiting, redial, lost_ns) {
        give_up(desk, &format!("{why}; then {error}"));
    }
}

fn give_up<E: OrderProtocol>(desk: &mut Desk<E>, why: &str) {
    let text = format!("lost the exchange ({why}) and found no other one");
    desk.failure.get_or_insert(text);
    desk.broken = true;
}

/// Tries all addresses, the one after the lost one first, until one takes all connections.
fn search_all<E: OrderProtocol>(
    desk: &mut Desk<E>,
    redial: &mut Redial,
    waiting: &[Order],
    stop: &AtomicBool,
) -> Option<Vec<JoinedLane>> {
    let Redial { plan, current, .. } = redial;
    let count = plan.targets().len();
    search(current, count, stop, |target| join(desk, plan, target, waiting).ok())
}

/// Logs all lanes on at one address, and asks there about the orders in flight.
fn join<E: OrderProtocol>(
    desk: &mut Desk<E>,
    plan: &OrdersPlan,
    target: usize,
    waiting: &[Order],
) -> Result<Vec<JoinedLane>, TraderError> {
    let target = plan.targets()[target];
    let dialler = Dialler::new(target, plan.tls.as_ref())?.patient_for(PATIENCE);
    let lanes = desk.connections.lanes.len();
    let join_lane = |(lane, entry): (usize, &mut E)| -> io::Result<JoinedLane> {
        let mut stream = dialler.connect()?;
        entry.renew(lane, target, PATIENCE);
        entry.log_on(lane, &mut stream, &accounts(plan, lane))?;
        let of_lane = waiting.iter().filter(|order| order.account % lanes == lane);
        let asked: Vec<(u64, usize)> = of_lane.map(|order| (order.number, order.account)).collect();
        let standings = entry.standings(lane, &mut stream, &asked)?;
        let numbers = asked.iter().map(|(number, _)| *number);
        Ok((stream, numbers.zip(standings).collect()))
    };
    let mut joined = Vec::new();
    for lane in 0..lanes {
        let failed = |source| TraderError::connect(target, lane, source);
        joined.push(join_lane((lane, &mut desk.entry)).map_err(failed)?);
    }
    Ok(joined)
}

/// Uses the new connections: settles the messages in flight, and sends the unwritten ones.
fn attach<E: OrderProtocol>(
    desk: &mut Desk<E>,
    joined: Vec<JoinedLane>,
    waiting: Vec<Order>,
    redial: &mut Redial,
    lost_ns: u64,
) -> io::Result<()> {
    let now_ns = desk.clock.now_ns();
    let mut standings = HashMap::new();
    for (lane, (stream, of_lane)) in joined.into_iter().enumerate() {
        let id = desk.connections.streams.add(stream)?;
        desk.connections.use_stream(lane, id, now_ns);
        standings.extend(of_lane);
    }
    let mut outage = Outage {
        lost_ns: lost_ns.saturating_sub(desk.ledger.measured_from_ns),
        connecting_ns: now_ns - lost_ns,
        ..Outage::default()
    };
    // An exchange could be lost again before it answers.
    if let Some(before) = redial.open.take() {
        outage = Outage { connecting_ns: now_ns - lost_ns + before.connecting_ns, ..before };
    }
    write_again(desk);
    settle(desk, waiting, &standings, now_ns, &mut outage);
    redial.open = Some(outage);
    desk.flush();
    Ok(())
}

/// Encodes what was not written, from each message's begin.
fn write_again<E: OrderProtocol>(desk: &mut Desk<E>) {
    for index in 0..desk.connections.lanes.len() {
        let unsent = std::mem::take(&mut desk.connections.lanes[index].unsent);
        desk.connections.lanes[index].bytes.clear();
        for UnsentMessage { number, message, .. } in unsent {
            encode_again(desk, index, number, message);
        }
    }
}

fn encode_again<E: OrderProtocol>(
    desk: &mut Desk<E>,
    index: usize,
    number: u64,
    message: LoadMessage,
) {
    let Some(account) = desk.ledger.account_of(number) else { return };
    let lane = &mut desk.connections.lanes[index];
    desk.entry.encode(message, number, account, &mut lane.bytes);
    let end = lane.bytes.len();
    lane.unsent.push(UnsentMessage { number, message, end });
    desk.connections.mark(index);
}

/// Answers each message that the lost exchange did not, once, in the order of sending.
fn settle<E: OrderProtocol>(
    desk: &mut Desk<E>,
    waiting: Vec<Order>,
    standings: &HashMap<u64, OrderStanding>,
    now_ns: u64,
    outage: &mut Outage,
) {
    let is_waiting = |stamps: &Stamps| stamps.progress == Progress::InFlight && stamps.sent_ns > 0;
    let mut messages: Vec<(u64, LoadMessage, Order)> = Vec::new();
    for order in waiting {
        for (stamps, message) in
            [(order.order, LoadMessage::Order), (order.cancel, LoadMessage::Cancel)]
        {
            if is_waiting(&stamps) {
                messages.push((stamps.sequence, message, order));
            }
        }
    }
    messages.sort_unstable_by_key(|(sequence, ..)| *sequence);
    for (_, message, order) in messages {
        outage.unanswered += 1;
        let standing = standings.get(&order.number).copied().unwrap_or_default();
        let lane = order.account % desk.connections.lanes.len();
        let reply = match (message, standing) {
            (LoadMessage::Cancel, OrderStanding::Open) => {
                outage.sent_again += 1;
                send_again(desk, lane, order.number);
                continue;
            }
            (LoadMessage::Cancel, OrderStanding::Ended) => {
                Reply::Ack(LoadMessage::Cancel, order.number)
            }
            // The order was answered before, so it has ended since then, most likely by this.
            (LoadMessage::Cancel, OrderStanding::Unknown) if !is_waiting(&order.order) => {
                Reply::Ack(LoadMessage::Cancel, order.number)
            }
            (LoadMessage::Cancel, OrderStanding::Filled | OrderStanding::Unknown)
            | (LoadMessage::Order, OrderStanding::Unknown) => Reply::Rejected(order.number),
            (LoadMessage::Order, _) => Reply::Ack(LoadMessage::Order, order.number),
        };
        match reply {
            Reply::Rejected(_) => outage.rejected += 1,
            _ => outage.accepted_late += 1,
        }
        desk.account_for(lane, ReceivedReply { reply, first_byte_ns: now_ns, bytes: 0 });
    }
}

/// Sends a cancel again. It is the same message, so its intended time stays.
fn send_again<E: OrderProtocol>(desk: &mut Desk<E>, lane: usize, number: u64) {
    let sequence = desk.ledger.next_sequence();
    if let Some(order) = desk.ledger.in_flight.order(number) {
        (order.cancel.sent_ns, order.cancel.sequence) = (0, sequence);
    }
    encode_again(desk, lane, number, LoadMessage::Cancel);
}

#[cfg(test)]
#[path = "going_on_tests.rs"]
mod tests;
