//! Open loop: only the schedule decides when a message is due. It is never re-based: a late message
//! stays late. The cancel of an order is a message of the schedule, and is sent whether or not the
//! order's ack has arrived.

use crate::load::desk::{Desk, WAIT_NS_MAX};
use crate::load::error::SourceError;
use crate::load::going_on::{go_on, outage_ns_max};
use crate::load::intensity::Intensity;
use crate::load::session::OrderProtocol;
use crate::load::silent_lanes::check_silence;
use clock::schedule::{Arrival, Schedule};
use plan::process::orders::OrdersPlan;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Time for the last replies after the last message.
pub(crate) const DRAIN_NS: u64 = 1_000_000_000;
/// How far sending may be behind the end of the schedule. Beyond that the load is more than this
/// trader or exchange can take, and waiting would not make it a measurement.
const OVERRUN_NS_MAX: u64 = 1_000_000_000;
/// Time between the set-up and the first message.
const LEAD_NS: u64 = 1_000_000;
/// Reads between two checks of the schedule if many streams are ready. A check after each read
/// would be more punctual, but cause a write per message: at 400 000 messages/s the system calls
/// alone fill a core. Messages that become due meanwhile leave in one write per connection.
const READS_BETWEEN_LOOKS: usize = 4;
/// Shortly before a message is due, the pacer begins no system call: it encodes the message and
/// spins on the clock. It does so for at most this time and this share of the mean gap, so that
/// replies hardly wait for it.
const GUARD_NS_MAX: f64 = 1_000.0;
const GUARD_SHARE_OF_GAP: f64 = 0.01;

/// The first times of a recorded day, one more than there are messages, ns.
fn recorded(file: &str, messages: u64) -> Result<Vec<f64>, SourceError> {
    let times = flow::times_ns(Path::new(file));
    let times = times.map_err(|source| SourceError::File { file: file.to_owned(), source })?;
    match times.get(..=messages as usize) {
        // From the first one on, which a number of 53 bits holds exactly.
        Some(times) => Ok(times.iter().map(|time| (time - times[0]) as f64).collect()),
        None => {
            let recorded = times.len();
            Err(SourceError::Short { file: file.to_owned(), recorded, messages })
        }
    }
}

/// The schedule of messages: `cancel_after` orders, their cancels, the next orders.
pub(crate) struct Agenda {
    schedule: Schedule,
    start_ns: u64,
    /// Its end, ns after the start.
    end_ns: u64,
    rate_per_second: f64,
    cancel_after: u64,
    accounts: u64,
    warm_up_messages: u64,
    messages: u64,
    guard_ns: u64,
    /// The last message that was held back.
    held_back: Option<u64>,
    intensity: Option<Intensity>,
}

impl Agenda {
    /// Makes the schedule, which may take seconds: call it before connecting. `by_intensity` is the
    /// first series of orders by intensity, if there are any.
    ///
    /// # Errors
    /// If the times of a recorded day can't be had.
    pub(crate) fn new(
        plan: &OrdersPlan,
        by_intensity: Option<usize>,
    ) -> Result<Agenda, SourceError> {
        let (load, warm_up_seconds, seconds) = (&plan.load, plan.warm_up_seconds, plan.seconds);
        let warm_up_messages = load.messages(warm_up_seconds);
        let messages = warm_up_messages + load.messages(seconds);
        let recorded = match load.arrival {
            Arrival::Recorded => recorded(&load.source, messages)?,
            _ => Vec::new(),
        };
        let schedule = load.schedule(warm_up_seconds, seconds, &recorded);
        Ok(Agenda {
            intensity: by_intensity.map(|row| Intensity::new(&schedule, row)),
            schedule,
            start_ns: 0,
            end_ns: ((warm_up_seconds + seconds) * 1e9) as u64,
            rate_per_second: load.rate_per_second,
            cancel_after: load.cancel_after,
            accounts: load.accounts as u64,
            warm_up_messages,
            messages,
            guard_ns: (1e9 / load.rate_per_second * GUARD_SHARE_OF_GAP).min(GUARD_NS_MAX) as u64,
            held_back: None,
        })
    }

    fn is_over(&self) -> bool {
        self.schedule.index() >= self.messages
    }

    #[inline]
    fn intended_ns(&self) -> u64 {
        self.start_ns + self.schedule.offset_ns()
    }

