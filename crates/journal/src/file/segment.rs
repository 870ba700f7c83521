//! A segment for writing: a header and room for a fixed number of records, all allocated before the
//! first is written.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use crate::error::JournalError;
use crate::file::directory::Directory;
use crate::file::header::{HEADER_BYTES, Header};
use crate::file::record::RECORD_BYTES;

/// Zeros per write.
const ZEROS_BYTES: usize = 1 << 16;

/// A segment to write to.
#[derive(Debug)]
pub(crate) struct Segment {
    file: File,
    path: PathBuf,
    header: Header,
}

impl Segment {
    /// Makes a segment, which appears once it is durable. With `zeroed`, its zeros are written, not
    /// only allocated. A file system that tracks unwritten blocks (ext4, XFS) then has nothing to
    /// update when records are written.
    pub fn create(
        directory: &Directory,
        header: Header,
        zeroed: bool,
    ) -> Result<Segment, JournalError> {
        let path = directory.segment(header.sequence);
        let bytes = byte_of(&header, end_of(&header));
        let file = directory.publish(&path, |file| {
            let failed = |source| JournalError::writing(&path, bytes, source);
            // First, so that nothing is written if there is not enough room.
            allocate(file, bytes).map_err(failed)?;
            if zeroed {
                write_zeros(file, 0..bytes).map_err(failed)?;
            }
            file.write_all_at(&header.encode(), 0).map_err(failed)
        })?;
        Ok(Segment { file, path, header })
    }

    /// Opens an existing segment for writing, from the record `next` on. Zeroes the bytes after
    /// that, up to `dirty_end` (in bytes), durably.
    pub fn open(
        directory: &Directory,
        header: Header,
        next: u64,
        dirty_end: u64,
    ) -> Result<Segment, JournalError> {
        let path = directory.segment(header.sequence);
        let file = File::options().read(true).write(true).open(&path);
        let file = file.map_err(|source| JournalError::system("open", &path, source))?;
        let from = byte_of(&header, next);
        if dirty_end > from {
            let zeroed = write_zeros(&file, from..dirty_end);
            zeroed.map_err(|source| JournalError::writing(&path, dirty_end - from, source))?;
            let synced = file.sync_all();
            synced.map_err(|source| JournalError::NotDurable { path: path.clone(), source })?;
        }
        Ok(Segment { file, path, header })
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first input beyond its capacity.
    pub fn end(&self) -> u64 {
        end_of(&self.header)
    }

    /// Writes records from `sequence` on. May be tried again.
    pub fn write(&self, sequence: u64, records: &[u8]) -> Result<(), JournalError> {
        let written = self.file.write_all_at(records, byte_of(&self.header, sequence));
        let bytes = records.len() as u64;
        written.map_err(|source| JournalError::writing(&self.path, bytes, source))
    }

    /// Makes the written records durable. Must not be tried again: after an error the kernel may
    /// have dropped the data, and report success the next time (Rebello et al., "Can Applications
    /// Recover from fsync Failures?", 2020).
    pub fn sync(&self) -> Result<(), JournalError> {
        let synced = self.file.sync_data();
        synced.map_err(|source| JournalError::NotDurable { path: self.path.clone(), source })
    }

    /// A segment that writes to `file`, to test its errors.
    #[cfg(test)]
    pub fn of_file(file: File, path: PathBuf, header: Header) -> Segment {
        Segment { file, path, header }
    }
}

/// The first input beyond a segment's capacity.
pub(crate) fn end_of(header: &Header) -> u64 {
    header.sequence + header.records
}

/// Offset of an input's record in its segment's file.
pub(crate) fn byte_of(header: &Header, sequence: u64) -> u64 {
    HEADER_BYTES as u64 + (sequence - header.sequence) * RECORD_BYTES as u64
}

/// Allocates the file up to at least this length.
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => Ok(()),
        Err(Errno::OPNOTSUPP) => write_zeros(file, file.metadata()?.len()..bytes),
        Err(errno) => Err(errno.into()),
    }
}

fn write_zeros(file: &File, bytes: Range<u64>) -> io::Result<()> {
    let zeros = vec![0; ZEROS_BYTES];
    let mut at = bytes.start;
    while at < bytes.end {
        let part = (bytes.end - at).min(ZEROS_BYTES as u64);
        file.write_all_at(&zeros[..part as usize], at)?;
        at += part;
    }
    Ok(())
}
