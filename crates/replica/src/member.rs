//! A member of a cluster that is the exchange's follower: the cluster's log has what the exchange
//! sent, and each member makes its copy from that.
//!
//! A message of the log is a piece of a connection: its number, the place of its first byte in the
//! connection's stream, and bytes. The first message of a connection has its whole `Hello`. A later
//! connection whose `Hello` is taken replaces the one that is followed; pieces of all others are
//! dropped. Every member does the same with every message, and after a restart once more.
//!
//! See docs/decisions/040-the-copy-in-a-cluster.md.

use crate::replayed::{CopyState, ReplayedStore};
use crate::session::{FollowedPrimary, Session, SessionError, Store, StoreError};
use crate::term::{Term, last_number};
use crc32c::crc32c;
use journal::{LogName, Options};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The version of a saved member.
const VERSION: u32 = 1;
const HEAD_BYTES: usize = 8;

/// A member's copy, and the connection that it follows.
pub struct Member {
    store: ReplayedStore,
    followed: Option<Connection>,
    /// The last connection that was followed; 0: none yet.
    last: u64,
    out: Vec<u8>,
}

/// The connection that is followed.
struct Connection {
    number: u64,
    /// Bytes of its stream so far.
    received: u64,
    session: Session,
}

/// The start of a saved member; the register and the connection's rest follow.
#[derive(Serialize, Deserialize)]
struct SavedMember {
    version: u32,
    log: Option<Vec<u8>>,
    terms: Vec<Term>,
    next: u64,
    register_bytes: usize,
    register_is_whole: bool,
    last: u64,
    connection: Option<SavedConnection>,
}

#[derive(Serialize, Deserialize)]
struct SavedConnection {
    number: u64,
    received: u64,
    following: Option<FollowedPrimary>,
}

fn damaged(what: &str) -> StoreError {
    StoreError(format!(
        "the cluster's snapshot of the copy is damaged: {what}; take the one before"
    ))
}

impl Member {
    /// A member whose copy is in the directory `path`. The cluster's log comes from its start.
    ///
    /// # Errors
    /// The directory can't be opened.
    pub fn open(path: &Path, options: Options) -> Result<Member, StoreError> {
        let store = ReplayedStore::open(path, options, CopyState::default())?;
        Ok(Member { store, followed: None, last: 0, out: Vec::new() })
    }

