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
/// The first message is due so long after the desk is set up.
const LEAD_NS: u64 = 1_000_000;
/// A sleeping backend wakes at least this often, to see whether it shall stop.
const WAIT_NS_MAX: u64 = 50_000_000;

/// The schedule, message by message: `cancel_after` orders, their cancels, the next orders.
struct Agenda {
    schedule: Schedule,
    start_ns: u64,
    cancel_after: u64,
    accounts: u64,
    warm_up_messages: u64,
    messages: u64,
}

impl Agenda {
    fn new(load: &Load, warm_up_seconds: f64, seconds: f64, start_ns: u64) -> Agenda {
        // Whole blocks of orders with their cancels, so that nothing is left in the book.
        let block = 2 * load.cancel_after;
        let whole =
            |seconds: f64| ((load.rate_per_second * seconds) as u64).div_ceil(block) * block;
        let warm_up_messages = whole(warm_up_seconds);
        Agenda {
            schedule: Schedule::new(load.rate_per_second, load.arrival, load.burst, load.seed),
            start_ns,
            cancel_after: load.cancel_after,
            accounts: load.accounts as u64,
            warm_up_messages,
            messages: warm_up_messages + whole(seconds),
        }
    }

    fn is_over(&self) -> bool {
        self.schedule.index() >= self.messages
    }

    #[inline]
    fn intended_ns(&self) -> u64 {
        self.start_ns + self.schedule.offset_ns()
    }

    /// Appends every message that is due, and writes them.
    #[inline]
    fn send_due<E: OrderEntry>(&mut self, desk: &mut Desk<E>) {
        let now_ns = desk.clock.now_ns();
        if now_ns < self.intended_ns() || self.is_over() {
            return;
        }
        while !self.is_over() {
            let intended_ns = self.intended_ns();
            if intended_ns > now_ns {
                break;
            }
            if self.append(desk, intended_ns).is_none() {
                desk.load.held_back += 1;
                break;
            }
            self.schedule.advance();
        }
        desk.flush();
    }

    fn append<E: OrderEntry>(&self, desk: &mut Desk<E>, intended_ns: u64) -> Option<()> {
        let index = self.schedule.index();
        if index == self.warm_up_messages && !desk.measuring {
            desk.start_measuring(intended_ns);
        }
        let (block, position) = (index / self.cancel_after / 2, index % (2 * self.cancel_after));
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
    while !agenda.is_over() && desk.failure.is_none() && !stop.load(Ordering::Relaxed) {
        agenda.send_due(desk);
        let now_ns = desk.clock.now_ns();
        desk.wait(agenda.intended_ns().min(now_ns + WAIT_NS_MAX));
        for index in 0..desk.ready.len() {
            desk.handle(desk.ready[index]);
            agenda.send_due(desk);
        }
        desk.roll(now_ns);
        desk.check_silence(now_ns);
    }
    let sent_seconds = desk.last_sent_ns.saturating_sub(desk.measured_from_ns) as f64 / 1e9;
    if desk.measuring {
        // n messages span n - 1 gaps; the last one's own is the mean gap.
        desk.load.rate_per_second_achieved =
            desk.load.sent as f64 / (sent_seconds + 1.0 / load.rate_per_second);
    }
    let complete = agenda.is_over() && desk.failure.is_none();
    drain(desk);
    complete
}

/// Waits for the replies that are still owed.
fn drain<E: OrderEntry>(desk: &mut Desk<E>) {
    let until_ns = desk.clock.now_ns() + DRAIN_NS;
    while desk.unanswered() > 0 && desk.failure.is_none() && desk.clock.now_ns() < until_ns {
        desk.flush();
        desk.wait(until_ns);
        for index in 0..desk.ready.len() {
            desk.handle(desk.ready[index]);
        }
    }
}
