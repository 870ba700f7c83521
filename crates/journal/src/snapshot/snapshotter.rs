//! Takes snapshots without stopping the engine: another engine follows the log in its own thread or
//! process.

use std::path::{Path, PathBuf};

use engine::Engine;

use crate::client_ids::ClientIds;
use crate::error::JournalError;
use crate::file::directory::Directory;
use crate::file::segment::end_of;
use crate::read::inputs::read_segment_header;
use crate::read::replay::{self, Start};
use crate::read::segment::Log;
use crate::snapshot::{self, Snapshot};

/// An engine that follows a journal, which another process or thread may be writing. One at a time
/// per journal.
pub struct Snapshotter {
    directory: Directory,
    log: Log,
    engine: Engine,
    client_ids: ClientIds,
    next: u64,
    snapshots_rejected: Vec<JournalError>,
}

impl Snapshotter {
    /// Starts from the latest valid snapshot, or from the first input.
    ///
    /// # Errors
    /// If there is no journal, or a file is not one of its own.
    pub fn open(path: &Path) -> Result<Snapshotter, JournalError> {
        let directory = Directory::new(path);
        let log = replay::find(&directory)?;
        let log = log.ok_or_else(|| JournalError::NoJournal(path.to_owned()))?;
        let Start { engine, client_ids, sequence: next, snapshots_rejected, .. } =
            replay::start(&directory, log)?;
        Ok(Snapshotter { directory, log, engine, client_ids, next, snapshots_rejected })
    }

    /// The first input that it has not applied.
    pub fn next_sequence(&self) -> u64 {
        self.next
    }

    /// Why snapshots were rejected when it was opened.
    pub fn snapshots_rejected(&self) -> &[JournalError] {
        &self.snapshots_rejected
    }

    /// Applies the inputs up to `to`, exclusive, which must have been written: at most
    /// [`Watch::durable`](crate::Watch::durable).
    ///
    /// # Errors
    /// If they are not all there, or one can't be read. It is then unusable.
    pub fn advance(&mut self, to: u64) -> Result<(), JournalError> {
        let from = self.next;
        let state = (&mut self.engine, &mut self.client_ids);
        replay::apply_to(&self.directory, self.log, state, from, to)?;
        self.next = self.next.max(to);
        Ok(())
    }

    /// Writes a snapshot of its present state.
    ///
    /// # Errors
    /// If the file can't be written; then none appears.
    pub fn save(&self) -> Result<Snapshot, JournalError> {
        let state = (&self.engine, &self.client_ids);
        snapshot::write(&self.directory, self.log, self.next, state)
    }
}

/// Removes files that recovery would not need even if the latest snapshot were lost: snapshots
/// before the second latest valid one, and segments fully before it. Removes nothing without two
/// valid ones. Returns the removed files.
///
/// # Errors
/// If a file can't be removed; earlier ones are already removed.
pub fn remove_old(path: &Path) -> Result<Vec<PathBuf>, JournalError> {
    let directory = Directory::new(path);
    let log = replay::find(&directory)?;
    let log = log.ok_or_else(|| JournalError::NoJournal(path.to_owned()))?;
    let snapshots = directory.snapshots()?;
    let is_good = |sequence: &&u64| {
        snapshot::check(&directory.snapshot(**sequence), Some(log), **sequence).is_ok()
    };
    let Some(kept_from) = snapshots.iter().rev().filter(is_good).nth(1).copied() else {
        return Ok(Vec::new());
    };
    let old_snapshots = snapshots.iter().filter(|sequence| **sequence < kept_from);
    let mut old: Vec<PathBuf> = old_snapshots.map(|one| directory.snapshot(*one)).collect();
    old.extend(directory.unfinished_snapshots(kept_from)?);
    for first in directory.segments()? {
        let header = read_segment_header(&directory, first, Some(log))?;
        if end_of(&header) > kept_from {
            break;
        }
        old.push(directory.segment(first));
    }
    for file in &old {
        directory.remove(file)?;
    }
    Ok(old)
}
