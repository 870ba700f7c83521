//! The directory of a queue: its blocks, and the writer's lock.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};

use crate::queue::bell;
use crate::queue::error::QueueError;

/// Highest number of a block: its file's name has eight digits.
pub const BLOCK_NUMBER_MAX: u64 = 99_999_999;

const DIGITS: usize = 8;
const EXTENSION: &str = ".block";

/// The path of the directory.
#[derive(Clone, Debug)]
pub(crate) struct Directory(PathBuf);

/// Excludes other writers while it lives. The kernel releases it when the process dies in any way:
/// `flock(2)` on the directory itself.
#[derive(Debug)]
pub(crate) struct WriterLock(#[expect(dead_code, reason = "holds the lock")] rustix::fd::OwnedFd);

impl Directory {
    pub fn new(path: &Path) -> Directory {
        Directory(path.to_owned())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The file of a block.
    pub fn block(&self, number: u64) -> PathBuf {
        self.0.join(format!("{number:0DIGITS$}{EXTENSION}"))
    }

    /// Makes the directory if it does not exist.
    pub fn create(&self) -> Result<(), QueueError> {
        fs::create_dir_all(&self.0).map_err(|source| self.failed("make", source))
    }

    pub fn lock(&self) -> Result<WriterLock, QueueError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(&self.0, flags, Mode::empty())
            .map_err(|errno| self.failed("open", errno.into()))?;
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(WriterLock(directory)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(QueueError::SecondWriter(self.0.clone())),
            Err(errno) => Err(self.failed("lock", errno.into())),
        }
    }

    /// The numbers of the existing blocks, ascending. Empty without a directory.
    pub fn blocks(&self) -> Result<Vec<u64>, QueueError> {
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|source| self.failed("list", source))?,
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let name = entry.map_err(|source| self.failed("list", source))?.file_name();
            numbers.extend(name.to_str().and_then(number));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The first missing block between two existing ones. A listing is not atomic, so it checks
    /// again: blocks are made and removed in ascending order. So a block is really missing if it
    /// does not exist now, a lower block exists, and a higher one existed.
    pub fn hole(&self, blocks: &[u64]) -> Option<u64> {
        let (low, _) = blocks.windows(2).map(|two| (two[0], two[1])).find(|(a, b)| b - a > 1)?;
        let is_missing = !self.block(low + 1).exists() && self.block(low).exists();
        is_missing.then_some(low + 1)
    }

    /// Removes a file of the queue, if it exists.
    pub fn remove(&self, path: &Path) -> Result<(), QueueError> {
        match fs::remove_file(path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(QueueError::System { doing: "remove", path: path.to_owned(), source })
            }
            _ => Ok(()),
        }
    }

    /// Removes incomplete files of a killed writer: only the writer makes files.
    pub fn remove_unfinished(&self) -> Result<(), QueueError> {
        let entries = fs::read_dir(&self.0).map_err(|source| self.failed("list", source))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_unfinished = name.to_str().is_some_and(is_unfinished);
            if is_unfinished {
                self.remove(&entry.path())?;
            }
        }
        Ok(())
    }

    fn failed(&self, doing: &'static str, source: io::Error) -> QueueError {
        QueueError::System { doing, path: self.0.clone(), source }
    }
}

/// Whether it is the temporary name of a file of the queue.
fn is_unfinished(name: &str) -> bool {
    let inner = name.strip_prefix('.').and_then(|name| name.strip_suffix(".new"));
    let target = inner.and_then(|name| name.rsplit_once('.')).map(|(target, _)| target);
    target.is_some_and(|target| target == bell::FILE || number(target).is_some())
}

/// The number in a block's file name; `None` for other files.
fn number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(EXTENSION)?;
    let is_number = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_blocks(numbers: &[u64]) -> (tempfile::TempDir, Directory) {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::new(place.path());
        for number in numbers {
            fs::write(directory.block(*number), "").unwrap();
        }
        (place, directory)
    }

    #[test]
    fn other_files_are_no_blocks() {
        let (place, directory) = with_blocks(&[7, 6, BLOCK_NUMBER_MAX]);
        for name in ["7.block", "+0000008.block", "00000009.block.partial", "notes"] {
            fs::write(place.path().join(name), "").unwrap();
        }
        assert_eq!(directory.blocks().unwrap(), [6, 7, BLOCK_NUMBER_MAX]);
        assert!(Directory::new(&place.path().join("nowhere")).blocks().unwrap().is_empty());
    }

    #[test]
    fn only_our_own_unfinished_files_are_removed() {
        for name in [".00000000.block.17-0.new", ".bell.4711-63.new"] {
            assert!(is_unfinished(name), "{name}");
        }
        for name in [".new", ".bell.new", "bell.1-0.new", ".x.block.1-0.new", "00000000.block"] {
            assert!(!is_unfinished(name), "{name}");
        }
    }

    #[test]
    fn a_hole_is_one_only_while_what_is_below_stays() {
        let (_place, directory) = with_blocks(&[3, 4, 6]);
        let blocks = directory.blocks().unwrap();
        assert_eq!(directory.hole(&blocks), Some(5));
        assert_eq!(directory.hole(&[3, 4, 5]), None);
        directory.remove(&directory.block(4)).unwrap();
        directory.remove(&directory.block(4)).unwrap();
        assert_eq!(directory.hole(&blocks), None);
    }

    #[test]
    fn one_writer_at_a_time() {
        let (_place, directory) = with_blocks(&[]);
        let lock = directory.lock().unwrap();
        assert!(matches!(directory.lock(), Err(QueueError::SecondWriter(_))));
        drop(lock);
        directory.lock().unwrap();
    }
}
