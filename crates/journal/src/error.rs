//! Errors of a journal, each with its cause and advice.

use std::io;
use std::path::{Path, PathBuf};

use engine::{DecodeError, LimitsError};
use ipc::IpcError;
use rustix::io::Errno;

use crate::file::header::Identity;

/// Why a journal can't be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another process has the journal.
    #[error(
        "the journal {} is in use: end its writer (its lock goes with its process), or use another \
         directory", .0.display()
    )]
    InUse(PathBuf),

    /// The directory has no journal.
    #[error("{} contains no journal: check the path", .0.display())]
    NoJournal(PathBuf),

    /// An option out of its range.
    #[error("{name} is {given}, but must be from {least} to {most}: set it in this range")]
    Option {
        /// Its name.
        name: &'static str,
        /// Its value.
        given: u64,
        /// The smallest value.
        least: u64,
        /// The largest value.
        most: u64,
    },

    /// The file is not one of ours.
    #[error("{} is not a file of a tickpath journal: {why}; check the path", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The difference.
        why: &'static str,
    },

    /// The file has a format of another version.
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

    /// The log belongs to an engine of another shape.
    #[error(
        "{} is the journal of another engine: it has {found}, this engine has {wanted}; start the engine \
         with the journal's settings, or use another directory", path.display()
    )]
    OtherEngine {
        /// The file.
        path: PathBuf,
        /// The engine of the file.
        found: Identity,
        /// The given engine.
        wanted: Identity,
    },

    /// The file belongs to another log of the same kind of engine.
    #[error(
        "{} belongs to another log than the other files in its directory: move it elsewhere", .0.display()
    )]
    OtherLog(PathBuf),

    /// The file has content that neither a writer nor a power failure leaves.
    #[error(
        "{} is damaged at byte {byte}, input {sequence}: {what}; restore the file from a copy, or move it \
         and all later files elsewhere and lose their inputs", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Offset from its start.
        byte: u64,
        /// The input that should be there.
        sequence: u64,
        /// The fault.
        what: String,
    },

    /// A segment is shorter than when it was created. Segments are fully allocated before they get
    /// their name.
    #[error(
        "{} has {found} bytes, but had {made} when it was created: the file was truncated later; restore it from a \
         copy, or run 'truncate -s {made} {}' and lose the inputs that were there", path.display(), path.display()
    )]
    Shrunken {
        /// The file.
        path: PathBuf,
        /// Bytes of the file now.
        found: u64,
        /// Bytes when it was created.
        made: u64,
    },

    /// The log ends before inputs that were durable.
    #[error(
        "the log in {} ends before input {next}, but all inputs before {durable} had been made durable: {} are \
         missing; restore its segments from a copy, or remove {} to continue without them",
        directory.display(), durable - next, mark.display()
    )]
    CutShort {
        /// The journal's directory.
        directory: PathBuf,
        /// The first missing input.
        next: u64,
        /// The first input that may be missing.
        durable: u64,
        /// The file with that mark.
        mark: PathBuf,
    },

    /// The mark of durability can't be read.
    #[error(
        "cannot read the mark of durability in {}: {why}; restore it from a copy, or remove it to \
         accept the log as it is", path.display()
    )]
    Mark {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: &'static str,
    },

    /// A record is complete but has unknown content.
    #[error("input {sequence} in {} is whole, but {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The input.
        sequence: u64,
        /// The fault.
        source: DecodeError,
    },

    /// A segment of the log is missing.
    #[error(
        "no segment in {} has input {sequence}: restore it from a copy, or restore a snapshot of a later \
         input", path.display()
    )]
    Missing {
        /// The directory.
        path: PathBuf,
        /// The first missing input.
        sequence: u64,
    },

    /// The requested inputs do not exist yet.
    #[error(
        "the log ends before input {end}, but {asked} inputs were requested: request at most {end}"
    )]
    NotYet {
        /// The end of the request, exclusive.
        asked: u64,
        /// The first input that does not exist.
        end: u64,
    },

    /// A snapshot is complete, but can't be restored or gives another state.
    #[error("cannot restore the snapshot {}: {why}; recover from an older one and the log", path.display())]
    Snapshot {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: String,
    },

    /// The file system is full.
    #[error(
        "no room for {bytes} bytes at {}: {source}; free disk space, or use smaller segments", path.display()
    )]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// The required size.
        bytes: u64,
        /// The system's reason.
        source: io::Error,
    },

    /// A `fdatasync` failed. The data may be lost even if a later sync succeeds.
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

    /// Another primary has taken over.
    #[error(
        "another primary has taken over: {why}; end this exchange, and start it as a follower with an \
         empty directory"
    )]
    Fenced {
        /// The follower's reason.
        why: String,
    },

    /// The engine limits are invalid.
    #[error(transparent)]
    Limits(#[from] LimitsError),

    /// The ring between engine and writer failed.
    #[error(transparent)]
    Ring(#[from] IpcError),

    /// A system call failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    System {
        /// The failed action, such as "open".
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl JournalError {
    /// The error of a failed system call.
    pub(crate) fn system(doing: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        JournalError::System { doing, path: path.to_owned(), source: source.into() }
    }

    /// As [`JournalError::system`], or [`JournalError::NoRoom`] if the disk is full.
    pub(crate) fn writing(path: &Path, bytes: u64, source: io::Error) -> Self {
        if is_no_room(&source) {
            return JournalError::NoRoom { path: path.to_owned(), bytes, source };
        }
        JournalError::system("write", path, source)
    }

    /// Whether the fault is in a file's content, not in a call.
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

/// Whether there may be room later: the disk is full, or a quota or the maximum file size is
/// reached.
pub fn is_no_room(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG))
}
