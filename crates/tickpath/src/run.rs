//! `tickpath run`, `scenarios` and `report`.

use crate::cli::{ReportArguments, RunArguments, ScenariosArguments};
use crate::{DONE, INVALID, signals};
use anyhow::{Context, bail};
use measure::record::RunRecord;
use scenario::conduct::Interrupt;
use scenario::{Conduct, Scenario, file};
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
    print_record(&record, arguments.json)?;
    if !arguments.json {
        show(&format!("\nrecord: {}\n", path.display()))?;
    }
    Ok(if record.valid { DONE } else { INVALID })
}

fn print_record(record: &RunRecord, json: bool) -> anyhow::Result<()> {
    if json {
        show(&format!("{}\n", serde_json::to_string_pretty(record)?))
    } else {
        show(&report::table(record))
    }
}

/// Prints. Whoever has read enough (`| head`) is no error; a full disk is.
fn show(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot print")
        }
        _ => Ok(()),
    }
}

pub(crate) fn scenarios(arguments: &ScenariosArguments) -> anyhow::Result<u8> {
    if let Some(name) = &arguments.scenario {
        let Some((_, text)) = file::SHIPPED.iter().find(|(shipped, _)| shipped == name) else {
            bail!("no scenario {name:?} ships; `tickpath scenarios` lists those that do");
        };
        show(text)?;
        return Ok(DONE);
    }
    let mut listed = Vec::new();
    for (name, _) in file::SHIPPED {
        let about = Scenario::find(name, &[])?.about;
        if !arguments.json {
            show(&format!("{name:<20} {about}\n"))?;
        }
        listed.push(serde_json::json!({"name": name, "about": about}));
    }
    if arguments.json {
        show(&format!("{}\n", serde_json::to_string_pretty(&listed)?))?;
    }
    Ok(DONE)
}

pub(crate) fn report(arguments: &ReportArguments) -> anyhow::Result<u8> {
    let mut status = DONE;
    for (index, path) in arguments.runs.iter().enumerate() {
        let record = scenario::load_record(path)
            .with_context(|| format!("cannot read a record in {}", path.display()))?;
        if index > 0 && !arguments.json {
            show("\n")?;
        }
        print_record(&record, arguments.json)?;
        if !record.valid {
            status = INVALID;
        }
    }
    Ok(status)
}
