//! `tickpath doctor`: is this machine fit to measure on?

use crate::cli::DoctorArguments;
use crate::exit::{DONE, GATE_FAILED};
use crate::print::{columns, show, show_report};
use crate::tool::TOOL;
use ::tune::Inspection;
use ::tune::inspection::ask_for_real_time;
use ::tune::watch::watch;
use anyhow::Context;
use clock::Clock;
use host::thread::allowed;
use host::{Cores, Root, Topology, capture};
use plan::Scenario;

/// Threads that `run` places: the exchange's and the client's.
const ENDS: usize = 2;

pub(crate) fn doctor(arguments: &DoctorArguments) -> anyhow::Result<u8> {
    let scenario = arguments.scenario.as_ref().map(|name| Scenario::find(name, &arguments.set));
    let scenario = scenario.transpose()?;
    let root = Root::system();
    let usable = allowed()?;
    let wanted = match &arguments.cores {
        Cores::Auto => ENDS,
        Cores::List(list) => list.len(),
    };
    let placed = arguments.cores.place(&Topology::read(&root), &usable, wanted);
    let cores = placed.context("--cores")?.cores;
    let clock = Clock::calibrate();
    // First, while this process does nothing itself.
    let watched = watch(&root, &clock);
    let pair = cores.iter().find(|&&core| core != cores[0]).map(|&other| (cores[0], other));
    let machine = capture(&root, &clock, pair);
    let seen = Inspection {
        watched: Some(watched),
        needs_net_admin: scenario.is_some_and(|scenario| scenario.needs_net_admin()),
        real_time: Some(ask_for_real_time()),
        ..Inspection::read(&root, machine, &cores, &usable)
    };
    let findings = ::tune::examine(&root, &seen, TOOL);
    if arguments.json {
        show(&format!("{}\n", serde_json::to_string_pretty(&findings)?))?;
    } else {
        show_report(&report::doctor(&findings, columns()))?;
    }
    Ok(if findings.fit { DONE } else { GATE_FAILED })
}
