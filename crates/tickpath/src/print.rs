//! What goes to stdout.

use anyhow::Context;
use measure::record::RunRecord;
use std::io::Write;

pub(crate) fn print_record(record: &RunRecord, json: bool) -> anyhow::Result<()> {
    if json {
        show(&format!("{}\n", serde_json::to_string_pretty(record)?))
    } else {
        show(&report::table(record))
    }
}

/// Prints. Whoever has read enough (`| head`) is no error; a full disk is.
pub(crate) fn show(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot print")
        }
        _ => Ok(()),
    }
}
