//! report.html beside a record.

use record::RunRecord;
use record::directory;
use record::timeline::{self, Timeline};
use std::io;
use std::path::{Path, PathBuf};

/// Writes the page of `record`, which stands in `run` (a directory or its run.json), to `file`.
pub(crate) fn write_page(run: &Path, record: &RunRecord, file: &Path) -> anyhow::Result<()> {
    let beside = if run.is_dir() { run } else { run.parent().unwrap_or(Path::new(".")) };
    let machine = directory::load_machine(run).map_err(|error| error.to_string());
    let timeline = directory::hlogs(beside)
        .and_then(|logs| over_time(record, &logs))
        .map_err(|error| error.to_string());
    let beside = report::RecordFiles {
        machine: machine.as_ref().map_err(String::as_str),
        timeline: timeline.as_ref().map_err(String::as_str),
    };
    let page = report::record_page(record, &serde_json::to_string(record)?, beside);
    write(file, &page)
}

/// Writes a file that the user named.
pub(crate) fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    directory::write_whole(file, text)
        .map_err(|error| anyhow::Error::msg(directory::cannot_write(file.display(), &error)))
}

fn over_time(record: &RunRecord, logs: &[PathBuf]) -> io::Result<Timeline> {
    match logs {
        [] => Err(no_logs()),
        _ if report::draws_logs(record) => timeline::read(logs),
        _ => Ok(Timeline::default()),
    }
}

fn no_logs() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "there is no .hlog file beside it")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nor finds it damaged, or too long.
    #[test]
    fn a_page_reads_no_logs_that_it_does_not_draw() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("001.hlog"), "no line\n").unwrap();
        let page = |kind: &str| {
            let resolved = serde_json::json!({ "kind": kind });
            let record = RunRecord { resolved, ..RunRecord::default() };
            let file = directory.path().join("report.html");
            write_page(directory.path(), &record, &file).unwrap();
            std::fs::read_to_string(file).unwrap()
        };
        assert!(page("engine").contains("The logs are not whole."));
        assert!(!page("core-to-core").contains("The logs are not whole."));
    }
}