    /// The member that [`Member::save`] saved. The cluster's log comes from there.
    ///
    /// # Errors
    /// The bytes are damaged; the directory can't be opened, or is behind them.
    pub fn restore(path: &Path, options: Options, bytes: &[u8]) -> Result<Member, StoreError> {
        let short = || damaged("it is too short");
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>().ok_or_else(short)?;
        let half = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| head[at + byte]));
        if crc32c(rest) != half(0) {
            return Err(damaged("its checksum does not match"));
        }
        let (text, rest) = rest.split_at_checked(half(4) as usize).ok_or_else(short)?;
        let saved: SavedMember =
            serde_json::from_slice(text).map_err(|e| damaged(&e.to_string()))?;
        if saved.version != VERSION {
            return Err(damaged(&format!("version {} is not {VERSION}", saved.version)));
        }
        let (register, rest) = rest.split_at_checked(saved.register_bytes).ok_or_else(short)?;
        let name = |bytes: Vec<u8>| LogName::from_bytes(bytes.first_chunk()?);
        let log =
            saved.log.map(|bytes| name(bytes).ok_or_else(|| damaged("its log"))).transpose()?;
        let place = CopyState {
            log,
            terms: saved.terms,
            next: saved.next,
            register: register.to_vec(),
            register_is_whole: saved.register_is_whole,
        };
        let followed = saved.connection.map(|SavedConnection { number, received, following }| {
            Connection { number, received, session: Session::resume(following, rest) }
        });
        let store = ReplayedStore::open(path, options, place)?;
        Ok(Member { store, followed, last: saved.last, out: Vec::new() })
    }

    /// Saves what decides about the next message to [`Member::output`]; the copy stays where it is.
    ///
    /// # Errors
    /// The store has failed.
    pub fn save(&mut self) -> Result<usize, StoreError> {
        self.store.commit()?;
        let CopyState { log, terms, next, register, register_is_whole } = self.store.place();
        let connection = self.followed.as_ref().map(|Connection { number, received, session }| {
            let following = session.state().0;
            SavedConnection { number: *number, received: *received, following }
        });
        let saved = SavedMember {
            version: VERSION,
            log: log.map(|log| log.to_bytes().to_vec()),
            terms: terms.clone(),
            next: *next,
            register_bytes: register.len(),
            register_is_whole: *register_is_whole,
            last: self.last,
            connection,
        };
        let text = serde_json::to_vec(&saved).map_err(|error| StoreError(error.to_string()))?;
        let rest = self.followed.as_ref().map_or(&[][..], |followed| followed.session.state().1);
        let out = &mut self.out;
        out.clear();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&(text.len() as u32).to_le_bytes());
        [&text, register.as_slice(), rest].iter().for_each(|part| out.extend_from_slice(part));
        let check = crc32c(&out[HEAD_BYTES..]);
        out[..4].copy_from_slice(&check.to_le_bytes());
        Ok(out.len())
    }

    /// Takes a message of the cluster's log, and makes durable what it has. [`Member::output`] then
    /// has the reply. The connection goes on if it is [`Member::followed`] afterwards.
    ///
    /// # Errors
    /// The store has failed, and the member must end.
    pub fn receive(&mut self, number: u64, at: u64, bytes: &[u8]) -> Result<(), StoreError> {
        self.out.clear();
        match at {
            0 => self.begin(number, bytes),
            _ => self.go_on(number, at, bytes),
        }
    }

    fn begin(&mut self, number: u64, bytes: &[u8]) -> Result<(), StoreError> {
        if number <= self.last {
            return Ok(());
        }
        let mut session = Session::default();
        let taken = session.receive(bytes, &mut self.store, &mut self.out);
        let is_followed = session.silence().is_some();
        // It has replaced the one before, as at a follower, even if its next frame is a fault.
        if is_followed {
            let received = bytes.len() as u64;
            self.last = number;
            self.followed = Some(Connection { number, received, session });
        }
        self.end(taken, is_followed)
    }

    fn go_on(&mut self, number: u64, at: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let Some(followed) = self.followed.as_mut().filter(|one| one.number == number) else {
            return Ok(());
        };
        if followed.received != at {
            // Something of it was lost on its way into the log.
            self.followed = None;
            return Ok(());
        }
        followed.received += bytes.len() as u64;
        let taken = followed.session.receive(bytes, &mut self.store, &mut self.out);
        self.end(taken, true)
    }

    /// The end of a message; `is_followed`: it was of the connection that is followed.
    fn end(
        &mut self,
        taken: Result<(), SessionError>,
        is_followed: bool,
    ) -> Result<(), StoreError> {
        match taken {
            Ok(()) => return Ok(()),
            Err(SessionError::Store(error)) => return Err(error),
            Err(SessionError::Frame(_) | SessionError::Rejected(_)) => {}
        }
        if is_followed {
            self.followed = None;
        }
        // Records before the fault.
        self.store.commit().map(drop)
    }

    /// The reply to the last message, or the bytes of the last [`Member::save`].
    pub fn output(&self) -> &[u8] {
        &self.out
    }

    /// The connection that is followed; 0: none.
    pub fn followed(&self) -> u64 {
        self.followed.as_ref().map_or(0, |followed| followed.number)
    }

    /// The record that the copy needs next.
    pub fn next_sequence(&self) -> u64 {
        self.store.place().next
    }

    /// The term of the primary that was taken last; 0: none yet.
    pub fn term(&self) -> u64 {
        last_number(&self.store.place().terms)
    }
}
