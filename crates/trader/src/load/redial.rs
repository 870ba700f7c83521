//! Goes on at another address when the exchange is lost: logs on again, asks what became of the
//! messages in flight, and sends what was not written. In an open loop the schedule goes on
//! meanwhile, so the gap is in the response times. In ping-pong the accounts wait.

use crate::load::addresses::{PATIENCE, SEARCH, search};
use crate::load::desk::Desk;
use crate::load::dialler::{Dialler, accounts};
use crate::load::error::TraderError;
use crate::load::in_flight::{Order, Progress, Stamps};
use crate::load::lane::UnsentMessage;
use crate::load::session::{LoadMessage, OrderProtocol, OrderStanding, ReceivedReply, Reply};
use plan::process::orders::OrdersPlan;
use record::Outage;
use std::collections::HashMap;
use std::io;
use std::sync::atomic::AtomicBool;
use transport::Connection;

/// A connection that owes a reply and is silent for this long is given up.
pub(super) const SILENCE_NS_MAX: u64 = 500_000_000;

/// The addresses of an exchange, and what the present outage has cost so far.
pub(crate) struct Redial {
    plan: OrdersPlan,
    /// Which address is in use.
    current: usize,
    /// Why the exchange was given up, if it was and no other one was found yet.
    lost: Option<String>,
    /// The outage that no answer has ended yet.
    open: Option<Outage>,
    /// When the last answer came, or the load began.
    answered_ns: u64,
}

impl Redial {
    /// `None` if the plan has one address. `current` is the one in use since `began_ns`.
    pub(crate) fn new(plan: &OrdersPlan, current: usize, began_ns: u64) -> Option<Redial> {
        (plan.targets().len() > 1).then(|| Redial {
            plan: plan.clone(),
            current,
            lost: None,
            open: None,
            answered_ns: began_ns,
        })
    }

    /// The connections are of no use any more.
    pub(super) fn lose(&mut self, why: String) {
        self.lost.get_or_insert(why);
    }

    /// Notes an answer; returns the outage that it ended.
    pub(super) fn answered(&mut self, at_ns: u64) -> Option<Outage> {
        let before_ns = std::mem::replace(&mut self.answered_ns, at_ns);
        let outage = self.open.take()?;
        Some(Outage { silence_ns: at_ns.saturating_sub(before_ns), ..outage })
    }
}

/// A lane's next connection, and what became of each order that was asked about.
type JoinedLane = (Connection, HashMap<u64, OrderStanding>);

impl<E: OrderProtocol> Desk<E> {
    /// Finds another exchange if this one was lost, and returns whether it was. Blocks meanwhile:
    /// there is nothing to send to. The messages that it answers itself are in `answered`.
    #[inline]
    pub(crate) fn recover(&mut self, stop: &AtomicBool) -> bool {
        if self.redial.as_ref().is_some_and(|redial| redial.lost.is_some())
            && let Some(mut redial) = self.redial.take()
        {
            self.answered.clear();
            self.change(&mut redial, stop);
            self.redial = Some(redial);
            return true;
        }
        false
    }

    /// The longest outage that is waited for, ns; 0 without another address for an exchange that is
    /// never silent.
    pub(crate) fn outage_ns_max(&self) -> u64 {
        match (&self.redial, &self.silence) {
            (Some(_), _) => SEARCH.as_nanos() as u64,
            (None, Some(silence)) => silence.ns_max,
            (None, None) => 0,
        }
    }

    #[cold]
    fn change(&mut self, redial: &mut Redial, stop: &AtomicBool) {
        let why = redial.lost.take().unwrap_or_default();
        let lost_ns = self.clock.now_ns();
        for lane in &self.lanes {
            self.streams.remove(lane.stream);
        }
        let waiting = self.in_flight.written();
        let Some(joined) = self.search(redial, &waiting, stop) else {
            return self.give_up(&why);
        };
        if let Err(error) = self.attach(joined, waiting, redial, lost_ns) {
            self.give_up(&format!("{why}; then {error}"));
        }
    }

    fn give_up(&mut self, why: &str) {
        let text = format!("lost the exchange ({why}) and found no other one");
        self.failure.get_or_insert(text);
        self.broken = true;
    }

    /// Tries all addresses, the one after the lost one first, until one takes all connections.
    fn search(
        &mut self,
        redial: &mut Redial,
        waiting: &[Order],
        stop: &AtomicBool,
    ) -> Option<Vec<JoinedLane>> {
        let Redial { plan, current, .. } = redial;
        let count = plan.targets().len();
        search(current, count, stop, |target| self.join(plan, target, waiting).ok())
    }

