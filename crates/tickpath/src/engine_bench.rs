//! `tickpath engine-bench`: one client of an `engine` or `soak` scenario, one run.

use crate::cli::EngineBenchArguments;
use crate::print::show;
use crate::process::{die_with, keep_off, tell};
use crate::{DONE, NO_RESULT, signals};
use ::engine_bench::plan::Plan;
use anyhow::Context;
use std::io::{Read, stdin};

pub(crate) fn engine_bench(arguments: &EngineBenchArguments) -> anyhow::Result<u8> {
    die_with(arguments.die_with_parent)?;
    let stop = signals::stop_flag()?;
    let mut text = String::new();
    stdin().read_to_string(&mut text).context("cannot read the plan on stdin")?;
    let plan: Plan = serde_json::from_str(&text).context("what stands on stdin is no plan")?;
    keep_off(plan.core);
    let result = ::engine_bench::run(&plan, &stop, &mut tell)?;
    show(&format!("{}\n", serde_json::to_string(&result)?))?;
    Ok(if result.complete { DONE } else { NO_RESULT })
}
