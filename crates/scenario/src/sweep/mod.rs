//! The same scenario at several rates, to the knee: the highest rate that meets an objective.

mod carried;

use crate::conduct::{Conduct, ConductError};
use crate::launch::process::Interrupt;
use crate::progress::{Say, again};
use clock::calendar::utc;
use clock::schedule::RATE_PER_SECOND_MAX;
use clock::wall_ms;
use plan::file::set;
use plan::scenario::Measure;
use plan::tables::load::Model;
use record::Unit;
use record::directory;
use record::nearest::did_you_mean;
use record::objective::Objective;
use record::sweep::{Outcome, Point, SCHEMA, SweepRecord};
use record::text::counted;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

pub use carried::find_rate;

/// Limit on the rates of one sweep.
pub const RATES_MAX: usize = 64;
/// Limit on bisections: the knee is then known to a factor of 1.011.
pub const STEPS_MAX: u32 = 6;
/// Limit on halvings if the first rate already misses.
const HALVINGS_MAX: u32 = 4;

/// The rates to measure.
#[derive(Clone, Debug, PartialEq)]
pub enum Rates {
    /// These, in messages per second, ascending.
    List(Vec<f64>),
    /// From the scenario's rate, doubled until it misses or halved until it meets, then bisected.
    Search {
        /// Number of bisections, at most [`STEPS_MAX`].
        steps: u32,
        /// No higher rate is tried, messages per second.
        highest: f64,
    },
}

/// Text that is no list of rates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} {why}; write rates such as 10k,20k,1.5M")]
pub struct BadRates {
    text: String,
    why: String,
}

/// `10k,20k,1.5M`, in any order, without duplicates.
impl FromStr for Rates {
    type Err = BadRates;

    fn from_str(text: &str) -> Result<Rates, BadRates> {
        let bad = |text: &str, why: &str| BadRates { text: text.to_owned(), why: why.to_owned() };
        let mut rates = Vec::new();
        for part in text.split(',').map(str::trim) {
            let rate = set::scaled(part).ok_or_else(|| bad(part, "is no rate"))?;
            if !(rate > 0.0 && rate <= RATE_PER_SECOND_MAX) {
                return Err(bad(part, "is not above 0 and at most 1000M messages a second"));
            }
            rates.push(rate);
        }
        rates.sort_unstable_by(f64::total_cmp);
        if rates.windows(2).any(|two| two[0] == two[1]) {
            return Err(bad(text, "names a rate twice"));
        }
        if rates.len() > RATES_MAX {
            return Err(bad(text, &format!("names more than {RATES_MAX} rates")));
        }
        Ok(Rates::List(rates))
    }
}

/// A sweep to carry out.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// As for one run. The sweep's own directory, with all its records, goes into the directory of
    /// runs; the command is the sweep's.
    pub conduct: Conduct,
    /// The command line of a single run, without its rate.
    pub point_command: Vec<String>,
    /// The rates.
    pub rates: Rates,
    /// The condition that a rate must meet besides being valid.
    pub objective: Option<Objective>,
    /// Largest share of messages that the client may send late, 0 to 1, where that decides instead
    /// of an objective.
    pub late_share_max: Option<f64>,
}

/// Settings that a sweep applies first: the runs at each rate.
pub const SETS: [&str; 1] = ["runs=3"];

