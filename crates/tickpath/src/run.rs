//! `tickpath run`.

use crate::cli::RunArguments;
use crate::page::write_page;
use crate::print::{print_record, show};
use crate::progress::with_screen;
use crate::treatment::conduct_of;
use crate::{DONE, INVALID, signals};
use scenario::{Conduct, Scenario};

pub(crate) fn run(arguments: &RunArguments) -> anyhow::Result<u8> {
    let mut sets = arguments.set.clone();
    sets.extend(arguments.trace.map(|worst| format!("trace={worst}")));
    let scenario = match &arguments.resume {
        Some(run) => Scenario::resumed(run, &sets)?,
        None => Scenario::find(&arguments.scenario, &sets)?,
    };
    let conduct = Conduct {
        connect: arguments.connect.clone(),
        connect_floor: arguments.connect_floor.clone(),
        noise: arguments.noise,
        ..conduct_of(scenario, &arguments.out)?
    };
    let interrupt = signals::interrupt()?;
    let (record, path) = with_screen(arguments.quiet, |say| conduct.carry_out(&interrupt, say))?;
    // The record counts; a page that can't be written is no reason to fail.
    if let Err(error) = write_page(&path, &record, &path.join("report.html")) {
        eprintln!("warning: {}", crate::told(&error));
    }
    print_record(&record, arguments.json)?;
    if !arguments.json {
        show(&format!("\nrecord: {}\n", path.display()))?;
    }
    Ok(if record.valid { DONE } else { INVALID })
}
