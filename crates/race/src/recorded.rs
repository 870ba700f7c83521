//! Latencies from the logs of runs.

use crate::error::RaceError;
use crate::latency::{Block, Latency};
use record::{directory, hlog};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// Reads the series `tag`, `subject.series.kind`, of a run's directory or of one log.
///
/// # Errors
/// If there is no such run, it is void, or it has no such series.
pub(crate) fn read(path: &Path, tag: Option<&str>) -> Result<Latency, RaceError> {
    let text = format!("{} of {}", tag.unwrap_or_default(), path.display());
    let latency = Latency::recorded(&blocks(path, tag)?, &text);
    latency.ok_or_else(|| RaceError::Run {
        path: path.display().to_string(),
        why: "no interval has values".to_owned(),
    })
}

/// The intervals of a series, about a second each, in the order of the logs; those without values
/// are left out, and there is at least one.
///
/// # Errors
/// As [`read`].
pub(crate) fn blocks(path: &Path, tag: Option<&str>) -> Result<Vec<Block>, RaceError> {
    let cannot = |why: String| RaceError::Run { path: path.display().to_string(), why };
    let logs = logs(path).map_err(cannot)?;
    let tags = tags(path)?;
    let listed = tags.join(", ");
    let tag = match tag {
        Some(tag) if tags.iter().any(|one| one == tag) => tag,
        Some(tag) => return Err(cannot(format!("it has no series {tag:?}, but {listed}"))),
        None => return Err(cannot(format!("say which series with latency.series: {listed}"))),
    };
    let mut blocks: Vec<Block> = Vec::new();
    for log in &logs {
        let read = hlog::slices::values(open(log).map_err(cannot)?, tag);
        blocks.extend(read.map_err(|error| cannot(error.to_string()))?);
    }
    blocks.retain(|block| block.iter().any(|(_, count)| *count > 0));
    match blocks.is_empty() {
        true => Err(cannot(format!("{tag} has no values"))),
        false => Ok(blocks),
    }
}

/// The tags of a run's logs, in order.
///
/// # Errors
/// If there is no such run, or it is void.
pub(crate) fn tags(path: &Path) -> Result<Vec<String>, RaceError> {
    let cannot = |why: String| RaceError::Run { path: path.display().to_string(), why };
    let mut tags = Vec::new();
    for log in logs(path).map_err(cannot)? {
        let totals = hlog::totals(open(&log).map_err(cannot)?);
        tags.extend(totals.map_err(|error| cannot(error.to_string()))?.into_keys());
    }
    tags.sort_unstable();
    tags.dedup();
    Ok(tags)
}

fn open(path: &Path) -> Result<BufReader<File>, String> {
    File::open(path).map(BufReader::new).map_err(|error| format!("{}: {error}", path.display()))
}

/// The logs of a run that is no void one.
fn logs(path: &Path) -> Result<Vec<PathBuf>, String> {
    if path.extension().is_some_and(|extension| extension == "hlog") {
        return Ok(vec![path.to_owned()]);
    }
    let record = directory::load_record(path).map_err(|error| error.to_string())?;
    if record.is_void() {
        return Err("the run is void, so its latencies are no result; measure again".to_owned());
    }
    match directory::hlogs(&directory::of(path)) {
        Ok(logs) if !logs.is_empty() => Ok(logs),
        Ok(_) => Err("it has no .hlog file".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
