//! The worth of one participant's latency: the same seeds again with other latencies.

use crate::latency::Change;
use crate::market::Race;
use crate::seeds::{Money, outcomes};
use record::race::{Estimate, RaceEffect, Rung, Worth};

/// The subject's latencies on the ladder, as parts of its own; slowest first.
const LADDER: [f64; 7] = [2.0, 1.0, 0.5, 0.25, 0.125, 0.0625, 0.0];

/// A participant of a race whose latency is in question, and the seeds.
#[derive(Debug)]
pub struct Question<'a> {
    race: &'a Race,
    who: usize,
    first_seed: u64,
    money: Money,
    /// Its edge in each seed as it is.
    edges: Vec<Option<f64>>,
}

impl<'a> Question<'a> {
    /// `edges` are those of `who` in the race as it is: [`Race::edges`].
    #[must_use]
    pub fn new(
        race: &'a Race,
        who: usize,
        first_seed: u64,
        money: Money,
        edges: Vec<Option<f64>>,
    ) -> Question<'a> {
        Question { race, who, first_seed, money, edges }
    }

    /// The subject's edge in each seed with a change of its latency.
    fn edges_with(&self, change: Change) -> Vec<Option<f64>> {
        let latency = self.race.participants[self.who].latency.changed(change);
        let race = self.race.with_latency(self.who, latency);
        let outcomes = outcomes(&race, self.first_seed, self.edges.len() as u32);
        race.edges(&outcomes, self.who, &self.money)
    }

    /// The gain from a change of the latency, money per hour.
    fn gain(&self, change: Change) -> Estimate {
        difference(&self.edges_with(change), &self.edges, 1.0)
    }

    /// Slopes and ladder. A slope is taken over a microsecond, or half the median if that is less.
    #[must_use]
    pub fn worth(&self) -> Worth {
        let latency = &self.race.participants[self.who].latency;
        let step_ns = (latency.summary().p50_ns / 2).clamp(1, 1_000);
        let less = -(step_ns as f64);
        let slope = |body_ns: f64, tail_ns: f64| {
            let faster = self.edges_with(Change { body_ns, tail_ns, ..Change::NONE });
            difference(&faster, &self.edges, 1e3 / step_ns as f64)
        };
        let ladder = self.ladder();
        Worth {
            subject: self.race.participants[self.who].name.clone(),
            step_ns,
            per_us: slope(less, less),
            per_us_body: slope(less, 0.0),
            per_us_tail: slope(0.0, less),
            without_tail: self.gain(Change { cut_tail: true, ..Change::NONE }),
            stops_paying_ns: stops_paying_ns(&ladder),
            ladder,
        }
    }

    fn ladder(&self) -> Vec<Rung> {
        let mut rungs = Vec::new();
        let mut before: Option<Vec<Option<f64>>> = None;
        for times in LADDER {
            let change = Change { times, ..Change::NONE };
            let edges = if times == 1.0 { self.edges.clone() } else { self.edges_with(change) };
            let gain = before.map(|before| difference(&edges, &before, 1.0));
            let latency = self.race.participants[self.who].latency.changed(change);
            rungs.push(Rung {
                times,
                p50_ns: latency.summary().p50_ns,
                edge_per_hour: Estimate::of(edges.iter().copied()),
                gain: gain.unwrap_or_default(),
            });
            before = Some(edges);
        }
        rungs
    }

    /// An effect of a measurement as money: its estimate, and the ends of its interval.
    ///
    /// `body` and `tail` are what the p50 and the p99 get longer, each with its interval, ns.
    #[must_use]
    pub fn effect(
        &self,
        name: &str,
        body: MeasuredDifference,
        tail: Option<MeasuredDifference>,
    ) -> RaceEffect {
        let of_tail = tail.unwrap_or(body);
        let gain = |body_ns: i64, tail_ns: i64| {
            let (body_ns, tail_ns) = (body_ns as f64, tail_ns as f64);
            self.gain(Change { body_ns, tail_ns, ..Change::NONE })
        };
        let ends = [0, 1].map(|end| gain(body.interval[end], of_tail.interval[end]).interval);
        let range = match ends {
            [Some(a), Some(b)] => Some([a[0].min(b[0]), a[1].max(b[1])]),
            _ => None,
        };
        RaceEffect {
            name: name.to_owned(),
            body_ns: body.added_ns,
            body_ns_interval: body.interval,
            tail_ns: tail.map(|tail| tail.added_ns),
            gain: gain(body.added_ns, of_tail.added_ns),
            range,
        }
    }
}

/// A measured difference, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredDifference {
    /// Its estimate.
    pub added_ns: i64,
    /// Its interval.
    pub interval: [i64; 2],
}

/// The mean difference of pairs of seeds, times a factor; pairs with an unknown half are left out.
fn difference(a: &[Option<f64>], b: &[Option<f64>], factor: f64) -> Estimate {
    Estimate::of(a.iter().zip(b).map(|(a, b)| Some(((*a)? - (*b)?) * factor)))
}

/// The median latency of the first rung after which no rung is seen to gain.
fn stops_paying_ns(ladder: &[Rung]) -> Option<u64> {
    let pays = |rung: &Rung| rung.gain.sign() == Some(1);
    let last = ladder.iter().rposition(pays).unwrap_or(0);
    (last + 1 < ladder.len()).then(|| ladder[last].p50_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faster_stops_paying_after_the_last_rung_that_is_seen_to_gain() {
        let rung = |p50_ns, interval| Rung {
            p50_ns,
            gain: Estimate { mean: Some(1.0), interval, seeds: 9 },
            ..Rung::default()
        };
        let (gains, unclear) = (Some([0.5, 1.5]), Some([-0.5, 2.5]));
        let ladder = [rung(80, None), rung(40, gains), rung(20, unclear), rung(10, unclear)];
        assert_eq!(stops_paying_ns(&ladder), Some(40));
        assert_eq!(stops_paying_ns(&ladder[..2]), None);
        assert_eq!(stops_paying_ns(&[rung(80, None), rung(40, unclear)]), Some(80));
    }
}
