//! `tickpath ipc-bench`: one client of an `ipc` scenario, one run.

use crate::cli::ClientArguments;
use crate::exit::{DONE, NO_RESULT};
use crate::print::show;
use crate::process::die_with;
use crate::signals;
use ::ipc_bench::Link;
use ::plan::process::ipc::{IpcEnds, IpcPlan, Ready, Word};
use anyhow::Context;
use std::io::{BufRead, Write, stdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) fn ipc_bench(arguments: &ClientArguments) -> anyhow::Result<u8> {
    die_with(arguments.die_with_parent)?;
    let stop = signals::stop_flag()?;
    let mut line = String::new();
    stdin().lock().read_line(&mut line).context("cannot read the plan on stdin")?;
    let plan: IpcPlan =
        serde_json::from_str(&line).context("stdin holds no plan; see clients/IPC.md")?;
    let all_sent = Arc::new(AtomicBool::new(false));
    let mut ready = |ready: &Ready| {
        let word = wait_to_start(ready);
        if plan.ends == IpcEnds::Consumer && word.is_some() {
            await_end_of_producer(Arc::clone(&all_sent));
        }
        word
    };
    let mut link = Link { ready: &mut ready, stop: &stop, all_sent: &all_sent };
    let told = ::ipc_bench::run(&plan, &mut link)?;
    show(&format!("{}\n", serde_json::to_string(&told)?))?;
    Ok(if told.complete { DONE } else { NO_RESULT })
}

/// Reports that the threads exist, and waits for the parent, which watches them first.
fn wait_to_start(ready: &Ready) -> Option<Word> {
    let line = serde_json::to_string(ready).ok()?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).ok()?;
    let mut word = String::new();
    stdin().lock().read_line(&mut word).ok()?;
    Word::read(&word)
}

/// Waits on a thread until the parent reports that the producer, another process, has ended, or
/// until the parent itself has ended.
fn await_end_of_producer(all_sent: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let _ = stdin().lock().read_line(&mut String::new());
        all_sent.store(true, Ordering::Release);
    });
}
