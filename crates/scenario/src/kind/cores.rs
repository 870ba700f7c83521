//! `core-to-core`: one cache line back and forth between every two cores, pair after pair.

use crate::conduct::record_failed;
use crate::conduct::{ConductError, Entrant, pairs};
use crate::evidence::{Lengths, Outcome};
use crate::kind::rules;
use crate::kind::runner::{RuleCheck, Runner};
use crate::launch::Launch;
use crate::launch::observer::Observer;
use clock::recorder::{Interval, Series, histogram, write_log};
use clock::wall_now;
use record::{self, ClientResult, Kind, directory};
use std::fs::File;
use std::io::BufWriter;
use std::time::Duration;

/// Samples that a pair needs at least.
const SAMPLES_MIN: usize = host::probe::SAMPLES_MIN;
/// Limit on the samples of a pair.
const SAMPLES_MAX: usize = 1_000_000;

/// The runner.
pub(crate) struct Cores;

impl Runner for Cores {
    fn run(
        &self,
        launch: &Launch,
        _lengths: Option<Lengths>,
        _observer: &mut Observer<'_, '_>,
    ) -> Result<Outcome, ConductError> {
        launch.occupancy.is_measured(rustix::process::getpid());
        measure(launch).map(Outcome::from)
    }

    fn rules(&self) -> &'static [RuleCheck] {
        &[("complete", rules::complete)]
    }
}

/// Measures each pair for `seconds` and appends a series per pair to the log: the one-way time of a
/// line, which is half of a round trip.
fn measure(launch: &Launch) -> Result<ClientResult, ConductError> {
    let Entrant { name: subject, cores, .. } = launch.entrant;
    let clock = launch.clock;
    let (seconds, interrupt) = (launch.conduct.scenario.seconds, launch.interrupt);
    let hlog = directory::hlog(launch.path, launch.number);
    let started = wall_now();
    let origin_ns = clock.now_ns();
    let mut series = Vec::new();
    let mut taken = Vec::new();
    let mut failures = Vec::new();
    for (first, second) in pairs(cores) {
        if interrupt.is_set() {
            break;
        }
        let budget = Duration::from_secs_f64(seconds);
        match host::cache_line::round_trips_ns(clock, (first, second), SAMPLES_MAX, budget) {
            Ok(round_trips) if round_trips.len() < SAMPLES_MIN => failures.push(format!(
                "cores {first} and {second}: {} samples in {seconds} s, fewer than {SAMPLES_MIN}: they \
                 are busy; free them, or --set seconds=N",
                round_trips.len()
            )),
            Ok(round_trips) => {
                series.push(Series { name: format!("{first}-{second}").into(), kind: Kind::Stage });
                taken.push(round_trips);
            }
            Err(why) => failures.push(format!("cores {first} and {second}: {why}")),
        }
    }
    let end_ns = clock.now_ns();
    let histograms = taken.iter().map(|round_trips| {
        let mut one_way = histogram();
        round_trips.iter().for_each(|ns| one_way.saturating_record(ns / 2));
        one_way
    });
    let mut interval =
        Some(Box::new(Interval { start_ns: origin_ns, end_ns, histograms: histograms.collect() }));
    let failed = record_failed(&hlog);
    let log = File::options().create(true).append(true).open(&hlog).map_err(&failed)?;
    let mut log = BufWriter::new(log);
    write_log(&series, subject, &mut log, started, origin_ns, &|| (), &mut |_| interval.take())
        .map_err(failed)?;
    Ok(ClientResult {
        complete: failures.is_empty() && !interrupt.is_set(),
        failures,
        clock: record::Clock::of(&clock),
        ..ClientResult::default()
    })
}
