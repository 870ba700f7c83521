//! A follower's store: a directory that opens as a journal of the exchange.

use crate::admission::{Own, admit};
use crate::frame::{FrameError, Hello};
use crate::publish::publish;
use crate::register;
use crate::session::{AdmitError, Store, StoreError};
use crate::term;
use journal::{CONTENT_BYTES, LogCopy, LogName, Options, Watch};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A journal's directory.
pub struct DirectoryStore {
    path: PathBuf,
    options: Options,
    copy: Option<(LogName, LogCopy)>,
    register: Register,
    tell_room: Box<TellRoom>,
    /// As it was told last.
    is_full: bool,
}

/// Told when the disk becomes full and when it has room again, and asked again and again while the
/// store waits for room. Returns whether to go on waiting.
pub type TellRoom = dyn FnMut(bool) -> bool + Send;

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
        let (register, tell_room) = (Register::default(), Box::new(|_| true));
        Ok(DirectoryStore {
            path: path.to_owned(),
            options,
            copy,
            register,
            tell_room,
            is_full: false,
        })
    }

    /// Sets who is told about a full disk. Without it, a store waits for room until it has some.
    pub fn tell_room(&mut self, tell: Box<TellRoom>) {
        self.tell_room = tell;
    }

    /// Tells whether the disk is full if that has changed. The next segment is made beside the
    /// records, so this can change while none come.
    pub fn look_for_room(&mut self) {
        let Some((_, copy)) = &self.copy else { return };
        if copy.has_no_room() != self.is_full {
            self.is_full = copy.has_no_room();
            (self.tell_room)(self.is_full);
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
        let terms = term::read(&self.path).map_err(failed)?;
        let log = self.copy.as_ref().map(|(name, _)| *name);
        admit(Own { log, terms: &terms, next: self.next_sequence() }, hello)?;
        if self.copy.is_none() {
            let copy = LogCopy::open(&self.path, hello.log, &self.options).map_err(failed)?;
            self.copy = Some((hello.log, copy));
        }
        if terms != hello.terms {
            term::write(&self.path, &hello.terms).map_err(failed)?;
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
        if self.register.is_new {
            let name = self.path.join(register::NAME);
            self.register
                .save(&self.path)
                .map_err(|error| failed(format!("cannot write {}: {error}", name.display())))?;
        }
        let Some((_, copy)) = &mut self.copy else { return Ok(0) };
        let (tell, is_full) = (&mut self.tell_room, &mut self.is_full);
        let mut goes_on = |is_full_now| {
            *is_full |= is_full_now;
            tell(is_full_now)
        };
        let durable = copy.commit(&mut goes_on).map_err(failed)?;
        self.look_for_room();
        Ok(durable)
    }
}

impl Register {
    fn save(&mut self, directory: &Path) -> io::Result<()> {
        match &mut self.file {
            Some((file, length)) => {
                file.write_all(&self.bytes[*length..])?;
                file.sync_data()?;
                *length = self.bytes.len();
            }
            None => {
                let file = publish(directory, register::NAME, &self.bytes)?;
                self.file = Some((file, self.bytes.len()));
            }
        }
        self.is_new = false;
        Ok(())
    }
}
