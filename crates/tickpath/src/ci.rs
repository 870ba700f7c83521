//! Files for CI jobs beside the gates: summaries for the server, and a baseline.

use crate::cli::Summaries;
use crate::errors::not_written;
use anyhow::bail;
use record::RunRecord;
use record::comparison::gate::GateResult;
use record::directory::{self, is_plain};
use report::summary::{Summary, junit};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Where baselines are, below the directory for records.
const BASELINES: &str = "baselines";
/// The files of a record that a baseline keeps.
const KEPT: [&str; 2] = ["run.json", "machine.json"];

/// Writes the summaries that were asked for. `error` says why there is no result; empty if there is
/// one; `lines` are the result in words.
pub(crate) fn write_summaries(
    summaries: &Summaries,
    name: &str,
    error: &str,
    (lines, gates): (&[String], &[GateResult]),
    markdown: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    if let Some(file) = &summaries.junit {
        let text = junit(&Summary { name, error, lines, gates });
        directory::write_whole(file, text.trim_end()).map_err(|error| not_written(file, &error))?;
    }
    if let Some(file) = &summaries.markdown {
        // A job's summary has parts of other steps.
        let opened = OpenOptions::new().create(true).append(true).open(file);
        let written = opened.and_then(|mut file| file.write_all(markdown().as_bytes()));
        written.map_err(|error| not_written(file, &error))?;
    }
    Ok(())
}

/// The directory of a baseline.
pub(crate) fn baseline(out: &Path, name: &str) -> anyhow::Result<PathBuf> {
    if !is_plain(name) {
        bail!("baseline {name:?}: a name has letters, digits, - and _");
    }
    Ok(out.join(BASELINES).join(name))
}

/// Keeps a copy of the record in `run` as a baseline, in place of an earlier one. A record that is
/// no result is rejected.
pub(crate) fn save_baseline(
    out: &Path,
    name: &str,
    run: &Path,
    record: &RunRecord,
) -> anyhow::Result<()> {
    let place = baseline(out, name)?;
    if record.smoke_test || !record.holds(0.5) {
        bail!(
            "not saved as baseline {name}: the record is void, a smoke test, or does not hold to p50"
        );
    }
    let partial = place.with_extension("partial");
    let copied = fs::create_dir_all(&partial).and_then(|()| {
        KEPT.iter().try_for_each(|file| fs::copy(run.join(file), partial.join(file)).map(|_| ()))
    });
    let gone = match fs::remove_dir_all(&place) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    let saved = copied.and(gone).and_then(|()| fs::rename(&partial, &place));
    saved.map_err(|error| not_written(&place, &error))
}
