//! The journal: a line for each change, written before the change, so that it can be reverted, also
//! after a crash or a reboot.
//!
//! A file of JSON lines. A line is on disk before its change is written, so a torn last line
//! belongs to no change.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::place::SettingPlace;
use crate::system::System;

/// Default directory of journal and lock.
pub const STATE_DEFAULT: &str = "/var/lib/tickpath/tune";
const FILE: &str = "journal.jsonl";
const LOCK: &str = "lock";

/// Why nothing can be changed.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The directory or the file.
    #[error(
        "cannot write the journal {path}: {source}; nothing is changed without it: run as root, or \
         name a directory: --state DIR"
    )]
    Unwritable {
        /// Its path.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file exists and can't be read.
    #[error("cannot read the journal {path}: {why}; it is the way back: do not remove it")]
    Unreadable {
        /// Its path.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// Another process has locked it.
    #[error("another tickpath tune is at work here ({0}); wait until it has ended")]
    Locked(PathBuf),
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(crate) enum JournalLine {
    /// An `apply` begins.
    Begin { tool: String, boot_id: String, at: String },
    /// A place is about to change.
    Step {
        step: usize,
        setting: String,
        place: String,
        /// Name of the device behind a number that changes with a reboot.
        identity: Option<String>,
        before: Option<String>,
        after: Option<String>,
    },
    /// It has changed; `now` is the value read back.
    Done { step: usize, now: Option<String> },
    /// The change failed.
    Failed { step: usize, error: String },
    /// It has its old value again.
    Reverted { step: usize },
}

/// One step and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournaledStep {
    /// Its number.
    pub step: usize,
    /// The setting, or the kind of file.
    pub setting: String,
    /// Its place.
    pub place: SettingPlace,
    /// Name of the device behind a number.
    pub identity: Option<String>,
    /// The boot in which it was made.
    pub boot_id: String,
    /// The value before.
    pub before: Option<String>,
    /// The value to write.
    pub after: Option<String>,
    /// The value as read back; `None` if the step was interrupted or failed.
    pub now: Option<Option<String>>,
    /// Why it failed.
    pub error: Option<String>,
    /// Whether it was reverted.
    pub is_reverted: bool,
}

/// The journal of one machine, held by one process at a time.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    entries: BTreeMap<usize, JournaledStep>,
    /// The kernel releases it when this process ends in any way.
    _lock: Option<File>,
}

impl Journal {
    /// Opens it for writing; makes the directory if necessary.
    ///
    /// # Errors
    /// If another process has locked it, or it can't be read or written.
    pub fn open(state: &Path) -> Result<Journal, JournalError> {
        let unwritable = |source| JournalError::Unwritable { path: state.to_owned(), source };
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(state).map_err(unwritable)?;
        let lock = File::create(state.join(LOCK)).map_err(unwritable)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| JournalError::Locked(state.join(LOCK)))?;
        let mut journal = Journal::read(state)?;
        journal.cut_torn_line().map_err(unwritable)?;
        journal._lock = Some(lock);
        Ok(journal)
    }

    /// Reads it without a lock.
    ///
    /// # Errors
    /// If it exists and can't be read.
    pub fn read(state: &Path) -> Result<Journal, JournalError> {
        let path = state.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(JournalError::Unreadable { path, why: error.to_string() }),
        };
        let mut journal = Journal { path, entries: BTreeMap::new(), _lock: None };
        let mut boot_id = String::new();
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let path = journal.path.clone();
        for (number, line) in whole.lines().enumerate() {
            let unreadable = |why: String| JournalError::Unreadable {
                path: path.clone(),
                why: format!("line {}: {why}", number + 1),
            };
            let line = serde_json::from_str(line).map_err(|error| unreadable(error.to_string()))?;
            if let JournalLine::Begin { boot_id: id, .. } = &line {
                boot_id.clone_from(id);
            }
            journal.take(line, &boot_id).map_err(unreadable)?;
        }
        Ok(journal)
    }

    /// An incomplete line of a crash must not join the next one.
    fn cut_torn_line(&self) -> std::io::Result<()> {
        let Ok(bytes) = fs::read(&self.path) else { return Ok(()) };
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        if whole < bytes.len() {
            let file = File::options().write(true).open(&self.path)?;
            file.set_len(whole as u64)?;
            file.sync_all()?;
        }
        Ok(())
    }

    fn take(&mut self, line: JournalLine, boot_id: &str) -> Result<(), String> {
        match line {
            JournalLine::Begin { .. } => {}
            JournalLine::Step { step, setting, place, identity, before, after } => {
                let place = place.parse()?;
                let boot_id = boot_id.to_owned();
                let entry = JournaledStep {
                    step,
                    setting,
                    place,
                    identity,
                    boot_id,
                    before,
                    after,
                    now: None,
                    error: None,
                    is_reverted: false,
                };
                self.entries.insert(step, entry);
            }
            JournalLine::Done { step, now } => self.entry(step)?.now = Some(now),
            JournalLine::Failed { step, error } => self.entry(step)?.error = Some(error),
            JournalLine::Reverted { step } => self.entry(step)?.is_reverted = true,
        }
        Ok(())
    }

    fn entry(&mut self, step: usize) -> Result<&mut JournaledStep, String> {
        self.entries.get_mut(&step).ok_or_else(|| format!("there is no step {step}"))
    }

    /// Appends a line, durably.
    pub(crate) fn append(
        &mut self,
        system: &mut dyn System,
        line: JournalLine,
        boot_id: &str,
    ) -> Result<(), JournalError> {
        let text = serde_json::to_string(&line).unwrap_or_default();
        system
            .append(&self.path, &text)
            .map_err(|source| JournalError::Unwritable { path: self.path.clone(), source })?;
        self.take(line, boot_id)
            .map_err(|why| JournalError::Unreadable { path: self.path.clone(), why })
    }

    /// The number of the next step.
    pub(crate) fn next_step(&self) -> usize {
        self.entries.last_key_value().map_or(1, |(last, _)| last + 1)
    }

    /// Steps in order, including reverted ones.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &JournaledStep> {
        self.entries.values()
    }

    /// Steps that are not reverted.
    pub fn standing(&self) -> impl DoubleEndedIterator<Item = &JournaledStep> {
        self.entries().filter(|entry| !entry.is_reverted)
    }

    /// Removes the file once everything was reverted.
    pub(crate) fn end(&mut self) -> Result<(), JournalError> {
        self.entries.clear();
        match fs::remove_file(&self.path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(JournalError::Unwritable { path: self.path.clone(), source })
            }
            _ => Ok(()),
        }
    }
}
