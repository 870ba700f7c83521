//! The disturbed share of each series, from the occupancy of the measured cores, the idle looks and
//! the pacer's lateness. docs/METHODOLOGY.md derives the formulas.

pub(crate) mod largest;
pub(crate) mod series;

use crate::conduct::{Conduct, Entrant};
use crate::evidence::idle::Idle;
use crate::evidence::seen::{CoreSeen, EntrantDisturbance};
use crate::evidence::{Run, SubjectResult};
use crate::kind::runner;
use hdrhistogram::Histogram;
use ipc_bench::judge::{DisturbedShares, FAULT_NS};
use record::{DisturbedShare, Kind, Moves};

/// A message is late beyond this share of the service time's p50 …
const LATE_SHARE_OF_P50: f64 = 0.1;
/// … and beyond this number of clock readings: a pacer can't see time more finely.
const LATE_CLOCK_READINGS: u64 = 4;

/// How an entrant's messages follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Flow {
    /// On a schedule, at this rate.
    Scheduled { per_second: f64 },
    /// Each after the reply to the one before, with this many under way.
    OneByOne { under_way: f64 },
}

/// Input for the disturbed share of a series.
pub(crate) struct Sample<'a> {
    pub seen: &'a EntrantDisturbance,
    pub idle: &'a [Idle],
    pub flow: Flow,
    pub kind: Kind,
    /// Messages of the series.
    pub count: u64,
    /// The p50 of its service time, s.
    pub service_seconds: f64,
    /// A message is late from here on, ns.
    pub late_from_ns: u64,
    /// How many of its messages met a window or a fault, where that is known of each.
    pub exact: Option<DisturbedShares>,
    /// The pacer's lateness, where pacer and subject are two threads.
    pub lateness: Option<&'a Histogram<u64>>,
}

impl Sample<'_> {
    /// The disturbed share, with its parts.
    pub(crate) fn disturbed(&self) -> DisturbedShare {
        if !self.seen.unknown.is_empty() {
            return DisturbedShare::not_known(&self.seen.unknown);
        }
        let late = self.lateness.map(|lateness| {
            let late = lateness.count_between(self.late_from_ns, u64::MAX);
            late as f64 / lateness.len().max(1) as f64
        });
        let late = late.or(matches!(self.flow, Flow::OneByOne { .. }).then_some(0.0));
        let seconds = self.seen.seconds;
        let (mut preempted, mut faulted, mut interrupted) = (0.0, 0.0, 0.0);
        for core in &self.seen.cores {
            // Messages that were due while the pacer's core was taken left late, and count as late.
            let counts_due = !(core.paces && self.lateness.is_some());
            let hit = |windows: f64, away: f64| self.hit(windows, away, seconds, counts_due);
            preempted += hit(core.windows as f64, core.away_seconds);
            let faults = core.faults as f64;
            faulted += hit(faults, faults * FAULT_NS as f64 / 1e9);
            let (share, mean) = self.interrupted(core);
            let away = share * seconds;
            interrupted += hit(away / mean, away);
        }
        if let Some(exact) = self.exact {
            (preempted, faulted) = (exact.preempted, exact.faulted);
        }
        let share = late.unwrap_or(0.0) + preempted + faulted + interrupted;
        let at_most = |part: f64| Some(part.min(1.0));
        let has_look = |core: &CoreSeen| self.idle.iter().any(|idle| idle.core == core.core);
        DisturbedShare {
            share: at_most(share),
            late,
            preempted: at_most(preempted),
            faulted: at_most(faulted),
            // Steal is known without an idle look, other interrupts are not.
            interrupted: at_most(interrupted).filter(|_| self.seen.cores.iter().all(has_look)),
            unknown: String::new(),
        }
    }

    /// Share of a core's time that interrupts and the hypervisor take, and the length of each such
    /// gap, s. It counts gaps of the idle looks that are longer than the threshold of lateness, and
    /// is at least what was stolen during the run.
    fn interrupted(&self, core: &CoreSeen) -> (f64, f64) {
        let of_core = self.idle.iter().filter(|idle| idle.core == core.core);
        let looks = of_core.map(|idle| idle.interrupted(self.late_from_ns));
        let (share, mean) = looks
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or((0.0, self.late_from_ns as f64 / 1e9));
        (share.max(core.stolen_share), mean.max(self.late_from_ns as f64 / 1e9))
    }

    /// Share of the messages that `windows` windows of `away_seconds` in total hit.
    fn hit(&self, windows: f64, away_seconds: f64, seconds: f64, counts_due: bool) -> f64 {
        if self.kind == Kind::Throughput {
            return away_seconds / seconds;
        }
        match self.flow {
            Flow::Scheduled { per_second } => {
                // Little's law gives the messages under way at once; a queue that is busy u of the
                // time has u / (1 - u).
                let under_way = per_second * self.service_seconds;
                let due = if counts_due { away_seconds / seconds * (1.0 + under_way) } else { 0.0 };
                due + windows * self.service_seconds / seconds
            }
            Flow::OneByOne { under_way } => windows * under_way / self.count.max(1) as f64,
        }
    }
}

