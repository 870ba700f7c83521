//! `tickpath report` of several records: one table and one page.

use crate::cli::ReportArguments;
use crate::exit::{DONE, NO_RESULT};
use crate::page::write;
use crate::print::{columns, show_report};
use crate::report::all_records;
use anyhow::bail;
use record::directory;
use record::side_by_side::{Member, RECORDS_MAX, side_by_side as beside};

/// Exits with 3 if a record is no result: its row is missing.
pub(crate) fn side_by_side(arguments: &ReportArguments) -> anyhow::Result<u8> {
    let mut records = all_records(arguments)?;
    if let Some(scenario) = &arguments.scenario {
        records.retain(|(_, record)| record.scenario == *scenario);
    }
    if records.len() > RECORDS_MAX {
        bail!("{} records are too many for one table, the limit is {RECORDS_MAX}", records.len());
    }
    if records.is_empty() {
        bail!("there is no record in the named paths; `tickpath run` makes one");
    }
    let member = |(path, record): (std::path::PathBuf, _)| Member {
        machine: directory::load_machine(&path).ok(),
        name: path.display().to_string(),
        record,
    };
    let all = beside(records.into_iter().map(member).collect());
    match &arguments.html {
        Some(file) => {
            write(file, &report::side_by_side_page(&all, &serde_json::to_string(&all)?))?;
            for left_out in &all.left_out {
                eprintln!("warning: left out: {left_out}");
            }
        }
        None => show_report(&report::side_by_side(&all, columns()))?,
    }
    Ok(if all.left_out.is_empty() { DONE } else { NO_RESULT })
}