impl Sweep {
    /// Measures rate after rate. It leaves `sweep.json`, written after each rate, and a run record
    /// per rate beside it.
    ///
    /// # Errors
    /// If nothing could be measured. A later failure leaves an incomplete sweep.
    pub fn carry_out(
        &self,
        interrupt: &Interrupt,
        mut say: Say<'_>,
    ) -> Result<(SweepRecord, PathBuf), ConductError> {
        self.check()?;
        let scenario = &self.conduct.scenario;
        let runs = &self.conduct.runs_directory;
        let path = directory::create(runs, &format!("sweep-{}", scenario.name))
            .map_err(|source| record_failed(runs, source))?;
        let mut sweep = self.empty_record();
        let mut search = Search::new(scenario.rate_per_second(), self.highest(), self.steps());
        let mut listed = self.listed().iter().copied();
        let mut next = match self.rates {
            Rates::List(_) => listed.next(),
            Rates::Search { .. } => Some(scenario.rate_per_second()),
        };
        while let Some(rate) = next.filter(|_| !interrupt.is_set()) {
            match self.point(&path, rate, interrupt, again(&mut say)) {
                Ok(point) => {
                    next = match self.rates {
                        Rates::List(_) => listed.next(),
                        // If a rate has too few samples for the objective, so has a lower one.
                        Rates::Search { .. } => search
                            .next(rate, point.outcome == Outcome::Met)
                            .filter(|rate| self.tells_at(*rate)),
                    };
                    sweep.insert(point);
                }
                Err(error) if sweep.points.is_empty() => {
                    // Nothing was measured: remove the empty directory.
                    let _ = fs::remove_dir(&path);
                    return Err(error);
                }
                Err(error) => {
                    sweep.failures.push(format!("at {rate} messages/s: {error}"));
                    break;
                }
            }
            sweep.save(&path).map_err(|source| record_failed(&path, source))?;
        }
        if interrupt.is_set() {
            sweep.failures.push("it was interrupted".to_owned());
        }
        sweep.complete = sweep.failures.is_empty();
        sweep.save(&path).map_err(|source| record_failed(&path, source))?;
        Ok((sweep, path))
    }

    fn check(&self) -> Result<(), ConductError> {
        let usage = |text: String| Err(ConductError::Usage(text));
        let scenario = &self.conduct.scenario;
        if matches!(scenario.kind, Measure::Cores | Measure::Soak) {
            return usage(format!("{} has no rate; there is nothing to sweep", scenario.name));
        }
        if scenario.load.model == Model::PingPong {
            return usage(format!(
                "{} is ping-pong, which has no rate: each message waits for the reply to the one \
                 before. Sweep a scenario with load.model = \"open\"",
                scenario.name
            ));
        }
        if scenario.kind == Measure::Ticks && scenario.rate_per_second_offered().is_none() {
            return usage(format!(
                "{} plays a recording at its own pace, which is no rate; add --set flow.pace=fixed",
                scenario.name
            ));
        }
        if scenario.has_one_flow() {
            return usage(
                "the flow of an exchange that runs already has the rate that it was started with; sweep where the \
                 scenario starts the exchange"
                    .to_owned(),
            );
        }
        if self.steps() > STEPS_MAX {
            return usage(format!("there are at most {STEPS_MAX} steps, not {}", self.steps()));
        }
        let Some(objective) = &self.objective else { return Ok(()) };
        let selector = &objective.selector;
        let names: Vec<&str> = scenario.subject.iter().map(|one| one.name.as_str()).collect();
        if let Some(subject) = &selector.subject
            && !names.contains(&subject.as_str())
        {
            let (known, meant) = (names.join(", "), did_you_mean(subject, names));
            return usage(format!(
                "{objective}: there is no subject {subject:?}.{meant} There are: {known}"
            ));
        }
        let replies = scenario.measurement().replies();
        if !replies.contains(&selector.series.as_str()) {
            let known = replies.join(", ");
            let series = &selector.series;
            let meant = did_you_mean(series, replies.iter().copied());
            return usage(format!(
                "{objective}: there is no series {series:?}.{meant} There are: {known}"
            ));
        }
        if objective.unit == Unit::Ppm && scenario.goes_without_floor() {
            return usage(format!(
                "{objective}: the scenario measures no floor; add --set floor_seconds=2"
            ));
        }
        let first = self.listed().first().copied().unwrap_or(scenario.rate_per_second());
        if !self.tells_at(first) {
            return usage(format!(
                "{objective}: {} in {} at {first} messages/s are too few for {}; add --set seconds=N \
                 or --set runs=N",
                counted(self.samples_at(first), "sample"),
                counted(scenario.runs, "run"),
                selector.figure.name()
            ));
        }
        Ok(())
    }

