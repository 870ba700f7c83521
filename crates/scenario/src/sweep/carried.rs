//! The highest rate that the cores carry, found before the runs.

use crate::conduct::{Conduct, ConductError};
use crate::launch::process::Interrupt;
use crate::progress::Say;
use crate::sweep::{Rates, Sweep, three_digits};
use record::RateSearch;
use record::sweep::SweepRecord;
use std::path::PathBuf;

/// Bisections: the rate is then known within 9 %.
const STEPS: u32 = 3;
/// Share of the carried rate that is measured: at the knee itself the next disturbance overloads.
const MEASURED_SHARE: f64 = 0.9;
/// Share of messages that a client may send late, because it was reading or writing when they were
/// due. More, and the lateness alone makes the bracket of p50 too wide to hold.
const LATE_SHARE_MAX: f64 = 0.25;
/// Lengths of a run of the search, s.
const SECONDS_MAX: f64 = 1.0;
const WARM_UP_SECONDS_MAX: f64 = 0.5;
const FLOOR_SECONDS_MAX: f64 = 0.5;

/// Finds the highest rate, up to the scenario's, at which the client sends at least three quarters
/// of its messages on time in a short run, and sets the scenario's rate a tenth below it. Whether
/// p50 holds in that run is not asked: one pause of the machine would decide. Where the scenario's
/// own rate is carried, it stays. Returns the sweep that it made, beside the records of `conduct`.
///
/// # Errors
/// If nothing could be measured.
pub fn find_rate(
    conduct: &mut Conduct,
    interrupt: &Interrupt,
    say: Say<'_>,
) -> Result<(SweepRecord, PathBuf), ConductError> {
    let asked_per_second = conduct.scenario.rate_per_second();
    let (sweep, path) = search_below(conduct).carry_out(interrupt, say)?;
    let knee = sweep.knee();
    let rate = |point: &record::sweep::Point| point.rate_per_second_offered;
    let (carried, missed) = (knee.met.map(rate), knee.next.map(rate));
    let lowest = sweep.points.first().map(rate);
    let measured = match carried {
        Some(carried) if carried >= asked_per_second => Some(asked_per_second),
        Some(carried) => Some(three_digits(MEASURED_SHARE * carried)),
        None => lowest,
    };
    if let Some(measured) = measured {
        conduct.scenario.set_rate_per_second(measured);
    }
    conduct.rate_search = Some(RateSearch {
        asked_per_second,
        carried_per_second: carried,
        missed_per_second: missed,
        sweep: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    });
    Ok((sweep, path))
}

/// One short run at each rate.
fn search_below(conduct: &Conduct) -> Sweep {
    let mut short = conduct.clone();
    (short.until, short.noise) = (None, false);
    let scenario = &mut short.scenario;
    scenario.find_rate = false;
    scenario.runs = 1;
    scenario.seconds = scenario.seconds.min(SECONDS_MAX);
    scenario.warm_up_seconds = scenario.warm_up_seconds.min(WARM_UP_SECONDS_MAX);
    scenario.floor_seconds = scenario.floor_seconds.min(FLOOR_SECONDS_MAX);
    (scenario.bare_seconds, scenario.hiccup_seconds) = (0.0, 0.0);
    let sets = [
        "find_rate=false".to_owned(),
        "runs=1".to_owned(),
        format!("seconds={}", scenario.seconds),
        format!("warm_up_seconds={}", scenario.warm_up_seconds),
        format!("floor_seconds={}", scenario.floor_seconds),
    ];
    let sets = sets.into_iter().flat_map(|set| ["--set".to_owned(), set]);
    let point_command = conduct.command.iter().cloned().chain(sets).collect();
    let rates = Rates::Search { steps: STEPS, highest: conduct.scenario.rate_per_second() };
    Sweep {
        conduct: short,
        point_command,
        rates,
        objective: None,
        late_share_max: Some(LATE_SHARE_MAX),
    }
}
