//! Ping-pong: one message in flight per account. Order, ack, cancel at once, cancel ack, next
//! order. It can't see a stall during which nobody was sending, so it has only service time and
//! `cycle`.

use crate::load::desk::{Desk, WAIT_NS_MAX};
use crate::load::going_on::{go_on, outage_ns_max};
use crate::load::open_loop::DRAIN_NS;
use crate::load::session::{LoadMessage, OrderProtocol, Reply};
use crate::load::silent_lanes::check_silence;
use plan::tables::load::Load;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs the load; returns whether it was completed.
pub(crate) fn run<E: OrderProtocol>(
    desk: &mut Desk<E>,
    load: &Load,
    warm_up_seconds: f64,
    seconds: f64,
    stop: &AtomicBool,
) -> bool {
    let start_ns = desk.clock.now_ns();
    let measure_at_ns = start_ns + (warm_up_seconds * 1e9) as u64;
    let end_ns = measure_at_ns + (seconds * 1e9) as u64;
    let mut next_number = 0;
    for account in 0..load.accounts {
        begin(desk, &mut next_number, account);
    }
    desk.flush();
    let mut now_ns = start_ns;
    let drain_ns = DRAIN_NS + desk.ledger.patience_ns() + outage_ns_max(desk);
    let mut drained_at_ns = end_ns + drain_ns;
    // Until every account's last cycle has ended, so that the book is empty again.
    while desk.unanswered() > 0 && desk.failure.is_none() && now_ns < drained_at_ns {
        let stopped = stop.load(Ordering::Relaxed);
        if stopped {
            drained_at_ns = drained_at_ns.min(now_ns + drain_ns);
        }
        let goes_on = now_ns < end_ns && !stopped;
        desk.wait(now_ns + WAIT_NS_MAX);
        for index in 0..desk.ready.len() {
            desk.handle(desk.ready[index]);
            answer_all(desk, &mut next_number, goes_on);
        }
        now_ns = desk.clock.now_ns();
        if desk.expire(now_ns) {
            answer_all(desk, &mut next_number, goes_on);
        }
        if now_ns >= measure_at_ns && !desk.ledger.measuring {
            desk.start_measuring(now_ns);
        }
        desk.roll(now_ns);
        check_silence(desk, now_ns);
        if go_on(desk, stop) {
            answer_all(desk, &mut next_number, goes_on);
        }
    }
    if desk.ledger.measuring && now_ns > desk.ledger.measured_from_ns {
        let measured_seconds = (now_ns - desk.ledger.measured_from_ns) as f64 / 1e9;
        desk.ledger.load.rate_per_second_achieved = desk.ledger.load.sent as f64 / measured_seconds;
    }
    now_ns >= end_ns && desk.failure.is_none()
}

/// Sends what the answers, and those that nobody waits for any more, give way to.
fn answer_all<E: OrderProtocol>(desk: &mut Desk<E>, next_number: &mut u64, goes_on: bool) {
    for index in 0..desk.ledger.answered.len() {
        answer(desk, next_number, index, goes_on);
    }
    desk.ledger.answered.clear();
    desk.flush();
}

fn answer<E: OrderProtocol>(
    desk: &mut Desk<E>,
    next_number: &mut u64,
    index: usize,
    goes_on: bool,
) {
    let (reply, number) = desk.ledger.answered[index];
    match reply {
        Reply::Ack(LoadMessage::Order, _) | Reply::Lost(LoadMessage::Order, _) => {
            let now_ns = desk.clock.now_ns();
            if desk.cancel(number, now_ns).is_none() {
                desk.failure = Some(format!("no room to send the cancel of order {number}"));
            }
        }
        Reply::Ack(LoadMessage::Cancel, _) | Reply::Lost(..) | Reply::Rejected(_) if goes_on => {
            if let Some(account) = desk.ledger.account_of(number) {
                begin(desk, next_number, account);
            }
        }
        _ => {}
    }
}

fn begin<E: OrderProtocol>(desk: &mut Desk<E>, next_number: &mut u64, account: usize) {
    let now_ns = desk.clock.now_ns();
    // A datagram that is still waited for keeps its slot, while other flows go on.
    let tries =
        if desk.ledger.patience_ns() == 0 { 1 } else { desk.ledger.in_flight.slots() as u64 };
    let first = *next_number;
    let is_sent = (first..first + tries).any(|number| {
        *next_number = number;
        desk.order(number, account, now_ns).is_some()
    });
    if !is_sent {
        desk.failure = Some(format!(
            "order {next_number} found an older one still unanswered: replies are lost"
        ));
    }
    *next_number += 1;
}
