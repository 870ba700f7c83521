//! `compare.json`: A and B, figure by figure, with a verdict.

pub mod compared;
pub mod gate;
pub mod selector;

use crate::comparison::compared::ComparedFigure;
use crate::comparison::gate::{Gate, GateResult};
use crate::comparison::selector::Figure;
use crate::machine::{self, Fingerprint, Machine};
use crate::{Kind, Percentiles, RunRecord};
use serde::{Deserialize, Serialize};
use stats::compare::{Design, Effect, Outcome, RUNS_MIN, SIGNIFICANCE, effect, outcome};
use stats::permutation::holm;
use std::collections::BTreeSet;

/// Version of the schema that this code writes.
pub const SCHEMA: u32 = 1;
/// Figures that are compared by default.
pub const FIGURES: [&str; 3] = ["p50", "p90", "p99"];

/// `compare.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Version of this schema.
    pub schema: u32,
    /// The program that wrote it, with its version.
    pub tool: String,
    /// When it started, UTC, RFC 3339.
    pub started: String,
    /// The command line that repeats it.
    pub command: Vec<String>,
    /// The baseline.
    pub a: Arm,
    /// The candidate.
    pub b: Arm,
    /// How their runs were made.
    pub design: Design,
    /// Pairs with a void run, which were repeated.
    pub pairs_void: u32,
    /// Why those were void.
    pub void_because: Vec<String>,
    /// Differences of the resolved scenarios: `load.connections: 16 -> 4`.
    pub differs: Vec<String>,
    /// Why A and B can't be compared; then everything is inconclusive unless `forced`.
    pub incomparable_because: Vec<String>,
    /// `--force`: they were compared although they differ.
    pub forced: bool,
    /// Every compared figure.
    pub figures: Vec<ComparedFigure>,
    /// Verdict over all figures: better or worse if at least one is, and none is the opposite.
    pub outcome: Outcome,
    /// Reason for the outcome.
    pub why: String,
    /// Results of the requested gates.
    #[serde(default)]
    pub gates: Vec<GateResult>,
    /// Further candidates measured in the same rounds, each compared with the same A. A's series
    /// stand only in the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Comparison>,
}

/// A or B.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Arm {
    /// As the user named it: a record's directory, a scenario with its overrides, a command.
    pub name: String,
    /// Runs that count.
    pub runs: usize,
    /// The records with these runs.
    pub records: Vec<String>,
    /// Every series that all runs have, run by run; empty in files older than 0.3.
    #[serde(default)]
    pub series: Vec<ArmSeries>,
}

impl Arm {
    /// An arm with all `runs`.
    pub fn new(name: &str, records: Vec<String>, runs: &Runs) -> Arm {
        let series = runs.rows.clone();
        Arm { name: name.to_owned(), runs: runs.count, records, series }
    }

    /// How many subjects it has.
    pub fn subjects(&self) -> usize {
        let names: BTreeSet<&str> = self.series.iter().map(|one| one.subject.as_str()).collect();
        names.len()
    }
}

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
}

/// The latencies of one arm, run by run.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    count: usize,
    /// Series that every run has; a missing run would break the pairs.
    rows: Vec<ArmSeries>,
    /// Series of the raw echo.
    floors: Vec<ArmSeries>,
    /// The coarsest step of the clocks that stamped, ns.
    step_ns: u64,
}

impl Runs {
    /// Every run of one record.
    pub fn of_record(record: &RunRecord) -> Runs {
        let mut runs = Runs { count: record.runs as usize, ..Runs::default() };
        runs.push(record, |series| {
            let holds_to = series.holds_to.unwrap_or(0.0);
            series.per_run.iter().map(|run| (*run, holds_to)).collect()
        });
        runs.whole()
    }

    /// Several records in order of time, each as one run.
    pub fn of_records(records: &[RunRecord]) -> Runs {
        let mut runs = Runs { count: records.len(), ..Runs::default() };
        for record in records {
            runs.push(record, |series| vec![(series.pooled, series.holds_to.unwrap_or(0.0))]);
        }
        runs.whole()
    }

