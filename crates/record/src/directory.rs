//! The directory of a record: its files, and writing them whole.

use crate::comparison::Comparison;
use crate::hlog::{Totals, totals};
use crate::machine::Machine;
use crate::sweep::SweepRecord;
use crate::{RunRecord, SCHEMA};
use clock::calendar::utc;
use clock::wall_ms;
use std::fmt::Display;
use std::fs;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

/// Whether a name is safe as a directory's name: letters, digits, `-` and `_`.
pub fn is_plain(name: &str) -> bool {
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    !name.is_empty() && name.chars().all(plain)
}

/// Makes `runs/2026-11-21T19-40-03Z-NAME`, or the same with `-2`, `-3`, … if that exists.
///
/// # Errors
/// If the file system returns one, or `name` has other characters than letters, digits, `-` and
/// `_`: a name from elsewhere could lead out of the directory.
pub fn create(runs: &Path, name: &str) -> io::Result<PathBuf> {
    if !is_plain(name) {
        let why = format!("{name:?} is no scenario's name: those are of letters, digits, - and _");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let stem = format!("{}-{name}", utc(wall_ms()).replace(':', "-"));
    fs::create_dir_all(runs)?;
    for attempt in 1.. {
        let suffix = if attempt == 1 { String::new() } else { format!("-{attempt}") };
        let path = runs.join(format!("{stem}{suffix}"));
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(path),
        }
    }
    unreachable!("the loop ends by returning")
}

/// The directory of the record in `path`: the path itself, or the directory of its run.json.
pub fn of(path: &Path) -> PathBuf {
    match path.parent() {
        _ if path.is_dir() => path.to_owned(),
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The .hlog of run `run`, from 1.
pub fn hlog(directory: &Path, run: u32) -> PathBuf {
    directory.join(format!("{run:03}.hlog"))
}

/// The logs of a record's runs in `directory`, in order, without void runs.
///
/// # Errors
/// If the directory can't be read.
pub fn hlogs(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let is_run = |path: &PathBuf| {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        path.extension().is_some_and(|extension| extension == "hlog")
            && stem.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut logs: Vec<PathBuf> = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.path()))
        .filter(|path: &io::Result<PathBuf>| path.as_ref().map_or(true, is_run))
        .collect::<io::Result<_>>()?;
    // "1000.hlog" comes after "999.hlog".
    logs.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    Ok(logs)
}

/// Writes `run.json` and `machine.json`, each whole or not at all.
///
/// # Errors
/// If the file system returns one.
pub fn save_record(directory: &Path, record: &RunRecord, machine: &Machine) -> io::Result<()> {
    write_whole(&directory.join("machine.json"), &serde_json::to_string_pretty(machine)?)?;
    write_whole(&directory.join("run.json"), &serde_json::to_string_pretty(record)?)
}

/// Writes `text` and a newline to `path`, whole or not at all. A device or a link is kept and
/// written to directly.
///
/// # Errors
/// If the file system returns one.
pub fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let text = format!("{text}\n");
    if fs::symlink_metadata(path).is_ok_and(|there| !there.is_file()) {
        return fs::write(path, text);
    }
    let partial = path.with_extension("partial");
    let written = fs::write(&partial, text).and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

/// A document in a record's directory.
pub enum Document {
    /// run.json.
    Run(Box<RunRecord>),
    /// compare.json.
    Comparison(Box<Comparison>),
    /// sweep.json.
    Sweep(Box<SweepRecord>),
}

/// The document in `path`, a directory or the file itself; `None` for a directory without one.
///
/// # Errors
/// If there is a document that can't be read.
pub fn load(path: &Path) -> io::Result<Option<Document>> {
    let name = path.file_name().unwrap_or_default();
    let is = |file: &str| match path.is_dir() {
        true => path.join(file).is_file(),
        false => name == file,
    };
    let read = |file: &str| {
        let file = if path.is_dir() { path.join(file) } else { path.to_owned() };
        Ok::<_, io::Error>((fs::read_to_string(&file)?, file))
    };
    let invalid = |file: &Path, error: serde_json::Error| {
        let why = format!("{} can't be read: {error}", file.display());
        io::Error::new(io::ErrorKind::InvalidData, why)
    };
    if is("compare.json") {
        let (text, file) = read("compare.json")?;
        let comparison = serde_json::from_str(&text).map_err(|error| invalid(&file, error))?;
        return Ok(Some(Document::Comparison(Box::new(comparison))));
    }
    if is("sweep.json") {
        let (text, file) = read("sweep.json")?;
        let sweep = serde_json::from_str(&text).map_err(|error| invalid(&file, error))?;
        return Ok(Some(Document::Sweep(Box::new(sweep))));
    }
    // Logs without a run.json are the remains of a record, which the error should say.
    let is_directory = path.is_dir() && !is("run.json");
    if is_directory && hlogs(path).is_ok_and(|logs| logs.is_empty()) {
        return Ok(None);
    }
    Ok(Some(Document::Run(Box::new(load_record(path)?))))
}

/// The text of an error for `path`, which can't be written. The remedy is last, so that the option
/// for another place can follow.
pub fn cannot_write(path: impl Display, error: &io::Error) -> String {
    format!("cannot write {path}: {error}; {}", remedy(error))
}

/// The remedy for a file that can't be written.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or choose another place"
        }
        io::ErrorKind::PermissionDenied => {
            "make it writable for this user, or choose another place"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "the file system is mounted read-only: choose another place"
        }
        _ => "choose another place",
    }
}

