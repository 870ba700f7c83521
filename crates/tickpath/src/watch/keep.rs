//! Which records of a watch stay.

use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};

/// Deletes all but the newest `keep` records of `scenario` in `directory`, and says how many it
/// deleted. Only what `record::directory::create` made for this scenario is touched, and only if a
/// run.json stands in it.
pub(crate) fn delete_old(directory: &Path, scenario: &str, keep: usize) -> anyhow::Result<usize> {
    let mut records: Vec<(String, u64, PathBuf)> = fs::read_dir(directory)
        .with_context(|| format!("cannot list {}", directory.display()))?
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let (moment, number) = moment(&name, scenario)?;
            let is_record =
                entry.file_type().ok()?.is_dir() && entry.path().join("run.json").is_file();
            is_record.then(|| (moment, number, entry.path()))
        })
        .collect();
    records.sort();
    let old = records.len().saturating_sub(keep);
    for (_, _, path) in &records[..old] {
        fs::remove_dir_all(path).with_context(|| format!("cannot delete {}", path.display()))?;
    }
    Ok(old)
}

/// The moment and the number of `2026-11-21T19-40-03Z-NAME-2`; `None` for any other name.
fn moment(name: &str, scenario: &str) -> Option<(String, u64)> {
    let (moment, rest) = name.split_at_checked(20)?;
    let shape: String = moment.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    if shape != "0000-00-00T00-00-00Z" {
        return None;
    }
    match rest.strip_prefix('-')?.strip_prefix(scenario)? {
        "" => Some((moment.to_owned(), 1)),
        number => Some((moment.to_owned(), number.strip_prefix('-')?.parse().ok()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let make = |name: &str, is_record: bool| {
            let path = directory.path().join(name);
            fs::create_dir(&path).unwrap();
            if is_record {
                fs::write(path.join("run.json"), "{}").unwrap();
            }
        };
        for name in
            ["2026-11-21T19-40-03Z-s", "2026-11-21T19-40-03Z-s-2", "2026-11-21T19-40-03Z-s-10"]
        {
            make(name, true);
        }
        make("2026-11-22T19-40-03Z-s", true);
        // Another scenario, another directory, logs of a run that lasts.
        make("2020-01-01T00-00-00Z-s-other", true);
        make("notes-of-s", true);
        make("2020-01-01T00-00-00Z-s", false);
        assert_eq!(delete_old(directory.path(), "s", 2).unwrap(), 2);
        let mut left: Vec<String> = fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(
            left,
            [
                "2020-01-01T00-00-00Z-s",
                "2020-01-01T00-00-00Z-s-other",
                "2026-11-21T19-40-03Z-s-10",
                "2026-11-22T19-40-03Z-s",
                "notes-of-s",
            ]
        );
        assert_eq!(delete_old(directory.path(), "s", 2).unwrap(), 0);
    }
}
