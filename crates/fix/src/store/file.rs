//! A store in two files that survives the end of the process at any byte.
//!
//! A file is its version and [records](super::record), up to half the limit. When it is full, it
//! becomes the older one, and the one before it is emptied and begins with both numbers.
//! Only the last record can be cut by the end of the process, and opening removes it. Nothing is
//! synced: the page cache survives the process, not the loss of power. See
//! `docs/decisions/044-a-message-store-as-memory.md`.

use super::record::{MESSAGE_BYTES_MAX, Record, RecordKind};
use super::segment::Segment;
use super::{Kept, Store};
use std::fs::{remove_file, rename};
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// The most bytes of both files. They are read when the store is opened.
pub const FILE_BYTES_MAX: u64 = 4 << 20;

/// See the module.
#[derive(Debug)]
pub struct FileStore {
    path: PathBuf,
    current: Segment,
    older: Option<Segment>,
    segment_bytes: usize,
    numbers: Numbers,
}

#[derive(Clone, Copy, Debug)]
struct Numbers {
    next_out: u64,
    next_in: u64,
}

impl Numbers {
    fn take(&mut self, record: Record<'_>) {
        match record.kind {
            RecordKind::Sent => self.next_out = record.number + 1,
            RecordKind::NextOut => self.next_out = record.number,
            RecordKind::NextIn => self.next_in = record.number,
        }
    }

    /// Begins an empty segment with both.
    fn put(self, mut segment: Segment) -> io::Result<Segment> {
        for (kind, number) in
            [(RecordKind::NextIn, self.next_in), (RecordKind::NextOut, self.next_out)]
        {
            if !segment.append(Record { kind, number, message: &[] }) {
                return Err(too_long());
            }
        }
        Ok(segment)
    }
}

impl FileStore {
    /// Opens the store in that file and its older one, or begins one. Both are locked meanwhile.
    ///
    /// # Errors
    /// If a file can't be read or written, has no room on its disk, is no store, or another process
    /// has it.
    pub fn open(path: &Path) -> io::Result<FileStore> {
        FileStore::with_limit(path, FILE_BYTES_MAX)
    }

    /// As [`open`](FileStore::open), with another limit than [`FILE_BYTES_MAX`].
    ///
    /// # Errors
    /// As [`open`](FileStore::open).
    pub fn with_limit(path: &Path, bytes_max: u64) -> io::Result<FileStore> {
        FileStore::open_each(path, bytes_max, &mut |_| {})
    }

    /// As [`open`](FileStore::open). Calls `each` with every message and note that the files have,
    /// the oldest first: also with those from before the last reset, if the process ended in it.
    ///
    /// # Errors
    /// As [`open`](FileStore::open).
    pub fn open_with(path: &Path, each: &mut dyn FnMut(Kept<'_>)) -> io::Result<FileStore> {
        FileStore::open_each(path, FILE_BYTES_MAX, each)
    }

    fn open_each(
        path: &Path,
        bytes_max: u64,
        each: &mut dyn FnMut(Kept<'_>),
    ) -> io::Result<FileStore> {
        let segment_bytes = (bytes_max / 2) as usize;
        let older_path = older(path);
        let mut numbers = Numbers { next_out: 1, next_in: 1 };
        let mut older = None;
        if older_path.try_exists()? {
            // The process ended between the last two renames of `turn_over`.
            if !path.try_exists()? {
                rename(&older_path, path)?;
            } else {
                let open = Segment::open(&older_path, segment_bytes, |record| {
                    numbers.take(record);
                    record.kept().into_iter().for_each(&mut *each);
                });
                older = Some(open?);
            }
        }
        let current = Segment::open(path, segment_bytes, |record| {
            numbers.take(record);
            record.kept().into_iter().for_each(&mut *each);
            // It ended between the two steps of `reset`, if the older file has such messages.
            if let (RecordKind::NextOut, Some(older)) = (record.kind, &mut older) {
                older.forget_from(record.number);
            }
        })?;
        Ok(FileStore { path: path.to_owned(), current, older, segment_bytes, numbers })
    }

    fn append(&mut self, kind: RecordKind, number: u64, message: &[u8]) -> io::Result<()> {
        let record = Record { kind, number, message };
        if !self.current.append(record) {
            self.turn_over()?;
            if !self.current.append(record) {
                return Err(too_long());
            }
        }
        self.numbers.take(record);
        Ok(())
    }

    /// Begins a file, and keeps the present one as the older. The one before it is used again: to
    /// remove it and to make another one would take milliseconds, for which everybody waits.
    fn turn_over(&mut self) -> io::Result<()> {
        if self.older.is_some() {
            rename(older(&self.path), begun(&self.path))?;
        }
        let next = match self.older.take() {
            Some(mut segment) => {
                segment.clear();
                self.numbers.put(segment)?
            }
            None => self.begin(self.numbers)?,
        };
        rename(&self.path, older(&self.path))?;
        rename(begun(&self.path), &self.path)?;
        self.older = Some(std::mem::replace(&mut self.current, next));
        Ok(())
    }

    /// A file with these numbers, which is not in its place yet.
    fn begin(&self, numbers: Numbers) -> io::Result<Segment> {
        let path = begun(&self.path);
        // An earlier process ended before this file was in its place.
        match remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        numbers.put(Segment::open(&path, self.segment_bytes, |_| {})?)
    }

    /// Bytes in use of the present file.
    #[cfg(test)]
    pub(super) fn end(&self) -> usize {
        self.current.end()
    }
}

impl Store for FileStore {
    fn next_out(&self) -> u64 {
        self.numbers.next_out
    }

    fn next_in(&self) -> u64 {
        self.numbers.next_in
    }

    fn set_next_in(&mut self, next_in: u64) -> io::Result<()> {
        self.append(RecordKind::NextIn, next_in, &[])
    }

    fn sent(&mut self, message: &[u8]) -> io::Result<()> {
        if message.len() > MESSAGE_BYTES_MAX {
            return Err(too_long());
        }
        self.append(RecordKind::Sent, self.numbers.next_out, message)
    }

    fn note(&mut self, text: &[u8]) -> io::Result<()> {
        self.append(RecordKind::NextIn, self.numbers.next_in, text)
    }

    fn read(
        &mut self,
        range: RangeInclusive<u64>,
        each: &mut dyn FnMut(u64, &[u8]),
    ) -> io::Result<()> {
        if !range.is_empty() {
            for segment in self.older.iter().chain([&self.current]) {
                segment.read(range.clone(), each);
            }
        }
        Ok(())
    }

    fn reset(&mut self) -> io::Result<()> {
        let numbers = Numbers { next_out: 1, next_in: 1 };
        let next = self.begin(numbers)?;
        rename(begun(&self.path), &self.path)?;
        (self.current, self.numbers) = (next, numbers);
        match self.older.take() {
            Some(_) => remove_file(older(&self.path)),
            None => Ok(()),
        }
    }
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the message is too long for its store")
}

/// The file that was full last.
fn older(path: &Path) -> PathBuf {
    path.with_extension("older")
}

/// A file before it is in its place.
fn begun(path: &Path) -> PathBuf {
    path.with_extension("new")
}
