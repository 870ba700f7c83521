//! `tickpath noise`.

use crate::cli::NoiseArguments;
use crate::exit::{DONE, NO_RESULT};
use crate::page::write_page;
use crate::print::{print_record, show};
use crate::process::raise_descriptors;
use crate::project::Project;
use crate::signals;
use crate::tool::{TOOL, command_line};
use crate::turn::Turn;
use anyhow::bail;
use host::scheduling::has_fair_server;
use host::{Cores, Root, Topology};
use noise::meter::SECONDS_MAX;
use noise::run::Run;
use std::io::IsTerminal;
use std::sync::atomic::Ordering;

/// As many cores as a run measures on: the exchange's and the client's.
const CORES_DEFAULT: usize = 2;
/// Descriptors that the kernel's events of one core take, at most.
const EVENTS_A_CORE: u64 = 100;

pub(crate) fn noise(arguments: &NoiseArguments) -> anyhow::Result<u8> {
    let seconds = arguments.seconds;
    if !(seconds > 0.0 && seconds <= SECONDS_MAX) {
        bail!("--seconds {seconds}: take more than 0 and at most {SECONDS_MAX}");
    }
    let root = Root::system();
    let (topology, allowed) = (Topology::read(&root), host::thread::allowed()?);
    let wanted = match &arguments.cores {
        Cores::Auto => CORES_DEFAULT,
        Cores::List(cores) => cores.len(),
    };
    let placement = arguments.cores.place(&topology, &allowed, wanted)?;
    let mut cores = placement.cores;
    cores.sort_unstable();
    cores.dedup();
    if cores.is_empty() {
        bail!("there is no core to measure on; name one with --cores");
    }
    raise_descriptors(EVENTS_A_CORE * cores.len() as u64);
    let release = root.read_text("proc/sys/kernel/osrelease").unwrap_or_default();
    let run = Run {
        plan: noise::Plan {
            cores: cores.clone(),
            scheduling: arguments.scheduling.parse()?,
            threshold_ns: arguments.threshold_ns,
            seconds,
            has_fair_server: has_fair_server(&release),
        },
        runs_directory: Project::find()?.directory(arguments.output.out.as_deref()),
        tool: TOOL.to_owned(),
        command: command_line(),
        // Each thread has its own core, so the warnings about the two cores of auto don't apply.
        warnings: if arguments.cores == Cores::Auto { Vec::new() } else { placement.warnings },
    };
    let stop = signals::stop_flag()?;
    let is_over = || stop.load(Ordering::Relaxed);
    let Some(_turn) = Turn::take(&cores, arguments.output.no_wait, is_over)? else {
        return Ok(NO_RESULT);
    };
    if std::io::stderr().is_terminal() && !arguments.output.quiet {
        let list = host::topology::format_core_list(&cores);
        eprintln!("observing cores {list} for {seconds} s; Ctrl-C ends it early");
    }
    // This thread sleeps meanwhile, and wakes on a core that is not observed, if there is one.
    let elsewhere: Vec<usize> =
        allowed.iter().copied().filter(|core| !cores.contains(core)).collect();
    if !elsewhere.is_empty() {
        let _ = host::thread::run_on(&elsewhere);
    }
    let done = run.carry_out(&stop);
    let _ = host::thread::run_on(&allowed);
    let (record, path) = done?;
    if let Err(error) = write_page(&path, &record, &path.join("report.html")) {
        eprintln!("warning: {}", crate::errors::one_line(&error));
    }
    print_record(&record, arguments.output.json)?;
    if !arguments.output.json {
        show(&format!("\nrecord: {}\n", path.display()))?;
    }
    Ok(if !record.is_void() { DONE } else { NO_RESULT })
}
