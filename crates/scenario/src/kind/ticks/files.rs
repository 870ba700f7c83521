//! The files of traders in a run directory: samples, audit logs, the risk profile.

use record::RunRecord;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use trader::risk::Profile;

/// Extensions of the files of samples and of audit logs.
pub(super) const SAMPLES: &str = "samples";
pub(super) const AUDIT: &str = "audit";
/// The risk profile in a run directory, which its traders read.
pub(super) const PROFILE: &str = "risk.toml";

/// Copies the risk profile, if there is one, into the run directory: every trader reads the same,
/// even if the original changes meanwhile.
pub(crate) fn write_profile(directory: &Path, profile: Option<&Profile>) -> io::Result<()> {
    profile.map_or(Ok(()), |profile| profile.write(&directory.join(PROFILE)))
}

/// The samples of `subject` in run `number`, from 1.
pub(crate) fn samples(directory: &Path, number: usize, subject: &str) -> PathBuf {
    directory.join(format!("{number:03}.{subject}.{SAMPLES}"))
}

/// Removes the names of audit logs that will be deleted from a record.
pub(crate) fn name_kept_audits(record: &mut RunRecord, runs: usize, kept: usize) {
    let ticks = record.subjects.iter_mut().flat_map(|subject| &mut subject.load.tick);
    for audit in ticks.filter_map(|tick| tick.audit.as_mut()) {
        if run_of(&audit.file).is_some_and(|run| !audit_stays(run, runs, kept)) {
            audit.file.clear();
        }
    }
}

/// Whether it is among the last `kept` runs.
fn audit_stays(run: usize, runs: usize, kept: usize) -> bool {
    run + kept > runs
}

/// The run that left a file.
fn run_of(name: &str) -> Option<usize> {
    name.split('.').next()?.parse().ok()
}

/// Deletes all samples, which the record explains already, and the audit logs of all runs but the
/// last `kept`.
pub(crate) fn remove_all(directory: &Path, runs: usize, kept: usize) {
    remove(directory, |run, what| {
        what == SAMPLES || what == AUDIT && !audit_stays(run, runs, kept)
    });
}

/// Deletes the files of a run that does not count.
pub(crate) fn forget(directory: &Path, number: u32) {
    remove(directory, |run, _| run == number as usize);
}

/// Deletes samples and audit logs that `goes` selects by run and extension.
fn remove(directory: &Path, goes: impl Fn(usize, &str) -> bool) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let run = run_of(name);
        let what = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if [SAMPLES, AUDIT].contains(&what) && run.is_some_and(|run| goes(run, what)) {
            // A leftover only takes space.
            let _ = fs::remove_file(path);
        }
    }
}
