//! Judges a setting by the runs of a trial, figure by figure, each with a reason if it is
//! inconclusive.

use crate::comparison::bracket;
use crate::comparison::disturbance::{JudgedRun, between, disturbed_by, whose};
use crate::comparison::selector::Figure;
use crate::text;
use crate::tune::trial::{FIGURES, NOISE_SHARE, TriedFigure, TriedSetting};
use crate::unit::Unit;
use crate::{RunRecord, Series};
use stats::compare::{Design, RUNS_MIN, SIGNIFICANCE};
use stats::verdict::{Difference, Method, Outcome, RunFigure, Scale, judge};
use std::collections::BTreeMap;

/// The smallest visible change of the noise share, ppm: a thousandth of all messages.
const SHARE_STEP_PPM: u64 = 1_000;

/// One run's value of a figure, or why it has none.
type Value = Result<JudgedRun, String>;

/// The figures of the main series without a setting (`a`) and with it (`b`). In pairs, run i of `a`
/// belongs to run i of `b`. A figure counts in the pairs in which both runs have samples enough for
/// it. [`corrected`] gives the verdicts.
pub fn figures(design: Design, a: &[RunRecord], b: &[RunRecord]) -> Vec<TriedFigure> {
    let step_ns = a.iter().chain(b).map(|record| record.clock_step_ns).max().unwrap_or(0);
    let percentiles = FIGURES.iter().filter_map(|name| name.parse::<Figure>().ok());
    let values = |records: &[RunRecord], of: &dyn Fn(&RunRecord) -> Value| -> Vec<Value> {
        records.iter().map(of).collect()
    };
    let mut all: Vec<TriedFigure> = percentiles
        .map(|figure| {
            let of = |record: &RunRecord| percentile(record, figure);
            compared(design, figure.name(), Unit::Ns, &values(a, &of), &values(b, &of), step_ns)
        })
        .collect();
    let (a, b) = (values(a, &noise_share), values(b, &noise_share));
    all.push(compared(design, NOISE_SHARE.to_owned(), Unit::Ppm, &a, &b, SHARE_STEP_PPM));
    all
}

/// The main series; only a void run has none.
fn main_series(record: &RunRecord) -> Result<&Series, String> {
    record.main_series().ok_or_else(|| "a run has no main series".to_owned())
}

fn percentile(record: &RunRecord, figure: Figure) -> Value {
    let series = main_series(record)?;
    let count = series.pooled.count;
    let value = figure.of(&series.pooled);
    let value = value.ok_or_else(|| format!("{count} messages a run are too few for it"))?;
    let bracket = bracket(series, (&figure.key(), figure.rank()), value);
    let cause = disturbed_by(record, series, 0);
    Ok(JudgedRun { figure: RunFigure { value, bracket }, cause })
}

fn noise_share(record: &RunRecord) -> Value {
    let series = main_series(record)?;
    let mut most = 0.0_f64;
    for one in &series.disturbed {
        match one.known() {
            Some(share) => most = most.max(share),
            None => return Err(format!("not known: {}", one.unknown)),
        }
    }
    Ok(JudgedRun { figure: RunFigure::exact((most * 1e6) as u64), cause: String::new() })
}

fn compared(
    design: Design,
    figure: String,
    unit: Unit,
    a: &[Value],
    b: &[Value],
    step: u64,
) -> TriedFigure {
    let kept = |values: &[Value]| -> Vec<JudgedRun> { values.iter().flatten().cloned().collect() };
    let (of_a, of_b): (Vec<JudgedRun>, Vec<JudgedRun>) = match design {
        Design::Interleaved => a.iter().zip(b).filter_map(|(a, b)| both(a, b)).unzip(),
        Design::Apart => (kept(a), kept(b)),
    };
    let what = counted(design);
    let all = a.len().min(b.len());
    let pairs = of_a.len().min(of_b.len());
    let scale = if unit == Unit::Ns { Scale::Factor } else { Scale::Points };
    let is_first = figure == FIGURES[0];
    let method = Method { design, scale, control: None, step, is_first };
    // A figure that only a few pairs have would be a biased choice.
    let enough = pairs >= RUNS_MIN && 2 * pairs >= all;
    let difference = if enough { between(&method, &of_a, &of_b, false) } else { None };
    let why = match difference {
        Some(_) => whose(&of_a, &of_b),
        None if all < RUNS_MIN => {
            format!("{all} {what} were made: at least {RUNS_MIN} are needed")
        }
        None => {
            let needed = RUNS_MIN.max(all.div_ceil(2));
            format!("{pairs} of {all} {what} have it, {needed} needed: {}", usual_reason(a, b))
        }
    };
    let effect = difference.as_ref().map(|one| one.effect.clone());
    let range = difference.as_ref().and_then(Difference::range);
    let outcome = Outcome::Inconclusive;
    TriedFigure { figure, unit, pairs, effect, range, p_adjusted: None, outcome, why, difference }
}