    /// Samples of one series in all runs at a rate. Half of the messages are orders, the others
    /// cancels; a tick may lead to no order; messages between threads all count.
    fn samples_at(&self, rate_per_second: f64) -> u64 {
        let mut scenario = self.conduct.scenario.clone();
        scenario.set_rate_per_second(rate_per_second);
        let series = match scenario.kind {
            Measure::Ticks => scenario.strategy.every,
            kind => plan::measure::of(kind).replies().len().max(1) as u64,
        };
        scenario.messages(scenario.seconds) / series * u64::from(scenario.runs)
    }

    /// Whether there are enough samples at that rate for the objective's figure.
    fn tells_at(&self, rate_per_second: f64) -> bool {
        let figure = self.objective.as_ref().map(|objective| objective.selector.figure);
        figure.is_none_or(|figure| figure.is_told_by(self.samples_at(rate_per_second)))
    }

    fn steps(&self) -> u32 {
        if let Rates::Search { steps, .. } = self.rates { steps } else { 0 }
    }

    fn highest(&self) -> f64 {
        if let Rates::Search { highest, .. } = self.rates { highest } else { RATE_PER_SECOND_MAX }
    }

    fn listed(&self) -> &[f64] {
        if let Rates::List(rates) = &self.rates { rates } else { &[] }
    }

    fn empty_record(&self) -> SweepRecord {
        let Conduct { scenario, tool, command, .. } = &self.conduct;
        SweepRecord {
            schema: SCHEMA,
            tool: tool.clone(),
            scenario: scenario.name.clone(),
            started: utc(wall_ms()),
            command: command.clone(),
            complete: false,
            failures: Vec::new(),
            runs: scenario.runs,
            objective: self.objective.clone(),
            late_share_max: self.late_share_max,
            injected: scenario.injected(),
            points: Vec::new(),
        }
    }

    fn point(
        &self,
        path: &Path,
        rate_per_second: f64,
        interrupt: &Interrupt,
        say: Say<'_>,
    ) -> Result<Point, ConductError> {
        let mut conduct = self.conduct.clone();
        let key = conduct.scenario.set_rate_per_second(rate_per_second);
        conduct.runs_directory = path.to_owned();
        conduct.command.clone_from(&self.point_command);
        conduct.command.extend(["--set".to_owned(), format!("{key}={rate_per_second}")]);
        let (record, directory) = conduct.carry_out(interrupt, say)?;
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut point = Point::of(&record, name, rate_per_second, self.objective.as_ref());
        if let Some(late_share_max) = self.late_share_max {
            point.judge_by_lateness(&record, late_share_max);
        }
        Ok(point)
    }
}

fn record_failed(path: &Path, source: std::io::Error) -> ConductError {
    ConductError::Record { path: path.display().to_string(), source }
}

/// The search for the knee. It assumes that a rate above one that misses misses too.
struct Search {
    start: f64,
    highest: f64,
    steps_left: u32,
    halvings_left: u32,
    met: Option<f64>,
    missed: Option<f64>,
}

impl Search {
    fn new(start: f64, highest: f64, steps: u32) -> Search {
        let halvings_left = HALVINGS_MAX;
        Search { start, highest, steps_left: steps, halvings_left, met: None, missed: None }
    }

    /// The next rate after `rate` met or missed.
    fn next(&mut self, rate: f64, met: bool) -> Option<f64> {
        *if met { &mut self.met } else { &mut self.missed } = Some(rate);
        match (self.met, self.missed) {
            (Some(met), None) => Some(2.0 * met).filter(|rate| *rate <= self.highest),
            (None, Some(missed)) => {
                self.halvings_left = self.halvings_left.checked_sub(1)?;
                Some(missed / 2.0)
            }
            (Some(met), Some(missed)) => {
                self.steps_left = self.steps_left.checked_sub(1)?;
                let middle = three_digits((met * missed).sqrt());
                (met < middle && middle < missed).then_some(middle)
            }
            (None, None) => Some(self.start),
        }
    }
}

/// Rounds to three significant digits, which a person can remember.
fn three_digits(rate: f64) -> f64 {
    let unit = 10f64.powf(rate.log10().floor() - 2.0);
    let rounded = (rate / unit).round() * unit;
    // 0.01 * 141 is not 1.41 in binary; 1.4100000000000001 messages per second would look odd.
    format!("{rounded:.6}").parse().unwrap_or(rounded)
}

#[cfg(test)]
mod tests;
