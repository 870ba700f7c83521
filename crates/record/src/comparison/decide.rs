//! The verdict over all figures of a comparison.

use crate::RunRecord;
use crate::comparison::compared::ComparedFigure;
use crate::comparison::file::Comparison;
use crate::comparison::gate::Gate;
use crate::text::counted;
use stats::compare::RUNS_MIN;
use stats::verdict::Outcome;

impl Comparison {
    /// Decides outcome and gates from the figures, the arms and the reasons against a comparison.
    ///
    /// `of_b` are the records of B, for gates with an absolute limit.
    pub fn decide(&mut self, gates: &[Gate], of_b: &[&RunRecord]) {
        let comparable = self.incomparable_because.is_empty() || self.forced;
        if !comparable {
            self.figures.iter_mut().for_each(|one| one.outcome = Outcome::Inconclusive);
        }
        let (deciding, runs) = (deciding(&self.figures), [self.a.runs, self.b.runs]);
        let any = |outcome| deciding.iter().any(|one| one.outcome == outcome);
        (self.outcome, self.why) = match (any(Outcome::Better), any(Outcome::Worse)) {
            _ if !comparable => (Outcome::Inconclusive, self.incomparable_because.join("; ")),
            _ if self.figures.is_empty() => (Outcome::Inconclusive, self.too_few()),
            (true, false) => {
                (Outcome::Better, said(&deciding, runs, [Outcome::Better, Outcome::NotKnown]))
            }
            (false, true) => {
                (Outcome::Worse, said(&deciding, runs, [Outcome::Worse, Outcome::NotKnown]))
            }
            (true, true) => {
                let both = said(&deciding, runs, [Outcome::Better, Outcome::Worse]);
                let why = format!("{both}: say which one counts with --figure or --gate");
                (Outcome::Inconclusive, why)
            }
            (false, false) if any(Outcome::Inconclusive) => {
                let n = self.b.runs;
                let why = format!(
                    "{} of each are too few to decide about so many candidates: make more",
                    counted(n, "run")
                );
                (Outcome::Inconclusive, why)
            }
            (false, false) => {
                let outcome =
                    if any(Outcome::NotKnown) { Outcome::NotKnown } else { Outcome::NoDifference };
                (outcome, said(&deciding, runs, [Outcome::NotKnown, Outcome::NoDifference]))
            }
        };
        self.gates = gates.iter().map(|gate| gate.judge(&self.figures, of_b, comparable)).collect();
    }

    fn too_few(&self) -> String {
        format!(
            "A has {}, B has {}, too few to decide: measure {RUNS_MIN} runs or more of each, long \
             enough for the figure",
            counted(self.a.runs, "run"),
            counted(self.b.runs, "run")
        )
    }

    /// The figure that stands for all: the first one with the outcome of all.
    pub fn main_figure(&self) -> Option<&ComparedFigure> {
        let of_all = self.figures.iter().find(|one| one.outcome == self.outcome);
        of_all.or(self.figures.first())
    }
}

/// The figures that make the verdict. A percentile and its ratio to the floor answer one question:
/// if one is not known and the other shows no difference, only the latter counts. Disturbance of
/// both halves alike leaves the ratio known; that of the floor alone leaves the percentile known.
fn deciding(figures: &[ComparedFigure]) -> Vec<&ComparedFigure> {
    let says_more = |one: &ComparedFigure, other: &ComparedFigure| {
        one.outcome == Outcome::NoDifference && other.outcome == Outcome::NotKnown
    };
    let is_dropped = |one: &ComparedFigure| {
        figures.iter().any(|other| {
            let pair = one.is_ratio_of(other) || other.is_ratio_of(one);
            pair && says_more(other, one)
        })
    };
    figures.iter().filter(|one| !is_dropped(one)).collect()
}

/// Which figures have these outcomes, and why they are not known; `runs` are those of A and of B.
fn said(figures: &[&ComparedFigure], runs: [usize; 2], outcomes: [Outcome; 2]) -> String {
    let of = |outcome: Outcome| -> Option<String> {
        let all = || figures.iter().filter(|one| one.outcome == outcome);
        let names: Vec<String> = all().map(|one| one.name()).collect();
        let names = names.join(", ");
        let first = all().next()?;
        Some(match outcome {
            Outcome::NotKnown => {
                format!("not known in {names}: disturbed runs of {}", first.disturbance)
            }
            Outcome::NoDifference if first.held != Some(runs) => {
                format!("no difference seen in {names}; disturbed runs of {}", first.disturbance)
            }
            outcome => format!("{} in {names}", outcome.name()),
        })
    };
    outcomes.into_iter().filter_map(of).collect::<Vec<_>>().join("; ")
}