    fn push(&mut self, record: &RunRecord, of: fn(&crate::Series) -> Vec<(Percentiles, f64)>) {
        self.step_ns = self.step_ns.max(record.clock_step_ns);
        for subject in &record.subjects {
            let rows = if subject.is_reference() { &mut self.floors } else { &mut self.rows };
            let timed = |kind| matches!(kind, Kind::Response | Kind::Service | Kind::Stage);
            for series in subject.series.iter().filter(|series| timed(series.kind)) {
                let same = |row: &&mut ArmSeries| {
                    (&row.subject, &row.series, row.kind)
                        == (&subject.name, &series.name, series.kind)
                };
                let (runs, holds_to): (Vec<Percentiles>, Vec<f64>) = of(series).into_iter().unzip();
                match rows.iter_mut().find(same) {
                    Some(row) => {
                        row.runs.extend(runs);
                        row.holds_to.extend(holds_to);
                    }
                    None => rows.push(ArmSeries {
                        subject: subject.name.clone(),
                        series: series.name.clone(),
                        kind: series.kind,
                        runs,
                        holds_to,
                    }),
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

    fn subjects(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.rows.iter().map(|row| row.subject.as_str()).collect();
        names.dedup();
        names
    }
}

/// Settings of a comparison.
#[derive(Clone, Debug)]
pub struct Question {
    /// How the runs were made.
    pub design: Design,
    /// The figures to compare in each series.
    pub figures: Vec<Figure>,
    /// Whether the raw echo is the same in A and B, so that it can't have changed. It is then the
    /// control of runs made apart.
    pub floor_is_control: bool,
    /// Compare figures that do not hold, too (`--force`).
    pub forced: bool,
}

/// Compares every figure that A and B have in every run. None if there are too few runs.
pub fn compare(question: &Question, a: &Runs, b: &Runs) -> Vec<ComparedFigure> {
    compare_all(question, a, &[b]).pop().unwrap_or_default()
}

/// Compares each of `candidates` with `a`, as [`compare`] does. The correction covers all figures
/// of all candidates.
pub fn compare_all(
    question: &Question,
    a: &Runs,
    candidates: &[&Runs],
) -> Vec<Vec<ComparedFigure>> {
    let found: Vec<Vec<FigureDifference>> =
        candidates.iter().map(|b| effects(question, a, b)).collect();
    let p: Vec<f64> = found.iter().flatten().map(|(_, _, effect)| effect.p).collect();
    let mut adjusted = holm(&p).into_iter();
    let compared = |((row, figure, effect), p_adjusted): (FigureDifference, f64)| ComparedFigure {
        subject: row.subject.clone(),
        series: row.series.clone(),
        kind: row.kind,
        figure: figure.name(),
        p_adjusted,
        outcome: outcome(&effect, p_adjusted),
        effect,
    };
    found
        .into_iter()
        .map(|one| one.into_iter().zip(&mut adjusted).map(compared).collect())
        .collect()
}

/// A figure of a row of A, and how B's differs from it.
type FigureDifference<'a> = (&'a ArmSeries, Figure, Effect);

fn effects<'a>(question: &Question, a: &'a Runs, b: &Runs) -> Vec<FigureDifference<'a>> {
    // With one subject in each, compare those two, whatever their names.
    let alone = (a.subjects().len(), b.subjects().len()) == (1, 1);
    let step_ns = a.step_ns.max(b.step_ns);
    let mut found = Vec::new();
    for of_a in &a.rows {
        let same = |row: &&ArmSeries| {
            (&row.series, row.kind) == (&of_a.series, of_a.kind)
                && (alone || row.subject == of_a.subject)
        };
        let Some(of_b) = b.rows.iter().find(same) else { continue };
        for figure in &question.figures {
            let control = control(question, a, b, of_a, *figure);
            let values = values_that_hold(question, of_a, of_b, *figure);
            if let Some((of_a_runs, of_b_runs)) = values
                && let Some(effect) =
                    effect(question.design, &of_a_runs, &of_b_runs, control, step_ns)
            {
                found.push((of_a, *figure, effect));
            }
        }
    }
    found
}

/// The figure in the runs in which it holds; for pairs, in those in which it holds in both runs.
/// `None` if that is fewer than half, or if a run can't support it.
fn values_that_hold(
    question: &Question,
    a: &ArmSeries,
    b: &ArmSeries,
    figure: Figure,
) -> Option<(Vec<u64>, Vec<u64>)> {
    let (of_a, of_b) = (values(&a.runs, figure)?, values(&b.runs, figure)?);
    let holds = |row: &ArmSeries, run: usize| {
        question.forced || row.holds_to.get(run).is_some_and(|to| figure.rank() <= *to)
    };
    let kept = |values: Vec<u64>, holds: &dyn Fn(usize) -> bool| -> Option<Vec<u64>> {
        let all = values.len();
        let kept: Vec<u64> = (0..all).filter(|run| holds(*run)).map(|run| values[run]).collect();
        (2 * kept.len() >= all).then_some(kept)
    };
    match question.design {
        Design::Interleaved => {
            let both = |run: usize| holds(a, run) && holds(b, run);
            Some((kept(of_a, &both)?, kept(of_b, &both)?))
        }
        Design::Apart => {
            Some((kept(of_a, &|run| holds(a, run))?, kept(of_b, &|run| holds(b, run))?))
        }
    }
}

/// The figure in every run; `None` if a run can't support it.
fn values(runs: &[Percentiles], figure: Figure) -> Option<Vec<u64>> {
    runs.iter().map(|run| figure.of(run)).collect()
}

/// Change of the raw echo between A and B.
fn control(question: &Question, a: &Runs, b: &Runs, of: &ArmSeries, figure: Figure) -> Option<f64> {
    if question.design == Design::Interleaved || !question.floor_is_control {
        return None;
    }
    let floor = |runs: &Runs| {
        let same = |row: &&ArmSeries| (&row.series, row.kind) == (&of.series, of.kind);
        values(&runs.floors.iter().find(same)?.runs, figure)
    };
    let step_ns = a.step_ns.max(b.step_ns);
    effect(question.design, &floor(a)?, &floor(b)?, None, step_ns).map(|effect| effect.change)
}

/// Why two records made apart can't be compared; empty if they can.
pub fn incomparable_because(
    a: &RunRecord,
    of_a: &Machine,
    b: &RunRecord,
    of_b: &Machine,
) -> Vec<String> {
    let mut because: Vec<String> = [("A", a), ("B", b)]
        .into_iter()
        .filter(|(_, record)| record.is_void())
        .map(|(name, record)| format!("{name} is void: {}", record.void_because.join("; ")))
        .collect();
    let quick = [("A", a), ("B", b)].into_iter().filter(|(_, record)| record.smoke_test);
    because.extend(quick.map(|(name, _)| format!("{name} is a smoke test (--quick)")));
    if of_a.before == Fingerprint::default() || of_b.before == Fingerprint::default() {
        because.push("a fingerprint is missing, so the machines may differ".to_owned());
        return because;
    }
    let differences = machine::differences(&of_a.before, &of_b.before, machine::PROBE_RATIO_MAX);
    because.extend(
        differences
            .into_iter()
            .map(|what| format!("not one machine in one regime (before is A, after B): {what}")),
    );
    because
}

/// Differences of two resolved scenarios: `load.connections: 16 -> 4`.
pub fn differs(a: &RunRecord, b: &RunRecord) -> Vec<String> {
    let mut differs = Vec::new();
    for (name, a, b) in [("tool", &a.tool, &b.tool), ("scenario", &a.scenario, &b.scenario)] {
        if a != b {
            differs.push(format!("{name}: {a} -> {b}"));
        }
    }
    let mut changes = Vec::new();
    machine::collect_changes(String::new(), &a.resolved, &b.resolved, &mut changes);
    // Ignore the names and descriptions of the scenarios.
    changes.retain(|(path, _, _)| path != "name" && path != "about");
    differs.extend(changes.iter().map(|(path, a, b)| format!("{path}: {a} -> {b}")));
    differs
}

/// Whether the raw echo had the same load, cores and network in both records, so that it can't have
/// changed.
pub fn same_floor(a: &RunRecord, b: &RunRecord) -> bool {
    let floor = |record: &RunRecord| {
        let floor = record.subjects.iter().find(|subject| subject.is_floor())?;
        let (backend, scheduling) = (floor.backend.clone(), floor.scheduling.clone());
        Some((backend, scheduling, floor.cores.clone(), floor.load.message_bytes))
    };
    // Each kind of scenario has some of these.
    let of_all = ["/load", "/flow", "/feed", "/network", "/exchange/backend", "/exchange/gateways"];
    let same = |pointer: &&str| a.resolved.pointer(pointer) == b.resolved.pointer(pointer);
    floor(a).is_some() && floor(a) == floor(b) && of_all.iter().all(same)
}

impl Comparison {
    /// Every candidate, with its letter from B on.
    pub fn candidates(&self) -> impl Iterator<Item = (char, &Comparison)> {
        ('B'..).zip(std::iter::once(self).chain(&self.others))
    }

