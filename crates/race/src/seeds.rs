//! The same race over many seeds, and what its participants got.

use crate::account::Account;
use crate::market::{HORIZONS_NS, Race, Role};
use crate::simulation::{Outcome, simulate};
use record::race::{Estimate, MarkOut, RaceParticipant};
use std::sync::atomic::{AtomicU32, Ordering};

/// How money is counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Money {
    /// Value of one tick of one lot.
    pub per_tick_and_lot: f64,
    /// Index in [`HORIZONS_NS`] of the mark-out that gives a participant's edge.
    pub horizon: usize,
}

/// Simulates the race once for each seed, on as many threads as the machine allows. The outcomes
/// come in the order of the seeds, and don't depend on the number of threads.
#[must_use]
pub fn outcomes(race: &Race, first_seed: u64, seeds: u32) -> Vec<Outcome> {
    let next = AtomicU32::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= seeds {
                return done;
            }
            let seed = first_seed.wrapping_add(u64::from(number));
            done.push((number, simulate(race, seed, &mut |_| {})));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all: Vec<(u32, Outcome)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(seeds as usize)).map(|_| scope.spawn(work)).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, _>| worker.join();
        workers
            .into_iter()
            .flat_map(|worker| {
                join(worker).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    all.sort_unstable_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, outcome)| outcome).collect()
}

/// One hash of the states of all seeds.
#[must_use]
pub fn state_hash(outcomes: &[Outcome]) -> u64 {
    outcomes
        .iter()
        .fold(0, |hash, outcome| clock::random::SplitMix64::new(hash ^ outcome.state_hash).bits())
}

impl Race {
    fn hours(&self) -> f64 {
        self.duration_ns as f64 / 3.6e12
    }

    /// Fees of an account, half ticks times lots.
    fn fees(&self, account: &Account) -> f64 {
        let made = account.lots_made as f64 * self.market.maker_fee_ticks;
        2.0 * (made + account.lots_taken as f64 * self.market.taker_fee_ticks)
    }

    /// A participant's edge in each outcome, money per hour; `None` where it is unknown: some lots
    /// traded, but the market ended before any mark-out.
    #[must_use]
    pub fn edges(&self, outcomes: &[Outcome], who: usize, money: &Money) -> Vec<Option<f64>> {
        let edge = |outcome: &Outcome| {
            let account = &outcome.accounts[who];
            let (marked, lots) = (account.marked[money.horizon], traded(account));
            match (marked.lots, lots) {
                (_, 0) => Some(0.0),
                (0, _) => None,
                // Fills of the last moments have no mark-out; they count like the others.
                (known, lots) => {
                    let gain = marked.gain as f64 * lots as f64 / known as f64;
                    Some((gain - self.fees(account)) / 2.0 * money.per_tick_and_lot / self.hours())
                }
            }
        };
        outcomes.iter().map(edge).collect()
    }

    /// One participant's figures over all outcomes.
    #[must_use]
    pub fn participant(&self, outcomes: &[Outcome], who: usize, money: &Money) -> RaceParticipant {
        let participant = &self.participants[who];
        let over = |value: &dyn Fn(&Account) -> Option<f64>| {
            Estimate::of(outcomes.iter().map(|outcome| value(&outcome.accounts[who])))
        };
        let pnl = |outcome: &Outcome| {
            let account = &outcome.accounts[who];
            let half_ticks = account.equity(outcome.fair) as f64 - self.fees(account);
            Some(half_ticks / 2.0 * money.per_tick_and_lot / self.hours())
        };
        let mark_out = |(horizon, after_ns): (usize, &u64)| MarkOut {
            after_ns: *after_ns,
            ticks: over(&|account| {
                let marked = account.marked[horizon];
                share(marked.gain as f64 / 2.0, marked.lots)
            }),
        };
        RaceParticipant {
            name: participant.name.clone(),
            kind: participant.role.kind().to_owned(),
            latency: Some(participant.latency.summary()),
            orders: over(&|account| Some(account.orders as f64)),
            fill_rate: over(&|account| share(traded(account) as f64, account.lots_sent)),
            picked_off: match participant.role {
                Role::Maker { .. } => {
                    over(&|account| share(account.lots_picked_off as f64, account.lots_made))
                }
                _ => Estimate::default(),
            },
            mark_out: HORIZONS_NS.iter().enumerate().map(mark_out).collect(),
            lots_ahead: over(&|account| share(account.lots_ahead as f64, account.fills_made)),
            resting_ns: over(&|account| share(account.resting_ns as f64, account.fills_made)),
            pnl_per_hour: Estimate::of(outcomes.iter().map(pnl)),
            edge_per_hour: Estimate::of(self.edges(outcomes, who, money)),
            inventory_lots: over(&|account| {
                Some((account.inventory_squared_ns / self.duration_ns as f64).sqrt())
            }),
        }
    }
}

fn traded(account: &Account) -> u64 {
    account.lots_made + account.lots_taken
}

/// A part of a whole; `None` of nothing.
fn share(part: f64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part / whole as f64)
}
