//! The directory of a journal: file names, locks, and publishing complete files.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};

use crate::error::JournalError;

/// Digits of a sequence in a file's name, enough for the largest.
const DIGITS: usize = 20;
const SEGMENT: &str = ".segment";
const SNAPSHOT: &str = ".snapshot";
const MARK: &str = "durable.mark";
/// Extension of a file that is not complete.
const UNFINISHED: &str = ".new";

/// The path of the directory.
#[derive(Clone, Debug)]
pub(crate) struct Directory(PathBuf);

/// A lock on the journal. The kernel releases it when the process dies in any way: `flock(2)`,
/// which belongs to the open file description, on the directory itself.
#[derive(Debug)]
pub(crate) struct Lock(OwnedFd);

impl Drop for Lock {
    /// Unlocks explicitly. Closing is not enough: a process that is just being started has the open
    /// file too, until its `exec`.
    fn drop(&mut self) {
        // It was locked. If unlocking fails, the last close of the file unlocks it.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// Access to the journal by other processes at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// None.
    Write,
    /// Only reading.
    Read,
}

impl Directory {
    pub fn new(path: &Path) -> Directory {
        Directory(path.to_owned())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The file of the segment that begins with this input.
    pub fn segment(&self, first: u64) -> PathBuf {
        self.0.join(format!("{first:0DIGITS$}{SEGMENT}"))
    }

    /// The file of the snapshot of the state before this input.
    pub fn snapshot(&self, sequence: u64) -> PathBuf {
        self.0.join(format!("{sequence:0DIGITS$}{SNAPSHOT}"))
    }

    /// The file with the mark of durability.
    pub fn mark(&self) -> PathBuf {
        self.0.join(MARK)
    }

    /// Makes the directory if it does not exist, so that it survives a power failure.
    pub fn create(&self) -> Result<(), JournalError> {
        if self.0.is_dir() {
            return Ok(());
        }
        fs::create_dir_all(&self.0).map_err(|source| self.failed("make", source))?;
        // Other new parent directories are only known to exist.
        let parent = self.0.parent().filter(|parent| !parent.as_os_str().is_empty());
        sync_directory(parent.unwrap_or(Path::new(".")))
    }

    /// Locks the journal.
    pub fn lock(&self, access: Access) -> Result<Lock, JournalError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = match rustix::fs::open(&self.0, flags, Mode::empty()) {
            Ok(directory) => directory,
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {
                return Err(JournalError::NoJournal(self.0.clone()));
            }
            Err(errno) => return Err(self.failed("open", errno.into())),
        };
        let operation = match access {
            Access::Write => FlockOperation::NonBlockingLockExclusive,
            Access::Read => FlockOperation::NonBlockingLockShared,
        };
        match flock(&directory, operation) {
            Ok(()) => Ok(Lock(directory)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(JournalError::InUse(self.0.clone())),
            Err(errno) => Err(self.failed("lock", errno.into())),
        }
    }

    /// The first inputs of the existing segments, ascending.
    pub fn segments(&self) -> Result<Vec<u64>, JournalError> {
        self.numbers(SEGMENT)
    }

    /// The segment that has the input before `sequence`, if there is one.
    pub fn segment_before(&self, sequence: u64) -> Result<Option<u64>, JournalError> {
        let segments = self.segments()?;
        let before = segments.partition_point(|first| *first < sequence);
        Ok(before.checked_sub(1).map(|index| segments[index]))
    }

    /// The sequences of the existing snapshots, ascending.
    pub fn snapshots(&self) -> Result<Vec<u64>, JournalError> {
        self.numbers(SNAPSHOT)
    }

    fn numbers(&self, extension: &str) -> Result<Vec<u64>, JournalError> {
        let names = self.names()?;
        let mut numbers: Vec<u64> =
            names.iter().filter_map(|name| number(name, extension)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn names(&self) -> Result<Vec<String>, JournalError> {
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(JournalError::NoJournal(self.0.clone()));
            }
            entries => entries.map_err(|source| self.failed("list", source))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(|source| self.failed("list", source))?.file_name();
            // A name that is not UTF-8 is not one of ours.
            names.extend(name.into_string());
        }
        Ok(names)
    }

    /// Makes a file that appears under its name once `fill` has filled it and it is durable.
    /// Overwrites the remains of another attempt and an existing file.
    pub fn publish(
        &self,
        target: &Path,
        fill: impl FnOnce(&mut File) -> Result<(), JournalError>,
    ) -> Result<File, JournalError> {
        let mut name = target.as_os_str().to_owned();
        name.push(UNFINISHED);
        let unfinished = PathBuf::from(name);
        let filled = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&unfinished)
            .map_err(|source| JournalError::system("make", &unfinished, source))
            .and_then(|mut file| {
                fill(&mut file)?;
                file.sync_all().map_err(|source| JournalError::writing(target, 0, source))?;
                Ok(file)
            })
            .and_then(|file| {
                let named = fs::rename(&unfinished, target);
                named.map_err(|source| JournalError::system("name", target, source))?;
                sync_directory(&self.0)?;
                Ok(file)
            });
        if filled.is_err() {
            // Nothing more can be done; the next writer removes it.
            let _ = fs::remove_file(&unfinished);
        }
        filled
    }

