//! The flow's own engine, which runs ahead of the exchange's.

use engine::{Command, DoneReason, Engine, EngineLimits, Event, Input, Top};

/// The remaining quantity of a resting order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RestingOrder {
    pub price_ticks: i64,
    pub lots: u64,
}

/// The exchange's books, if nobody else trades there.
pub(crate) struct Simulation {
    engine: Engine,
    /// By the flow's number of an order, from 1; `None` if it does not rest.
    resting: Vec<Option<RestingOrder>>,
}

impl Simulation {
    pub fn new(limits: EngineLimits) -> Simulation {
        // One account without limits is enough.
        let limits = EngineLimits { accounts_max: 1, ..limits };
        Simulation { engine: Engine::new(1, limits), resting: vec![None] }
    }

    pub fn top(&self) -> Top {
        self.engine.top(0)
    }

    /// The remaining quantity of an order.
    pub fn resting(&self, number: u32) -> Option<RestingOrder> {
        self.resting.get(number as usize).copied().flatten()
    }

    /// Executes a command in which orders have the flow's numbers for ids. Returns whether the book
    /// has changed.
    pub fn tell(&mut self, command: Command) -> bool {
        let Simulation { engine, resting } = self;
        let mut changed = false;
        let input = Input { time_ns: 0, command };
        engine.apply(&input, &mut |event| {
            changed |= match event {
                Event::Booked { order, price_ticks, .. } => {
                    let lots = order.remaining_lots;
                    set(resting, order.order_id, Some(RestingOrder { price_ticks, lots }));
                    true
                }
                Event::Amended { order, price_ticks, .. } => {
                    let lots = order.remaining_lots;
                    set(resting, order.order_id, Some(RestingOrder { price_ticks, lots }));
                    true
                }
                Event::Trade { resting: of, price_ticks, .. } => {
                    let lots = of.remaining_lots;
                    set(resting, of.order_id, Some(RestingOrder { price_ticks, lots }));
                    true
                }
                Event::Done { order, reason, .. } => {
                    set(resting, order.order_id, None);
                    // An immediate order was never in the book.
                    reason != DoneReason::Expired
                }
                _ => false,
            };
        });
        changed
    }
}

fn set(resting: &mut Vec<Option<RestingOrder>>, order_id: u64, to: Option<RestingOrder>) {
    let index = order_id as usize;
    if resting.len() <= index {
        resting.resize(index + 1, None);
    }
    resting[index] = to;
}