/// The unit of a verdict's counts.
fn counted(design: Design) -> &'static str {
    match design {
        Design::Interleaved => "pairs",
        Design::Apart => "runs of each",
    }
}

fn both(a: &Value, b: &Value) -> Option<(JudgedRun, JudgedRun)> {
    Some((a.as_ref().ok()?.clone(), b.as_ref().ok()?.clone()))
}

/// The most frequent reason why runs don't count.
fn usual_reason(a: &[Value], b: &[Value]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for why in a.iter().chain(b).filter_map(|value| value.as_ref().err()) {
        *counts.entry(why).or_default() += 1;
    }
    let usual = counts.into_iter().max_by_key(|(_, count)| *count);
    usual
        .map_or_else(String::new, |(why, count)| format!("{why} ({})", text::counted(count, "run")))
}

/// Sets all verdicts, corrected for every figure of every setting.
pub fn corrected(tried: &mut [TriedSetting]) {
    let differences: Vec<Vec<&Difference>> = tried
        .iter()
        .map(|one| one.figures.iter().filter_map(|figure| figure.difference.as_ref()).collect())
        .collect();
    let verdicts = judge(&differences);
    let settings = tried.len();
    for (one, verdicts) in tried.iter_mut().zip(verdicts) {
        let judged = one.figures.iter_mut().filter(|figure| figure.difference.is_some());
        for (figure, verdict) in judged.zip(verdicts) {
            figure.p_adjusted = Some(verdict.p_adjusted);
            figure.outcome = verdict.outcome;
            let disturbance = std::mem::take(&mut figure.why);
            figure.why = match verdict.outcome {
                Outcome::Better | Outcome::Worse => String::new(),
                Outcome::NotKnown => format!("disturbed runs of {disturbance}"),
                Outcome::NoDifference => no_difference(figure),
                Outcome::Inconclusive => format!(
                    "{} are too few to decide about {}",
                    text::counted(figure.pairs, "pair"),
                    text::counted(settings, "setting")
                ),
            };
        }
        (one.outcome, one.why) = together(one);
    }
}

/// The size above which no difference was seen.
fn no_difference(figure: &TriedFigure) -> String {
    let Some(effect) = &figure.effect else { return String::new() };
    let [low, high] = figure.range.unwrap_or(effect.interval);
    let above = low.abs().max(high.abs()).max(effect.noise_floor) * 100.0;
    let unit = if figure.unit == Unit::Ns { "%" } else { "points" };
    let noise = effect.noise_floor * 100.0;
    let p = figure.p_adjusted.unwrap_or(1.0);
    match p >= SIGNIFICANCE {
        true => format!("none above {above:.1} {unit}: no more than chance (p = {p:.2} corrected)"),
        false => format!(
            "none above {above:.1} {unit}: not above this machine's own noise of {noise:.1} {unit}"
        ),
    }
}

/// A setting that makes one figure worse is never chosen.
fn together(one: &TriedSetting) -> (Outcome, String) {
    let any = |outcome| one.figures.iter().any(|figure| figure.outcome == outcome);
    // `why` holds the reason of the void pairs until now.
    let void = match one.pairs_void {
        0 => String::new(),
        1 => format!("1 pair was void: {}", one.why),
        void => format!("{void} pairs were void, such as {}", one.why),
    };
    match (any(Outcome::Worse), any(Outcome::Better)) {
        (true, true) => {
            let better = one.figures.iter().filter(|one| one.outcome == Outcome::Better);
            let names: Vec<&str> = better.map(|one| one.figure.as_str()).collect();
            (Outcome::Worse, format!("although {} is better", names.join(", ")))
        }
        (true, false) => (Outcome::Worse, void),
        (false, true) => (Outcome::Better, void),
        (false, false) if any(Outcome::NotKnown) => (Outcome::NotKnown, void),
        (false, false) if any(Outcome::NoDifference) => (Outcome::NoDifference, void),
        (false, false) => (Outcome::Inconclusive, void),
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