    /// Decides outcome and gates from the figures, the arms and the reasons against a comparison.
    ///
    /// `of_b` are the records of B, for gates with an absolute limit.
    pub fn decide(&mut self, gates: &[Gate], of_b: &[&RunRecord]) {
        let comparable = self.incomparable_because.is_empty() || self.forced;
        if !comparable {
            self.figures.iter_mut().for_each(|one| one.outcome = Outcome::Inconclusive);
        }
        let any = |outcome| self.figures.iter().any(|one| one.outcome == outcome);
        (self.outcome, self.why) = match (any(Outcome::Better), any(Outcome::Worse)) {
            _ if !comparable => (Outcome::Inconclusive, self.incomparable_because.join("; ")),
            _ if self.figures.is_empty() => (Outcome::Inconclusive, self.too_few()),
            (true, false) => (Outcome::Better, self.told_apart(Outcome::Better)),
            (false, true) => (Outcome::Worse, self.told_apart(Outcome::Worse)),
            (true, true) => (
                Outcome::Inconclusive,
                format!(
                    "{}, but {}: say which one counts with --figure or --gate",
                    self.told_apart(Outcome::Better),
                    self.told_apart(Outcome::Worse)
                ),
            ),
            (false, false) => (Outcome::Inconclusive, self.nothing_found()),
        };
        self.gates = gates.iter().map(|gate| gate.judge(&self.figures, of_b, comparable)).collect();
    }

