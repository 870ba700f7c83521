//! Workload W1: one deterministic order flow, the same for every engine that is measured with it.
//!
//! ```text
//! splitmix64, seed 42; below(n) = (r >> 32) * n >> 32; tri() = 1 + min(below(D), below(D)); V = []
//! shallow: LIVE = 10 000, D = 200  deep: LIVE = 1 000 000, D = 2 000  mid = mid0 = 20 000, id = 0
//! PREFILL LIVE orders, buy and sell by turns at mid -/+ tri(), of 1 + below(100)
//! OPS     each 1 024: mid += below(3) - 1, within mid0 -/+ D/2
//!         45 % ADD    at mid -/+ (below(2) ? 1 + below(8) : tri()), of 1 + below(100), GTC
//!         42 % CANCEL one of V, which leaves V. It may be done already: then the engine rejects
//!          5 % MODIFY one of V: price + below(3) - 1, quantity + 1: loses its place; may be done
//!          8 % IOC    at mid +/- 5, which crosses, of 1 + below(40)
//!         one of V: of its last 1 000 in seven of ten cases, else any
//! ```
//!
//! V never learns of trades, so it grows by 3 % of the operations, and the book with it. An endless
//! flow has a bound ([`Flow::bounded`]): when V has reached it, an ADD becomes a CANCEL.
//!
//! See docs/decisions/008-engine-tests-and-floor.md.

use clock::random::SplitMix64;
use engine::{Amend, Cancel, Command, Input, NewOrder, Side, TimeInForce};

/// The middle of the book at the start, in ticks.
pub const MID_TICKS: i64 = 20_000;
/// Time between two operations on the engine's own clock: 463 000 of them are a second.
pub const GAP_NS: u64 = 2_160;

/// Tags say which operation caused a report, so that counting reports needs no table.
pub const TAG_ADD: u32 = 0;
/// As [`TAG_ADD`].
pub const TAG_IOC: u32 = 1;
/// As [`TAG_ADD`].
pub const TAG_CANCEL: u32 = 2;
/// As [`TAG_ADD`].
pub const TAG_MODIFY: u32 = 3;

/// Size of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Orders before the first operation.
    pub live: u32,
    /// Largest distance of an order from the middle, in ticks: D.
    pub depth_ticks: u32,
}

/// Ten thousand orders.
pub const SHALLOW: Shape = Shape { live: 10_000, depth_ticks: 200 };
/// A million.
pub const DEEP: Shape = Shape { live: 1_000_000, depth_ticks: 2_000 };

/// An order that was entered and not cancelled since, as far as the flow knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// The order.
    pub order_id: u64,
    /// Its side.
    pub side: Side,
    /// Its price, in ticks.
    pub price_ticks: i64,
    /// Open quantity when it was entered or last modified, in lots.
    pub quantity_lots: u64,
}

/// The flow at one of its operations. Its fields are public so that a caller can save it to a file
/// and continue from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Size of the book.
    pub shape: Shape,
    /// The order's id modulo this number gives its account; not 0.
    pub accounts: u32,
    /// Bound of V's length.
    pub live_max: usize,
    /// Source of all random choices.
    pub random: SplitMix64,
    /// The middle now, in ticks.
    pub mid_ticks: i64,
    /// Id of the latest order.
    pub last_id: u64,
    /// Operations so far.
    pub operations: u64,
    /// V, see the module's docs.
    pub live: Vec<Live>,
    /// Greatest length of V so far.
    pub live_peak: usize,
}

impl Flow {
    /// The flow as it is defined, and the inputs that fill the book before its first operation.
    ///
    /// # Panics
    /// If there is no account.
    pub fn new(shape: Shape, accounts: u32, seed: u64) -> (Flow, Vec<Input>) {
        assert!(accounts > 0, "an order belongs to an account");
        let mut flow = Flow {
            shape,
            accounts,
            live_max: usize::MAX,
            random: SplitMix64::new(seed),
            mid_ticks: MID_TICKS,
            last_id: 0,
            operations: 0,
            live: Vec::with_capacity(shape.live as usize),
            live_peak: 0,
        };
        let prefill = (0..shape.live).map(|index| {
            let side = if index & 1 == 0 { Side::Buy } else { Side::Sell };
            let distance = flow.tri();
            let price_ticks = flow.away(side, distance);
            let quantity_lots = 1 + u64::from(flow.below(100));
            let command = flow.add(side, price_ticks, quantity_lots);
            Input { time_ns: 0, command }
        });
        let prefill = prefill.collect();
        (flow, prefill)
    }

    /// A flow that runs forever in the same memory: V has at most twice the orders of the start.
    ///
    /// # Panics
    /// As [`Flow::new`].
    pub fn bounded(shape: Shape, accounts: u32, seed: u64) -> (Flow, Vec<Input>) {
        let (mut flow, prefill) = Flow::new(shape, accounts, seed);
        flow.live_max = 2 * shape.live as usize;
        flow.live.reserve_exact(flow.live_max - flow.live.len());
        (flow, prefill)
    }

