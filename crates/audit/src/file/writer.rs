//! Writes records to a file. Counts records that can't be written; after the first, writes no more.

use crate::file::HEADER_BYTES;
use crate::{RECORD_BYTES, Record};
use std::fs::File;
use std::io::{self, Write};

/// Size of the buffer of encoded records.
const BUFFER_BYTES: usize = 256 * 1024;

pub(crate) struct Writer {
    file: File,
    waiting: Vec<u8>,
    /// Records in the file.
    written: u64,
    /// Records that could not be written.
    unwritten: u64,
    /// The first failure, after which nothing is written.
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

    /// Writes the buffered records.
    pub fn flush(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let records = self.waiting.len() / RECORD_BYTES;
        let (bytes, failed) = self.write();
        let whole = bytes / RECORD_BYTES;
        self.written += whole as u64;
        if let Some(error) = failed {
            // Usually the disk is full. The run continues, and the complete records stay. If the
            // rest can't be cut off, the tail is torn, which a reader detects.
            let _ = self.file.set_len(HEADER_BYTES as u64 + self.written * RECORD_BYTES as u64);
            self.unwritten += (records - whole) as u64;
            self.failed = Some(error);
        }
        self.waiting.clear();
    }

    /// Writes the buffer; returns the number of written bytes, and the error.
    fn write(&mut self) -> (usize, Option<io::Error>) {
        let mut done = 0;
        while done < self.waiting.len() {
            match self.file.write(&self.waiting[done..]) {
                Ok(0) => return (done, Some(io::ErrorKind::WriteZero.into())),
                Ok(written) => done += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (done, Some(error)),
            }
        }
        (done, None)
    }

    /// Ends the file. Returns the number of its records without the end record, the number that
    /// could not be written, and the error.
    pub fn finish(mut self, lost_on_the_way: u64, clock_ns: u64) -> (u64, u64, String) {
        self.flush();
        let records = self.written;
        if self.failed.is_none() {
            self.add(&Record::End { records, lost: lost_on_the_way, clock_ns });
            self.flush();
        }
        if self.failed.is_none() {
            // On the disk before the run's record mentions it.
            self.failed = self.file.sync_data().err();
        }
        let failed = self.failed.map_or(String::new(), |error| error.to_string());
        (records, self.unwritten, failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom};
    use std::path::Path;
    use testing::{small_disk, test_name};

    #[test]
    fn on_a_full_disk_what_fits_is_whole_and_the_rest_is_counted() {
        let name = test_name!(on_a_full_disk_what_fits_is_whole_and_the_rest_is_counted);
        small_disk::on(64 << 10, &name, write_too_much);
    }

    fn write_too_much(place: &Path) {
        let path = place.join("log");
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        let mut writer = Writer::new(file.try_clone().unwrap(), &[0; HEADER_BYTES]).unwrap();
        for number in 0..2_000 {
            writer.add(&Record::Lost { noticed_ns: number, count: 1 });
            // Like the logger: many writes.
            if number % 7 == 0 {
                writer.flush();
            }
        }
        let (records, unwritten, failed) = writer.finish(0, 0);
        assert_eq!(records + unwritten, 2_000);
        assert!((1..2_000).contains(&records) && failed.contains("space"), "{records} {failed}");
        let mut log = file;
        assert_eq!(log.metadata().unwrap().len() % RECORD_BYTES as u64, 0);
        // The header of this test is invalid; the first records must follow it.
        log.seek(SeekFrom::Start(HEADER_BYTES as u64)).unwrap();
        let mut bytes = [0; RECORD_BYTES];
        for number in 0..records {
            std::io::Read::read_exact(&mut log, &mut bytes).unwrap();
            let expected = Record::Lost { noticed_ns: number, count: 1 };
            assert_eq!(Record::from_bytes(&bytes, number), Some(expected));
        }
    }
}
