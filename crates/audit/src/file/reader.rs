//! Reads an audit log, record by record, and tells a torn tail from damage.
//!
//! Records are appended and never changed, and no page of the file ends within one. So a killed
//! writer or a full disk leaves complete records and then a part of one, and a failed machine
//! leaves complete records and then zeros: a *torn* tail, which is reported, but no error. Anything
//! else was changed by something else: it is damage, and rejected.

use crate::file::HEADER_BYTES;
use crate::{Header, RECORD_BYTES, ReadError, Record};
use std::io::{self, Read};

/// The end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogTail {
    /// With the logger's end record.
    Finished,
    /// Without an end record, after a complete record: the logger was killed, or could not write.
    Unfinished,
    /// With a part of a record, or with zeros: a write was interrupted.
    Torn {
        /// Number of these bytes.
        bytes: u64,
    },
}

/// A log that is being read. Iterates over its records, including the end record.
pub struct Reader<R> {
    from: R,
    header: Header,
    number: u64,
    tail: Option<LogTail>,
    /// A record was damaged: reading stops.
    is_over: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// If it can't be read, or is not an audit log's.
    pub fn new(mut from: R) -> Result<Reader<R>, ReadError> {
        let mut bytes = Box::new([0; HEADER_BYTES]);
        if fill(&mut from, &mut bytes[..])? < HEADER_BYTES {
            return Err(ReadError::Foreign("it is shorter than a header"));
        }
        let header = Header::from_bytes(&bytes)?;
        Ok(Reader { from, header, number: 0, tail: None, is_over: false })
    }

    /// The log's description.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The end of the log; `None` before all of it was read.
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
                return Err(self.damaged("the end record has another count"));
            }
            if fill(&mut self.from, &mut bytes)? > 0 {
                return Err(self.damaged("there is data after the end record"));
            }
            self.tail = Some(LogTail::Finished);
        }
        self.number += 1;
        Ok(Some(record))
    }

    /// Judges an incomplete record: it is the tail, if it is a part of a record or zeros to the end
    /// of the file.
    fn torn(&mut self, found: &[u8]) -> Result<LogTail, ReadError> {
        let mut bytes_in_all = found.len() as u64;
        if found.len() == RECORD_BYTES {
            let (mut bytes, mut length) = ([0; RECORD_BYTES], found.len());
            bytes.copy_from_slice(found);
            while length > 0 {
                if bytes[..length] != [0; RECORD_BYTES][..length] {
                    return Err(self.damaged("and no interrupted write ends there"));
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

/// Reads until the buffer is full or the source ends; returns the number of bytes.
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
