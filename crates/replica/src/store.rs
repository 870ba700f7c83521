//! A follower's store: a directory that opens as a journal of the exchange.

use crate::admission::{FollowerLog, Rejection, admit};
use crate::frame::{FrameError, Hello};
use crate::publish::publish;
use crate::register;
use crate::room::Room;
pub use crate::room::TellRoom;
use crate::session::{AdmitError, Store, StoreError};
use crate::term::{self, Term, TermsError};
use journal::{CONTENT_BYTES, JournalError, LogCopy, LogName, Options, Watch, is_no_room};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A journal's directory.
pub struct DirectoryStore {
    path: PathBuf,
    options: Options,
    copy: Option<(LogName, LogCopy)>,
    register: Register,
    room: Room,
}

/// The register: as it came, and how much of it is on the disk.
#[derive(Debug, Default)]
struct Register {
    bytes: Vec<u8>,
    /// Whether `bytes` is whole and not on the disk.
    is_new: bool,
    /// The file and its length, if it holds the beginning of `bytes`.
    file: Option<(File, usize)>,
}

impl DirectoryStore {
    /// The journal in the directory `path`. Opens it if it is there.
    ///
    /// # Errors
    /// The directory has a journal that can't be opened.
    pub fn open(path: &Path, options: Options) -> Result<DirectoryStore, StoreError> {
        let copy = match LogName::of(path).map_err(failed)? {
            None => None,
            Some(name) => Some((name, LogCopy::open(path, name, &options).map_err(failed)?)),
        };
        let (register, room) = (Register::default(), Room::new(Box::new(|_| true)));
        Ok(DirectoryStore { path: path.to_owned(), options, copy, register, room })
    }

    /// Sets who is told about a full disk. Without it, a store waits for room until it has some.
    pub fn tell_room(&mut self, tell: Box<TellRoom>) {
        self.room = Room::new(tell);
    }

    /// Tells whether the disk is full if that has changed. The next segment is made beside the
    /// records, so this can change while none come.
    pub fn look_for_room(&mut self) {
        if let Some((_, copy)) = &self.copy {
            self.room.set(copy.has_no_room());
        }
    }

    /// The record that the log needs next; 0 without a log.
    pub fn next_sequence(&self) -> u64 {
        self.copy.as_ref().map_or(0, |(_, copy)| copy.next_sequence())
    }

    /// For threads that follow the copy; `None` until there is one.
    pub fn watch(&self) -> Option<Watch> {
        self.copy.as_ref().map(|(_, copy)| copy.watch())
    }

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The log that it has; `None` if it is empty.
    pub(crate) fn log(&self) -> Option<LogName> {
        self.copy.as_ref().map(|(name, _)| *name)
    }

    /// The terms of its log.
    pub(crate) fn terms(&self) -> Result<Vec<Term>, StoreError> {
        term::read(&self.path).map_err(failed)
    }

    /// Begins a copy of this log in an empty directory; goes on with one that is there.
    pub(crate) fn begin(&mut self, log: LogName) -> Result<(), StoreError> {
        match self.log() {
            Some(found) if found == log => Ok(()),
            Some(_) => Err(failed(JournalError::OtherLog(self.path.clone()))),
            None => {
                let copy = LogCopy::open(&self.path, log, &self.options).map_err(failed)?;
                self.copy = Some((log, copy));
                Ok(())
            }
        }
    }

    /// Makes these the terms of its log, durably. Returns whether they are: if not, nobody wants to
    /// wait for room.
    pub(crate) fn save_terms(&mut self, terms: &[Term]) -> Result<bool, StoreError> {
        let write = || term::write(&self.path, terms);
        self.room.write(write, TermsError::is_no_room).map_err(failed)
    }

    /// Makes the register durable. Returns whether it is: if not, nobody wants to wait for room.
    fn save_register(&mut self) -> Result<bool, StoreError> {
        let name = self.path.join(register::NAME);
        let failed = |error| failed(format!("cannot write {}: {error}", name.display()));
        let write = || self.register.write(&self.path);
        let is_written = self.room.write(write, is_no_room).map_err(failed)?;
        if is_written {
            self.register.sync().map_err(failed)?;
        }
        Ok(is_written)
    }
}

fn failed(error: impl ToString) -> StoreError {
    StoreError(error.to_string())
}

impl Store for DirectoryStore {
    fn admit(&mut self, hello: &Hello) -> Result<u64, AdmitError> {
        if self.copy.is_some() {
            // Records of a connection that broke after them.
            self.commit()?;
        }
        let terms = self.terms()?;
        admit(FollowerLog { log: self.log(), terms: &terms, next: self.next_sequence() }, hello)?;
        self.begin(hello.log)?;
        if terms != hello.terms && !self.save_terms(&hello.terms)? {
            return Err(Rejection::NoRoom.into());
        }
        self.register = Register::default();
        Ok(self.next_sequence())
    }

    fn register(&mut self, offset: u64, is_whole: bool, bytes: &[u8]) -> Result<(), FrameError> {
        let register = &mut self.register;
        if offset == 0 {
            *register = Register::default();
        }
        if offset != register.bytes.len() as u64 {
            return Err(FrameError::Invalid("place in the register"));
        }
        register.bytes.extend_from_slice(bytes);
        register.is_new = is_whole;
        Ok(())
    }

    fn append(&mut self, content: &[u8; CONTENT_BYTES]) -> Result<(), FrameError> {
        let Some((_, copy)) = &mut self.copy else { return Err(FrameError::Invalid("record")) };
        copy.append(content).map_err(|_| FrameError::Invalid("record"))
    }

    fn commit(&mut self) -> Result<u64, StoreError> {
        // Before the first record that needs it.
        let has_register = !self.register.is_new || self.save_register()?;
        let Some((_, copy)) = &mut self.copy else { return Ok(0) };
        if !has_register {
            copy.discard();
        }
        let durable = copy.commit(&mut |is_full| self.room.ask(is_full)).map_err(failed)?;
        self.look_for_room();
        Ok(durable)
    }
}

impl Register {
    /// Writes what is not in the file yet.
    fn write(&mut self, directory: &Path) -> io::Result<()> {
        match &self.file {
            // At its place, as another try may have written the start of it.
            Some((file, length)) => file.write_all_at(&self.bytes[*length..], *length as u64),
            None => {
                let file = publish(directory, register::NAME, &self.bytes)?;
                self.file = Some((file, self.bytes.len()));
                Ok(())
            }
        }
    }

    /// Makes it durable. Must not be tried again: after an error the kernel may have dropped the
    /// data, and report success the next time.
    fn sync(&mut self) -> io::Result<()> {
        if let Some((file, length)) = &mut self.file {
            file.sync_data()?;
            *length = self.bytes.len();
        }
        self.is_new = false;
        Ok(())
    }
}
