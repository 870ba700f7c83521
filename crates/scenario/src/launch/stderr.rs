//! Output of a run directory's processes on stderr.

use std::fs;
use std::path::{Path, PathBuf};

/// Limit on the processes' warnings in a record.
const WARNINGS_MAX: usize = 100;

/// The words of a process that failed.
pub(crate) fn said(stderr: &Path) -> String {
    match text(stderr) {
        text if text.is_empty() => "it said nothing".to_owned(),
        text => text,
    }
}

fn text(stderr: &Path) -> String {
    let text = fs::read_to_string(stderr).unwrap_or_default();
    text.trim().trim_start_matches("error: ").to_owned()
}

/// Warnings of processes that ended well, without duplicates.
pub(crate) fn warnings(directory: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    for file in &files(directory) {
        // NUMBER.NAME.stderr
        let who = file.file_stem().unwrap_or_default().to_string_lossy();
        let who = who.split_once('.').map_or("", |(_, who)| who);
        let text = text(file);
        for warning in text.lines().filter_map(|line| line.strip_prefix("warning: ")) {
            let warning = format!("{who}: {warning}");
            if warnings.len() < WARNINGS_MAX && !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    warnings
}

/// Files of stderr, in the order of their runs.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "stderr"))
        .collect();
    files.sort();
    files
}

/// Removes the processes' stderr.
pub(crate) fn remove(directory: &Path) {
    for file in files(directory) {
        // A leftover does no harm.
        let _ = fs::remove_file(file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_processes_warn_of_is_kept_once() {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("001.rust.exchange.stderr", "warning: over soon\nand more\n"),
            ("002.rust.exchange.stderr", "warning: over soon\n"),
            ("002.java.stderr", "warning: slow\nerror: no warning: at all"),
            ("001.hlog", "warning: not this"),
        ] {
            fs::write(directory.path().join(name), text).unwrap();
        }
        assert_eq!(warnings(directory.path()), ["rust.exchange: over soon", "java: slow"]);
        remove(directory.path());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
