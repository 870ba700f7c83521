//! The table of sessions: one for each connection, and one for each session of SBE, which outlives
//! its connections.
//!
//! A session of SBE has an id of its own kind, so that requests, reports and accounts name it as
//! they name a connection. No connection ever has such an id.

use std::net::SocketAddr;
use transport::StreamId;

/// The id of the first session of SBE; connections have lower ones.
const SBE_FIRST: u32 = 1 << 31;

/// The id of a session of SBE by its place in their table.
pub(crate) fn sbe_id(index: usize) -> StreamId {
    StreamId(SBE_FIRST + index as u32)
}

/// The place of a session of SBE in their table; `None` for a connection.
#[inline]
pub(crate) fn sbe_index(id: StreamId) -> Option<usize> {
    id.0.checked_sub(SBE_FIRST).map(|index| index as usize)
}

#[derive(Default)]
pub(crate) struct Session {
    pub open: bool,
    /// Remote address of the connection.
    pub peer: Option<SocketAddr>,
    /// That is a gateway's address, not the client's.
    pub is_behind_gateway: bool,
    pub generation: u32,
    pub subscribed: bool,
    /// A message without `account_id` is for the first.
    pub accounts: Vec<u32>,
    /// The operator's name, if an operator has authenticated.
    pub operator: Option<Box<str>>,
    /// Whether replies to its requests get stamps.
    pub stamps: bool,
    /// Messages before authentication.
    pub strikes: u32,
    /// A session of SBE without a connection, or a connection that keeps reports for a client that
    /// is away.
    pub is_detached: bool,
}

pub(crate) struct SessionTable {
    connections: Vec<Session>,
    sbe: Vec<Session>,
}

impl SessionTable {
    pub fn new(connections_max: usize) -> SessionTable {
        SessionTable { connections: Vec::with_capacity(connections_max), sbe: Vec::new() }
    }

    /// The session with this id, which has been opened.
    #[inline]
    pub fn get(&self, id: StreamId) -> &Session {
        match sbe_index(id) {
            None => &self.connections[id.index()],
            Some(index) => &self.sbe[index],
        }
    }

    /// As [`SessionTable::get`], to change it.
    #[inline]
    pub fn get_mut(&mut self, id: StreamId) -> &mut Session {
        match sbe_index(id) {
            None => &mut self.connections[id.index()],
            Some(index) => &mut self.sbe[index],
        }
    }

    /// The session with this id; `None` if there never was one.
    #[inline]
    pub fn find(&self, id: StreamId) -> Option<&Session> {
        match sbe_index(id) {
            None => self.connections.get(id.index()),
            Some(index) => self.sbe.get(index),
        }
    }

    /// As [`SessionTable::find`], to change it.
    pub fn find_mut(&mut self, id: StreamId) -> Option<&mut Session> {
        match sbe_index(id) {
            None => self.connections.get_mut(id.index()),
            Some(index) => self.sbe.get_mut(index),
        }
    }

    /// Begins a session anew for another client.
    pub fn open(&mut self, id: StreamId, peer: Option<SocketAddr>) {
        let (sessions, index) = match sbe_index(id) {
            None => (&mut self.connections, id.index()),
            Some(index) => (&mut self.sbe, index),
        };
        if sessions.len() <= index {
            sessions.resize_with(index + 1, Session::default);
        }
        let session = &mut sessions[index];
        session.open = true;
        session.peer = peer;
        session.is_behind_gateway = false;
        session.stamps = false;
        session.strikes = 0;
        session.is_detached = false;
        session.generation = session.generation.wrapping_add(1);
    }

    /// All sessions that a client uses now.
    pub fn in_use(&self) -> impl Iterator<Item = &Session> {
        self.connections.iter().chain(&self.sbe).filter(|session| !session.is_detached)
    }
}
