//! `tickpath report`.

use crate::cli::ReportArguments;
use crate::history;
use crate::merge::merge;
use crate::print::{print_record, show};
use crate::{DONE, INVALID};
use anyhow::Context;

pub(crate) fn report(arguments: &ReportArguments) -> anyhow::Result<u8> {
    if arguments.merge {
        return merge(arguments);
    }
    let mut status = DONE;
    for (index, path) in arguments.runs.iter().enumerate() {
        if history::holds_records(path) {
            history::history(path, arguments)?;
            continue;
        }
        let record = measure::directory::load_record(path)
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
