//! Output to stdout.

use anyhow::Context;
use record::RunRecord;
use std::io::Write;

pub(crate) fn print_record(record: &RunRecord, json: bool) -> anyhow::Result<()> {
    if json { print_json(record) } else { show_report(&report::table(record, columns())) }
}

pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    show(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// The width of the terminal; [`report::COLUMNS`] of a file or a pipe.
pub(crate) fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    size.ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
        .unwrap_or(report::COLUMNS)
}

/// Prints text of `report`, in colour where the terminal or --color asks for it.
pub(crate) fn show_report(text: &str) -> anyhow::Result<()> {
    let stdout = std::io::stdout();
    match anstream::AutoStream::choice(&stdout) {
        anstream::ColorChoice::Never => show(text),
        _ => show(&report::paint(text)),
    }
}

/// Prints. A reader that has enough (`| head`) is no error; a full disk is.
pub(crate) fn show(text: &str) -> anyhow::Result<()> {
    show_bytes(text.as_bytes())
}

/// As [`show`], of a file.
pub(crate) fn show_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("cannot print")
        }
        _ => Ok(()),
    }
}
