//! `tickpath sweep`.

use crate::cli::SweepArguments;
use crate::page::write_page;
use crate::print::show;
use crate::progress::with_screen;
use crate::treatment::conduct;
use crate::{DONE, INVALID, command_line, signals};
use anyhow::Context;
use measure::directory::{load_record, write_whole};
use measure::sweep::SweepRecord;
use scenario::Conduct;
use scenario::sweep::{self, Rates, Sweep};
use std::path::Path;

pub(crate) fn sweep(arguments: &SweepArguments) -> anyhow::Result<u8> {
    let sweep = Sweep {
        point_command: point_command(arguments, &command_line()),
        conduct: Conduct {
            scenario: sweep::scenario(&arguments.scenario, &arguments.set)?,
            connect: arguments.connect.clone(),
            connect_floor: arguments.connect_floor.clone(),
            ..conduct(&arguments.scenario, &arguments.set, &arguments.out)?
        },
        rates: match &arguments.rates {
            Some(rates) => rates.parse().context("--rates")?,
            None => Rates::Search { steps: arguments.steps },
        },
        objective: match &arguments.slo {
            Some(slo) => Some(slo.parse().context("--slo")?),
            None => None,
        },
    };
    let interrupt = signals::interrupt()?;
    let (record, path) = with_screen(arguments.quiet, |say| sweep.carry_out(&interrupt, say))?;
    // The records count; a page that can't be written is no reason to fail.
    if let Err(error) = write_pages(&record, &path) {
        eprintln!("warning: {}", crate::told(&error));
    }
    if arguments.json {
        show(&format!("{}\n", serde_json::to_string_pretty(&record)?))?;
    } else {
        show(&report::sweep::table(&record))?;
        show(&format!("\nsweep: {}\n", path.display()))?;
    }
    Ok(if record.is_result() { DONE } else { INVALID })
}

/// The sweep's page, and one for each rate's record.
fn write_pages(sweep: &SweepRecord, path: &Path) -> anyhow::Result<()> {
    let page = path.join("report.html");
    write_whole(&page, &report::sweep_page::page(sweep))
        .with_context(|| format!("cannot write {}", page.display()))?;
    for point in &sweep.points {
        let run = path.join(&point.record);
        let record = load_record(&run)
            .with_context(|| format!("cannot read a record in {}", run.display()))?;
        write_page(&run, &record, &run.join("report.html"))?;
    }
    Ok(())
}

/// The command line that repeats one rate, but for the rate.
fn point_command(arguments: &SweepArguments, command: &[String]) -> Vec<String> {
    let program = command.first().map_or("tickpath", String::as_str);
    let mut words: Vec<&str> = vec![program, "run", &arguments.scenario, "--set", "runs=3"];
    words.extend(arguments.set.iter().flat_map(|set| ["--set", set.as_str()]));
    let connect =
        [("--connect", &arguments.connect), ("--connect-floor", &arguments.connect_floor)];
    for (option, address) in connect {
        words.extend(address.iter().flat_map(|address| [option, address.as_str()]));
    }
    words.into_iter().map(str::to_owned).collect()
}
