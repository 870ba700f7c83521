//! The runs of an arm, with what disturbed them.

use crate::comparison::clocks::RunOffset;
use crate::comparison::comparable::floor_key;
use crate::comparison::disturbance::{JudgedRun, disturbed_by};
use crate::comparison::selector::Figure;
use crate::over_floor::PairedPercentile;
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
    /// The ratio of each run's percentiles to the floor of the same run; empty where there is no
    /// floor, and in files of schema 1 and 2.
    #[serde(default)]
    pub over_floor: Vec<BTreeMap<String, RunRatio>>,
    /// The offset of the clocks that each run used; empty where one clock stamps the series.
    #[serde(skip)]
    pub offsets: Vec<RunOffset>,
}

/// A percentile over its floor in one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunRatio {
    /// The ratio.
    pub ratio: f64,
    /// The two values between which the undisturbed ratio lies; `null` if unknown.
    pub bracket: Option<[f64; 2]>,
    /// The floor's percentile, ns.
    pub floor: u64,
}

/// A ratio in parts per million, the unit in which ratios are compared.
fn ppm(ratio: f64) -> u64 {
    (ratio * 1e6).round() as u64
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

    /// The figure's ratio to the floor in every run, ppm, and the smallest floor, ns; `None` if a
    /// run lacks it.
    pub(crate) fn ratios(&self, figure: Figure) -> Option<(Vec<JudgedRun>, u64)> {
        let key = figure.key();
        let of_run = |run: usize| self.over_floor.get(run)?.get(&key);
        let all: Vec<&RunRatio> = (0..self.runs.len()).map(of_run).collect::<Option<_>>()?;
        let floor = all.iter().map(|one| one.floor).min()?;
        let one = |(run, of_run): (usize, &&RunRatio)| {
            let value = ppm(of_run.ratio);
            let around = |[low, high]: [f64; 2]| [ppm(low).min(value), ppm(high).max(value)];
            let cause = self.disturbed_by.get(run).cloned().unwrap_or_default();
            JudgedRun { figure: RunFigure { value, bracket: of_run.bracket.map(around) }, cause }
        };
        Some((all.iter().enumerate().map(one).collect(), floor))
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
    /// Key of the raw echo of all runs; `None` if they have none, or different ones.
    pub(super) floor: Option<String>,
}

impl Runs {
    /// Every run of one record.
    pub fn of_record(record: &RunRecord) -> Runs {
        let floor = floor_key(record);
        let mut runs = Runs { count: record.runs as usize, floor, ..Runs::default() };
        runs.push(record, |series| {
            let ratios = |run| series.over_floor.as_ref().map(|over| over.of_run(run));
            let with_ratios = |(run, one): (u32, &Percentiles)| (*one, ratios(run));
            (1..).zip(&series.per_run).map(with_ratios).collect()
        });
        runs.whole()
    }

    /// Several records in order of time, each as one run.
    pub fn of_records(records: &[RunRecord]) -> Runs {
        let first = records.first().and_then(floor_key);
        let floor = first
            .filter(|first| records.iter().all(|record| floor_key(record).as_ref() == Some(first)));
        let mut runs = Runs { count: records.len(), floor, ..Runs::default() };
        for record in records {
            runs.push(record, |series| {
                let ratios = series.over_floor.as_ref().map(|over| over.figures.clone());
                vec![(series.pooled, ratios)]
            });
        }
        runs.whole()
    }

    fn push(&mut self, record: &RunRecord, of: fn(&Series) -> Vec<OfRun>) {
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
                        over_floor: Vec::new(),
                        offsets: Vec::new(),
                    });
                    rows.len() - 1
                });
                let row = &mut rows[at];
                for (run, (percentiles, ratios)) in of(series).into_iter().enumerate() {
                    row.holds_to.push(series.holds_to.unwrap_or(0.0));
                    row.brackets.push(brackets(series, run, &percentiles));
                    row.disturbed_by.push(disturbed_by(record, series, run));
                    row.runs.push(percentiles);
                    let tag = series.own_tag();
                    row.offsets.extend(RunOffset::of(record, &subject.name, &tag, run));
                    // A run without a ratio leaves a gap, so that no other takes its place.
                    row.over_floor.push(ratios.into_iter().flatten().map(run_ratio).collect());
                }
            }
        }
    }

    fn whole(mut self) -> Runs {
        let is_whole = |row: &ArmSeries| row.runs.len() == self.count;
        self.rows.retain(is_whole);
        self.floors.retain(is_whole);
        for row in &mut self.rows {
            if row.over_floor.iter().all(BTreeMap::is_empty) {
                row.over_floor.clear();
            }
        }
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

/// A run's percentiles, and those over its floor.
type OfRun = (Percentiles, Option<BTreeMap<String, PairedPercentile>>);

fn run_ratio((name, figure): (String, PairedPercentile)) -> (String, RunRatio) {
    let PairedPercentile { ratio, ratio_bracket, floor, .. } = figure;
    (name, RunRatio { ratio, bracket: ratio_bracket, floor })
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
