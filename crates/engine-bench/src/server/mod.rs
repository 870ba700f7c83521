//! Servers of operations: an engine, the empty dispatch, and one that only burns time.

pub(crate) mod outbound;
pub(crate) mod tally;

use crate::row;
use clock::Clock;
use engine::{Amend, Cancel, Command, NewOrder};
use engine::{DoneReason, Engine, Event, Input, Party};
use host::Root;
use plan::process::engine::{Row, ServerKind};
use std::hint::black_box;

/// Takes one operation after the other.
pub(crate) trait Server {
    /// Called before the operation at `index`; may prefetch for later operations.
    #[inline(always)]
    fn look_ahead(&self, _operations: &[Input], _index: usize) {}

    /// Executes one operation; its reports go to `reports`.
    fn apply(&mut self, input: &Input, reports: &mut impl FnMut(Event));
}

impl Server for Engine {
    #[inline(always)]
    fn apply(&mut self, input: &Input, reports: &mut impl FnMut(Event)) {
        Engine::apply(self, input, reports);
    }
}

/// An engine that prefetches for later operations, which takes a caller with a batch of them.
pub(crate) struct LookAhead<'a>(pub(crate) &'a mut Engine);

impl LookAhead<'_> {
    /// Distance, in operations, at which the engine prefetches the slots of id and account …
    const FAR: usize = 8;
    /// … and at which it prefetches the order itself.
    const NEAR: usize = 2;
}

impl Server for LookAhead<'_> {
    #[inline(always)]
    fn look_ahead(&self, operations: &[Input], index: usize) {
        if let Some(later) = operations.get(index + Self::FAR) {
            self.0.expect(later);
        }
        if let Some(next) = operations.get(index + Self::NEAR) {
            self.0.expect_next(next);
        }
    }

    #[inline(always)]
    fn apply(&mut self, input: &Input, reports: &mut impl FnMut(Event)) {
        self.0.apply(input, reports);
    }
}

/// The floor: matches on the command and reports once.
pub(crate) struct EmptyDispatch;

impl Server for EmptyDispatch {
    // Not inlined: a call, as to an engine.
    #[inline(never)]
    fn apply(&mut self, input: &Input, reports: &mut impl FnMut(Event)) {
        let report = |order_id, account, tag, remaining_lots, reason| {
            let order = Party { order_id, account, tag, remaining_lots };
            Event::Done { instrument: 0, order, reason }
        };
        reports(match input.command {
            Command::New(NewOrder { order_id, account, tag, quantity_lots, .. }) => {
                report(order_id, account, tag, quantity_lots, DoneReason::Filled)
            }
            Command::Cancel(Cancel { order_id, account, tag, .. }) => {
                report(order_id, account, tag, 0, DoneReason::Cancelled)
            }
            Command::Amend(Amend { order_id, account, tag, remaining_lots, .. }) => {
                report(order_id, account, tag, remaining_lots, DoneReason::Expired)
            }
            _ => Event::Applied { tag: 0, orders: 0 },
        });
    }
}

/// The ideal server: takes the same time for every operation, and reports once.
pub(crate) struct Burner {
    clock: Clock,
    /// Time to spin before the clock reading that ends the operation.
    spin_ns: u64,
}

impl Burner {
    /// Takes `burn_ns` as measured from outside: the end of the first reading and the start of the
    /// last one are inside the measured time.
    pub(crate) fn new(clock: Clock, burn_ns: u64) -> Burner {
        Burner { clock, spin_ns: burn_ns.saturating_sub(2 * clock.cost_ns()) }
    }
}

impl Server for Burner {
    #[inline(always)]
    fn apply(&mut self, input: &Input, reports: &mut impl FnMut(Event)) {
        let end_ns = self.clock.now_ns() + self.spin_ns;
        while self.clock.now_ns() < end_ns {}
        EmptyDispatch.apply(input, reports);
    }
}

/// A fresh engine with the book of `prefill`.
pub(crate) fn filled(
    row: &Row,
    accounts: u32,
    open_orders_max: usize,
    prefill: &[Input],
) -> Engine {
    debug_assert!(row.serves != ServerKind::Nobody);
    let mut engine = row::engine(row, accounts, open_orders_max);
    for input in prefill {
        engine.apply(input, &mut |event| {
            black_box(event);
        });
    }
    // Here, because the engine makes no system calls.
    host::huge_pages::use_huge_pages(&Root::system());
    engine
}
