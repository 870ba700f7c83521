//! Records into a file. What can't be written is counted, and nothing is written behind it.

use crate::file::HEADER_BYTES;
use crate::{RECORD_BYTES, Record};
use std::fs::File;
use std::io::{self, Write};

/// Bytes of encoded records that wait to be written.
const BUFFER_BYTES: usize = 256 * 1024;

pub(crate) struct Writer {
    file: File,
    waiting: Vec<u8>,
    /// Records in the file.
    written: u64,
    /// Records that could not be written.
    unwritten: u64,
    /// The first failure; from then on nothing is written.
    failed: Option<io::Error>,
}

impl Writer {
    pub fn new(mut file: File, header: &[u8]) -> io::Result<Writer> {
        file.write_all(header)?;
        let waiting = Vec::with_capacity(BUFFER_BYTES);
        Ok(Writer { file, waiting, written: 0, unwritten: 0, failed: None })
    }

    /// Encodes a record for the next [`Writer::flush`].
    pub fn add(&mut self, record: &Record) {
        if self.failed.is_some() {
            self.unwritten += 1;
            return;
        }
        let number = self.written + (self.waiting.len() / RECORD_BYTES) as u64;
        self.waiting.extend_from_slice(&record.to_bytes(number));
        if self.waiting.len() + RECORD_BYTES > BUFFER_BYTES {
            self.flush();
        }
    }

    /// Writes what waits.
    pub fn flush(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let records = (self.waiting.len() / RECORD_BYTES) as u64;
        match self.file.write_all(&self.waiting) {
            Ok(()) => self.written += records,
            Err(error) => self.give_up(error),
        }
        self.waiting.clear();
    }

    /// The disk is full, mostly. The run goes on; what was written in part is kept as far as it is whole.
    fn give_up(&mut self, error: io::Error) {
        let waiting = (self.waiting.len() / RECORD_BYTES) as u64;
        let bytes = self.file.metadata().map_or(0, |file| file.len());
        let whole = bytes.saturating_sub(HEADER_BYTES as u64) / RECORD_BYTES as u64;
        let kept = whole.clamp(self.written, self.written + waiting);
        self.unwritten += self.written + waiting - kept;
        self.written = kept;
        // Without success the tail is torn, which a reader sees.
        let _ = self.file.set_len(HEADER_BYTES as u64 + kept * RECORD_BYTES as u64);
        self.failed = Some(error);
    }

    /// Ends the file. Gives the records in it without the end's own, those that could not be written, and why.
    pub fn finish(mut self, lost_on_the_way: u64, clock_ns: u64) -> (u64, u64, String) {
        self.flush();
        let records = self.written;
        if self.failed.is_none() {
            self.add(&Record::End { records, lost: lost_on_the_way, clock_ns });
            self.flush();
        }
        if self.failed.is_none() {
            // On disk before the run's record speaks of it.
            self.failed = self.file.sync_data().err();
        }
        let failed = self.failed.map_or(String::new(), |error| error.to_string());
        (records, self.unwritten, failed)
    }
}
