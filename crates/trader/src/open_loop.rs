//! Open loop: the schedule alone says when a message is due. It is never re-based; whoever is late
//! stays late. The cancel of an order is a message of the schedule and is sent whether or not the
//! order's ack has come.

use crate::desk::Desk;
use crate::order_entry::OrderEntry;
use crate::plan::Load;
use measure::schedule::Schedule;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long the last replies may take after the last message.
pub(crate) const DRAIN_NS: u64 = 1_000_000_000;
/// How far behind its end the schedule may be; then the load is more than this trader or that exchange
/// can take, and waiting would not make it a measurement.
const OVERRUN_NS_MAX: u64 = 1_000_000_000;
/// The first message is due so long after the desk is set up.
const LEAD_NS: u64 = 1_000_000;
/// With many streams ready the schedule is looked at after so many reads. After each one would be more
/// punctual, but a write a message: at 400 000 messages/s the system calls alone fill a core, and
/// everybody waits longer. What is due meanwhile leaves in one write a connection.
const READS_BETWEEN_LOOKS: usize = 4;
/// A pacer that is about to send does not begin a system call: for the last bit before a message is due
/// it encodes it and keeps its eye on the clock. At most so long, and at most this part of the mean
/// gap, so that replies hardly wait for it.
const GUARD_NS_MAX: f64 = 1_000.0;
const GUARD_SHARE_OF_GAP: f64 = 0.01;
/// A sleeping backend wakes at least this often, to see whether it shall stop.
pub(crate) const WAIT_NS_MAX: u64 = 50_000_000;

/// The schedule, message by message: `cancel_after` orders, their cancels, the next orders.
struct Agenda {
    schedule: Schedule,
    start_ns: u64,
    cancel_after: u64,
    accounts: u64,
    warm_up_messages: u64,
    messages: u64,
    guard_ns: u64,
    /// The message that was held back last.
    held_back: Option<u64>,
}

impl Agenda {
    fn new(load: &Load, warm_up_seconds: f64, seconds: f64, start_ns: u64) -> Agenda {
        let warm_up_messages = load.messages(warm_up_seconds);
        Agenda {
            schedule: Schedule::new(load.rate_per_second, load.arrival, load.burst, load.seed),
            start_ns,
            cancel_after: load.cancel_after,
            accounts: load.accounts as u64,
            warm_up_messages,
            messages: warm_up_messages + load.messages(seconds),
            guard_ns: (1e9 / load.rate_per_second * GUARD_SHARE_OF_GAP).min(GUARD_NS_MAX) as u64,
            held_back: None,
        }
    }

    fn is_over(&self) -> bool {
        self.schedule.index() >= self.messages
    }

    #[inline]
    fn intended_ns(&self) -> u64 {
        self.start_ns + self.schedule.offset_ns()
    }

    /// Appends every message that is due, or as good as due, and writes them when they are.
    #[inline]
    fn send_due<E: OrderEntry>(&mut self, desk: &mut Desk<E>) {
        let horizon_ns = desk.clock.now_ns() + self.guard_ns;
        let mut due_ns = self.intended_ns();
        if due_ns > horizon_ns || self.is_over() {
            return;
        }
        while !self.is_over() && self.intended_ns() <= horizon_ns {
            due_ns = self.intended_ns();
            if self.append(desk, due_ns).is_none() {
                // Once a message, however often it is tried.
                desk.load.held_back += u64::from(self.held_back != Some(self.schedule.index()));
                self.held_back = Some(self.schedule.index());
                break;
            }
            self.schedule.advance();
        }
        // At most `guard_ns`.
        while desk.clock.now_ns() < due_ns {}
        desk.flush();
    }

    /// Cancels what a run that broke off has left in the book.
    fn wind_up<E: OrderEntry>(&self, desk: &mut Desk<E>) {
        let (block, position) = self.block();
        let first = block * self.cancel_after;
        let now_ns = desk.clock.now_ns();
        let ordered = position.min(self.cancel_after);
        for number in first + position.saturating_sub(self.cancel_after)..first + ordered {
            // One that finds no room stays in the book, and shows as an order without a cancel.
            let _ = desk.cancel(number, now_ns);
        }
    }

    /// Which block of orders and their cancels the next message belongs to, and its place there.
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

    fn append<E: OrderEntry>(&self, desk: &mut Desk<E>, intended_ns: u64) -> Option<()> {
        let index = self.schedule.index();
        if index == self.warm_up_messages && !desk.measuring {
            desk.start_measuring(intended_ns);
        }
        let (block, position) = self.block();
        let first = block * self.cancel_after;
        if position < self.cancel_after {
            let number = first + position;
            desk.order(number, (number % self.accounts) as usize, intended_ns)
        } else {
            desk.cancel(first + position - self.cancel_after, intended_ns)
        }
    }
}

/// Runs the load; returns whether it came to its end.
pub(crate) fn run<E: OrderEntry>(
    desk: &mut Desk<E>,
    load: &Load,
    warm_up_seconds: f64,
    seconds: f64,
    stop: &AtomicBool,
) -> bool {
    let start_ns = desk.clock.now_ns() + LEAD_NS;
    let mut agenda = Agenda::new(load, warm_up_seconds, seconds, start_ns);
    desk.load.rate_per_second_offered = Some(load.rate_per_second);
    let end_ns = start_ns + ((warm_up_seconds + seconds) * 1e9) as u64 + OVERRUN_NS_MAX;
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
        desk.check_silence(now_ns);
    }
    desk.load.rate_per_second_achieved = desk.achieved(load.rate_per_second);
    let complete = agenda.is_over() && desk.failure.is_none();
    agenda.wind_up(desk);
    drain(desk);
    complete
}

/// Waits for the replies that are still owed.
fn drain<E: OrderEntry>(desk: &mut Desk<E>) {
    let until_ns = desk.clock.now_ns() + DRAIN_NS;
    while desk.unanswered() > 0 && !desk.is_broken() && desk.clock.now_ns() < until_ns {
        desk.flush();
        desk.wait(until_ns);
        for index in 0..desk.ready.len() {
            desk.handle(desk.ready[index]);
        }
    }
}
