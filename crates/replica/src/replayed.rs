//! The store of a cluster's member. After a restart a member gets again what it got before, while
//! its directory has all of it, or some.
//!
//! So nothing is decided by the directory, only by the [`CopyState`] in what the cluster's log
//! says. Records that the directory has must be the same ones, and are not written again. Its terms
//! and its register are not set back meanwhile: the directory is a copy of some moment at any time,
//! and may be promoted.

use crate::admission::{FollowerLog, Rejection, admit};
use crate::frame::{FrameError, Hello};
use crate::session::{AdmitError, Store, StoreError};
use crate::store::DirectoryStore;
use crate::term::{Term, last_number};
use journal::{CONTENT_BYTES, LogCopy, LogName, Options, Tail};
use std::path::Path;

/// Records that are compared at once.
const COMPARED_MAX: u64 = 4096;

/// A copy as the cluster's log has made it up to a place in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyState {
    /// The log that is copied; `None` before the first primary.
    pub log: Option<LogName>,
    /// Its terms.
    pub terms: Vec<Term>,
    /// The record that the copy needs next.
    pub next: u64,
    /// The register of accounts, as far as this connection has brought it.
    pub register: Vec<u8>,
    /// Whether its last line is whole.
    pub register_is_whole: bool,
}

/// A directory, and the place that decides.
pub struct ReplayedStore {
    disk: DirectoryStore,
    place: CopyState,
    /// The directory had all records below when it was opened.
    had: u64,
    /// Reads those.
    tail: Option<Tail>,
    /// Records that are not compared or written yet; the last one is before `place.next`.
    pending: Vec<[u8; CONTENT_BYTES]>,
    /// How much of the register the directory has of this connection; `None`: an earlier one's.
    register_written: Option<usize>,
}

fn failed(error: impl ToString) -> StoreError {
    StoreError(error.to_string())
}

impl ReplayedStore {
    /// The copy in the directory `path`, to be continued from `place`: after it, the cluster's log
    /// is replayed. A full disk is an error.
    ///
    /// # Errors
    /// The directory can't be opened, or is behind the place.
    pub fn open(
        path: &Path,
        options: Options,
        place: CopyState,
    ) -> Result<ReplayedStore, StoreError> {
        let mut disk = DirectoryStore::open(path, options)?;
        disk.tell_room(Box::new(|is_full| !is_full));
        let had = disk.next_sequence();
        let is_behind = had < place.next || last_number(&disk.terms()?) < last_number(&place.terms);
        if (place.log.is_some() && disk.log() != place.log) || is_behind {
            return Err(StoreError(format!(
                "the copy in {} goes to record {had}, and the cluster's snapshot to record {}: start the \
                 member with an empty directory, and it reads the cluster's log from its start",
                path.display(),
                place.next
            )));
        }
        let (tail, pending, register_written) = (None, Vec::new(), None);
        Ok(ReplayedStore { disk, place, had, tail, pending, register_written })
    }

    /// Where the copy is.
    pub fn place(&self) -> &CopyState {
        &self.place
    }

    /// Whether the directory has had records after this place.
    fn is_replayed(&self) -> bool {
        self.place.next < self.had
    }

    /// Takes from `pending` what the directory has, which must be the same.
    fn compare(&mut self) -> Result<(), StoreError> {
        let first = self.place.next - self.pending.len() as u64;
        let end = self.had.min(self.place.next);
        if first >= end {
            return Ok(());
        }
        if self.tail.as_ref().is_none_or(|tail| tail.next_sequence() != first) {
            self.tail = Some(Tail::open(self.disk.path(), first).map_err(failed)?);
        }
        let Some(tail) = &mut self.tail else { return Ok(()) };
        let mut contents = Vec::new();
        while tail.next_sequence() < end {
            tail.read(end, COMPARED_MAX, &mut contents).map_err(failed)?;
        }
        let (found, _) = contents.as_chunks::<CONTENT_BYTES>();
        let differs = |(found, given): (&_, &_)| found != given;
        if let Some(index) = found.iter().zip(&self.pending).position(differs) {
            return Err(StoreError(format!(
                "record {} of the copy in {} is not that of the cluster's log: the directory belongs \
                 to another cluster. Start the member with an empty directory",
                first + index as u64,
                self.disk.path().display()
            )));
        }
        self.pending.drain(..found.len());
        Ok(())
    }

    /// Hands the register to the directory if it is whole and new there.
    fn write_register(&mut self) -> Result<(), StoreError> {
        let CopyState { register, register_is_whole, .. } = &self.place;
        if !register_is_whole || self.register_written == Some(register.len()) {
            return Ok(());
        }
        let from = self.register_written.unwrap_or(0);
        self.register_written = Some(register.len());
        self.disk.register(from as u64, true, &register[from..]).map_err(failed)
    }
}

impl Store for ReplayedStore {
    fn admit(&mut self, hello: &Hello) -> Result<u64, AdmitError> {
        self.commit()?;
        let CopyState { log, terms, next, .. } = &self.place;
        admit(FollowerLog { log: *log, terms, next: *next }, hello)?;
        self.disk.begin(hello.log)?;
        let is_later = last_number(&hello.terms) > last_number(&self.disk.terms()?);
        if is_later && !self.disk.save_terms(&hello.terms)? {
            return Err(failed(Rejection::NoRoom).into());
        }
        let (log, terms, next) = (Some(hello.log), hello.terms.clone(), self.place.next);
        self.place = CopyState { log, terms, next, register: Vec::new(), register_is_whole: false };
        self.register_written = None;
        Ok(next)
    }

    fn register(&mut self, offset: u64, is_whole: bool, bytes: &[u8]) -> Result<(), FrameError> {
        let register = &mut self.place.register;
        if offset == 0 {
            register.clear();
            self.register_written = None;
        }
        if offset != register.len() as u64 {
            return Err(FrameError::Invalid("place in the register"));
        }
        register.extend_from_slice(bytes);
        self.place.register_is_whole = is_whole;
        Ok(())
    }

    fn append(&mut self, content: &[u8; CONTENT_BYTES]) -> Result<(), FrameError> {
        LogCopy::check(content).map_err(|_| FrameError::Invalid("record"))?;
        self.pending.push(*content);
        self.place.next += 1;
        Ok(())
    }

    fn commit(&mut self) -> Result<u64, StoreError> {
        self.compare()?;
        if self.is_replayed() || self.place.log.is_none() {
            return Ok(self.place.next);
        }
        self.write_register()?;
        for content in self.pending.drain(..) {
            self.disk.append(&content).map_err(failed)?;
        }
        let durable = self.disk.commit()?;
        match durable == self.place.next {
            true => Ok(durable),
            false => Err(StoreError(format!(
                "the disk of the copy in {} is full: free some space there, and start the member again",
                self.disk.path().display()
            ))),
        }
    }
}
