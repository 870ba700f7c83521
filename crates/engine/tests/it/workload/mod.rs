//! Workload W1: one deterministic order flow for every engine (splitmix64, seed 42).

#![allow(dead_code, reason = "each test file uses its part")]

use engine::*;

/// The account of all orders.
pub const ACCOUNT: u32 = 1;

/// Capacities for the shallow variant.
pub const LIMITS: EngineLimits = EngineLimits {
    open_orders_max: 1 << 17,
    price_levels_max: 1024,
    stop_levels_max: 0,
    expiring_orders_max: 0,
    accounts_max: 0,
};

const LIVE: u64 = 10_000;
const D: u64 = 200;
const MID_START: i64 = 20_000;

#[derive(Clone, Copy)]
struct Live {
    id: u64,
    side: Side,
    px: i64,
    q: u64,
}

/// The generator. Its variables have the names of the definition.
pub struct Shallow {
    state: u64,
    mid: i64,
    id: u64,
    v: Vec<Live>,
    t: u64,
}

impl Shallow {
    /// The generator, and the orders that fill the book before the first operation.
    pub fn new() -> (Shallow, Vec<Command>) {
        let mut w = Shallow { state: 42, mid: MID_START, id: 0, v: Vec::new(), t: 0 };
        let prefill = (0..LIVE)
            .map(|i| {
                let side = if i & 1 == 0 { Side::Buy } else { Side::Sell };
                let d = w.tri();
                let px = if side == Side::Buy { w.mid - d } else { w.mid + d };
                let q = 1 + w.below(100);
                Command::New(w.add(side, px, q))
            })
            .collect();
        (w, prefill)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let r = z ^ (z >> 31);
        ((r >> 32) * n) >> 32
    }

    fn tri(&mut self) -> i64 {
        let (a, b) = (self.below(D), self.below(D));
        1 + a.min(b) as i64
    }

    fn side(&mut self) -> Side {
        if self.below(2) == 0 { Side::Buy } else { Side::Sell }
    }

    fn pick(&mut self) -> usize {
        let n = self.v.len() as u64;
        let i = if self.below(10) < 7 { n - 1 - self.below(n.min(1000)) } else { self.below(n) };
        i as usize
    }

    fn order(id: u64, side: Side, px: i64, q: u64) -> NewOrder {
        NewOrder { order_id: id, account: ACCOUNT, ..NewOrder::limit(side, px, q) }
    }

    fn add(&mut self, side: Side, px: i64, q: u64) -> NewOrder {
        self.id += 1;
        self.v.push(Live { id: self.id, side, px, q });
        Shallow::order(self.id, side, px, q)
    }
}

impl Iterator for Shallow {
    type Item = Command;

    fn next(&mut self) -> Option<Command> {
        if self.t.is_multiple_of(1024) {
            let (low, high) = (MID_START - D as i64 / 2, MID_START + D as i64 / 2);
            self.mid = (self.mid + self.below(3) as i64 - 1).clamp(low, high);
        }
        self.t += 1;
        let r = self.below(1000);
        Some(if self.v.is_empty() || r < 450 {
            // Here in the definition, side 1 (sell) is above the middle.
            let side = self.side();
            let d = if self.below(2) == 1 { 1 + self.below(8) as i64 } else { self.tri() };
            let px = if side == Side::Sell { self.mid + d } else { self.mid - d };
            let q = 1 + self.below(100);
            Command::New(self.add(side, px, q))
        } else if r < 870 {
            let i = self.pick();
            let order_id = self.v.swap_remove(i).id;
            Command::Cancel(Cancel { order_id, account: ACCOUNT, tag: 0, instrument: 0 })
        } else if r < 920 {
            let i = self.pick();
            let px = self.v[i].px + self.below(3) as i64 - 1;
            let live = &mut self.v[i];
            (live.px, live.q) = (px, live.q + 1);
            let Live { id: order_id, px: price_ticks, q: remaining_lots, .. } = *live;
            let (account, tag, instrument) = (ACCOUNT, 0, 0);
            Command::Amend(Amend {
                order_id,
                account,
                tag,
                instrument,
                price_ticks,
                remaining_lots,
            })
        } else {
            // And here a sell is below the middle, so that it crosses.
            let side = self.side();
            let px = if side == Side::Sell { self.mid - 5 } else { self.mid + 5 };
            let q = 1 + self.below(40);
            self.id += 1;
            Command::New(NewOrder {
                time_in_force: TimeInForce::ImmediateOrCancel,
                ..Shallow::order(self.id, side, px, q)
            })
        })
    }
}
