//! Reads a segment record by record, and judges the bytes after the last one.
//!
//! | content | meaning |
//! |---|---|
//! | zeros to the end | a clean end |
//! | an incomplete record, and no complete one after it | a torn tail: cut |
//! | the same, and complete records after it that were written with it, before any was durable; the
//! first incomplete one lacks a sector | a torn tail: cut |
//! | the same without a missing sector | damage |
//! | a complete record after it that says that it had been durable | damage |
//! | a complete record of another position | damage |
//!
//! A cut record was not durable when its write was interrupted, or it was the very last record: the
//! segment alone can't tell a change of the last record from an interrupted write. The mark
//! (`mark.rs`) can: it rejects a cut of durable inputs. Damage is rejected, and so is a file that
//! is shorter than it was made.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use engine::Input;

use crate::client_ids::Content;
use crate::error::JournalError;
use crate::file::header::{Fault, FileKind, HEADER_BYTES, Header, Identity};
use crate::file::record::{Bytes, RECORD_BYTES, RecordSlot, is_torn, read};
use crate::file::segment::{byte_of, end_of};
use crate::read::zeros;

/// Bytes per read.
const READ_BYTES: usize = 1 << 20;

/// The log that a file must belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Log {
    pub number: u64,
    pub identity: Identity,
}

/// Skips records that a source does not store, as [`zeros::skip_hole`] does.
type SkipHole<R> = fn(&mut R, u64) -> io::Result<u64>;

/// A segment that is being read.
#[derive(Debug)]
pub(crate) struct Reader<R> {
    source: R,
    skip_hole: SkipHole<R>,
    path: PathBuf,
    header: Header,
    next: u64,
    /// Content at the position of `next`, and its length, if it is not a record.
    end: Option<(Bytes, usize)>,
}

impl Reader<BufReader<File>> {
    /// Opens a segment for reading from the input `from` on, which must be within its capacity or
    /// its end.
    pub fn open(path: &Path, log: Option<Log>, from: u64) -> Result<Self, JournalError> {
        let failed = |source| JournalError::system("read", path, source);
        let file = File::open(path).map_err(failed)?;
        let found = file.metadata().map_err(failed)?.len();
        let mut reader = Reader::new(BufReader::with_capacity(READ_BYTES, file), path, log)?;
        reader.skip_hole = zeros::skip_hole;
        let header = reader.header;
        let made = byte_of(&header, end_of(&header));
        if found < made {
            return Err(JournalError::Shrunken { path: path.to_owned(), found, made });
        }
        let place = byte_of(&header, from.clamp(header.sequence, end_of(&header)));
        if from > header.sequence {
            reader.source.seek(SeekFrom::Start(place)).map_err(failed)?;
            reader.next = from.min(end_of(&header));
        }
        Ok(reader)
    }
}

