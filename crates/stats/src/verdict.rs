//! The answer to a comparison. A difference that the runs show and that no disturbance of them can
//! have made is better or worse. One that disturbance may have made is not known. Figures that are
//! close differ by less than a stated share.

use crate::bracket::holds;
use crate::compare::{Design, Effect, RUNS_MIN, SIGNIFICANCE, effect, effect_on_share};
use crate::permutation::{Scores, holm, joint, pairs_p_least};
use serde::{Deserialize, Serialize};

/// Result of a comparison of B with A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// B's latency is lower, whatever disturbed the runs.
    Better,
    /// B's latency is higher, whatever disturbed the runs.
    Worse,
    /// No difference was seen above the stated size.
    NoDifference,
    /// Disturbance may have made the difference, or hidden one.
    NotKnown,
    /// Not judged: too few runs, A and B can't be compared, or figures contradict each other.
    Inconclusive,
}

impl Outcome {
    /// The name in words.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Better => "better",
            Outcome::Worse => "worse",
            Outcome::NoDifference => "no difference seen",
            Outcome::NotKnown => "not known: disturbed",
            Outcome::Inconclusive => "inconclusive",
        }
    }

    /// Whether it says that A and B differ.
    pub fn is_difference(self) -> bool {
        matches!(self, Outcome::Better | Outcome::Worse)
    }
}

/// A figure of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunFigure {
    /// The measured value.
    pub value: u64,
    /// The two values between which it lies without the disturbance; `None` if not judged.
    pub bracket: Option<[u64; 2]>,
}

impl RunFigure {
    /// A value that no disturbance changes.
    pub fn exact(value: u64) -> RunFigure {
        RunFigure { value, bracket: Some([value, value]) }
    }

    /// Whether the figure holds in its run.
    pub fn holds(&self) -> bool {
        self.bracket.is_some_and(|bracket| holds(self.value, bracket))
    }
}

/// The scale on which a figure is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Times, ns: a difference is a factor.
    Factor,
    /// Shares, ppm: a difference is a number of points.
    Points,
}

/// Share of all permitted errors that the figures asked first may make: just enough for six pairs
/// that all agree.
const FIRST_SHARE: f64 = 0.64;

/// How a figure is compared.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// How the runs were made.
    pub design: Design,
    /// The figure's scale.
    pub scale: Scale,
    /// Change of something that cannot have changed, for runs made apart.
    pub control: Option<f64>,
    /// The clock's step, ns, or the smallest visible share, ppm.
    pub step: u64,
    /// Whether it is asked before the others, so that few pairs decide it whatever those show.
    pub is_first: bool,
}

impl Method {
    fn effect(&self, a: &[u64], b: &[u64]) -> Option<(Effect, Scores)> {
        match self.scale {
            Scale::Factor => effect(self.design, a, b, self.control, self.step),
            Scale::Points => effect_on_share(self.design, a, b, self.step),
        }
    }
}

/// How a figure of B differs from A's: as measured, and in the worst cases of the disturbance.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The effect as measured.
    pub effect: Effect,
    /// Runs of A and of B in which the figure holds.
    pub held: [usize; 2],
    runs: [usize; 2],
    scale: Scale,
    is_first: bool,
    scores: Scores,
    /// The effect with each run at the end of its bracket that makes B look best, and worst; `None`
    /// if a run was not judged.
    extremes: Option<[(Effect, Scores); 2]>,
}

impl Difference {
    /// Compares a figure of A's runs with that of B's. `None` if there are too few runs.
    pub fn of(method: &Method, a: &[RunFigure], b: &[RunFigure]) -> Option<Difference> {
        let values = |runs: &[RunFigure]| runs.iter().map(|run| run.value).collect::<Vec<_>>();
        let (effect, scores) = method.effect(&values(a), &values(b))?;
        let end = |runs: &[RunFigure], end: usize| -> Option<Vec<u64>> {
            runs.iter().map(|run| Some(run.bracket?[end])).collect()
        };
        let exact =
            |runs: &[RunFigure]| runs.iter().all(|run| run.bracket == Some([run.value, run.value]));
        let extremes = if exact(a) && exact(b) {
            Some([(effect.clone(), scores.clone()), (effect.clone(), scores.clone())])
        } else {
            let extreme = |of_a, of_b| method.effect(&end(a, of_a)?, &end(b, of_b)?);
            extreme(1, 0).zip(extreme(0, 1)).map(|(best, worst)| [best, worst])
        };
        let held = [a, b].map(|runs| runs.iter().filter(|run| run.holds()).count());
        let runs = [a.len(), b.len()];
        let Method { scale, is_first, .. } = *method;
        Some(Difference { effect, held, runs, scale, is_first, scores, extremes })
    }

    /// The interval of the change, widened by all that disturbance may have done. `None` if a run
    /// was not judged.
    pub fn range(&self) -> Option<[f64; 2]> {
        let [best, worst] = self.extremes.as_ref()?;
        let [low, high] = self.effect.interval;
        Some([best.0.interval[0].min(low), worst.0.interval[1].max(high)])
    }

    /// The case in which disturbance made as much of the measured difference as it can.
    fn least(&self) -> Option<&(Effect, Scores)> {
        let [best, worst] = self.extremes.as_ref()?;
        Some(if self.effect.change > 0.0 { best } else { worst })
    }

