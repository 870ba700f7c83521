//! The series of a subject over several runs, each judged by its disturbed share.

use crate::conduct::{Conduct, Entrant};
use crate::disturbance::{disturbed, moves};
use crate::evidence::Run;
use record::merge::pooling::{self, FigureJudge};
use record::{DisturbedShare, Kind, Series};

/// Every series of `entrant` over `runs`, judged.
pub(crate) fn judged(
    conduct: &Conduct,
    entrant: &Entrant,
    runs: &[&Run],
    spread: bool,
) -> Vec<Series> {
    let totals: Vec<_> = runs.iter().map(|run| &run.totals).collect();
    let share = |name: &str, kind: Kind, run: usize| {
        let measured = runs[run].measured.iter().find(|one| one.subject == entrant.name);
        match measured {
            Some(measured) => disturbed(conduct, runs[run], measured, name, kind),
            None => DisturbedShare::not_known(format!("run {} did not measure it", run + 1)),
        }
    };
    let direction = |_: &str, kind: Kind| moves(conduct, entrant, kind);
    let judging = FigureJudge { disturbed: &share, moves: &direction, spread };
    pooling::series(&entrant.name, &totals, conduct.scenario.runs, &judging)
}
