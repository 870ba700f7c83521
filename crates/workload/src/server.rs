//! Who takes operations: an engine, nobody, or who only burns time.

use crate::row::{Row, Serves};
use engine::{Amend, Cancel, Command, NewOrder};
use engine::{DoneReason, Engine, Event, Input, Party};
use host::Root;
use measure::clock::Clock;
use std::hint::black_box;

/// Takes one operation after the other.
pub(crate) trait Server {
    /// An operation that comes soon.
    #[inline(always)]
    fn expect(&self, _: &Input) {}

    /// One that comes sooner, and was expected before.
    #[inline(always)]
    fn expect_next(&self, _: &Input) {}

    /// One operation; its reports go to `reports`.
    fn apply(&mut self, input: &Input, reports: &mut impl FnMut(Event));
}

impl Server for Engine {
    #[inline(always)]
    fn expect(&self, input: &Input) {
        Engine::expect(self, input);
    }

    #[inline(always)]
    fn expect_next(&self, input: &Input) {
        Engine::expect_next(self, input);
    }

    #[inline(always)]
    fn apply(&mut self, input: &Input, reports: &mut impl FnMut(Event)) {
        Engine::apply(self, input, reports);
    }
}

/// The floor: tells commands apart and reports once.
pub(crate) struct Nobody;

impl Server for Nobody {
    // A call, as to an engine.
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

/// The ideal server of its speed: takes as long for every operation, and reports once.
pub(crate) struct Burner {
    clock: Clock,
    /// Until the reading of the clock that ends the operation.
    spin_ns: u64,
}

impl Burner {
    /// Who takes `burn_ns` by the clock that times it: of the readings around an operation the first ends, and
    /// the last begins, within it.
    pub(crate) fn new(clock: Clock, burn_ns: u64) -> Burner {
        Burner { clock, spin_ns: burn_ns.saturating_sub(2 * clock.cost_ns()) }
    }
}

impl Server for Burner {
    #[inline(always)]
    fn apply(&mut self, input: &Input, reports: &mut impl FnMut(Event)) {
        let end_ns = self.clock.now_ns() + self.spin_ns;
        while self.clock.now_ns() < end_ns {}
        Nobody.apply(input, reports);
    }
}

/// A fresh engine with the book of `prefill`.
pub(crate) fn filled(
    row: &Row,
    accounts: u32,
    open_orders_max: usize,
    prefill: &[Input],
) -> Engine {
    debug_assert!(row.serves != Serves::Nobody);
    let mut engine = row.engine(accounts, open_orders_max);
    for input in prefill {
        engine.apply(input, &mut |event| {
            black_box(event);
        });
    }
    // The engine asks for nothing itself: it is pure.
    host::huge_pages::use_huge_pages(&Root::system());
    engine
}
