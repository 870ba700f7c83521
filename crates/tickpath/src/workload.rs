//! `tickpath workload`: one client of an `engine` or `soak` scenario, one run.

use crate::cli::WorkloadArguments;
use crate::print::show;
use crate::process::{die_with, keep_off, tell};
use crate::{DONE, INVALID, signals};
use anyhow::Context;
use std::io::{Read, stdin};
use workload::plan::Plan;

pub(crate) fn workload(arguments: &WorkloadArguments) -> anyhow::Result<u8> {
    die_with(arguments.die_with_parent)?;
    let stop = signals::stop_flag()?;
    let mut text = String::new();
    stdin().read_to_string(&mut text).context("cannot read the plan on stdin")?;
    let plan: Plan = serde_json::from_str(&text).context("what stands on stdin is no plan")?;
    keep_off(plan.core);
    let result = workload::run(&plan, &stop, &mut tell)?;
    show(&format!("{}\n", serde_json::to_string(&result)?))?;
    Ok(if result.complete { DONE } else { INVALID })
}
