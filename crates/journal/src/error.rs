//! What can go wrong with a journal: what happened, why, and what to try.

use std::io;
use std::path::{Path, PathBuf};

use engine::{DecodeError, LimitsError};
use ipc::IpcError;
use rustix::io::Errno;

use crate::file::header::Identity;

/// Why a journal was not opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Somebody else has it.
    #[error(
        "the journal {} is in use: end its writer (its lock goes with its process), or use another \
         directory", .0.display()
    )]
    InUse(PathBuf),

    /// Nothing to read there.
    #[error("{} contains no journal: check the path", .0.display())]
    NoJournal(PathBuf),

    /// An option out of its range.
    #[error("{name} is {given}, but must be from {least} to {most}: set it in this range")]
    Option {
        /// Which option.
        name: &'static str,
        /// What was asked for.
        given: u64,
        /// The smallest that is taken.
        least: u64,
        /// The largest that is taken.
        most: u64,
    },

    /// Not a file of ours.
    #[error("{} is not a file of a tickpath journal: {why}; check the path", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What was found.
        why: &'static str,
    },

    /// A format of another time.
    #[error(
        "{} has format {found}, this program knows format {known}: read it with the version that wrote it, \
         and begin a new journal with this one", path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Format in the file.
        found: u32,
        /// Format of this program.
        known: u32,
    },

    /// The log of an engine of another shape.
    #[error(
        "{} is the journal of another engine: it has {found}, this engine has {wanted}; start the engine \
         with the journal's settings, or use another directory", path.display()
    )]
    OtherEngine {
        /// The file.
        path: PathBuf,
        /// What it is for.
        found: Identity,
        /// What it was to be for.
        wanted: Identity,
    },

    /// A file of another log of an engine of the same shape.
    #[error(
        "{} belongs to another log than the other files in its directory: move it elsewhere", .0.display()
    )]
    OtherLog(PathBuf),

    /// What stands in a file can't have been left there by a writer, nor by a power failure.
    #[error(
        "{} is damaged at byte {byte}, input {sequence}: {what}; restore the file from a copy, or move it \
         and all later files elsewhere and lose their inputs", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Bytes from its begin.
        byte: u64,
        /// The input that was to stand there.
        sequence: u64,
        /// The fault.
        what: String,
    },

    /// A segment has fewer bytes than it was made with. Segments are allocated whole before they
    /// get their name.
    #[error(
        "{} has {found} bytes, but had {made} when it was created: the file was cut later; restore it from a \
         copy, or run 'truncate -s {made} {}' and lose the inputs that were there", path.display(), path.display()
    )]
    Shrunken {
        /// The file.
        path: PathBuf,
        /// Bytes of the file now.
        found: u64,
        /// Bytes that it was made with.
        made: u64,
    },

    /// The log ends before inputs that had been durable.
    #[error(
        "the log in {} ends before input {next}, but all inputs before {durable} had been made durable: {} are \
         missing; restore its segments from a copy, or remove {} to continue without them",
        directory.display(), durable - next, mark.display()
    )]
    CutShort {
        /// The journal's directory.
        directory: PathBuf,
        /// The first input that is not there.
        next: u64,
        /// The first input that need not be there.
        durable: u64,
        /// The file that says so.
        mark: PathBuf,
    },

    /// The mark of how far the log was durable can't be read.
    #[error(
        "cannot read from {} how far the log was durable: {why}; restore it from a copy, or remove it to \
         accept the log as it is", path.display()
    )]
    Mark {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: &'static str,
    },

    /// A whole record that this program can't read.
    #[error("input {sequence} in {} is whole, but {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Which input.
        sequence: u64,
        /// Why not.
        source: DecodeError,
    },

    /// A part of the log is gone.
    #[error(
        "no segment in {} has input {sequence}: restore it from a copy, or restore a snapshot of a later \
         input", path.display()
    )]
    Missing {
        /// The directory.
        path: PathBuf,
        /// The first input that is missing.
        sequence: u64,
    },

    /// What was asked for is not there yet.
    #[error(
        "the log ends before input {end}, but {asked} inputs were requested: request at most {end}"
    )]
    NotYet {
        /// The input up to which it was to be read.
        asked: u64,
        /// The first that is not there.
        end: u64,
    },

    /// A snapshot that is whole, but gives another state than it says, or none.
    #[error("cannot restore the snapshot {}: {why}; recover from an older one and the log", path.display())]
    Snapshot {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },

    /// The file system has no room.
    #[error(
        "no room for {bytes} bytes at {}: {source}; free disk space, or use smaller segments", path.display()
    )]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// What was to be there.
        bytes: u64,
        /// The system's reason.
        source: io::Error,
    },

    /// A `fdatasync` failed: what it was to make durable may be lost although a later one would
    /// succeed.
    #[error(
        "cannot make {} durable: {source}; inputs since the last success may be lost, and the \
         journal writes no more: check the disk, then open the journal again", path.display()
    )]
    NotDurable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },

    /// Limits that no engine can have.
    #[error(transparent)]
    Limits(#[from] LimitsError),

    /// The ring between the engine and the writer.
    #[error(transparent)]
    Ring(#[from] IpcError),

    /// The system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    System {
        /// The failed action, such as "open".
        doing: &'static str,
        /// With which file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl JournalError {
    /// A refusal of the system.
    pub(crate) fn system(doing: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        JournalError::System { doing, path: path.to_owned(), source: source.into() }
    }

    /// As [`JournalError::system`], told apart where bytes were refused for want of room.
    pub(crate) fn writing(path: &Path, bytes: u64, source: io::Error) -> Self {
        if is_no_room(&source) {
            return JournalError::NoRoom { path: path.to_owned(), bytes, source };
        }
        JournalError::system("write", path, source)
    }

    /// Whether what a file holds was refused, not the call.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            JournalError::Damaged { .. }
                | JournalError::Unreadable { .. }
                | JournalError::Missing { .. }
                | JournalError::Snapshot { .. }
                | JournalError::OtherLog(_)
                | JournalError::Shrunken { .. }
                | JournalError::CutShort { .. }
                | JournalError::Mark { .. }
        )
    }
}

/// Whether there may be room later: the disk is full, or a quota or the size that a file may have
/// is used up.
fn is_no_room(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG))
}
