//! Chooses the runs that count if there are more than the scenario asks for: those that were
//! disturbed least. Only their disturbed shares decide, before any latency is read.

use crate::conduct::{Conduct, Entrant};
use crate::disturbance::{self, series};
use crate::evidence::Run;
use hdrhistogram::Histogram;
use record::{Kind, LeftOutRun, Series};
use std::fs;
use std::path::Path;

/// The runs that count, and those that were left out.
pub(crate) struct AllRuns {
    pub runs: Vec<Run>,
    pub left_out: Vec<LeftOutRun>,
}

/// Name and kind of the record's main series.
fn main_series(conduct: &Conduct, run: &Run, subject: &str) -> Option<(&'static str, Kind)> {
    let replies = conduct.scenario.measurement().replies();
    let has = |name: &str, kind| {
        run.histogram(subject, name, kind).is_some_and(|one: &Histogram<u64>| !one.is_empty())
    };
    let kinds = [Kind::Response, Kind::Service];
    replies
        .iter()
        .find_map(|name| kinds.into_iter().find(|kind| has(name, *kind)).map(|kind| (*name, kind)))
}

/// The disturbed share of the main series in `run`; 1 if it is unknown.
fn share(conduct: &Conduct, entrants: &[Entrant], run: &Run) -> f64 {
    let found = entrants.first().and_then(|first| {
        let measured = run.measured.iter().find(|one| one.subject == first.name)?;
        let (name, kind) = main_series(conduct, run, &first.name)?;
        let disturbed = disturbance::disturbed(conduct, run, measured, name, kind);
        disturbed.known()
    });
    found.unwrap_or(1.0)
}

/// Indices of the `planned` least disturbed runs, ascending.
pub(crate) fn least_disturbed(
    conduct: &Conduct,
    entrants: &[Entrant],
    runs: &[Run],
    planned: usize,
) -> Vec<usize> {
    let shares: Vec<f64> = runs.iter().map(|run| share(conduct, entrants, run)).collect();
    let mut places: Vec<usize> = (0..runs.len()).collect();
    places.sort_by(|a, b| shares[*a].total_cmp(&shares[*b]));
    places.truncate(planned);
    places.sort_unstable();
    places
}

/// How far the main series of those runs holds, as a rank; 0 if it does not.
pub(crate) fn holds_to(
    conduct: &Conduct,
    entrants: &[Entrant],
    runs: &[Run],
    chosen: &[usize],
) -> f64 {
    let Some(first) = entrants.first() else { return 0.0 };
    let chosen: Vec<&Run> = chosen.iter().map(|place| &runs[*place]).collect();
    let main = chosen.first().and_then(|run| main_series(conduct, run, &first.name));
    let series = series::judged(conduct, first, &chosen, false);
    let is_main = |one: &&Series| main == Some((one.name.as_str(), one.kind));
    series.iter().find(is_main).and_then(|one| one.holds_to).unwrap_or(0.0)
}

/// Keeps the runs that count, renumbers their files, and puts the other logs aside.
pub(crate) fn keep(
    conduct: &Conduct,
    path: &Path,
    entrants: &[Entrant],
    runs: Vec<Run>,
    planned: usize,
) -> AllRuns {
    if runs.len() <= planned {
        return AllRuns { runs, left_out: Vec::new() };
    }
    let chosen = least_disturbed(conduct, entrants, &runs, planned);
    let mut kept: Vec<Run> = Vec::new();
    let mut left_out = Vec::new();
    for (place, mut run) in runs.into_iter().enumerate() {
        let number = place as u32 + 1;
        if chosen.contains(&place) {
            if let Err(error) = renumber(path, number, kept.len() as u32 + 1) {
                run.failed = true;
                run.failures.push(format!("cannot rename the files of run {number}: {error}"));
            }
            kept.push(run);
            continue;
        }
        let log = format!("left-out-{number:03}.hlog");
        let disturbed_share = share(conduct, entrants, &run);
        // Under its old name the log would be taken for another run's.
        if let Err(error) = fs::rename(record::directory::hlog(path, number), path.join(&log)) {
            run.failed = true;
            run.failures.push(format!("cannot put the log of run {number} aside: {error}"));
            kept.push(run);
            continue;
        }
        crate::kind::ticks::files::forget(path, number);
        left_out.push(LeftOutRun { run: number, disturbed_share, log });
    }
    AllRuns { runs: kept, left_out }
}

/// Renames the files of run `from` to run `to`.
fn renumber(path: &Path, from: u32, to: u32) -> std::io::Result<()> {
    if from == to {
        return Ok(());
    }
    let prefix = format!("{from:03}.");
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        if let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(&prefix)) {
            fs::rename(entry.path(), path.join(format!("{to:03}.{rest}")))?;
        }
    }
    Ok(())
}
