//! The runs of an arm, with what disturbed them.

use crate::comparison::disturbance::{JudgedRun, disturbed_by};
use crate::comparison::selector::Figure;
use crate::{DisturbedShare, Kind, Percentiles, RunRecord, Series};
use serde::{Deserialize, Serialize};
use stats::PERCENTILES;
use stats::verdict::RunFigure;
use std::collections::BTreeMap;

/// The runs of a series, in order of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ArmSeries {
    /// Its subject's name.
    pub subject: String,
    /// `order`, `cancel`, …
    pub series: String,
    /// Response or service time, or a stage.
    pub kind: Kind,
    /// The percentiles of each run.
    pub runs: Vec<Percentiles>,
    /// The highest rank up to which each run's percentiles hold, from 0 to 1.
    pub holds_to: Vec<f64>,
    /// The bracket of each run's percentiles, where they were judged; empty in files of schema 1.
    #[serde(default)]
    pub brackets: Vec<BTreeMap<String, [u64; 2]>>,
    /// Main disturber of each run, or why it was not judged; empty if there is none.
    #[serde(default)]
    pub disturbed_by: Vec<String>,
}

impl ArmSeries {
    /// The figure in every run; `None` if a run can't support it.
    pub(crate) fn figures(&self, figure: Figure) -> Option<Vec<JudgedRun>> {
        let one = |(run, percentiles): (usize, &Percentiles)| {
            let value = figure.of(percentiles)?;
            let bracket = self.brackets.get(run).and_then(|all| all.get(&figure.key()).copied());
            let cause = self.disturbed_by.get(run).cloned().unwrap_or_default();
            Some(JudgedRun { figure: RunFigure { value, bracket }, cause })
        };
        self.runs.iter().enumerate().map(one).collect()
    }
}

/// The latencies of one arm, run by run.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    count: usize,
    /// Series that every run has; a missing run would break the pairs.
    pub(super) rows: Vec<ArmSeries>,
    /// Series of the raw echo.
    pub(super) floors: Vec<ArmSeries>,
    /// The coarsest step of the clocks that stamped, ns.
    pub(super) step_ns: u64,
}

impl Runs {
    /// Every run of one record.
    pub fn of_record(record: &RunRecord) -> Runs {
        let mut runs = Runs { count: record.runs as usize, ..Runs::default() };
        runs.push(record, |series| series.per_run.clone());
        runs.whole()
    }

    /// Several records in order of time, each as one run.
    pub fn of_records(records: &[RunRecord]) -> Runs {
        let mut runs = Runs { count: records.len(), ..Runs::default() };
        for record in records {
            runs.push(record, |series| vec![series.pooled]);
        }
        runs.whole()
    }

    fn push(&mut self, record: &RunRecord, of: fn(&Series) -> Vec<Percentiles>) {
        self.step_ns = self.step_ns.max(record.clock_step_ns);
        for subject in &record.subjects {
            let rows = if subject.is_reference() { &mut self.floors } else { &mut self.rows };
            let timed = |kind| matches!(kind, Kind::Response | Kind::Service | Kind::Stage);
            for series in subject.series.iter().filter(|series| timed(series.kind)) {
                let same = |row: &ArmSeries| {
                    (&row.subject, &row.series, row.kind)
                        == (&subject.name, &series.name, series.kind)
                };
                let at = rows.iter().position(same).unwrap_or_else(|| {
                    rows.push(ArmSeries {
                        subject: subject.name.clone(),
                        series: series.name.clone(),
                        kind: series.kind,
                        runs: Vec::new(),
                        holds_to: Vec::new(),
                        brackets: Vec::new(),
                        disturbed_by: Vec::new(),
                    });
                    rows.len() - 1
                });
                let row = &mut rows[at];
                for (run, percentiles) in of(series).into_iter().enumerate() {
                    row.holds_to.push(series.holds_to.unwrap_or(0.0));
                    row.brackets.push(brackets(series, run, &percentiles));
                    row.disturbed_by.push(disturbed_by(record, series, run));
                    row.runs.push(percentiles);
                }
            }
        }
    }

    fn whole(mut self) -> Runs {
        let is_whole = |row: &ArmSeries| row.runs.len() == self.count;
        self.rows.retain(is_whole);
        self.floors.retain(is_whole);
        self
    }

    /// How many runs there are.
    pub fn count(&self) -> usize {
        self.count
    }

    pub(super) fn subjects(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.rows.iter().map(|row| row.subject.as_str()).collect();
        names.dedup();
        names
    }
}

/// The brackets of a run of `series`.
fn brackets(series: &Series, run: usize, of_run: &Percentiles) -> BTreeMap<String, [u64; 2]> {
    let all = PERCENTILES.iter().zip(of_run.values());
    let judged = all.filter_map(|((name, rank), value)| {
        Some(((*name).to_owned(), bracket(series, (name, *rank), value?)?))
    });
    let mut brackets: BTreeMap<String, [u64; 2]> = judged.collect();
    // Any disturbance may have made the largest value: it is known only without one, and where
    // somebody looked for interrupts.
    let quiet = Some(0.0);
    let is_quiet = |one: &DisturbedShare| one.known() == quiet && one.interrupted == quiet;
    let is_quiet = series.disturbed.get(run).is_some_and(is_quiet);
    if of_run.count > 0 && is_quiet {
        brackets.insert("max".to_owned(), [of_run.max; 2]);
    }
    brackets
}

/// The bracket of a run's percentile. The record has that of all its runs, by the most disturbed
/// one: a run's is as wide in proportion. A record of schema 1 has none: its figures hold, or not.
pub(crate) fn bracket(series: &Series, (name, rank): (&str, f64), value: u64) -> Option<[u64; 2]> {
    let index = PERCENTILES.iter().position(|(known, _)| *known == name)?;
    let pooled = series.pooled.values()[index].filter(|pooled| *pooled > 0);
    match (series.bracket.get(name), pooled) {
        (Some(ends), Some(pooled)) => {
            let scaled = |end: u64| (end as f64 * value as f64 / pooled as f64).round() as u64;
            Some([scaled(ends[0]).min(value), scaled(ends[1]).max(value)])
        }
        _ => series.holds(rank).then_some([value; 2]),
    }
}
