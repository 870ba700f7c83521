//! `tickpath watch`: one record after another at a low rate, until Ctrl-C.
//!
//! ```text
//! this thread: carry out ── seconds ──> seen <── the metrics' thread, when it is scraped
//!      └ record: page, judge, alert, delete old ones ──┘
//! ```

mod accept;
mod http;
mod judge;
mod keep;
mod plan;
mod tally;

use crate::ci::{baseline, save_baseline};
use crate::cli::WatchArguments;
use crate::exit::DONE;
use crate::page::write_page;
use crate::print::show;
use crate::progress::Screen;
use crate::project::Project;
use crate::run::{wait_for_turn, warn_of};
use crate::signals;
use crate::watch::accept::Format;
use crate::watch::judge::{Judge, WatchVerdict, run_command};
use crate::watch::tally::Tally;
use anyhow::{Context, bail};
use clock::wall_ms;
use record::{RunRecord, directory};
use report::metrics;
use scenario::Interrupt;
use scenario::{Conduct, Progress};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long to wait after a failure.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(10);
/// Pause between two records, in which another measurement can take the cores.
const PAUSE_FOR_OTHERS: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(100);

type SharedTally = Arc<Mutex<Tally>>;

pub(crate) fn watch(arguments: &WatchArguments) -> anyhow::Result<u8> {
    let project = Project::find()?;
    let out = project.directory(arguments.output.out.as_deref());
    let name = project.scenario(&arguments.scenario, &[])?.name;
    let records = out.join(format!("watch-{name}"));
    let (conduct, plan) = plan::plan(arguments, &project, &records)?;
    if !plan.refusals.is_empty() {
        bail!("{}", plan.refusals.join("; "));
    }
    let judge = Judge::new(arguments, &out, &conduct, &plan)?;
    let seen = SharedTally::new(Mutex::new(Tally::new(&name)));
    let address = serve(arguments.listen, &seen, conduct.measured_cores()?)?;
    let interrupt = signals::interrupt()?;
    warn_of(&plan);
    greet(arguments, &name, &records, address)?;
    let mut watch = Watch { arguments, conduct, judge, seen, out, records, name };
    watch.go_on(&interrupt)?;
    Ok(DONE)
}

/// Serves the metrics on a thread of its own, away from the measured cores.
fn serve(
    address: SocketAddr,
    seen: &SharedTally,
    measured: Vec<usize>,
) -> anyhow::Result<SocketAddr> {
    let listener = http::listen(address)?;
    let address = listener.local_addr().context("cannot tell the port")?;
    let seen = seen.clone();
    std::thread::Builder::new()
        .name("metrics".to_owned())
        .spawn(move || {
            let mut cores = host::thread::allowed().unwrap_or_default();
            cores.retain(|core| !measured.contains(core));
            if !cores.is_empty() {
                let _ = host::thread::run_on(&cores);
            }
            let body = move |format| {
                let families = locked(&seen).families();
                match format {
                    Format::Text => metrics::text(&families).into_bytes(),
                    Format::Protobuf => metrics::protobuf(&families),
                }
            };
            if let Err(error) = http::serve(listener, Arc::new(body)) {
                eprintln!("warning: no metrics are served: {error}");
            }
        })
        .context("cannot start the thread for the metrics")?;
    Ok(address)
}

fn locked(seen: &SharedTally) -> MutexGuard<'_, Tally> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn greet(
    arguments: &WatchArguments,
    name: &str,
    records: &Path,
    address: SocketAddr,
) -> anyhow::Result<()> {
    if arguments.output.json {
        return show(&format!("{}\n", serde_json::json!({"listening": address.to_string()})));
    }
    show(&format!(
        "watching {name}: a record every {} s in {}, the newest {} are kept\n\
         metrics: http://{address}/metrics · Ctrl-C ends it\n",
        arguments.every.as_secs(),
        records.display(),
        arguments.keep
    ))
}

struct Watch<'a> {
    arguments: &'a WatchArguments,
    conduct: Conduct,
    judge: Judge,
    seen: SharedTally,
    /// Where baselines are.
    out: PathBuf,
    /// Where its records are.
    records: PathBuf,
    name: String,
}

