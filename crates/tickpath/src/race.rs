//! `tickpath race`: what a microsecond is worth in a simulated market.

use crate::cli::RaceArguments;
use crate::exit::DONE;
use crate::page::write;
use crate::print::{columns, print_json, show, show_report};
use crate::tool::TOOL;
use ::race::{Background, EXAMPLE, Effect, File, PreparedRace};
use anyhow::{Context, bail};
use record::directory::{self, Document};
use record::tune::Trial;
use std::io::IsTerminal;
use std::path::Path;

/// Longer than a recorded day.
const DAY_SECONDS: f64 = 1e6;

pub(crate) fn race(arguments: &RaceArguments) -> anyhow::Result<u8> {
    if arguments.example {
        show(EXAMPLE)?;
        return Ok(DONE);
    }
    if let Some(day) = &arguments.fit {
        return fit(day, arguments);
    }
    if let Some(day) = &arguments.queue {
        return queue(day, arguments);
    }
    let prepared = file(arguments)?.prepare()?;
    let mut effects = Vec::new();
    for path in &arguments.what_if {
        effects.extend(effects_of(&prepared, path)?);
    }
    let is_watched = std::io::stderr().is_terminal() && !arguments.quiet;
    let mut record = prepared.run_with(&effects, |part| {
        if is_watched {
            eprintln!("{part} ({} seeds)", prepared.file.seeds);
        }
    });
    record.tool = TOOL.to_owned();
    if let Some(file) = &arguments.html {
        return write(file, &report::race_page(&record)).map(|()| DONE);
    }
    if arguments.json {
        print_json(&record)?;
    } else {
        show_report(&report::race(&record, columns()))?;
    }
    Ok(DONE)
}

/// The processes of a recorded day.
fn fit(day: &Path, arguments: &RaceArguments) -> anyhow::Result<u8> {
    let seconds = arguments.seconds.unwrap_or(DAY_SECONDS);
    let fit = Background::read(day, seconds)?.fit(&day.display().to_string());
    if arguments.json {
        print_json(&fit)?
    } else {
        show(&report::market_fit(&fit))?
    }
    Ok(DONE)
}

/// Estimated places in the queues of a recorded day against the true ones.
fn queue(day: &Path, arguments: &RaceArguments) -> anyhow::Result<u8> {
    let seconds = arguments.seconds.unwrap_or(DAY_SECONDS);
    let check = Background::read(day, seconds)?.queue_check(&day.display().to_string());
    if arguments.json {
        print_json(&check)?
    } else {
        show_report(&report::queue_check(&check, columns()))?
    }
    Ok(DONE)
}

/// The file with the changes of the command line.
fn file(arguments: &RaceArguments) -> anyhow::Result<File> {
    let mut file = match &arguments.file {
        None => File::parse(EXAMPLE)?,
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| {
                format!("{}: name a race file; --example prints one", path.display())
            })?;
            File::parse(&text).with_context(|| path.display().to_string())?
        }
    };
    file.seeds = arguments.seeds.unwrap_or(file.seeds);
    file.first_seed = arguments.first_seed.unwrap_or(file.first_seed);
    file.seconds = arguments.seconds.unwrap_or(file.seconds);
    file.subject = arguments.subject.clone().or(file.subject);
    for latency in &arguments.latency {
        let split = latency.split_once('=').and_then(|(name, run)| {
            let (run, series) = run.rsplit_once(',')?;
            Some((name, run, series))
        });
        let Some((name, run, series)) = split else {
            bail!(
                "--latency {latency}: write NAME=RUN,SERIES, such as maker=runs/DIR,rust.order.service"
            );
        };
        let place = file.place(name, "--latency")?;
        let table = &mut file.participants[place].latency;
        (table.constant_us, table.exponential_us) = (None, None);
        (table.run, table.series) = (Some(run.into()), Some(series.to_owned()));
    }
    Ok(file)
}

/// The effects in compare.json or trial.json, or in a directory with one of them.
fn effects_of(prepared: &PreparedRace, path: &Path) -> anyhow::Result<Vec<Effect>> {
    let name = path.display().to_string();
    let what_if = || format!("--what-if {name}");
    let trial = if path.is_dir() { path.join("trial.json") } else { path.to_owned() };
    if trial.file_name().is_some_and(|name| name == "trial.json") && trial.is_file() {
        let text = std::fs::read_to_string(&trial).with_context(what_if)?;
        let trial: Trial = serde_json::from_str(&text).with_context(what_if)?;
        return Ok(prepared.effects_of_trial(&name, &trial)?);
    }
    match directory::load(path).with_context(what_if)? {
        Some(Document::Comparison(comparison)) => Ok(prepared.effects(&name, &comparison)?),
        _ => bail!(
            "--what-if {name}: neither compare.json nor trial.json; name one, or a directory that \
             `compare` or `tune trial` wrote"
        ),
    }
}
