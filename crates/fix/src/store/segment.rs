//! One file of a store, which the process writes as memory: a record costs no system call, and the
//! kernel writes the pages to disk later, also after the process has ended.

use super::record::{Record, RecordKind};
use memmap2::MmapMut;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::{Range, RangeInclusive};
use std::path::Path;

const MAGIC: &[u8; 16] = b"tickpath fix 1\0\n";

/// See the module.
#[derive(Debug)]
pub(super) struct Segment {
    /// Locked.
    file: File,
    /// The whole file. Zeros are behind the last record.
    memory: MmapMut,
    /// Bytes in use.
    end: usize,
    /// Where the bytes of each sent message are.
    messages: BTreeMap<u64, Range<usize>>,
}

impl Segment {
    /// Opens the file or begins it, with room for `bytes` or as many as it has, and calls `each`
    /// for its records.
    ///
    /// # Errors
    /// If it can't be read or written, has no room on its disk, is no store, or another process
    /// has it.
    pub fn open(
        path: &Path,
        bytes: usize,
        mut each: impl FnMut(Record<'_>),
    ) -> io::Result<Segment> {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        lock(&file, path)?;
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        if !MAGIC.starts_with(&content[..content.len().min(MAGIC.len())]) {
            let why = format!(
                "{} is no message store of this version: name another folder",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let mut end = MAGIC.len();
        let mut messages = BTreeMap::new();
        while let Some(record) = content.get(end..).and_then(Record::first) {
            each(record);
            let next = end + record.bytes();
            keep(&mut messages, record, next);
            end = next;
        }
        let bytes = bytes.max(end);
        let memory = reserve(&mut file, content.len().min(end), bytes).map_err(|error| {
            let why = format!("cannot reserve {bytes} bytes for {}: {error}", path.display());
            io::Error::new(error.kind(), why)
        })?;
        Ok(Segment { file, memory, end, messages })
    }

    /// Adds a record. Gives false, and changes nothing, if there is no room.
    pub fn append(&mut self, record: Record<'_>) -> bool {
        let next = self.end + record.bytes();
        let Some(place) = self.memory.get_mut(self.end..next) else { return false };
        record.put(place);
        keep(&mut self.messages, record, next);
        self.end = next;
        true
    }

    /// Forgets all records.
    pub fn clear(&mut self) {
        self.memory[MAGIC.len()..].fill(0);
        self.end = MAGIC.len();
        self.messages.clear();
    }

    /// Calls `each` with the messages whose numbers are in the range.
    pub fn read(&self, range: RangeInclusive<u64>, each: &mut dyn FnMut(u64, &[u8])) {
        for (seq, place) in self.messages.range(range) {
            each(*seq, &self.memory[place.clone()]);
        }
    }

    /// Forgets the messages from that number on.
    pub fn forget_from(&mut self, seq: u64) {
        self.messages.split_off(&seq);
    }

    /// Bytes in use.
    #[cfg(test)]
    pub fn end(&self) -> usize {
        self.end
    }
}

impl Drop for Segment {
    /// A process that another thread has just forked has a copy of the descriptor until it starts
    /// its program, and closing ours would leave the file locked until then.
    fn drop(&mut self) {
        // It is closed next, which unlocks it too.
        let _ = self.file.unlock();
    }
}

/// Notes a message whose record ends at `next`.
fn keep(messages: &mut BTreeMap<u64, Range<usize>>, record: Record<'_>, next: usize) {
    if record.kind == RecordKind::Sent && !record.message.is_empty() {
        messages.insert(record.number, next - record.message.len()..next);
    }
}

/// Two processes that append to one file would lose both sessions.
fn lock(file: &File, path: &Path) -> io::Result<()> {
    file.try_lock().map_err(|error| {
        let why = format!("cannot lock {}: {error}; is another exchange using it?", path.display());
        io::Error::other(why)
    })
}

/// The file as memory of so many bytes, each of which has its place on the disk: a page that finds
/// none when it is written would end the process. The first `used` bytes of the file count. Behind
/// them is no more than a part of a record, or of the version, and zeros take its place.
fn reserve(file: &mut File, used: usize, bytes: usize) -> io::Result<MmapMut> {
    if used < MAGIC.len() {
        file.seek(SeekFrom::Start(0))?;
        file.write_all(MAGIC)?;
    }
    let used = used.max(MAGIC.len());
    file.set_len(used as u64)?;
    match fallocate(&*file, FallocateFlags::empty(), 0, bytes as u64) {
        // A file system without this call has a place for bytes that are written.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            file.seek(SeekFrom::End(0))?;
            io::copy(&mut io::repeat(0).take((bytes - used) as u64), file)?;
        }
        reserved => reserved?,
    }
    // SAFETY: other processes that use stores see the lock and leave the file alone, and nobody
    // makes it shorter; so the memory is as long as the mapping, and changes only by this process.
    unsafe { MmapMut::map_mut(&*file) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store could not be opened again while a child of another test was about to start.
    #[test]
    fn a_copy_of_the_descriptor_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store");
        let open = || Segment::open(&path, 100, |_| {});
        let segment = open().expect("a file");
        let _copy = segment.file.try_clone().expect("a copy");
        open().expect_err("it is in use");
        drop(segment);
        open().expect("it is free");
    }
}
