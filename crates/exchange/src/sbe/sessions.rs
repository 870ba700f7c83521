//! The table of sessions.

use crate::account::session_table::{sbe_id, sbe_index};
use crate::sbe::store::Store;
use crate::setup::limits::{Limits, nanoseconds};
use transport::StreamId;
use transport::serve::Outbound;
use wire::sbe::client::encode_heartbeat;

struct SbeSession {
    /// The session's name towards its client.
    number: u64,
    account: u32,
    /// The connection, while there is one.
    connection: Option<StreamId>,
    /// The number of the client's last request.
    received: u64,
    /// The reports that the client may not have seen.
    store: Store,
    /// Counts the lost connections of all sessions: the lowest is without one for longest.
    detached: u64,
    /// The next report's number when something was last found to be sent, and when that was.
    sent: (u64, u64),
}

/// The start of the reports for a client that continues a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MissedReports {
    /// The number of the first report that follows.
    pub next: u64,
    /// Reports before it that are not kept any more.
    pub lost: u64,
}

/// All sessions, with a connection or without.
pub(crate) struct SbeSessions {
    table: Vec<SbeSession>,
    sessions_max: usize,
    per_account_max: usize,
    bytes_max: usize,
    silence_ns_max: u64,
    last_number: u64,
    detachments: u64,
    /// Buffer for a report of a session without a connection.
    frame: Vec<u8>,
}

impl SbeSessions {
    pub fn new(limits: &Limits) -> SbeSessions {
        SbeSessions {
            table: Vec::new(),
            sessions_max: limits.sbe_sessions_max,
            per_account_max: limits.sbe_sessions_per_account_max,
            bytes_max: limits.sbe_session_bytes_max,
            silence_ns_max: nanoseconds(limits.sbe_silence_seconds_max),
            last_number: 0,
            detachments: 0,
            frame: Vec::with_capacity(wire::sbe::FRAME_BYTES_MAX),
        }
    }

    /// Silence of one side, ms, after which the other may close the connection.
    pub fn silence_ms_max(&self) -> u32 {
        (self.silence_ns_max / 1_000_000) as u32
    }

    /// The account's session with this number.
    pub fn find(&self, number: u64, account: u32) -> Option<StreamId> {
        let is_it = |one: &SbeSession| one.number == number && one.account == account;
        self.table.iter().position(is_it).map(sbe_id)
    }

    /// A place for a new session of an account: a free one, or that of a session without a
    /// connection. An account past its own limit takes the place of one of its own.
    ///
    /// # Errors
    /// The name of the limit that leaves no place.
    pub fn place(&self, account: u32) -> Result<StreamId, &'static str> {
        let own = || self.table.iter().enumerate().filter(|(_, one)| one.account == account);
        if own().count() >= self.per_account_max {
            return longest_detached(own()).ok_or("sbe_sessions_per_account_max");
        }
        if self.table.len() < self.sessions_max {
            return Ok(sbe_id(self.table.len()));
        }
        longest_detached(self.table.iter().enumerate()).ok_or("sbe_sessions_max")
    }

    /// Begins a session in a place that [`SbeSessions::place`] named. Numbers rise with the time,
    /// so that none is used again after a restart.
    pub fn begin(&mut self, id: StreamId, account: u32, time_ns: u64) {
        let Some(index) = sbe_index(id) else { return };
        self.last_number = time_ns.max(self.last_number + 1);
        let number = self.last_number;
        let mut store = match self.table.len() > index {
            true => std::mem::replace(&mut self.table[index].store, Store::new(0)),
            false => Store::new(self.bytes_max),
        };
        store.clear();
        let (connection, received, detached, sent) = (None, 0, 0, (0, 0));
        let session = SbeSession { number, account, connection, received, store, detached, sent };
        match self.table.get_mut(index) {
            Some(place) => *place = session,
            None => self.table.push(session),
        }
    }

    /// Gives a session its connection. The client has the reports up to `last`.
    pub fn attach(&mut self, id: StreamId, connection: StreamId, last: u64) -> MissedReports {
        let session = self.get_mut(id);
        session.connection = Some(connection);
        session.sent = (0, 0);
        session.store.seen(last);
        let next = session.store.first();
        MissedReports { next, lost: next.saturating_sub(last + 1) }
    }

    /// Takes the connection from a session. Returns whether it had this one: a newer connection may
    /// have taken the session over.
    pub fn detach(&mut self, id: StreamId, connection: StreamId) -> bool {
        self.detachments += 1;
        let detached = self.detachments;
        let session = self.get_mut(id);
        let had = session.connection == Some(connection);
        if had {
            (session.connection, session.detached) = (None, detached);
        }
        had
    }

    /// Appends the reports that the client has missed.
    pub fn resend(&self, id: StreamId, out: &mut Vec<u8>) {
        self.get(id).store.copy_to(out);
    }

    pub fn number(&self, id: StreamId) -> u64 {
        self.get(id).number
    }

    pub fn connection(&self, id: StreamId) -> Option<StreamId> {
        self.get(id).connection
    }

    /// The number of the client's last request.
    pub fn received(&self, id: StreamId) -> u64 {
        self.get(id).received
    }

    /// The number of the next report.
    pub fn next_sequence(&self, id: StreamId) -> u64 {
        self.get(id).store.next()
    }

    /// Takes the next request's number.
    ///
    /// # Errors
    /// The number that it must have.
    #[inline]
    pub fn receive(&mut self, id: StreamId, sequence: u64) -> Result<(), u64> {
        let session = self.get_mut(id);
        let next = session.received + 1;
        if sequence != next {
            return Err(next);
        }
        session.received = next;
        Ok(())
    }

    /// Sends a report, or keeps it for the client's next connection.
    #[inline]
    pub fn report(
        &mut self,
        id: StreamId,
        outbound: &mut Outbound,
        write: impl FnOnce(&mut Vec<u8>, u64),
    ) {
        let Some(index) = sbe_index(id) else { return };
        let (session, frame) = (&mut self.table[index], &mut self.frame);
        let sequence = session.store.next();
        match session.connection {
            Some(connection) => {
                let out = outbound.to(connection);
                let start = out.len();
                write(out, sequence);
                session.store.push(&out[start..]);
            }
            None => {
                frame.clear();
                write(frame, sequence);
                session.store.push(frame);
            }
        }
    }

    /// Sends a heartbeat to each client that was sent nothing for half of the longest silence.
    pub fn sweep(&mut self, now_ns: u64, outbound: &mut Outbound) {
        for session in &mut self.table {
            let Some(connection) = session.connection else { continue };
            let (next, (sent, sent_ns)) = (session.store.next(), session.sent);
            if next != sent {
                session.sent = (next, now_ns);
            } else if now_ns.saturating_sub(sent_ns) >= self.silence_ns_max / 2 {
                encode_heartbeat(outbound.to(connection), next);
                session.sent = (next, now_ns);
            }
        }
    }

    #[inline]
    fn get(&self, id: StreamId) -> &SbeSession {
        &self.table[sbe_index(id).unwrap_or(usize::MAX)]
    }

    #[inline]
    fn get_mut(&mut self, id: StreamId) -> &mut SbeSession {
        &mut self.table[sbe_index(id).unwrap_or(usize::MAX)]
    }
}

/// The session that has been without a connection for longest.
fn longest_detached<'a>(
    sessions: impl Iterator<Item = (usize, &'a SbeSession)>,
) -> Option<StreamId> {
    let detached = sessions.filter(|(_, one)| one.connection.is_none());
    detached.min_by_key(|(_, one)| one.detached).map(|(index, _)| sbe_id(index))
}
