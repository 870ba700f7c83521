//! Judges a setting by the runs of a trial, figure by figure, each with a reason if it is
//! inconclusive.

use crate::comparison::selector::Figure;
use crate::tune::trial::{FIGURES, NOISE_SHARE, TriedFigure, TriedSetting, Unit};
use crate::{RunRecord, Series};
use stats::compare::{
    Design, Outcome, RUNS_MIN, SIGNIFICANCE, effect, effect_on_share, outcome, outcome_on_share,
};
use stats::permutation::holm;
use std::collections::BTreeMap;

/// The smallest visible change of the noise share, ppm: a thousandth of all messages.
const SHARE_STEP_PPM: u64 = 1_000;

/// One run's value of a figure, or why it has none.
type Value = Result<u64, String>;

/// The figures of the main series without a setting (`a`) and with it (`b`). In pairs, run i of `a`
/// belongs to run i of `b`. A figure counts in the pairs in which it holds in both runs; the noise
/// share always counts. [`corrected`] gives the verdicts.
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
    match series.holds(figure.rank()) {
        true => Ok(value),
        false if !series.not_judged.is_empty() => Err(format!("not judged: {}", series.not_judged)),
        false => Err(match &record.disturber {
            Some(disturber) => format!("disturbed, mostly by {}", disturber.name),
            None => "disturbed".to_owned(),
        }),
    }
}

fn noise_share(record: &RunRecord) -> Value {
    let series = main_series(record)?;
    match series.disturbed.iter().find(|one| !one.unknown.is_empty()) {
        Some(one) => Err(format!("not known: {}", one.unknown)),
        None => {
            let shares = series.disturbed.iter().map(|one| one.share);
            Ok((shares.fold(0.0, f64::max) * 1e6) as u64)
        }
    }
}

fn compared(
    design: Design,
    figure: String,
    unit: Unit,
    a: &[Value],
    b: &[Value],
    step: u64,
) -> TriedFigure {
    let kept = |values: &[Value]| -> Vec<u64> { values.iter().flatten().copied().collect() };
    let (of_a, of_b): (Vec<u64>, Vec<u64>) = match design {
        Design::Interleaved => a.iter().zip(b).filter_map(|(a, b)| both(a, b)).unzip(),
        Design::Apart => (kept(a), kept(b)),
    };
    let what = counted(design);
    let all = a.len().min(b.len());
    let pairs = of_a.len().min(of_b.len());
    // A figure that holds only in a few pairs would be a biased choice.
    let enough = pairs >= RUNS_MIN && 2 * pairs >= all;
    let found = || match unit {
        Unit::Ns => effect(design, &of_a, &of_b, None, step),
        Unit::Ppm => effect_on_share(design, &of_a, &of_b, step),
    };
    let effect = if enough { found() } else { None };
    let why = match effect {
        Some(_) => String::new(),
        None if all < RUNS_MIN => {
            format!("{all} {what} were made: at least {RUNS_MIN} are needed")
        }
        None => {
            let needed = RUNS_MIN.max(all.div_ceil(2));
            format!("holds in {pairs} of {all} {what}, {needed} needed: {}", usual_reason(a, b))
        }
    };
    let outcome = Outcome::Inconclusive;
    TriedFigure { figure, unit, pairs, effect, p_adjusted: None, outcome, why }
}

/// The unit of a verdict's counts.
fn counted(design: Design) -> &'static str {
    match design {
        Design::Interleaved => "pairs",
        Design::Apart => "runs of each",
    }
}

fn both(a: &Value, b: &Value) -> Option<(u64, u64)> {
    Some((*a.as_ref().ok()?, *b.as_ref().ok()?))
}

/// The most frequent reason why runs don't count.
fn usual_reason(a: &[Value], b: &[Value]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for why in a.iter().chain(b).filter_map(|value| value.as_ref().err()) {
        *counts.entry(why).or_default() += 1;
    }
    let usual = counts.into_iter().max_by_key(|(_, count)| *count);
    usual.map_or_else(String::new, |(why, count)| format!("{why} ({count} runs)"))
}

/// Number of figures that hold in enough pairs.
fn holding(figures: &[TriedFigure]) -> usize {
    figures.iter().filter(|one| one.effect.is_some()).count()
}

/// Sets all verdicts, corrected for every figure of every setting.
pub fn corrected(design: Design, tried: &mut [TriedSetting]) {
    let p: Vec<f64> = tried
        .iter()
        .flat_map(|one| &one.figures)
        .filter_map(|figure| Some(figure.effect.as_ref()?.p))
        .collect();
    let mut adjusted = holm(&p).into_iter();
    for one in tried {
        for figure in &mut one.figures {
            let Some(effect) = &figure.effect else { continue };
            let p_adjusted = adjusted.next().unwrap_or(1.0);
            figure.p_adjusted = Some(p_adjusted);
            figure.outcome = match figure.unit {
                Unit::Ns => outcome(effect, p_adjusted),
                Unit::Ppm => outcome_on_share(effect, p_adjusted),
            };
            figure.why = match figure.outcome {
                Outcome::Inconclusive if p_adjusted >= SIGNIFICANCE => {
                    by_chance(design, figure.pairs, p.len(), p_adjusted)
                }
                Outcome::Inconclusive => {
                    let floor = effect.noise_floor * 100.0;
                    let unit = if figure.unit == Unit::Ns { "%" } else { "points" };
                    format!("not above this machine's own noise of {floor:.1} {unit}")
                }
                Outcome::Better | Outcome::Worse => String::new(),
            };
        }
        (one.outcome, one.why) = together(one);
    }
}

/// Why a difference may be chance. The smallest possible p is that of runs that all agree.
fn by_chance(design: Design, pairs: usize, hypotheses: usize, p_adjusted: f64) -> String {
    let least = match design {
        Design::Interleaved => 2.0 * 0.5_f64.powi(pairs.min(1_000) as i32),
        Design::Apart => {
            2.0 / (1..=pairs).map(|at| (pairs + at) as f64 / at as f64).product::<f64>()
        }
    };
    let what = counted(design);
    match least * hypotheses as f64 >= SIGNIFICANCE {
        true => format!("{pairs} {what} are too few to tell {hypotheses} figures from chance"),
        false => format!("no more than chance (p = {p_adjusted:.2} corrected)"),
    }
}

/// A setting that makes one figure worse is never chosen.
fn together(one: &TriedSetting) -> (Outcome, String) {
    let any = |outcome| one.figures.iter().any(|figure| figure.outcome == outcome);
    // `why` holds the reason of the void pairs until now.
    let void = match one.pairs_void {
        0 => String::new(),
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
        (false, false) if holding(&one.figures) == 0 => {
            let why = format!("no figure holds; {void}");
            (Outcome::Inconclusive, why.trim_end_matches("; ").to_owned())
        }
        (false, false) => (Outcome::Inconclusive, void),
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
