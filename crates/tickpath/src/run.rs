//! `tickpath run`.

use crate::cli::RunArguments;
use crate::print::{print_record, show};
use crate::report::write_page;
use crate::{DONE, INVALID, signals};
use anyhow::Context;
use scenario::conduct::Interrupt;
use scenario::{Conduct, Scenario};
use std::io::{IsTerminal, Write};

pub(crate) fn run(arguments: &RunArguments) -> anyhow::Result<u8> {
    let scenario = Scenario::find(&arguments.scenario, &arguments.set)?;
    let conduct = Conduct {
        scenario,
        runs_directory: arguments.out.clone(),
        program: std::env::current_exe().context("cannot find the tickpath binary")?,
        tool: concat!("tickpath ", env!("CARGO_PKG_VERSION")).to_owned(),
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        connect: arguments.connect.clone(),
        connect_floor: arguments.connect_floor.clone(),
    };
    let interrupt = Interrupt::default();
    let interrupted = interrupt.clone();
    signals::on_interrupt(move || interrupted.interrupt())?;
    // Progress only where a person looks on.
    let shows = std::io::stderr().is_terminal() && !arguments.quiet;
    let mut say = |what: &str| {
        if shows {
            eprint!("\r\x1b[K{what}");
            let _ = std::io::stderr().flush();
        }
    };
    let (record, path) = conduct.carry_out(&interrupt, &mut say)?;
    say("");
    // The record counts; a page that can't be written is no reason to fail.
    if let Err(error) = write_page(&path, &record, &path.join("report.html")) {
        eprintln!("warning: {error:#}");
    }
    print_record(&record, arguments.json)?;
    if !arguments.json {
        show(&format!("\nrecord: {}\n", path.display()))?;
    }
    Ok(if record.valid { DONE } else { INVALID })
}
