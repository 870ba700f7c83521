//! The trader's times in UTC, and the way from its decision to the exchange, each with its bound.

use crate::arrivals::Arrival;
use crate::logged::{Log, LoggedOrder};
use clock::Pair;
use clock::utc::Utc;
use record::lifecycle::Clocks;

/// Converts the log's times.
#[derive(Debug)]
pub(crate) struct TraderClock {
    /// Readings of the wall clock, ascending.
    walls: Vec<Pair>,
    /// Whether the exchange's stamps are on the log's clock.
    same_clock: bool,
    pub clocks: Clocks,
}

impl TraderClock {
    pub fn new(log: &Log) -> TraderClock {
        let header = &log.header;
        let mut walls = log.walls.clone();
        walls.sort_by_key(|wall| wall.clock_ns);
        walls.dedup_by_key(|wall| wall.clock_ns);
        let reading_ns = walls.iter().map(|wall| wall.bound_ns).max().unwrap_or(0);
        let (trader_bound_ns, trader_why) = match log.wall_steps {
            0 => bound(&header.time.utc, reading_ns),
            steps => (None, format!("the wall clock was set {steps} times during the run")),
        };
        let theirs = header.exchange_time.as_ref().map(|time| (&time.utc, time.wall.bound_ns));
        let ours = header.same_clock.then_some((&header.time.utc, reading_ns));
        let (exchange_bound_ns, exchange_why) = match theirs.or(ours) {
            Some((utc, reading_ns)) => bound(utc, reading_ns),
            None => (None, "the exchange did not say it".to_owned()),
        };
        let (arrival, arrival_bound_ns) = match trader_bound_ns.zip(exchange_bound_ns) {
            _ if header.same_clock => ("one clock", Some(0)),
            Some((trader_ns, exchange_ns)) => {
                ("two clocks", Some(trader_ns.saturating_add(exchange_ns)))
            }
            None => ("unknown", None),
        };
        let clocks = Clocks {
            trader_bound_ns,
            trader_why,
            exchange_bound_ns,
            exchange_why,
            arrival: arrival.to_owned(),
            arrival_bound_ns,
        };
        TraderClock { walls, same_clock: header.same_clock, clocks }
    }

    /// A time of the log by its wall clock, nanoseconds since 1970; `None` for an absent stamp.
    pub fn utc_ns(&self, clock_ns: u64) -> Option<u64> {
        if clock_ns == 0 {
            return None;
        }
        let after = self.walls.partition_point(|wall| wall.clock_ns <= clock_ns);
        // A time outside of the readings is on the nearest line.
        let after = after.clamp(1, self.walls.len().saturating_sub(1).max(1));
        let from = self.walls.get(after - 1)?;
        let since = i128::from(clock_ns) - i128::from(from.clock_ns);
        let passed = match self.walls.get(after) {
            Some(to) => {
                let wall = i128::from(to.wall_ns) - i128::from(from.wall_ns);
                let clock = i128::from(to.clock_ns) - i128::from(from.clock_ns);
                // A malicious file may have any numbers.
                since.saturating_mul(wall) / clock.max(1)
            }
            None => since,
        };
        u64::try_from(i128::from(from.wall_ns).saturating_add(passed)).ok()
    }

    /// Time from an order's decision to its arrival, ns: by the exchange's stamp if that is on our
    /// clock, else by both wall clocks if both have a bound. `None` if unknown.
    pub fn decided_to_arrived_ns(&self, order: &LoggedOrder, arrival: &Arrival) -> Option<u64> {
        if order.decided_ns == 0 {
            return None;
        }
        if self.same_clock {
            let stamp_ns = order.answer?.gateway_in_ns;
            return stamp_ns.checked_sub(order.decided_ns);
        }
        self.clocks.arrival_bound_ns?;
        arrival.time_ns.checked_sub(self.utc_ns(order.decided_ns)?)
    }
}

/// Bound of a converted time, and its source or why there is none.
fn bound(utc: &Utc, reading_ns: u64) -> (Option<u64>, String) {
    match utc.bound_ns {
        Some(bound_ns) => (Some(bound_ns.saturating_add(reading_ns)), utc.from.clone()),
        None if utc.why.is_empty() => (None, "no program states it".to_owned()),
        None => (None, utc.why.clone()),
    }
}

#[cfg(test)]
#[path = "clocks_tests.rs"]
mod tests;
