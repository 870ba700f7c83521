//! `tickpath endpoint`, `engine-bench`, `fan-out-bench` and `feed-bench`: one client of a scenario
//! of that kind, one run.

use crate::cli::ClientArguments;
use crate::exit::{DONE, NO_RESULT};
use crate::print::show;
use crate::process::{die_with, keep_off, tell};
use crate::signals;
use anyhow::Context;
use record::ClientResult;
use serde::de::DeserializeOwned;
use std::io::{Read, stdin};

pub(crate) fn endpoint(arguments: &ClientArguments) -> anyhow::Result<u8> {
    die_with(arguments.die_with_parent)?;
    let stop = signals::stop_flag()?;
    let plan: ::plan::process::endpoint::EndpointPlan = plan_on_stdin()?;
    keep_off(plan.core);
    let probed = ::endpoint::run(&plan, &stop)?;
    // They become warnings of the record.
    probed.notes.iter().for_each(|note| eprintln!("warning: {note}"));
    say(&probed.result)
}

pub(crate) fn engine_bench(arguments: &ClientArguments) -> anyhow::Result<u8> {
    die_with(arguments.die_with_parent)?;
    let stop = signals::stop_flag()?;
    let plan: ::plan::process::engine::EnginePlan = plan_on_stdin()?;
    keep_off(plan.core);
    say(&::engine_bench::run(&plan, &stop, &mut tell)?)
}

pub(crate) fn fan_out_bench(arguments: &ClientArguments) -> anyhow::Result<u8> {
    die_with(arguments.die_with_parent)?;
    let stop = signals::stop_flag()?;
    let plan: ::plan::process::fan_out::FanOutPlan = plan_on_stdin()?;
    keep_off(plan.core);
    say(&fanout_bench::run(&plan, &stop)?)
}

pub(crate) fn feed_bench(arguments: &ClientArguments) -> anyhow::Result<u8> {
    die_with(arguments.die_with_parent)?;
    let stop = signals::stop_flag()?;
    let plan: ::plan::process::feed::FeedPlan = plan_on_stdin()?;
    keep_off(plan.core);
    say(&::feed_bench::run(&plan, &stop)?)
}

/// The plan on stdin.
pub(crate) fn plan_on_stdin<P: DeserializeOwned>() -> anyhow::Result<P> {
    let mut text = String::new();
    stdin().read_to_string(&mut text).context("cannot read the plan on stdin")?;
    serde_json::from_str(&text).context("stdin holds no plan; `tickpath run` writes one there")
}

fn say(result: &ClientResult) -> anyhow::Result<u8> {
    show(&format!("{}\n", serde_json::to_string(result)?))?;
    Ok(if result.complete { DONE } else { NO_RESULT })
}