impl Watch<'_> {
    /// One record after another, until `interrupt`.
    ///
    /// # Errors
    /// If the first record can't be made. Later failures are printed and counted.
    fn go_on(&mut self, interrupt: &Interrupt) -> anyhow::Result<()> {
        let mut is_first = true;
        while !interrupt.is_set() {
            let Some(turn) = wait_for_turn(&self.arguments.output, &self.conduct, interrupt)?
            else {
                break;
            };
            let made = self.measure(interrupt);
            drop(turn);
            match made {
                Ok((record, path)) => self.take(&record, &path, interrupt.is_set())?,
                Err(error) if is_first => return Err(error),
                Err(error) => {
                    eprintln!("warning: nothing was measured: {}", crate::errors::one_line(&error));
                    locked(&self.seen).failed();
                    pause(PAUSE_AFTER_FAILURE, interrupt);
                }
            }
            is_first = false;
            pause(PAUSE_FOR_OTHERS, interrupt);
        }
        Ok(())
    }

    fn measure(&self, interrupt: &Interrupt) -> anyhow::Result<(RunRecord, PathBuf)> {
        let mut screen = Screen::new(self.arguments.output.quiet);
        let mut say = |progress: Progress<'_>| {
            let mut seen = locked(&self.seen);
            match &progress {
                Progress::Part(part) => seen.part(part.name),
                Progress::Second(second) => seen.second(second),
                Progress::Machine | Progress::Warning(_) => {}
            }
            if let Some(screen) = &mut screen {
                screen.below = report::live_histogram(seen.lately(), Screen::columns());
                drop(seen);
                screen.show(progress);
            }
        };
        Ok(self.conduct.carry_out(interrupt, Some(&mut say))?)
    }

    /// Keeps, judges and shows a record, and deletes old ones.
    fn take(&mut self, record: &RunRecord, path: &Path, is_last: bool) -> anyhow::Result<()> {
        // The record counts; a page that can't be written is no reason to end.
        if let Err(error) = write_page(path, record, &path.join("report.html")) {
            eprintln!("warning: {}", crate::errors::one_line(&error));
        }
        let machine = directory::load_machine(path).unwrap_or_default();
        let judged = self.judge.judge(record, &machine);
        let letters = machine.before.fixed.identity();
        locked(&self.seen).record(record, letters, &judged.gates, wall_ms());
        self.tell(record, path, &judged)?;
        if let (false, Some(name)) = (is_last, self.arguments.save_baseline.clone())
            && !self.judge.has_baseline()
        {
            self.keep_baseline(&name, record, path);
        }
        let keep = self.arguments.keep as usize;
        if let Err(error) = keep::delete_old(&self.records, &self.name, keep) {
            eprintln!("warning: {}", crate::errors::one_line(&error));
        }
        Ok(())
    }

    fn tell(&self, record: &RunRecord, path: &Path, judged: &WatchVerdict) -> anyhow::Result<()> {
        let mut said: Vec<String> = Vec::new();
        for (word, gates) in [("ALERT", &judged.alerts), ("passes again", &judged.recovered)] {
            said.extend(gates.iter().map(|gate| format!("{word}: {}: {}", gate.gate, gate.why)));
        }
        if self.arguments.output.json {
            let line = serde_json::json!({
                "record": path, "void_because": record.void_because, "holds": record.holds(0.5),
                "gates": judged.gates, "said": said,
            });
            show(&format!("{line}\n"))?;
        } else {
            let mut lines = vec![report::record_line(record, &path.display().to_string())];
            lines.extend(said);
            show(&format!("{}\n", lines.join("\n")))?;
        }
        if let (Some(command), false) = (&self.arguments.alert_command, judged.alerts.is_empty()) {
            let alert: Vec<String> =
                judged.alerts.iter().map(|gate| format!("{}: {}", gate.gate, gate.why)).collect();
            if let Err(why) = run_command(command, &alert.join("\n"), path) {
                eprintln!("warning: --alert-command: {why}");
            }
        }
        Ok(())
    }

    fn keep_baseline(&mut self, name: &str, record: &RunRecord, path: &Path) {
        let kept = save_baseline(&self.out, name, path, record)
            .and_then(|()| self.judge.take_baseline(name, &baseline(&self.out, name)?));
        if let Err(error) = kept {
            eprintln!("warning: {}", crate::errors::one_line(&error));
        }
    }
}

/// Waits, but not after Ctrl-C.
fn pause(time: Duration, interrupt: &Interrupt) {
    let mut left = time;
    while !interrupt.is_set() && !left.is_zero() {
        let part = left.min(POLL);
        std::thread::sleep(part);
        left -= part;
    }
}