    fn too_few(&self) -> String {
        let count = |runs| if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
        format!(
            "A has {}, B has {}; a difference can be told from chance where a figure holds in at \
             least {RUNS_MIN} runs of each",
            count(self.a.runs),
            count(self.b.runs)
        )
    }

    fn told_apart(&self, outcome: Outcome) -> String {
        let names =
            self.figures.iter().filter(|one| one.outcome == outcome).map(ComparedFigure::name);
        format!("{} in {}", outcome.name(), names.collect::<Vec<_>>().join(", "))
    }

    fn nothing_found(&self) -> String {
        let n = self.figures.len();
        let p_least = match self.design {
            Design::Interleaved => 2.0 * 0.5f64.powi(self.a.runs.min(1000) as i32),
            Design::Apart => 2.0 / choices(self.a.runs + self.b.runs, self.a.runs),
        };
        if p_least * n as f64 >= SIGNIFICANCE {
            return format!(
                "so few runs can't tell {n} figures from chance, whatever they show: make more, or \
                 look at fewer figures"
            );
        }
        "no figure differs by more than chance and this machine's noise".to_owned()
    }
}

/// Ways to choose `m` of `n`, approximate for large results.
fn choices(n: usize, m: usize) -> f64 {
    (0..m).map(|at| (n - at) as f64 / (m - at) as f64).product()
}

#[cfg(test)]
mod tests;
