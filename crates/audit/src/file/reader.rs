//! Reads an audit log, record by record, and tells a torn tail from damage.
//!
//! Records are written one behind the other and never again, and no page of the file ends inside
//! one. So what a writer that was killed, or a full disk, leaves is whole records and then a part
//! of one, and what a machine that failed leaves is whole records and then zeros: *torn*, which is
//! said, and no error. Anything else was changed by something else: that is damage, and refused.

use crate::file::HEADER_BYTES;
use crate::{Header, RECORD_BYTES, ReadError, Record};
use std::io::{self, Read};

/// How a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogTail {
    /// By the logger's own word.
    Finished,
    /// Without it, behind a whole record: the logger was killed, or could not write any more.
    Unfinished,
    /// By a part of a record, or by zeros: a write was cut off.
    Torn {
        /// How many.
        bytes: u64,
    },
}

/// A log that is being read. Iterates over its records, the end's own included.
pub struct Reader<R> {
    from: R,
    header: Header,
    number: u64,
    tail: Option<LogTail>,
    /// A record was damaged: nothing more is read.
    is_over: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// It can't be read, or is no audit log's.
    pub fn new(mut from: R) -> Result<Reader<R>, ReadError> {
        let mut bytes = Box::new([0; HEADER_BYTES]);
        if fill(&mut from, &mut bytes[..])? < HEADER_BYTES {
            return Err(ReadError::Foreign("it is shorter than one's header"));
        }
        let header = Header::from_bytes(&bytes)?;
        Ok(Reader { from, header, number: 0, tail: None, is_over: false })
    }

    /// What the log says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How the log ends; `None` before all of it was read.
    pub fn tail(&self) -> Option<LogTail> {
        self.tail
    }

    /// The next record; `None` at the end, or at a torn tail.
    fn read(&mut self) -> Result<Option<Record>, ReadError> {
        let mut bytes = [0; RECORD_BYTES];
        let length = fill(&mut self.from, &mut bytes)?;
        if length == 0 {
            self.tail = Some(LogTail::Unfinished);
            return Ok(None);
        }
        let record = Record::from_bytes(&bytes, self.number).filter(|_| length == RECORD_BYTES);
        let Some(record) = record else {
            self.tail = Some(self.torn(&bytes[..length])?);
            return Ok(None);
        };
        if let Record::End { records, .. } = record {
            if records != self.number {
                return Err(self.damaged("the end counts other records"));
            }
            if fill(&mut self.from, &mut bytes)? > 0 {
                return Err(self.damaged("something stands behind the end"));
            }
            self.tail = Some(LogTail::Finished);
        }
        self.number += 1;
        Ok(Some(record))
    }

    /// What stands here is no whole record: the tail, if it is a part of one or there are zeros to
    /// the end of the file.
    fn torn(&mut self, found: &[u8]) -> Result<LogTail, ReadError> {
        let mut bytes_in_all = found.len() as u64;
        if found.len() == RECORD_BYTES {
            let (mut bytes, mut length) = ([0; RECORD_BYTES], found.len());
            bytes.copy_from_slice(found);
            while length > 0 {
                if bytes[..length] != [0; RECORD_BYTES][..length] {
                    return Err(self.damaged("nor is it where a write was cut off"));
                }
                length = fill(&mut self.from, &mut bytes)?;
                bytes_in_all += length as u64;
            }
        }
        Ok(LogTail::Torn { bytes: bytes_in_all })
    }

    fn damaged(&self, why: &'static str) -> ReadError {
        let at = HEADER_BYTES as u64 + self.number * RECORD_BYTES as u64;
        ReadError::Damaged { number: self.number, at, why }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over || self.tail.is_some() {
            return None;
        }
        let record = self.read();
        self.is_over = record.is_err();
        record.transpose()
    }
}

/// Reads until the buffer is full or nothing is left; says how much it has.
fn fill(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < bytes.len() {
        match from.read(&mut bytes[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
