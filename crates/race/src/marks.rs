//! Fills that wait for their mark-outs.

use crate::account::{Account, signed};
use crate::market::HORIZONS_NS;
use engine::Side;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct Fill {
    time_ns: u64,
    account: usize,
    side: Side,
    price_ticks: i64,
    lots: u64,
}

/// One queue per horizon, each in order of time.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    waiting: [VecDeque<Fill>; HORIZONS_NS.len()],
}

impl Marks {
    /// A fill at `time_ns`.
    pub fn add(&mut self, time_ns: u64, account: usize, side: Side, price_ticks: i64, lots: u64) {
        let fill = Fill { time_ns, account, side, price_ticks, lots };
        self.waiting.iter_mut().for_each(|waiting| waiting.push_back(fill));
    }

    /// Marks all fills that are due before `now_ns` at the fair value until then, in half ticks.
    /// Fills that are due after the end of the market are never marked: nobody knows.
    pub fn settle(&mut self, now_ns: u64, fair: i64, accounts: &mut [Account]) {
        for (horizon, waiting) in self.waiting.iter_mut().enumerate() {
            while let Some(fill) = waiting.front().copied() {
                if fill.time_ns + HORIZONS_NS[horizon] >= now_ns {
                    break;
                }
                waiting.pop_front();
                let marked = &mut accounts[fill.account].marked[horizon];
                marked.gain += signed(fill.side, fill.lots) * (fair - 2 * fill.price_ticks);
                marked.lots += fill.lots;
            }
        }
    }
}