/// The lateness from which a message counts as late, ns: smaller disturbance may hide in a figure.
pub(crate) fn late_from_ns(service_p50_ns: u64, clock_cost_ns: u64) -> u64 {
    let share = (service_p50_ns as f64 * LATE_SHARE_OF_P50) as u64;
    share.max(LATE_CLOCK_READINGS * clock_cost_ns) + 1
}

/// How an entrant's messages follow each other.
pub(crate) fn flow(conduct: &Conduct, count: u64, seconds: f64) -> Flow {
    let scenario = &conduct.scenario;
    if let Some(under_way) = scenario.measurement().one_by_one(scenario) {
        return Flow::OneByOne { under_way: under_way as f64 };
    }
    // Without a rate it is a recording at its own pace.
    let own = || count as f64 / seconds.max(1e-9);
    Flow::Scheduled { per_second: scenario.rate_per_second_offered().unwrap_or_else(own) }
}

/// The direction in which disturbance can move the values of a series.
pub(crate) fn moves(conduct: &Conduct, entrant: &Entrant, kind: Kind) -> Moves {
    let (scenario, runner) = (&conduct.scenario, runner(conduct.scenario.kind));
    // Messages that waited leave in one batch, which may be faster per message.
    let in_batches = kind == Kind::Service && runner.leaves_in_batches(scenario);
    let adapts = runner.may_sleep(scenario, entrant) || runner.adapts(scenario, entrant);
    match in_batches || adapts || kind == Kind::Throughput {
        true => Moves::UpOrDown,
        false => Moves::Up,
    }
}

/// The disturbed share of the series `name` of `measured` in `run`.
pub(crate) fn disturbed(
    conduct: &Conduct,
    run: &Run,
    measured: &SubjectResult,
    name: &str,
    kind: Kind,
) -> DisturbedShare {
    let subject = &measured.subject;
    let Some(own) = run.histogram(subject, name, kind) else {
        let why = format!("a run's log has no {name}.{} of {subject}", kind.name());
        return DisturbedShare::not_known(why);
    };
    let service = run.histogram(subject, name, Kind::Service).unwrap_or(own);
    let p50_ns = if service.is_empty() { 0 } else { service.value_at_quantile(0.5) };
    let sample = Sample {
        seen: &measured.seen,
        idle: &run.idle,
        flow: flow(conduct, own.len(), measured.seen.seconds),
        kind,
        count: own.len(),
        exact: measured.seen.exact.get(&format!("{name}.{}", kind.name())).copied(),
        service_seconds: p50_ns as f64 / 1e9,
        late_from_ns: late_from_ns(p50_ns, measured.result.clock.cost_ns),
        // A fault that was injected into a subject is not disturbance.
        lateness: run
            .histogram(subject, "send", Kind::Lateness)
            .filter(|_| measured.is_floor || conduct.scenario.injected().is_empty()),
    };
    sample.disturbed()
}

#[cfg(test)]
mod tests;
