//! report.html beside a record.

use anyhow::Context;
use measure::record::RunRecord;
use measure::{directory, timeline};
use std::io;
use std::path::Path;

/// Writes the page of `record`, which stands in `run` (a directory or its run.json), to `file`.
pub(crate) fn write_page(run: &Path, record: &RunRecord, file: &Path) -> anyhow::Result<()> {
    let beside = if run.is_dir() { run } else { run.parent().unwrap_or(Path::new(".")) };
    let machine = directory::load_machine(run).map_err(|error| error.to_string());
    let timeline = directory::hlogs(beside)
        .and_then(|logs| if logs.is_empty() { Err(no_logs()) } else { timeline::read(&logs) })
        .map_err(|error| error.to_string());
    let beside = report::Beside {
        machine: machine.as_ref().map_err(String::as_str),
        timeline: timeline.as_ref().map_err(String::as_str),
    };
    let page = report::record_page(record, &serde_json::to_string(record)?, beside);
    directory::write_whole(file, &page).with_context(|| {
        format!("cannot write {}: free some space, or choose another file", file.display())
    })
}

fn no_logs() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "there is no .hlog file beside it")
}
