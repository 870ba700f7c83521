//! `tickpath relay`: one client of an `ipc` scenario, one run.

use crate::cli::RelayArguments;
use crate::process::die_with;
use crate::{DONE, INVALID, signals};
use anyhow::Context;
use relay::plan::{Plan, Ready};
use std::io::{BufRead, Write, stdin};

pub(crate) fn relay(arguments: &RelayArguments) -> anyhow::Result<u8> {
    die_with(arguments.die_with_parent)?;
    let stop = signals::stop_flag()?;
    let mut line = String::new();
    stdin().lock().read_line(&mut line).context("cannot read the plan on stdin")?;
    let plan: Plan =
        serde_json::from_str(&line).context("what stands on stdin is no plan; see IPC.md")?;
    let told = relay::run(&plan, &stop, &mut wait_to_start)?;
    println!("{}", serde_json::to_string(&told)?);
    Ok(if told.complete { DONE } else { INVALID })
}

/// Says that the threads are there, and waits for the word: whoever started us watches them first.
fn wait_to_start(ready: &Ready) -> bool {
    let said = serde_json::to_string(ready).map(|line| {
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "{line}").and_then(|()| stdout.flush())
    });
    let mut word = String::new();
    matches!(said, Ok(Ok(()))) && stdin().lock().read_line(&mut word).is_ok_and(|bytes| bytes > 0)
}