    /// Operations so far.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Bound of the orders that can have been open at a time so far; for a bounded flow, ever.
    pub fn open_orders_max(&self) -> usize {
        if self.live_max == usize::MAX { self.live_peak } else { self.live_max }
    }

    /// Overwrites all of `inputs` with the next operations.
    pub fn fill(&mut self, inputs: &mut [Input]) {
        inputs.iter_mut().for_each(|input| *input = self.next_input());
    }

    /// The next `count` operations.
    pub fn take(&mut self, count: u64) -> Vec<Input> {
        (0..count).map(|_| self.next_input()).collect()
    }

    /// The next operation.
    pub fn next_input(&mut self) -> Input {
        if self.operations.is_multiple_of(1024) {
            let half = i64::from(self.shape.depth_ticks / 2);
            let moved = self.mid_ticks + i64::from(self.below(3)) - 1;
            self.mid_ticks = moved.clamp(MID_TICKS - half, MID_TICKS + half);
        }
        self.operations += 1;
        let time_ns = self.operations * GAP_NS;
        let draw = self.below(1000);
        let command = match draw {
            _ if self.live.is_empty() => self.add_next(),
            0..450 if self.live.len() < self.live_max => self.add_next(),
            0..870 => self.cancel_next(),
            870..920 => self.modify_next(),
            _ => self.ioc_next(),
        };
        Input { time_ns, command }
    }

    fn add_next(&mut self) -> Command {
        let side = self.side();
        let near = self.below(2) == 1;
        let distance = if near { 1 + i64::from(self.below(8)) } else { self.tri() };
        let price_ticks = self.away(side, distance);
        let quantity_lots = 1 + u64::from(self.below(100));
        self.add(side, price_ticks, quantity_lots)
    }

    fn cancel_next(&mut self) -> Command {
        let index = self.pick();
        let Live { order_id, .. } = self.live.swap_remove(index);
        let account = self.account(order_id);
        Command::Cancel(Cancel { order_id, account, tag: TAG_CANCEL, instrument: 0 })
    }

    fn modify_next(&mut self) -> Command {
        let index = self.pick();
        let moved = i64::from(self.below(3)) - 1;
        let live = &mut self.live[index];
        live.price_ticks += moved;
        live.quantity_lots += 1;
        let Live { order_id, price_ticks, quantity_lots, .. } = *live;
        let account = self.account(order_id);
        Command::Amend(Amend {
            order_id,
            account,
            tag: TAG_MODIFY,
            instrument: 0,
            price_ticks,
            remaining_lots: quantity_lots,
        })
    }

    fn ioc_next(&mut self) -> Command {
        let side = self.side();
        // On the other side of the middle, so that it crosses.
        let price_ticks = self.away(side.opposite(), 5);
        let quantity_lots = 1 + u64::from(self.below(40));
        self.last_id += 1;
        Command::New(NewOrder {
            time_in_force: TimeInForce::ImmediateOrCancel,
            tag: TAG_IOC,
            ..self.order(side, price_ticks, quantity_lots)
        })
    }

    fn add(&mut self, side: Side, price_ticks: i64, quantity_lots: u64) -> Command {
        self.last_id += 1;
        self.live.push(Live { order_id: self.last_id, side, price_ticks, quantity_lots });
        self.live_peak = self.live_peak.max(self.live.len());
        Command::New(NewOrder { tag: TAG_ADD, ..self.order(side, price_ticks, quantity_lots) })
    }

    /// The order with the latest id.
    fn order(&self, side: Side, price_ticks: i64, quantity_lots: u64) -> NewOrder {
        let order_id = self.last_id;
        let account = self.account(order_id);
        NewOrder { order_id, account, ..NewOrder::limit(side, price_ticks, quantity_lots) }
    }

    fn account(&self, order_id: u64) -> u32 {
        (order_id % u64::from(self.accounts)) as u32
    }

    fn below(&mut self, n: u32) -> u32 {
        self.random.below(n)
    }

    fn tri(&mut self) -> i64 {
        let depth = self.shape.depth_ticks;
        let (one, other) = (self.below(depth), self.below(depth));
        1 + i64::from(one.min(other))
    }

    fn side(&mut self) -> Side {
        if self.below(2) == 0 { Side::Buy } else { Side::Sell }
    }

    /// A price at this distance from the middle, on the side where an order rests.
    fn away(&self, side: Side, distance_ticks: i64) -> i64 {
        match side {
            Side::Buy => self.mid_ticks - distance_ticks,
            Side::Sell => self.mid_ticks + distance_ticks,
        }
    }

    fn pick(&mut self) -> usize {
        // Truncation would need 2^32 orders at a time, which are 128 GiB.
        let count = self.live.len() as u32;
        let index = match self.below(10) < 7 {
            true => count - 1 - self.below(count.min(1000)),
            false => self.below(count),
        };
        index as usize
    }
}