    /// Appends every message that is due or nearly due, and writes them when they are due.
    #[inline]
    fn send_due<E: OrderProtocol>(&mut self, desk: &mut Desk<E>) {
        let horizon_ns = desk.clock.now_ns() + self.guard_ns;
        let mut due_ns = self.intended_ns();
        if due_ns > horizon_ns || self.is_over() {
            return;
        }
        while !self.is_over() && self.intended_ns() <= horizon_ns {
            due_ns = self.intended_ns();
            if self.append(desk, due_ns).is_none() {
                // Count each message once, however often it is tried.
                desk.ledger.load.held_back +=
                    u64::from(self.held_back != Some(self.schedule.index()));
                self.held_back = Some(self.schedule.index());
                break;
            }
            self.schedule.advance();
        }
        // For at most `guard_ns`.
        while desk.clock.now_ns() < due_ns {}
        desk.flush();
    }

    /// Cancels orders that a run which broke off left in the book.
    fn wind_up<E: OrderProtocol>(&self, desk: &mut Desk<E>) {
        let (block, position) = self.block();
        let first = block * self.cancel_after;
        let now_ns = desk.clock.now_ns();
        let ordered = position.min(self.cancel_after);
        for number in first + position.saturating_sub(self.cancel_after)..first + ordered {
            // Without room for its cancel an order stays, and shows as one without a cancel.
            let _ = desk.cancel(number, now_ns);
        }
    }

    /// The block of orders and cancels that the next message belongs to, and its position there.
    fn block(&self) -> (u64, u64) {
        let length = 2 * self.cancel_after;
        (self.schedule.index() / length, self.schedule.index() % length)
    }

    fn overrun(&self) -> String {
        format!(
            "{} of {} messages were sent when the schedule had been over for {} s: the load is more \
             than this trader and that exchange can take; lower load.rate_per_second",
            self.schedule.index(),
            self.messages,
            OVERRUN_NS_MAX / 1_000_000_000
        )
    }

    fn append<E: OrderProtocol>(&mut self, desk: &mut Desk<E>, intended_ns: u64) -> Option<()> {
        let index = self.schedule.index();
        if index == self.warm_up_messages && !desk.ledger.measuring {
            desk.start_measuring(intended_ns);
        }
        let (block, position) = self.block();
        let first = block * self.cancel_after;
        if position < self.cancel_after {
            let number = first + position;
            desk.order(number, (number % self.accounts) as usize, intended_ns)?;
            if let Some(intensity) = &mut self.intensity {
                desk.ledger.also_record(number, intensity.row(&self.schedule));
            }
            Some(())
        } else {
            desk.cancel(first + position - self.cancel_after, intended_ns)
        }
    }
}

/// Runs the load; returns whether it was completed.
pub(crate) fn run<E: OrderProtocol>(
    desk: &mut Desk<E>,
    mut agenda: Agenda,
    stop: &AtomicBool,
) -> bool {
    agenda.start_ns = desk.clock.now_ns() + LEAD_NS;
    desk.ledger.load.rate_per_second_offered = Some(agenda.rate_per_second);
    let end_ns = agenda.start_ns + agenda.end_ns + OVERRUN_NS_MAX + outage_ns_max(desk);
    while !agenda.is_over() && desk.failure.is_none() && !stop.load(Ordering::Relaxed) {
        agenda.send_due(desk);
        let now_ns = desk.clock.now_ns();
        if now_ns > end_ns && agenda.intended_ns() < now_ns {
            desk.failure = Some(agenda.overrun());
        }
        desk.wait(agenda.intended_ns().min(now_ns + WAIT_NS_MAX));
        for index in 0..desk.ready.len() {
            desk.handle(desk.ready[index]);
            if (index + 1).is_multiple_of(READS_BETWEEN_LOOKS) {
                agenda.send_due(desk);
            }
        }
        desk.roll(now_ns);
        desk.expire(now_ns);
        check_silence(desk, now_ns);
        go_on(desk, stop);
    }
    desk.ledger.load.rate_per_second_achieved = desk.ledger.achieved(agenda.rate_per_second);
    let complete = agenda.is_over() && desk.failure.is_none();
    agenda.wind_up(desk);
    drain(desk, stop);
    complete
}

/// Waits for outstanding replies.
fn drain<E: OrderProtocol>(desk: &mut Desk<E>, stop: &AtomicBool) {
    let outage_ns = if stop.load(Ordering::Relaxed) { 0 } else { outage_ns_max(desk) };
    let until_ns = desk.clock.now_ns() + DRAIN_NS + desk.ledger.patience_ns() + outage_ns;
    while desk.unanswered() > 0 && !desk.broken && desk.clock.now_ns() < until_ns {
        desk.flush();
        let now_ns = desk.clock.now_ns();
        desk.expire(now_ns);
        desk.wait(until_ns.min(now_ns + WAIT_NS_MAX));
        for index in 0..desk.ready.len() {
            desk.handle(desk.ready[index]);
        }
        go_on(desk, stop);
    }
}