    /// Whether the figure holds in at least half of the runs of both.
    pub fn holds(&self) -> bool {
        self.held.iter().zip(self.runs).all(|(held, runs)| 2 * held >= runs)
    }
}

/// Whether an effect is more than chance and more than noise, and in which direction.
pub(crate) fn direction(scale: Scale, effect: &Effect, p_adjusted: f64) -> Option<Outcome> {
    let beyond_noise = match scale {
        Scale::Factor => effect.change.ln_1p().abs() > effect.noise_floor.ln_1p(),
        Scale::Points => effect.change.abs() > effect.noise_floor,
    };
    let is_better = effect.change < 0.0;
    (p_adjusted < SIGNIFICANCE && beyond_noise).then_some(if is_better {
        Outcome::Better
    } else {
        Outcome::Worse
    })
}

/// The outcome of one figure, and the probability of chance, corrected for all figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// The corrected probability.
    pub p_adjusted: f64,
    /// The outcome.
    pub outcome: Outcome,
}

/// Judges the figures of several candidates. The correction covers all figures of all candidates:
/// those of one candidate come from the same runs, so the first ones are tested jointly, and so are
/// the others; Holm's method joins these families. It covers the worst cases in the same way.
pub fn judge(candidates: &[Vec<&Difference>]) -> Vec<Vec<Verdict>> {
    let of = |one: &Difference| one.scores.clone();
    // A figure without a worst case asks no question there.
    let least =
        |one: &Difference| one.least().map_or(one.scores.clone(), |(_, scores)| scores.clone());
    let (p, p_least) = (corrected(candidates, &of), corrected(candidates, &least));
    let verdict = |((one, p_adjusted), p_least): ((&&Difference, f64), f64)| {
        let seen = direction(one.scale, &one.effect, p_adjusted);
        let left = one.least().and_then(|(effect, _)| direction(one.scale, effect, p_least));
        let outcome = match seen {
            Some(outcome) if left == seen => outcome,
            None if !decides(one.scores.p_least(), candidates.len()) => Outcome::Inconclusive,
            None if one.holds() => Outcome::NoDifference,
            _ => Outcome::NotKnown,
        };
        Verdict { p_adjusted, outcome }
    };
    let all = candidates.iter().zip(p).zip(p_least);
    all.map(|((figures, p), least)| figures.iter().zip(p).zip(least).map(verdict).collect())
        .collect()
}

/// Whether the smallest probability that runs can have passes the correction for `candidates`.
fn decides(p_least: f64, candidates: usize) -> bool {
    p_least * candidates as f64 / FIRST_SHARE < SIGNIFICANCE
}

/// Interleaved pairs without which no difference of `candidates` candidates could pass the
/// correction, however large it is.
pub fn pairs_needed(candidates: usize) -> usize {
    let is_enough = |pairs: &usize| decides(pairs_p_least(*pairs), candidates.max(1));
    (RUNS_MIN..).find(is_enough).expect("more pairs always decide")
}

/// The corrected probability of each figure of each candidate.
fn corrected(
    candidates: &[Vec<&Difference>],
    scores: &dyn Fn(&Difference) -> Scores,
) -> Vec<Vec<f64>> {
    let mut families: Vec<Family> = Vec::new();
    for (candidate, figures) in candidates.iter().enumerate() {
        for (place, figure) in figures.iter().enumerate() {
            let one = scores(figure);
            let same = |family: &&mut Family| {
                (family.candidate, family.is_first) == (candidate, figure.is_first)
                    && family.scores[0].size() == one.size()
            };
            match families.iter_mut().find(same) {
                Some(family) => {
                    family.places.push(place);
                    family.scores.push(one);
                }
                None => families.push(Family {
                    candidate,
                    is_first: figure.is_first,
                    places: vec![place],
                    scores: vec![one],
                }),
            }
        }
    }
    let within: Vec<Vec<f64>> =
        families.iter().map(|family| joint(&family.scores.iter().collect::<Vec<_>>())).collect();
    let smallest: Vec<f64> = within.iter().map(|p| p.iter().copied().fold(1.0, f64::min)).collect();
    let weights = weights(&families);
    let adjusted = holm(&smallest, &weights);
    let mut all: Vec<Vec<f64>> = candidates.iter().map(|one| vec![1.0; one.len()]).collect();
    let factors = smallest.iter().zip(adjusted).map(|(smallest, adjusted)| adjusted / smallest);
    for ((family, p), factor) in families.iter().zip(within).zip(factors) {
        for (place, p) in family.places.iter().zip(p) {
            all[family.candidate][*place] = (p * factor).min(1.0);
        }
    }
    all
}

/// The share of errors of each family: candidates are alike.
fn weights(families: &[Family]) -> Vec<f64> {
    let of = |family: &Family| {
        let same = |other: &&Family| other.candidate == family.candidate;
        let of_candidate = || families.iter().filter(same);
        let alike = of_candidate().filter(|other| other.is_first == family.is_first).count();
        let share = match family.is_first {
            _ if alike == of_candidate().count() => 1.0,
            true => FIRST_SHARE,
            false => 1.0 - FIRST_SHARE,
        };
        share / alike as f64
    };
    families.iter().map(of).collect()
}

/// Figures of one candidate that the same runs have.
struct Family {
    candidate: usize,
    is_first: bool,
    places: Vec<usize>,
    scores: Vec<Scores>,
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
