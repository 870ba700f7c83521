//! A copy of another journal's log, written by its follower.

use std::path::Path;
use std::sync::Arc;

use crate::client_ids::Content;
use crate::error::JournalError;
use crate::file::directory::{Access, Directory};
use crate::file::header::Header;
use crate::file::mark::{self, Mark};
use crate::file::record::CONTENT_BYTES;
use crate::read::inputs::{Inputs, LogEnd};
use crate::read::replay;
use crate::read::segment::Log;
use crate::read::tail::LogName;
use crate::write::ahead::{Maker, SegmentMaker};
use crate::write::appender::Watch;
use crate::write::log::LogWriter;
use crate::write::open::segment_to_write;
use crate::write::options::Options;
use crate::write::renew::renew;
use crate::write::state::WriterState;

/// A copy of a log. Its directory opens as a journal ([`crate::open`]) when this has ended.
pub struct LogCopy {
    log: LogWriter,
}

impl LogCopy {
    /// Makes a copy of the log `name` in the directory `path`, or continues one that is there after
    /// its last complete record. The calling thread writes; of the options, only those of segments
    /// count.
    ///
    /// # Errors
    /// As [`crate::open`]; the directory has another log.
    pub fn open(path: &Path, name: LogName, options: &Options) -> Result<LogCopy, JournalError> {
        options.check()?;
        let log = name.log();
        let directory = Directory::new(path);
        directory.create()?;
        let lock = directory.lock(Access::Write)?;
        directory.remove_unfinished()?;
        let end = match replay::find(&directory)? {
            Some(found) if found == log => end_of_log(&directory, log)?,
            Some(Log { identity: found, .. }) if found != log.identity => {
                let (path, wanted) = (path.to_owned(), log.identity);
                return Err(JournalError::OtherEngine { path, found, wanted });
            }
            Some(_) => return Err(JournalError::OtherLog(path.to_owned())),
            None => {
                mark::check(&directory, None, 0)?;
                LogEnd { next: 0, segment: None, later: Vec::new(), cut: None }
            }
        };
        let next = end.next;
        let segment = segment_to_write(&directory, log, &end, options)?;
        let shared = Arc::new(WriterState::new(next, segment.end()));
        let mark = Mark::create(&directory, log.number, next, Arc::clone(&shared))?;
        let first = segment.end();
        let header = Header { records: options.segment_records(), ..*segment.header() };
        let maker =
            Maker { directory, header, zeroed: options.zeroed, shared: Arc::clone(&shared) };
        let ahead = SegmentMaker::start(maker, first)
            .map_err(|source| JournalError::system("start a thread for", path, source))?;
        let group = Vec::new();
        Ok(LogCopy { log: LogWriter { segment, next, group, shared, ahead, mark, lock } })
    }

    /// The sequence of the next record to append.
    pub fn next_sequence(&self) -> u64 {
        self.log.group_end()
    }

    /// Whether the bytes are a record's content, as [`LogCopy::append`] asks.
    ///
    /// # Errors
    /// Their first invalid field.
    pub fn check(content: &[u8; CONTENT_BYTES]) -> Result<(), engine::DecodeError> {
        Content::from_bytes(content).map(drop)
    }

    /// Adds a record; [`LogCopy::commit`] writes it.
    ///
    /// # Errors
    /// If the bytes are no record's content.
    pub fn append(&mut self, content: &[u8; CONTENT_BYTES]) -> Result<(), engine::DecodeError> {
        LogCopy::check(content)?;
        self.log.push(content);
        Ok(())
    }

    /// Makes the appended records durable. Returns the first sequence that is not durable. While
    /// the disk is full, waits for room, and asks `goes_on` ten times a second, with whether the
    /// disk is full. If that says no, the records that are not durable are dropped.
    ///
    /// # Errors
    /// After an error the copy must not be used any more; its directory can be opened again.
    pub fn commit(&mut self, goes_on: &mut dyn FnMut(bool) -> bool) -> Result<u64, JournalError> {
        self.log.commit(goes_on)?;
        match self.log.shared.failure() {
            None => Ok(self.log.next),
            Some(why) => {
                let source = std::io::Error::other(why.to_string());
                Err(JournalError::system("continue after", self.log.segment.path(), source))
            }
        }
    }

    /// Drops the appended records that were not committed.
    pub fn discard(&mut self) {
        self.log.group.clear();
    }

    /// Whether the disk has no room for the next segment.
    pub fn has_no_room(&self) -> bool {
        self.log.shared.has_no_room()
    }

    /// Reads how far it is durable, from other threads.
    pub fn watch(&self) -> Watch {
        Watch::new(Arc::clone(&self.log.shared))
    }
}

impl Drop for LogCopy {
    fn drop(&mut self) {
        // Otherwise the thread that makes segments could wait for room for ever.
        self.log.shared.stop();
    }
}

/// Reads a log to its end, and makes all of it durable.
fn end_of_log(directory: &Directory, log: Log) -> Result<LogEnd, JournalError> {
    let segments = directory.segments()?;
    let oldest = segments.first().copied();
    let from = oldest.map_or_else(|| newest_snapshot(directory), Ok)?;
    let mut inputs = Inputs::from(directory, log, from)?;
    while inputs.next_content()?.is_some() {}
    let end = inputs.end()?;
    mark::check(directory, Some(log), end.next)?;
    renew(directory, log, end.next)?;
    Ok(end)
}

fn newest_snapshot(directory: &Directory) -> Result<u64, JournalError> {
    Ok(directory.snapshots()?.last().copied().unwrap_or(0))
}
