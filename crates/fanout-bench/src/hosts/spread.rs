//! How far apart the copies of a message arrive at several hosts, and who is certainly first: with
//! what the clocks leave open. No I/O, no clock.

use crate::arrivals::CertainRanks;
use crate::hosts::place::{EndErrors, FarCopies, HopErrors};
use clock::recorder;
use hdrhistogram::Histogram;
use plan::process::fan_out::{
    ARRIVAL, FIRST, HOP_1, HOP_2, LAST, MEDIAN, REPLICATOR, SPREAD, series_of,
};
use record::Kind;
use record::fan_out::FanOutHosts;

/// A copy of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copy {
    /// The end that received it.
    pub end: usize,
    pub subscriber: usize,
    /// When it arrived, ns on the source's clock.
    pub at_ns: i64,
    /// Largest error of that, either way, ns.
    pub error_ns: u64,
    /// The part of that error that differs from copy to copy at one end, ns.
    pub stamp_error_ns: u64,
}

/// How far two free-running clocks drift apart in that time, rounded up.
pub(super) fn drifted_ns(ns: u64) -> u64 {
    (ns as f64 * sync::Bounds::FREE_RUNNING.drift).ceil() as u64
}

/// How much later `one` arrived than `other`: at least, and at most. At one end the offset of its
/// clock is in both, and cancels.
fn later([one, other]: [&Copy; 2]) -> [i64; 2] {
    let by_ns = one.at_ns - other.at_ns;
    let error_ns = if one.end == other.end {
        one.stamp_error_ns + other.stamp_error_ns + drifted_ns(by_ns.unsigned_abs())
    } else {
        one.error_ns.saturating_add(other.error_ns)
    };
    [by_ns.saturating_sub_unsigned(error_ns), by_ns.saturating_add_unsigned(error_ns)]
}

/// The least and the most that the copies can be apart, ns. Every two of them are at most as far
/// apart as all are.
fn bounds(copies: &[Copy]) -> [u64; 2] {
    let mut bounds = [0; 2];
    for (at, one) in copies.iter().enumerate() {
        for other in &copies[at + 1..] {
            for [least, most] in [later([one, other]), later([other, one])] {
                bounds = [bounds[0].max(least), bounds[1].max(most)];
            }
        }
    }
    bounds.map(|ns: i64| ns.unsigned_abs())
}

/// The subscribers that certainly got the message before, and after, all others.
fn ranks(copies: &[Copy]) -> CertainRanks {
    let others = |this: &Copy| {
        let this = this.subscriber;
        copies.iter().filter(move |other| other.subscriber != this)
    };
    let is_first = |one: &&Copy| others(one).all(|other| later([other, one])[0] > 0);
    let is_last = |one: &&Copy| others(one).all(|other| later([one, other])[0] > 0);
    let first = copies.iter().min_by_key(|copy| copy.at_ns).filter(is_first);
    let last = copies.iter().max_by_key(|copy| copy.at_ns).filter(is_last);
    CertainRanks {
        first: first.map(|copy| copy.subscriber),
        last: last.map(|copy| copy.subscriber),
    }
}

/// The spreads of all messages that reached every subscriber.
pub(super) struct Spreads {
    least: Histogram<u64>,
    most: Histogram<u64>,
    error_ns: Option<u64>,
    resolved: u64,
    not_judged: [u64; 2],
}

impl Spreads {
    pub(super) fn new() -> Spreads {
        Spreads {
            least: recorder::histogram(),
            most: recorder::histogram(),
            error_ns: None,
            resolved: 0,
            not_judged: [0; 2],
        }
    }

    /// Adds a message that reached everybody. Returns who certainly was first and last.
    pub(super) fn add(&mut self, copies: &[Copy]) -> CertainRanks {
        let [least_ns, most_ns] = bounds(copies);
        let ats = || copies.iter().map(|copy| copy.at_ns);
        let middle_ns =
            ats().max().zip(ats().min()).map_or(0, |(last, first)| last.abs_diff(first));
        let error_ns = middle_ns.abs_diff(least_ns).max(most_ns.abs_diff(middle_ns));
        self.error_ns = self.error_ns.max(Some(error_ns));
        self.least.saturating_record(least_ns);
        self.most.saturating_record(most_ns);
        self.resolved += u64::from(least_ns > 0);
        let ranks = ranks(copies);
        for (count, rank) in self.not_judged.iter_mut().zip([ranks.first, ranks.last]) {
            *count += u64::from(rank.is_none());
        }
        ranks
    }

    /// Into the record, with the errors of all series.
    pub(super) fn into_record(
        self,
        hosts: &mut FanOutHosts,
        errors: &[EndErrors],
        ends: &[FarCopies<'_>],
        hops: HopErrors,
    ) {
        hosts.resolved = self.resolved;
        [hosts.first_not_judged, hosts.last_not_judged] = self.not_judged;
        hosts.spread_error_ns = self.error_ns;
        let between = |quantile: f64| {
            let of = |one: &Histogram<u64>| one.value_at_quantile(quantile);
            self.error_ns.map(|_| [of(&self.least), of(&self.most)])
        };
        (hosts.spread_ns_p50, hosts.spread_ns_p99) = (between(0.5), between(0.99));
        let tag = |name: &str, kind: Kind| format!("{name}.{}", kind.name());
        let of_end = |one: &EndErrors| one.worst.map(|(_, error_ns)| error_ns);
        for (end, own) in ends.iter().zip(errors) {
            for subscriber in end.first..end.first + end.subscribers {
                let tag = tag(&series_of(subscriber + 1), Kind::Service);
                of_end(own).map(|error_ns| hosts.errors_ns.insert(tag, error_ns));
            }
        }
        for (name, error_ns) in [HOP_1, REPLICATOR, HOP_2].into_iter().zip(hops.hops) {
            error_ns.map(|error_ns| hosts.errors_ns.insert(tag(name, Kind::Stage), error_ns));
        }
        let of_ends = errors[..ends.len()].iter().filter_map(of_end);
        let Some(error_ns) = of_ends.max() else { return };
        for name in [LAST, MEDIAN, FIRST, ARRIVAL] {
            hosts.errors_ns.insert(tag(name, Kind::Service), error_ns);
        }
        hosts.errors_ns.insert(tag(LAST, Kind::Response), error_ns);
        self.error_ns.map(|error_ns| hosts.errors_ns.insert(tag(SPREAD, Kind::Stage), error_ns));
    }
}

#[cfg(test)]
#[path = "spread_tests.rs"]
mod tests;