    /// Logs all lanes on at one address, and asks there about the orders in flight.
    fn join(
        &mut self,
        plan: &OrdersPlan,
        target: usize,
        waiting: &[Order],
    ) -> Result<Vec<JoinedLane>, TraderError> {
        let target = plan.targets()[target];
        let dialler = Dialler::new(target, plan.tls.as_ref())?.patient_for(PATIENCE);
        let lanes = self.lanes.len();
        let join_lane = |(lane, entry): (usize, &mut E)| -> io::Result<JoinedLane> {
            let mut stream = dialler.connect()?;
            entry.renew(lane, target, PATIENCE);
            entry.log_on(lane, &mut stream, &accounts(plan, lane))?;
            let of_lane = waiting.iter().filter(|order| order.account % lanes == lane);
            let asked: Vec<(u64, usize)> =
                of_lane.map(|order| (order.number, order.account)).collect();
            let standings = entry.standings(lane, &mut stream, &asked)?;
            let numbers = asked.iter().map(|(number, _)| *number);
            Ok((stream, numbers.zip(standings).collect()))
        };
        let mut joined = Vec::new();
        for lane in 0..lanes {
            let failed = |source| TraderError::connect(target, lane, source);
            joined.push(join_lane((lane, &mut self.entry)).map_err(failed)?);
        }
        Ok(joined)
    }

    /// Uses the new connections: settles the messages in flight, and sends the unwritten ones.
    fn attach(
        &mut self,
        joined: Vec<JoinedLane>,
        waiting: Vec<Order>,
        redial: &mut Redial,
        lost_ns: u64,
    ) -> io::Result<()> {
        let now_ns = self.clock.now_ns();
        let mut standings = HashMap::new();
        for (lane, (stream, of_lane)) in joined.into_iter().enumerate() {
            let id = self.streams.add(stream)?;
            self.use_stream(lane, id, now_ns);
            standings.extend(of_lane);
        }
        let mut outage = Outage {
            lost_ns: lost_ns.saturating_sub(self.measured_from_ns),
            connecting_ns: now_ns - lost_ns,
            ..Outage::default()
        };
        // An exchange could be lost again before it answers.
        if let Some(before) = redial.open.take() {
            outage = Outage { connecting_ns: now_ns - lost_ns + before.connecting_ns, ..before };
        }
        self.write_again();
        self.settle(waiting, &standings, now_ns, &mut outage);
        redial.open = Some(outage);
        self.flush();
        Ok(())
    }

    /// Encodes what was not written, from each message's begin.
    fn write_again(&mut self) {
        for index in 0..self.lanes.len() {
            let unsent = std::mem::take(&mut self.lanes[index].unsent);
            self.lanes[index].bytes.clear();
            for UnsentMessage { number, message, .. } in unsent {
                self.encode_again(index, number, message);
            }
        }
    }

    fn encode_again(&mut self, index: usize, number: u64, message: LoadMessage) {
        let Some(account) = self.account_of(number) else { return };
        let lane = &mut self.lanes[index];
        self.entry.encode(message, number, account, &mut lane.bytes);
        let end = lane.bytes.len();
        lane.unsent.push(UnsentMessage { number, message, end });
        if !lane.dirty {
            lane.dirty = true;
            self.dirty.push(index);
        }
    }

    /// Answers each message that the lost exchange did not, once, in the order of sending.
    fn settle(
        &mut self,
        waiting: Vec<Order>,
        standings: &HashMap<u64, OrderStanding>,
        now_ns: u64,
        outage: &mut Outage,
    ) {
        let is_waiting =
            |stamps: &Stamps| stamps.progress == Progress::InFlight && stamps.sent_ns > 0;
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
            let lane = order.account % self.lanes.len();
            let reply = match (message, standing) {
                (LoadMessage::Cancel, OrderStanding::Open) => {
                    outage.sent_again += 1;
                    self.send_again(lane, order.number);
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
            self.account_for(lane, ReceivedReply { reply, first_byte_ns: now_ns, bytes: 0 });
        }
    }

    /// Sends a cancel again. It is the same message, so its intended time stays.
    fn send_again(&mut self, lane: usize, number: u64) {
        let sequence = self.next_sequence();
        if let Some(order) = self.in_flight.order(number) {
            (order.cancel.sent_ns, order.cancel.sequence) = (0, sequence);
        }
        self.encode_again(lane, number, LoadMessage::Cancel);
    }
}

#[cfg(test)]
#[path = "redial_tests.rs"]
mod tests;
