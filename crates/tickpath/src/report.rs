//! `tickpath report`.

use crate::cli::{Format, ReportArguments};
use crate::compare::comparison_page;
use crate::exit::{DONE, NO_RESULT};
use crate::merge::merge;
use crate::page::{write, write_page};
use crate::print::{columns, print_json, show, show_bytes, show_report};
use crate::side_by_side::side_by_side;
use ::race::backtest::{ByIntensity, OrderLatencies, npz};
use ::race::nautilus::StaticLatency;
use anyhow::{Context, bail};
use record::RunRecord;
use record::directory::{self, Document};
use record::history::{EntryContent, History};
use report::export::ExportedRecord;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// A record that does not hold to its median is no result.
const P50: f64 = 0.5;

pub(crate) fn report(arguments: &ReportArguments) -> anyhow::Result<u8> {
    if arguments.merge {
        return merge(arguments);
    }
    match arguments.export {
        Some(Format::Csv) => return export(arguments, report::export::csv),
        Some(Format::Openmetrics) => return export(arguments, report::export::openmetrics),
        Some(Format::Hftbacktest) => return order_latencies(arguments),
        Some(Format::NautilusTrader) => return static_latency(arguments),
        None => {}
    }
    if arguments.runs.len() > 1 && !arguments.json {
        return side_by_side(arguments);
    }
    let mut status = DONE;
    let mut documents = Vec::new();
    for path in &arguments.runs {
        let kept = directory::load(path)
            .with_context(|| format!("cannot read a record in {}", path.display()))?;
        if kept.is_some() && arguments.scenario.is_some() {
            bail!(
                "--scenario chooses among the records of a directory; {} is none",
                path.display()
            );
        }
        let is_result = match &kept {
            None => true,
            Some(Document::Run(record)) => record.holds(P50),
            Some(Document::Sweep(sweep)) => sweep.is_result(),
            // Its answer is the result, whatever it is.
            Some(Document::Comparison(_)) => true,
        };
        if !is_result {
            status = NO_RESULT;
        }
        if let Some(file) = &arguments.html {
            write_html(path, kept.as_ref(), file, arguments)?;
        } else if arguments.json {
            documents.push(match &kept {
                None => serde_json::to_value(history(path, arguments)?)?,
                Some(Document::Run(record)) => serde_json::to_value(record)?,
                Some(Document::Comparison(comparison)) => serde_json::to_value(comparison)?,
                Some(Document::Sweep(sweep)) => serde_json::to_value(sweep)?,
            });
        } else {
            show_report(&match &kept {
                None => report::history(&history(path, arguments)?, columns()),
                Some(Document::Run(record)) => report::table(record, columns()),
                Some(Document::Comparison(comparison)) => report::comparison(comparison, columns()),
                Some(Document::Sweep(sweep)) => report::sweep::table(sweep, columns()),
            })?;
        }
    }
    // One document, whatever the number of records: a program reads it in one go.
    match (arguments.json, documents.as_slice()) {
        (false, _) | (true, []) => {}
        (true, [one]) => print_json(one)?,
        (true, several) => print_json(&several)?,
    }
    Ok(status)
}

fn write_html(
    path: &Path,
    kept: Option<&Document>,
    file: &Path,
    arguments: &ReportArguments,
) -> anyhow::Result<()> {
    let page = match kept {
        Some(Document::Run(record)) => return write_page(path, record, file),
        Some(Document::Comparison(comparison)) => comparison_page(comparison)?,
        Some(Document::Sweep(sweep)) => report::sweep::page(sweep),
        None => {
            let history = history(path, arguments)?;
            let json = serde_json::to_string(&history)?;
            report::history_page(&history, &json, &link_base(path, file))
        }
    };
    write(file, &page)
}

/// The prefix of links from a page in `file` to the records in `directory`.
fn link_base(directory: &Path, file: &Path) -> String {
    let whole = |path: &Path| path.canonicalize().ok();
    let above = file.parent().filter(|above| *above != Path::new("")).unwrap_or(Path::new("."));
    match (whole(directory), whole(above)) {
        (Some(records), Some(page)) if records == page => String::new(),
        (Some(records), _) => format!("{}/", records.display()),
        (None, _) => format!("{}/", directory.display()),
    }
}

/// The records of a directory, or those of one scenario.
fn history(path: &Path, arguments: &ReportArguments) -> anyhow::Result<History> {
    let history = record::history::read(path)
        .with_context(|| format!("cannot list the records in {}", path.display()))?;
    Ok(match &arguments.scenario {
        Some(scenario) => history.of_scenario(scenario),
        None => history,
    })
}