/// Reads the record in `path`: a run directory or its run.json.
///
/// # Errors
/// If there is none, or if a later, incompatible version wrote it.
pub fn load_record(path: &Path) -> io::Result<RunRecord> {
    let file = if path.is_dir() { path.join("run.json") } else { path.to_owned() };
    let text = fs::read_to_string(&file)?;
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let no_record = |error| invalid(format!("{} is no run record: {error}", file.display()));
    let record = RunRecord::from_json(&text);
    if let Ok(record) = &record
        && record.schema <= SCHEMA
        && let Err(kind) = record.measure()
    {
        return Err(invalid(format!(
            "{} holds a measurement of kind {kind:?}, which this tickpath doesn't know: use {} or later",
            file.display(),
            record.tool
        )));
    }
    if record.as_ref().is_ok_and(|record| record.schema <= SCHEMA) {
        return record.map_err(no_record);
    }
    // Check the version first: parsing a later version's record could fail with a misleading error.
    let value: serde_json::Value = serde_json::from_str(&text).map_err(no_record)?;
    let schema = value["schema"].as_u64().unwrap_or(0);
    if schema > u64::from(SCHEMA) {
        return Err(invalid(format!(
            "{} has schema {schema}, this tickpath knows {SCHEMA}: use {} or later",
            file.display(),
            value["tool"].as_str().unwrap_or("a later one"),
        )));
    }
    record.map_err(no_record)
}

/// Reads the latencies of each run of the record in `path`, a run directory or its run.json, in
/// order.
///
/// # Errors
/// If there are none, or if one is incomplete.
pub fn load_runs(path: &Path) -> io::Result<Vec<Totals>> {
    let read = |log: &PathBuf| {
        totals(BufReader::new(fs::File::open(log)?)).map_err(|error| {
            let why = format!("{} is cut off or damaged: {error}", log.display());
            io::Error::new(io::ErrorKind::InvalidData, why)
        })
    };
    hlogs(&of(path))?.iter().map(read).collect()
}

/// Reads the fingerprints of the record in `path`: a run directory or its run.json.
///
/// # Errors
/// If they are missing or can't be read.
pub fn load_machine(path: &Path) -> io::Result<Machine> {
    let file = of(path).join("machine.json");
    serde_json::from_str(&fs::read_to_string(&file)?).map_err(|error| {
        let why = format!("{} is no fingerprint: {error}", file.display());
        io::Error::new(io::ErrorKind::InvalidData, why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_in_one_second_get_a_directory_each() {
        let runs = tempfile::tempdir().unwrap();
        let made: std::collections::HashSet<PathBuf> =
            (0..5).map(|_| create(runs.path(), "ping-pong").unwrap()).collect();
        assert_eq!(made.len(), 5);
    }

    #[test]
    fn a_name_that_is_a_path_makes_no_directory() {
        let runs = tempfile::tempdir().unwrap();
        for name in ["", "../elsewhere", "a/b", "/tmp/x", "x y"] {
            let error = create(runs.path(), name).unwrap_err().to_string();
            assert!(error.contains("is no scenario's name"), "{name}: {error}");
        }
    }

    /// As root, `--html /dev/stdout` would otherwise replace the device by a file.
    #[test]
    fn what_is_no_file_is_written_to_and_stays() {
        let directory = tempfile::tempdir().unwrap();
        let [link, file, null] = ["link", "file", "null"].map(|name| directory.path().join(name));
        std::os::unix::fs::symlink(&file, &link).unwrap();
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        for text in ["longer than", "the other"] {
            write_whole(&link, text).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), format!("{text}\n"));
            write_whole(&null, text).unwrap();
        }
        assert!(link.is_symlink() && null.is_symlink());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3);
        assert!(write_whole(directory.path(), "").is_err());
    }

    /// Six crates once told to free space whatever the error was.
    #[test]
    fn the_remedy_fits_the_error() {
        for (kind, remedy) in [
            (io::ErrorKind::StorageFull, "free some space"),
            (io::ErrorKind::QuotaExceeded, "free some space"),
            (io::ErrorKind::PermissionDenied, "make it writable"),
            (io::ErrorKind::NotADirectory, "; choose another place"),
        ] {
            let text = cannot_write("001.hlog", &kind.into());
            assert!(text.starts_with("cannot write 001.hlog: "), "{text}");
            assert!(text.contains(remedy) && text.ends_with("choose another place"), "{text}");
        }
    }

    #[test]
    fn logs_of_runs_that_count_come_in_order() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["1000.hlog", "002.hlog", "999.hlog", "void-1.hlog", "run.json", "001.hlog"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let logs = hlogs(directory.path()).unwrap();
        let names: Vec<_> = logs.iter().map(|path| path.file_name().unwrap()).collect();
        assert_eq!(names, ["001.hlog", "002.hlog", "999.hlog", "1000.hlog"]);
    }

    #[test]
    fn a_record_of_the_future_is_rejected_with_advice() {
        let directory = tempfile::tempdir().unwrap();
        let text = r#"{"schema": 99, "tool": "tickpath 9.0.0", "scenario": "x", "complete": true,
            "valid": true, "invalid_because": [], "runs": 1, "runs_void": 0, "warnings": [],
            "subjects": [{"name": "x", "series": [{"kind": "not invented yet"}]}]}"#;
        fs::write(directory.path().join("run.json"), text).unwrap();
        let error = load_record(directory.path()).unwrap_err().to_string();
        assert!(error.contains("use tickpath 9.0.0 or later"), "{error}");
    }
}
