//! The structures that carry messages. A structure is a row of [`plan::process::ipc::STRUCTURES`]
//! and a pair of ends.

pub(crate) mod ends;
mod ours;
mod peers;

use crate::report::ClientReport;
use crate::run::{IpcBenchError, Link};
use plan::process::ipc::{IpcPlan, find_for};
use plan::range::OutOfRange;

/// Runs a plan over one structure.
type Run = fn(&IpcPlan, &mut Link) -> Result<ClientReport, IpcBenchError>;

/// How to run each structure that plans can name.
const RUNS: &[(&str, Run)] = &[
    ("ring", ours::ring),
    ("ring-many", ours::ring_many),
    ("queue", ours::queue),
    ("queue-unchecked", ours::queue_unchecked),
    ("distributor", ours::distributor),
    ("rtrb", peers::rtrb),
    ("crossbeam", peers::crossbeam),
];

/// Runs the plan. Ends early, with the samples so far, if `link.stop` is set.
///
/// # Errors
/// If there is no result at all. An interrupted run has a result that says so.
pub fn run(plan: &IpcPlan, link: &mut Link) -> Result<ClientReport, IpcBenchError> {
    plan.check()?;
    let structure = find_for(&plan.structure, plan.ends)?;
    let run = RUNS.iter().find(|(name, _)| *name == structure.name);
    let (_, run) =
        run.ok_or_else(|| OutOfRange::new("structure", structure.name, "no code runs it"))?;
    run(plan, link)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::process::ipc::STRUCTURES;

    #[test]
    fn every_structure_that_a_plan_can_name_is_run() {
        let names: Vec<&str> = RUNS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, STRUCTURES.map(|structure| structure.name));
    }
}