    /// Removes a file of the journal, if it exists.
    pub fn remove(&self, path: &Path) -> Result<(), JournalError> {
        match fs::remove_file(path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(JournalError::system("remove", path, source))
            }
            _ => Ok(()),
        }
    }

    /// Removes incomplete segments of a dead writer. Only its successor, which has the lock, may do
    /// that.
    pub fn remove_unfinished(&self) -> Result<(), JournalError> {
        for name in self.names()? {
            let target = name.strip_suffix(UNFINISHED);
            if target.is_some_and(|target| number(target, SEGMENT).is_some()) {
                self.remove(&self.0.join(&name))?;
            }
        }
        Ok(())
    }

    /// Incomplete snapshots before `sequence` of dead writers.
    pub fn unfinished_snapshots(&self, sequence: u64) -> Result<Vec<PathBuf>, JournalError> {
        let is_old = |name: &String| {
            let target = name.strip_suffix(UNFINISHED);
            target.and_then(|target| number(target, SNAPSHOT)).is_some_and(|of| of < sequence)
        };
        let names = self.names()?.into_iter();
        Ok(names.filter(is_old).map(|name| self.0.join(name)).collect())
    }

    fn failed(&self, doing: &'static str, source: io::Error) -> JournalError {
        JournalError::system(doing, &self.0, source)
    }
}

/// Makes a directory's list of files durable.
fn sync_directory(path: &Path) -> Result<(), JournalError> {
    let synced = File::open(path).and_then(|directory| directory.sync_all());
    synced.map_err(|source| JournalError::NotDurable { path: path.to_owned(), source })
}

/// The sequence in a file's name; `None` for any other file.
fn number(name: &str, extension: &str) -> Option<u64> {
    let digits = name.strip_suffix(extension)?;
    let is_number = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn directory() -> (tempfile::TempDir, Directory) {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::new(place.path());
        (place, directory)
    }

    #[test]
    fn other_files_are_none_of_ours() {
        let (place, directory) = directory();
        for sequence in [7, 0, u64::MAX] {
            fs::write(directory.segment(sequence), "").unwrap();
        }
        fs::write(directory.snapshot(3), "").unwrap();
        for name in
            ["1.segment", "+0000000000000000008.segment", "99999999999999999999.segment", "x"]
        {
            fs::write(place.path().join(name), "").unwrap();
        }
        assert_eq!(directory.segments().unwrap(), [0, 7, u64::MAX]);
        assert_eq!(directory.snapshots().unwrap(), [3]);
        let nowhere = Directory::new(&place.path().join("nowhere"));
        assert!(matches!(nowhere.segments(), Err(JournalError::NoJournal(_))));
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let (_place, directory) = directory();
        let target = directory.segment(1);
        let failed = directory.publish(&target, |file| {
            file.write_all(b"half").unwrap();
            Err(JournalError::NoJournal(PathBuf::new()))
        });
        assert!(failed.is_err());
        assert!(directory.names().unwrap().is_empty());
        directory
            .publish(&target, |file| {
                file.write_all(b"whole").unwrap();
                assert!(!target.exists());
                Ok(())
            })
            .unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"whole");
    }

    #[test]
    fn only_unfinished_segments_are_removed() {
        let (place, directory) = directory();
        let names = ["00000000000000000005.segment.new", "5.segment.new", "a.new"];
        for name in names {
            fs::write(place.path().join(name), "").unwrap();
        }
        directory.remove_unfinished().unwrap();
        let mut left = directory.names().unwrap();
        left.sort();
        assert_eq!(left, ["5.segment.new", "a.new"]);
    }

    #[test]
    fn one_writer_or_many_readers() {
        let (_place, directory) = directory();
        let is_rejected = |access| matches!(directory.lock(access), Err(JournalError::InUse(_)));
        let writer = directory.lock(Access::Write).unwrap();
        assert!(is_rejected(Access::Write) && is_rejected(Access::Read));
        drop(writer);
        let reader = directory.lock(Access::Read).unwrap();
        let _other = directory.lock(Access::Read).unwrap();
        assert!(is_rejected(Access::Write));
        drop(reader);
    }

    /// Like a process that is being started at that moment.
    #[test]
    fn a_copy_of_the_open_file_does_not_keep_the_lock() {
        let (_place, directory) = directory();
        let lock = directory.lock(Access::Write).unwrap();
        let _copy = lock.0.try_clone().unwrap();
        drop(lock);
        directory.lock(Access::Write).unwrap();
    }
}
