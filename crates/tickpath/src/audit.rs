//! `tickpath audit`: what is in an audit log, and how its orders fared at the exchange.

use crate::cli::{AuditArguments, AuditFormat};
use crate::exit::{DONE, NO_RESULT};
use crate::print::{columns, show, show_report};
use crate::tool::TOOL;
use anyhow::Context;
use audit::{ReadError, Reader, Record, summarise};
use record::audited::AuditSummary;
use record::lifecycle::{Lifecycles, RivalCount};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

pub(crate) fn audit(arguments: &AuditArguments) -> anyhow::Result<u8> {
    let path = arguments.log.display();
    let file = File::open(&arguments.log).with_context(|| {
        format!("cannot read {path}; name an audit log, such as a run's 001.rust.audit")
    })?;
    let log = match Reader::new(BufReader::with_capacity(1 << 20, file)) {
        Ok(log) => log,
        Err(error) => return unreadable(&arguments.log.display().to_string(), error),
    };
    if let Some(journal) = &arguments.journal {
        return join(arguments, log, journal);
    }
    let mut printer = arguments.records.then(Printer::new);
    if let Some(printer) = &mut printer {
        printer.print(&serde_json::json!({ "header": log.header() }));
    }
    let read = summarise(log, |number, record| {
        if let Some(printer) = &mut printer {
            printer.print(&Line { number, record });
        }
    });
    if let Some(printer) = printer {
        printer.end()?;
    }
    let audited = match read {
        Ok(audited) => AuditSummary { tool: TOOL.to_owned(), file: path.to_string(), ..audited },
        Err(error) => return unreadable(&path.to_string(), error),
    };
    if arguments.json {
        show(&format!("{}\n", serde_json::to_string_pretty(&audited)?))?;
    } else if !arguments.records {
        show_report(&report::audit(&audited, columns()))?;
    }
    Ok(DONE)
}

/// Joins the log with the exchange's journal.
fn join(arguments: &AuditArguments, log: Reader<impl Read>, journal: &Path) -> anyhow::Result<u8> {
    let joined = match lifecycle::join(log, journal) {
        Ok(joined) => joined,
        Err(error) if error.is_damage() => {
            eprintln!("error: {error}");
            return Ok(NO_RESULT);
        }
        Err(error) => return Err(error).context("not joined"),
    };
    let ids = exchange::account_ids(journal).context("the journal's accounts")?;
    let joined = Lifecycles {
        tool: TOOL.to_owned(),
        log: arguments.log.display().to_string(),
        journal: journal.display().to_string(),
        rivals: named(joined.rivals, &ids.unwrap_or_default()),
        ..joined
    };
    match arguments.export {
        Some(AuditFormat::Csv) => show(&report::lifecycle_csv(&joined))?,
        Some(AuditFormat::Events) => show(&report::life_events_csv(&joined))?,
        None if arguments.json => {
            show(&format!("{}\n", serde_json::to_string_pretty(&joined)?))?;
        }
        None => show_report(&report::lifecycle(&joined, columns()))?,
    }
    Ok(DONE)
}

/// Adds the ids of accounts, which the journal's register has by number from 1.
fn named(rivals: Vec<RivalCount>, ids: &[String]) -> Vec<RivalCount> {
    let name = |rival: RivalCount| {
        let index = rival.account.and_then(|account| account.checked_sub(1));
        let name = index.and_then(|index| ids.get(index as usize)).cloned();
        RivalCount { name, ..rival }
    };
    rivals.into_iter().map(name).collect()
}

/// Damage is a finding (status 3); a log that can't be opened is a usage error (status 2).
fn unreadable(path: &str, error: ReadError) -> anyhow::Result<u8> {
    if !matches!(error, ReadError::Damaged { .. }) {
        return Err(error).with_context(|| format!("{path} was not read"));
    }
    eprintln!("error: {path}: {error}");
    Ok(NO_RESULT)
}

/// One record as a line of JSON.
#[derive(Serialize)]
struct Line<'a> {
    number: u64,
    #[serde(flatten)]
    record: &'a Record,
}

/// Lines of JSON on stdout, many of them.
struct Printer {
    stdout: BufWriter<io::StdoutLock<'static>>,
    failed: Option<io::Error>,
}

impl Printer {
    fn new() -> Printer {
        let stdout = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        Printer { stdout, failed: None }
    }

    fn print(&mut self, line: &impl Serialize) {
        if self.failed.is_none() {
            let printed = serde_json::to_writer(&mut self.stdout, line).map_err(io::Error::from);
            self.failed = printed.and_then(|()| self.stdout.write_all(b"\n")).err();
        }
    }

    /// A reader that has enough (`| head`) is no error; a full disk is.
    fn end(mut self) -> anyhow::Result<()> {
        let failed = self.failed.take().or_else(|| self.stdout.flush().err());
        match failed {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(error).context("cannot print")
            }
            _ => Ok(()),
        }
    }
}
