//! `tickpath report`.

use crate::cli::ReportArguments;
use crate::history;
use crate::merge::merge;
use crate::page::write_page;
use crate::print::{print_record, show};
use crate::{DONE, INVALID};
use anyhow::{Context, bail};
use measure::directory;

pub(crate) fn report(arguments: &ReportArguments) -> anyhow::Result<u8> {
    if arguments.merge {
        return merge(arguments);
    }
    if arguments.html.is_some() && arguments.runs.len() > 1 {
        bail!("--html writes one page, and {} records were named", arguments.runs.len());
    }
    let mut status = DONE;
    for (index, path) in arguments.runs.iter().enumerate() {
        if history::holds_records(path) {
            history::history(path, arguments)?;
            continue;
        }
        if arguments.scenario.is_some() {
            bail!(
                "--scenario chooses among the records of a directory; {} is none",
                path.display()
            );
        }
        let record = directory::load_record(path)
            .with_context(|| format!("cannot read a record in {}", path.display()))?;
        if index > 0 && !arguments.json {
            show("\n")?;
        }
        match &arguments.html {
            Some(file) => write_page(path, &record, file)?,
            None => print_record(&record, arguments.json)?,
        }
        if !record.valid {
            status = INVALID;
        }
    }
    Ok(status)
}
