//! Reads the records of a log that is being written, as the writer tells how far it is.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::JournalError;
use crate::file::directory::Directory;
use crate::file::header::{FileKind, HEADER_BYTES, Header};
use crate::file::record::{RECORD_BYTES, RecordSlot, content_of, read};
use crate::file::segment::{byte_of, end_of};
use crate::read::inputs::read_segment_header;
use crate::read::segment::Log;

/// The identity of a log: its number and its engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogName(Log);

impl LogName {
    /// Bytes of its encoding.
    pub const BYTES: usize = HEADER_BYTES;

    pub(crate) fn log(self) -> Log {
        self.0
    }

    /// Its encoding: the header of the log's first segment, with room for one record.
    pub fn to_bytes(self) -> [u8; LogName::BYTES] {
        let Log { number, identity } = self.0;
        Header { kind: FileKind::Segment, log: number, sequence: 0, records: 1, identity }.encode()
    }

    /// Decodes it; `None` if the bytes are no log's identity, or one of a later version.
    pub fn from_bytes(bytes: &[u8; LogName::BYTES]) -> Option<LogName> {
        let header = Header::decode(bytes, FileKind::Segment).ok()?;
        Some(LogName(Log { number: header.log, identity: header.identity }))
    }

    /// The log of the journal in the directory `path`; `None` if there is none.
    ///
    /// # Errors
    /// If the directory can't be read, or a file is not one of a journal.
    pub fn of(path: &Path) -> Result<Option<LogName>, JournalError> {
        match crate::read::replay::find(&Directory::new(path)) {
            Err(JournalError::NoJournal(_)) => Ok(None),
            found => Ok(found?.map(LogName)),
        }
    }
}

/// Reads a log from any of its records on.
#[derive(Debug)]
pub struct Tail {
    directory: Directory,
    log: Log,
    segment: Option<(File, Header)>,
    next: u64,
    bytes: Vec<u8>,
}

impl Tail {
    /// The log in the directory `path`, from its record `next` on.
    ///
    /// # Errors
    /// If there is no journal, or a file is not one of its own.
    pub fn open(path: &Path, next: u64) -> Result<Tail, JournalError> {
        let name = LogName::of(path)?.ok_or_else(|| JournalError::NoJournal(path.to_owned()))?;
        let directory = Directory::new(path);
        Ok(Tail { directory, log: name.0, segment: None, next, bytes: Vec::new() })
    }

    /// The log's identity.
    pub fn name(&self) -> LogName {
        LogName(self.log)
    }

    /// The sequence of the next record.
    pub fn next_sequence(&self) -> u64 {
        self.next
    }

    /// Appends the contents of the next records to `contents`: of those before `to`, which must be
    /// written, at most `count`, and none of a second segment. Returns their number.
    ///
    /// # Errors
    /// A segment is missing, or a record is damaged.
    pub fn read(
        &mut self,
        to: u64,
        count: u64,
        contents: &mut Vec<u8>,
    ) -> Result<u64, JournalError> {
        if to <= self.next {
            return Ok(0);
        }
        let (file, header) = match self.segment.take() {
            Some((file, header)) if self.next < end_of(&header) => (file, header),
            _ => self.open_segment()?,
        };
        let path = self.directory.segment(header.sequence);
        let count = (to.min(end_of(&header)) - self.next).min(count);
        self.bytes.resize(count as usize * RECORD_BYTES, 0);
        file.read_exact_at(&mut self.bytes, byte_of(&header, self.next))
            .map_err(|source| JournalError::system("read", &path, source))?;
        let (records, _) = self.bytes.as_chunks::<RECORD_BYTES>();
        for record in records {
            let (byte, next) = (byte_of(&header, self.next), self.next);
            match read(record) {
                RecordSlot::Record { sequence, .. } if sequence == next => {}
                _ => {
                    let what = "its record is not complete, but was written".to_owned();
                    return Err(JournalError::Damaged { path, byte, sequence: next, what });
                }
            }
            contents.extend_from_slice(content_of(record));
            self.next += 1;
        }
        self.segment = Some((file, header));
        Ok(count)
    }

    /// The segment with the next record.
    fn open_segment(&self) -> Result<(File, Header), JournalError> {
        let first = self.directory.segment_before(self.next + 1)?;
        let first = first.ok_or_else(|| self.missing())?;
        let header = read_segment_header(&self.directory, first, Some(self.log))?;
        if self.next >= end_of(&header) {
            return Err(self.missing());
        }
        let path = self.directory.segment(first);
        let file = File::open(&path);
        Ok((file.map_err(|source| JournalError::system("open", &path, source))?, header))
    }

    fn missing(&self) -> JournalError {
        JournalError::Missing { path: self.directory.path().to_owned(), sequence: self.next }
    }
}