/// The records that were named, and those in directories, comparisons and sweeps that were.
pub(crate) fn all_records(
    arguments: &ReportArguments,
) -> anyhow::Result<Vec<(PathBuf, RunRecord)>> {
    let mut records = Vec::new();
    for path in &arguments.runs {
        match directory::load(path)
            .with_context(|| format!("cannot read a record in {}", path.display()))?
        {
            Some(Document::Run(record)) => records.push((path.clone(), *record)),
            Some(_) => records.extend(beneath(path)?),
            None => records.extend(
                history(path, arguments)?
                    .entries
                    .iter()
                    .filter(|entry| matches!(entry.what, EntryContent::Record(_)))
                    .map(|entry| path.join(&entry.name))
                    .map(|run| Ok((run.clone(), directory::load_record(&run)?)))
                    .collect::<anyhow::Result<Vec<_>>>()?,
            ),
        }
    }
    Ok(records)
}

/// The latencies of one record for hftbacktest.
fn order_latencies(arguments: &ReportArguments) -> anyhow::Result<u8> {
    let latency = &arguments.order_latency;
    let OneRecord { run, record, entry, response } = one_record(arguments, "hftbacktest")?;
    let start_ns = latency.start.as_deref().map(time_ns).transpose()?;
    let rows = match &latency.by_intensity {
        Some(day) => ByIntensity::read(run, &entry)?.rows(&times_of(day, start_ns)?)?,
        None => OrderLatencies {
            entry,
            response,
            start_ns: start_ns.map_or_else(|| time_ns(&record.started), Ok)?.cast_signed(),
            seconds: latency.seconds,
            draws_per_second: latency.draws_per_second,
        }
        .rows(run)?,
    };
    if std::io::stdout().is_terminal() {
        bail!("an archive is no text: write it to a file with > latency.npz");
    }
    show_bytes(&npz(&rows)?)?;
    Ok(DONE)
}

/// A time on the command line or in a record, ns since 1970.
fn time_ns(text: &str) -> anyhow::Result<u64> {
    let Some(seconds) = clock::calendar::seconds(text) else {
        bail!("--start {text:?} is no time; write it as 2026-11-21T00:00:00Z");
    };
    Ok(seconds * 1_000_000_000)
}

/// The times of a recorded day, ns since 1970; moved if there is another start.
fn times_of(day: &Path, start_ns: Option<u64>) -> anyhow::Result<Vec<u64>> {
    let mut times = flow::times_ns(day).with_context(|| day.display().to_string())?;
    if let (Some(start_ns), Some(first)) = (start_ns, times.first().copied()) {
        times.iter_mut().for_each(|time| *time = *time - first + start_ns);
    }
    Ok(times)
}

/// Figures of one record as the latency model of nautilus_trader.
fn static_latency(arguments: &ReportArguments) -> anyhow::Result<u8> {
    let OneRecord { record, entry, response, .. } = one_record(arguments, "nautilus-trader")?;
    let figure = &arguments.order_latency.figure;
    print_json(&StaticLatency::of(&record, &entry, figure, response.is_some())?)?;
    Ok(DONE)
}

/// The record and the series for a backtester.
struct OneRecord<'a> {
    run: &'a Path,
    record: RunRecord,
    entry: String,
    response: Option<String>,
}

fn one_record<'a>(arguments: &'a ReportArguments, format: &str) -> anyhow::Result<OneRecord<'a>> {
    let [run] = arguments.runs.as_slice() else {
        bail!("--export {format} takes one record, not {}", arguments.runs.len());
    };
    let record = directory::load_record(run)
        .with_context(|| format!("cannot read a record in {}", run.display()))?;
    let Some(series) = &arguments.order_latency.series else {
        bail!("--export {format} needs --series, such as --series rust.order.service");
    };
    let (entry, response) = match series.split_once(',') {
        Some((entry, response)) => (entry, Some(response.to_owned())),
        None => (series.as_str(), None),
    };
    Ok(OneRecord { run, record, entry: entry.to_owned(), response })
}

/// Every figure of all records as rows.
fn export(
    arguments: &ReportArguments,
    text: fn(&[ExportedRecord<'_>]) -> String,
) -> anyhow::Result<u8> {
    let records = all_records(arguments)?;
    let named: Vec<(String, String)> = records
        .iter()
        .map(|(path, _)| {
            let directory = directory::of(path);
            let name = directory.file_name().unwrap_or(directory.as_os_str());
            let machine = directory::load_machine(path).ok();
            let machine = machine.map(|machine| machine.before.fixed.identity());
            (name.to_string_lossy().into_owned(), machine.unwrap_or_default())
        })
        .collect();
    let exported: Vec<ExportedRecord<'_>> = records
        .iter()
        .zip(&named)
        .map(|((_, record), (name, machine))| ExportedRecord { name, machine, record })
        .collect();
    show(&text(&exported))?;
    Ok(DONE)
}

/// The records of a sweep or a comparison: in its directory, or one level below.
fn beneath(path: &Path) -> anyhow::Result<Vec<(PathBuf, RunRecord)>> {
    let directories = |place: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
        let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        all.sort();
        all
    };
    let top = directory::of(path);
    let all = directories(&top).into_iter().flat_map(|one| match one.join("run.json").is_file() {
        true => vec![one],
        false => directories(&one),
    });
    let runs = all.filter(|one| one.join("run.json").is_file());
    runs.map(|run| Ok((run.clone(), directory::load_record(&run)?))).collect()
}