impl<R: BufRead> Reader<R> {
    /// Reads the header of a segment.
    pub fn new(mut source: R, path: &Path, log: Option<Log>) -> Result<Self, JournalError> {
        let header = read_header(&mut source, path, FileKind::Segment, log)?;
        let (path, next, skip_hole): (_, _, SkipHole<R>) =
            (path.to_owned(), header.sequence, |_, _| Ok(0));
        Ok(Reader { source, skip_hole, path, header, next, end: None })
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Whether it has been read to its capacity.
    pub fn is_read(&self) -> bool {
        self.next == end_of(&self.header)
    }

    /// The next record's content; always `None` after the last.
    pub fn next_content(&mut self) -> Result<Option<Content>, JournalError> {
        if self.is_read() || self.end.is_some() {
            return Ok(None);
        }
        let (bytes, length) = self.read_place()?;
        match read(&bytes) {
            RecordSlot::Record { sequence, content, .. } if sequence == self.next => {
                let content = content.map_err(|source| JournalError::Unreadable {
                    path: self.path.clone(),
                    sequence,
                    source,
                })?;
                self.next += 1;
                Ok(Some(content))
            }
            _ => {
                self.end = Some((bytes, length));
                Ok(None)
            }
        }
    }

    /// Reads from the first missing input to the end. Returns the offset at which the final zeros
    /// begin, which is that of the next record if the end is clean.
    pub fn judge(mut self) -> Result<u64, JournalError> {
        let begin = byte_of(&self.header, self.next);
        let (first, mut length) = match self.end.take() {
            Some(end) => end,
            None if self.is_read() => return Ok(begin),
            None => self.read_place()?,
        };
        if let RecordSlot::Record { sequence, .. } = read(&first) {
            return Err(self.damaged(format!("it has the record of input {sequence}")));
        }
        let may_be_torn = is_torn(&first, begin);
        let (mut bytes, mut place, mut dirty_end) = (first, begin, begin);
        let mut sequence = self.next;
        let records_end = end_of(&self.header);
        loop {
            let last = bytes[..length].iter().rposition(|byte| *byte != 0);
            if let Some(last) = last {
                dirty_end = place + last as u64 + 1;
            }
            place += length as u64;
            sequence += 1;
            if length == RECORD_BYTES && last.is_none() {
                let skipped = self.skip_zeros(records_end - sequence)?;
                place += skipped * RECORD_BYTES as u64;
                sequence += skipped;
            }
            if length < RECORD_BYTES || sequence == records_end {
                return Ok(dirty_end);
            }
            (bytes, length) = self.read_place()?;
            if let RecordSlot::Record { sequence: found, durable, .. } = read(&bytes) {
                self.weigh(may_be_torn, (sequence, found), durable)?;
            }
        }
    }

    /// Skips some of the records of zeros that follow, if any do, and returns their number.
    fn skip_zeros(&mut self, records_max: u64) -> Result<u64, JournalError> {
        let hole = (self.skip_hole)(&mut self.source, records_max);
        let skipped =
            hole.and_then(|hole| Ok(hole + zeros::skip(&mut self.source, records_max - hole)?));
        skipped.map_err(|source| JournalError::system("read", &self.path, source))
    }

    /// Judges a complete record after an incomplete one.
    fn weigh(
        &self,
        may_be_torn: bool,
        (place, found): (u64, u64),
        durable: u64,
    ) -> Result<(), JournalError> {
        if found != place {
            let what = format!("after it, the record of input {found} is in the place of {place}");
            return Err(self.damaged(what));
        }
        if durable > self.next {
            let what =
                format!("it is incomplete, but it was durable when input {found} was written");
            return Err(self.damaged(what));
        }
        if !may_be_torn {
            let what = format!(
                "it is incomplete without a missing sector, and input {found} after it is complete"
            );
            return Err(self.damaged(what));
        }
        Ok(())
    }

    fn damaged(&self, what: String) -> JournalError {
        JournalError::Damaged {
            path: self.path.clone(),
            byte: byte_of(&self.header, self.next),
            sequence: self.next,
            what,
        }
    }

    /// The bytes at a record's position, and their number; padded with zeros at the end of the
    /// file.
    fn read_place(&mut self) -> Result<(Bytes, usize), JournalError> {
        let mut bytes = [0; RECORD_BYTES];
        let length = read_up_to(&mut self.source, &mut bytes);
        let length = length.map_err(|source| JournalError::system("read", &self.path, source))?;
        Ok((bytes, length))
    }
}

/// Result of [`read_segment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRead {
    /// The engine of the segment.
    pub identity: Identity,
    /// Its first input.
    pub first_sequence: u64,
    /// The first input after it.
    pub next_sequence: u64,
    /// Offset of the next record.
    pub end: u64,
    /// Offset at which the final zeros begin: after `end` if there is an incomplete record.
    pub dirty_end: u64,
}

/// Reads the inputs of one segment from any source; leaves out client ids. `name` is for errors.
///
/// # Errors
/// If the bytes are not a segment of this version; damage other than a torn tail; an unreadable
/// source.
pub fn read_segment(
    bytes: impl Read,
    name: &Path,
    mut show: impl FnMut(u64, Input),
) -> Result<SegmentRead, JournalError> {
    let mut reader = Reader::new(BufReader::new(bytes), name, None)?;
    let header = reader.header;
    while let Some(content) = reader.next_content()? {
        if let Content::Input(input) = content {
            show(reader.next - 1, input);
        }
    }
    let next_sequence = reader.next;
    let end = byte_of(&header, next_sequence);
    let dirty_end = reader.judge()?;
    let Header { identity, sequence: first_sequence, .. } = header;
    Ok(SegmentRead { identity, first_sequence, next_sequence, end, dirty_end })
}

/// Reads a file's header and checks that it belongs to the log.
pub(crate) fn read_header(
    source: &mut impl Read,
    path: &Path,
    kind: FileKind,
    log: Option<Log>,
) -> Result<Header, JournalError> {
    let mut bytes = [0; HEADER_BYTES];
    let length = read_up_to(source, &mut bytes);
    let length = length.map_err(|source| JournalError::system("read", path, source))?;
    let path = path.to_owned();
    let damaged = |path, what: &str| {
        let what = what.to_owned();
        JournalError::Damaged { path, byte: 0, sequence: 0, what }
    };
    if length < HEADER_BYTES {
        return Err(damaged(path, "it is shorter than a header"));
    }
    let header = match Header::decode(&bytes, kind) {
        Ok(header) => header,
        Err(Fault::Foreign) => {
            return Err(JournalError::Foreign { path, why: "it begins with other bytes" });
        }
        Err(Fault::Version(found)) => {
            return Err(JournalError::Version { path, found, known: crate::file::header::VERSION });
        }
        Err(Fault::Damaged(what)) => return Err(damaged(path, what)),
    };
    match log {
        Some(Log { identity, .. }) if identity != header.identity => {
            Err(JournalError::OtherEngine { path, found: header.identity, wanted: identity })
        }
        Some(Log { number, .. }) if number != header.log => Err(JournalError::OtherLog(path)),
        _ => Ok(header),
    }
}

/// Fills the buffer as far as the source allows.
pub(crate) fn read_up_to(source: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
#[path = "segment_tests.rs"]
mod tests;
