//! Compares the figures of A's runs with those of the candidates.

use crate::comparison::clocks::relate;
use crate::comparison::compared::{ComparedFigure, OVER_FLOOR};
use crate::comparison::disturbance::{JudgedRun, between, whose};
use crate::comparison::runs::{ArmSeries, Runs};
use crate::comparison::selector::Figure;
use crate::unit::Unit;
use stats::compare::{Design, effect};
use stats::verdict::{Difference, Method, Scale, Verdict, judge};

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
    /// Ignore what disturbed the runs (`--force`).
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
    let found: Vec<Vec<FoundFigure>> =
        candidates.iter().map(|b| differences(question, a, b)).collect();
    let verdicts = judge(
        &found
            .iter()
            .map(|one| one.iter().map(|one| &one.difference).collect())
            .collect::<Vec<_>>(),
    );
    let pairs = found.into_iter().zip(verdicts);
    pairs
        .map(|(all, verdicts)| all.into_iter().zip(verdicts).map(FoundFigure::compared).collect())
        .collect()
}

/// A figure of a row of A, and how B's differs from it.
struct FoundFigure<'a> {
    row: &'a ArmSeries,
    figure: String,
    unit: Unit,
    difference: Difference,
    /// Arms with disturbed runs, and the cause.
    disturbance: String,
    /// How the offset of two clocks was dealt with.
    one_way: String,
}

impl FoundFigure<'_> {
    fn compared((found, verdict): (FoundFigure<'_>, Verdict)) -> ComparedFigure {
        let FoundFigure { row, figure, unit, difference, disturbance, one_way } = found;
        ComparedFigure {
            subject: row.subject.clone(),
            series: row.series.clone(),
            kind: row.kind,
            figure,
            unit,
            range: difference.range(),
            held: Some(difference.held),
            holds: difference.holds(),
            p_adjusted: verdict.p_adjusted,
            outcome: verdict.outcome,
            disturbance,
            one_way,
            effect: difference.effect,
        }
    }
}

fn differences<'a>(question: &Question, a: &'a Runs, b: &Runs) -> Vec<FoundFigure<'a>> {
    // With one subject in each, compare those two, whatever their names.
    let alone = (a.subjects().len(), b.subjects().len()) == (1, 1);
    let first = question.figures.iter().map(|figure| figure.rank()).fold(1.0, f64::min);
    let mut found = Vec::new();
    for row in &a.rows {
        let same = |of_b: &&ArmSeries| {
            (&of_b.series, of_b.kind) == (&row.series, row.kind)
                && (alone || of_b.subject == row.subject)
        };
        let Some(of_b) = b.rows.iter().find(same) else { continue };
        for figure in &question.figures {
            let method = Method {
                design: question.design,
                scale: Scale::Factor,
                control: control(question, a, b, row, *figure),
                step: a.step_ns.max(b.step_ns),
                is_first: figure.rank() <= first,
            };
            let is_one_way = !row.offsets.is_empty();
            let offsets = (&row.offsets[..], &of_b.offsets[..]);
            let mut find = |(figure, one_way), unit, method: &Method, of_a: &[_], of_b: &[_]| {
                let difference = between(method, of_a, of_b, question.forced);
                let disturbance = whose(of_a, of_b);
                let one = |difference| FoundFigure {
                    row,
                    figure,
                    unit,
                    difference,
                    disturbance,
                    one_way,
                };
                found.extend(difference.map(one));
            };
            if let Some((mut of_a, mut of_b)) = row.figures(*figure).zip(of_b.figures(*figure)) {
                let one_way = relate((offsets.0, &mut of_a), (offsets.1, &mut of_b));
                find((figure.name(), one_way), Unit::Ns, &method, &of_a, &of_b);
            }
            // Its floor has an offset of its own.
            let has_ratio =
                method.is_first && !is_one_way && a.floor.is_some() && a.floor == b.floor;
            let ratios = ratios(row, of_b, *figure).filter(|_| has_ratio);
            if let Some(Ratios { of_a, of_b, floor_ns }) = ratios {
                // Either side of the ratio may move by a step.
                let step = (2e6 * method.step as f64 / floor_ns.max(1) as f64).ceil() as u64;
                let method = Method {
                    control: None,
                    step: step.max(RATIO_STEP_PPM),
                    // The absolute figure is asked first: six pairs decide it.
                    is_first: false,
                    ..method
                };
                let name = figure.name() + OVER_FLOOR;
                find((name, String::new()), Unit::Ppm, &method, &of_a, &of_b);
            }
        }
    }
    found
}

/// Both sides of a ratio come from histograms of three digits.
const RATIO_STEP_PPM: u64 = 2_000;

/// The ratios to the floor of A's and B's runs, ppm, and the smallest floor.
struct Ratios {
    of_a: Vec<JudgedRun>,
    of_b: Vec<JudgedRun>,
    floor_ns: u64,
}

fn ratios(a: &ArmSeries, b: &ArmSeries, figure: Figure) -> Option<Ratios> {
    let ((of_a, floor_a), (of_b, floor_b)) = a.ratios(figure).zip(b.ratios(figure))?;
    Some(Ratios { of_a, of_b, floor_ns: floor_a.min(floor_b) })
}

/// Change of the raw echo between A and B.
fn control(question: &Question, a: &Runs, b: &Runs, of: &ArmSeries, figure: Figure) -> Option<f64> {
    if question.design == Design::Interleaved || !question.floor_is_control {
        return None;
    }
    let floor = |runs: &Runs| -> Option<Vec<u64>> {
        let same = |row: &&ArmSeries| (&row.series, row.kind) == (&of.series, of.kind);
        runs.floors.iter().find(same)?.runs.iter().map(|run| figure.of(run)).collect()
    };
    let step_ns = a.step_ns.max(b.step_ns);
    let (effect, _) = effect(question.design, &floor(a)?, &floor(b)?, None, step_ns)?;
    Some(effect.change)
}
