//! `tickpath sweep`.

use crate::cli::SweepArguments;
use crate::exit::{DONE, NO_RESULT};
use crate::page::{write, write_page};
use crate::print::{columns, print_json, show, show_report};
use crate::progress::with_screen;
use crate::project::Project;
use crate::run::{wait_for_turn, warn_of};
use crate::signals;
use crate::tool::command_line;
use crate::treatment::conduct_of;
use anyhow::Context;
use clock::schedule::RATE_PER_SECOND_MAX;
use record::directory::load_record;
use record::sweep::SweepRecord;
use scenario::Conduct;
use scenario::sweep::{self, Rates, Sweep};
use std::path::Path;

pub(crate) fn sweep(arguments: &SweepArguments) -> anyhow::Result<u8> {
    let project = Project::find()?;
    let own = sweep::SETS.map(str::to_owned);
    let sets = [&own[..], &arguments.settings.set].concat();
    let output = &arguments.output;
    let scenario = project.scenario(&arguments.scenario, &sets)?;
    let sweep = Sweep {
        point_command: point_command(arguments, &command_line()),
        conduct: Conduct {
            connect: arguments.target.connect.clone(),
            connect_floor: arguments.target.connect_floor.clone(),
            ..conduct_of(scenario, &project.directory(output.out.as_deref()))?
        },
        late_share_max: None,
        rates: match &arguments.rates {
            Some(rates) => rates.parse().context("--rates")?,
            None => Rates::Search { steps: arguments.steps, highest: RATE_PER_SECOND_MAX },
        },
        objective: match &arguments.slo {
            Some(slo) => Some(slo.parse().context("--slo")?),
            None => None,
        },
    };
    let interrupt = signals::interrupt()?;
    warn_of(&sweep.conduct.preflight()?);
    let Some(_turn) = wait_for_turn(output, &sweep.conduct, &interrupt)? else {
        return Ok(NO_RESULT);
    };
    let (record, path) = with_screen(output.quiet, |say| sweep.carry_out(&interrupt, say))?;
    make_pages(&record, &path);
    if output.json {
        print_json(&record)?;
    } else {
        show_report(&report::sweep::table(&record, columns()))?;
        show(&format!("\nsweep: {}\n", path.display()))?;
    }
    Ok(if record.is_result() { DONE } else { NO_RESULT })
}

/// Makes the sweep's page, and one for each rate's record. The records count; a page that can't be
/// written is no reason to fail.
pub(crate) fn make_pages(sweep: &SweepRecord, path: &Path) {
    if let Err(error) = write_pages(sweep, path) {
        eprintln!("warning: {}", crate::errors::one_line(&error));
    }
}

fn write_pages(sweep: &SweepRecord, path: &Path) -> anyhow::Result<()> {
    let page = path.join("report.html");
    write(&page, &report::sweep::page(sweep))?;
    for point in &sweep.points {
        let run = path.join(&point.record);
        let record = load_record(&run)
            .with_context(|| format!("cannot read a record in {}", run.display()))?;
        write_page(&run, &record, &run.join("report.html"))?;
    }
    Ok(())
}

/// The command line that repeats one rate, without that rate.
fn point_command(arguments: &SweepArguments, command: &[String]) -> Vec<String> {
    let program = command.first().map_or("tickpath", String::as_str);
    let mut words: Vec<&str> = vec![program, "run", &arguments.scenario, "--set", "runs=3"];
    words.extend(arguments.settings.set.iter().flat_map(|set| ["--set", set.as_str()]));
    let connect = [
        ("--connect", &arguments.target.connect),
        ("--connect-floor", &arguments.target.connect_floor),
    ];
    for (option, address) in connect {
        words.extend(address.iter().flat_map(|address| [option, address.as_str()]));
    }
    words.into_iter().map(str::to_owned).collect()
}
