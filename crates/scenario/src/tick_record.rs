//! What the samples of ticks tell, over all runs of a subject: what the way was made of, and the worst of them.

use crate::assemble::Parts;
use crate::conduct::Entrant;
use crate::file::Kind;
use crate::run::Measured;
use crate::ticking;
use measure::attribution::Ways;
use measure::record::{self, ClientResult};
use measure::tick::{Attribution, INTERVALS, Interval, Point, Sample, Tick, Traced};
use measure::tick_samples;

/// From which intervals the way is explained: to the exchange, by which it is judged, and there and back.
fn explained() -> impl Iterator<Item = &'static Interval> {
    INTERVALS.iter().filter(|one| {
        one.kind == record::Kind::Response && matches!(one.to, Point::GatewayIn | Point::Replied)
    })
}

/// What one subject's samples tell.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub attribution: Vec<Attribution>,
    pub traced: Vec<Traced>,
    pub warnings: Vec<String>,
}

/// Reads the samples of all runs of `entrant`.
pub(crate) fn told(entrant: &Entrant, parts: &Parts) -> Told {
    let mut told = Told::default();
    if parts.conduct.scenario.kind != Kind::Tick {
        return told;
    }
    let name = &entrant.name;
    let mut runs: Vec<Vec<Sample>> = Vec::new();
    let mut bound_ns = 0;
    for (number, run) in (1..).zip(parts.runs) {
        let measured = run.measured.iter().find(|measured| measured.subject == *name);
        bound_ns = bound_ns.max(measured.map_or(0, |measured| bound(&measured.result)));
        let samples = tick_samples::read(&ticking::samples(parts.path, number, name));
        // A run that broke off may have left none, and says so itself.
        runs.push(samples.unwrap_or_else(|error| {
            if measured.is_some_and(|measured| measured.result.complete) {
                told.warnings
                    .push(format!("{name}'s samples of run {number} can't be read: {error}"));
            }
            Vec::new()
        }));
    }
    let all: Vec<&[Sample]> = runs.iter().map(Vec::as_slice).collect();
    for interval in explained() {
        let ways = Ways::new(&all, interval, bound_ns);
        told.attribution.extend(ways.attributions());
        // On the whole way, which is the last, where the replies have stamps.
        let worst = ways.worst(parts.conduct.scenario.trace);
        told.traced = if worst.is_empty() { told.traced } else { worst };
    }
    if entrant.is_floor {
        told.traced.clear();
    }
    for traced in &mut told.traced {
        let run = &parts.runs[traced.run as usize - 1];
        let measured = run.measured.iter().find(|measured| measured.subject == *name);
        if let Some(taking) = measured.and_then(|measured| measured.taking.as_ref()) {
            taking.note(traced);
        }
    }
    told.warnings.extend(not_watched(name, parts));
    told
}

/// By how much stamps of different clocks may disagree.
fn bound(result: &ClientResult) -> u64 {
    let of = |tick: &Tick| tick.time.kernel_bound_ns.max(tick.time.exchange_bound_ns.unwrap_or(0));
    result.load.tick.iter().map(of).max().unwrap_or(0)
}

/// Why it isn't known what took the cores, where it isn't.
fn not_watched(name: &str, parts: &Parts) -> Option<String> {
    let missing = |measured: &'_ Measured| measured.taking.as_ref()?.missing.clone();
    let own = parts.runs.iter().flat_map(|run| &run.measured).filter(|one| one.subject == *name);
    let why = own.filter_map(missing).next()?;
    Some(format!(
        "what took the cores of {name}'s worst ticks is not known, or not all of it: {why}"
    ))
}
