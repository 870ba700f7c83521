//! FIX clients on one side, and the exchange on the other: accepts clients, finds each one's
//! session by its Logon, and carries bytes between sockets, [desks](crate::desk) and the exchange.
//!
//! A connection is nobody's until its Logon is whole and authentic: it may take
//! [`Limits::logon_ns_max`], and [`LOGON_BYTES_MAX`] bytes. A failed login is closed after
//! [`Limits::failed_login_ns`], without an answer: a session that nobody has proved to have can't
//! have a sequence number.

mod admit;
mod data;
mod inside;
mod links;
mod seat;

use crate::sessions::Sessions;
use clock::Clock;
use fix::dictionary::Dictionary;
use fix::session::{Logon, Now};
use links::Links;
use seat::Seat;
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use transport::{Ready, StreamId, StreamRead, Streams};

/// The longest Logon, with the bytes that may follow it in the same reads.
pub(crate) const LOGON_BYTES_MAX: usize = 16 * 1024;
/// The longest CompID of a client, in bytes.
pub(crate) const COMP_ID_BYTES_MAX: usize = 32;

const SWEEP_NS: u64 = 100_000_000;
const READ_BYTES: usize = 64 * 1024;

/// An account, and the token that logs it on.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// Its id.
    pub account: String,
    /// Its API token.
    pub token: String,
}

/// Finds the account of a Logon; `None` if it is not authentic.
pub type FindLogin = dyn Fn(&Logon) -> Option<Login> + Send;

/// Finds the token of an account; `None` if it has none.
pub type FindToken = dyn Fn(&str) -> Option<String> + Send;

/// The door's counts, which are there when it has closed.
pub type SharedCounts = Arc<Mutex<Counts>>;

/// Settings of the door.
pub struct Settings {
    /// The sessions of the folder of message stores, which have the reports that they lacked.
    pub sessions: Sessions,
    /// The account of an authentic Logon.
    pub login: Box<FindLogin>,
    /// The token of an account.
    pub token: Box<FindToken>,
    /// Limits.
    pub limits: Limits,
}

/// Limits of the door.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Clients at the same time; one more is closed at once.
    pub connections_max: usize,
    /// Connections of one address that have not logged on; one more is closed at once.
    pub logons_per_address_max: usize,
    /// How long a connection may take for its Logon, ns.
    pub logon_ns_max: u64,
    /// How long a failed login keeps its connection's place, ns.
    pub failed_login_ns: u64,
    /// How long a client may take none of the bytes that wait for it, ns.
    pub stuck_ns_max: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: 1024,
            logons_per_address_max: 64,
            logon_ns_max: 10_000_000_000,
            failed_login_ns: 1_000_000_000,
            stuck_ns_max: 10_000_000_000,
        }
    }
}

/// Counts of the door.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Clients that were accepted.
    pub connections: u64,
    /// Sessions that logged on.
    pub logons: u64,
    /// Clients closed at [`Limits::connections_max`] or [`Limits::logons_per_address_max`].
    pub rejected_connections: u64,
    /// Connections without a valid Logon in time.
    pub no_logon: u64,
    /// Logons that were not authentic.
    pub failed_logins: u64,
    /// Logons of a session that was connected: case 1S.b.
    pub duplicate_logons: u64,
    /// Logons and sessions that the exchange or the store failed.
    pub unavailable: u64,
    /// Why the first of these failed.
    pub unavailable_because: Option<String>,
    /// Clients cut off because they took no bytes.
    pub slow_readers: u64,
}

impl Counts {
    /// The exchange or the store has failed a client.
    fn failed(&mut self, why: &io::Error) {
        self.unavailable += 1;
        self.unavailable_because.get_or_insert_with(|| why.to_string());
    }
}

/// The owner of a client's stream.
#[derive(Clone, Copy)]
enum Owner {
    Waiting,
    Client(usize),
}

/// A connection without a session.
struct Waiting {
    bytes: Vec<u8>,
    peer: Option<IpAddr>,
    since_ns: u64,
    /// Its login has failed; it is closed then.
    close_at_ns: Option<u64>,
    /// The seat that it takes when that is connected to the exchange.
    takes: Option<usize>,
}

/// See the module.
pub(crate) struct Door {
    clients: Box<dyn Streams>,
    settings: Settings,
    dictionary: Arc<Dictionary>,
    clock: Clock,
    seats: Vec<Seat>,
    by_name: HashMap<String, usize>,
    owners: HashMap<StreamId, Owner>,
    waiting: HashMap<StreamId, Waiting>,
    /// The sessions' connections to the exchange.
    pub links: Links,
    counts: Counts,
    buffer: Box<[u8]>,
    ready: Vec<Ready>,
    sweep_at_ns: u64,
}

impl Door {
    /// For the clients that `clients` accepts.
    pub fn new(clients: Box<dyn Streams>, settings: Settings, clock: Clock) -> Door {
        let mut door = Door {
            clients,
            dictionary: Arc::clone(&settings.sessions.shared.dictionary),
            settings,
            clock,
            seats: Vec::new(),
            by_name: HashMap::new(),
            owners: HashMap::new(),
            waiting: HashMap::new(),
            links: Links::default(),
            counts: Counts::default(),
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            ready: Vec::new(),
            sweep_at_ns: clock.now_ns() + SWEEP_NS,
        };
        door.seat_stored();
        door
    }

    /// Its counts so far.
    pub fn counts(&self) -> Counts {
        self.counts.clone()
    }

    /// Takes what the clients have sent. With `rests` it asks the kernel which of them did. Gives
    /// whether there may be more.
    ///
    /// # Errors
    /// If the set of clients fails as a whole.
    #[inline]
    pub fn turn(&mut self, rests: bool) -> io::Result<bool> {
        match rests {
            true => self.clients.rest(0, &mut self.ready)?,
            false => self.clients.wait(0, &mut self.ready)?,
        }
        let has_more = !self.ready.is_empty();
        for at in 0..self.ready.len() {
            match self.ready[at] {
                Ready::Incoming => self.accept(),
                Ready::Readable(id) => self.readable(id),
                Ready::Writable(id) => self.writable(id),
            }
        }
        self.ready.clear();
        let now_ns = self.clock.now_ns();
        if now_ns >= self.sweep_at_ns {
            self.sweep_at_ns = now_ns + SWEEP_NS;
            self.sweep(now_ns);
        }
        Ok(has_more)
    }

    /// Ends: each client gets a Logout.
    pub fn close(&mut self) {
        let now = self.now();
        for at in 0..self.seats.len() {
            if self.seats[at].client.is_some() {
                let outcome = self.seats[at].desk.log_out("the exchange is stopping", now);
                self.settle(at, outcome.map(|()| None));
                self.client_gone(at);
            }
        }
    }

    fn now(&self) -> Now {
        Now { steady_ns: self.clock.now_ns(), utc_ns: clock::steady_wall_ns() }
    }

    fn accept(&mut self) {
        // Out of descriptors: the connection waits until the next event.
        while let Ok(Some(id)) = self.clients.accept() {
            let peer = self.clients.peer(id).map(|peer| peer.ip());
            let of_peer = self.waiting.values().filter(|waiting| waiting.peer == peer).count();
            let clients = self.seats.iter().filter(|seat| seat.client.is_some()).count();
            let limits = &self.settings.limits;
            if clients + self.waiting.len() >= limits.connections_max
                || of_peer >= limits.logons_per_address_max
            {
                self.counts.rejected_connections += 1;
                self.clients.remove(id);
                continue;
            }
            self.counts.connections += 1;
            let since_ns = self.clock.now_ns();
            let bytes = Vec::new();
            let waiting = Waiting { bytes, peer, since_ns, close_at_ns: None, takes: None };
            self.waiting.insert(id, waiting);
            self.owners.insert(id, Owner::Waiting);
        }
    }

    fn readable(&mut self, id: StreamId) {
        match self.owners.get(&id).copied() {
            None => {}
            Some(Owner::Waiting) => self.read_logon(id),
            Some(Owner::Client(at)) => self.read_client(at, id),
        }
    }

    fn read_client(&mut self, at: usize, id: StreamId) {
        match self.clients.read(id, &mut self.buffer) {
            StreamRead::Bytes { n, stamp_ns } => {
                let now = self.now();
                let seat = &mut self.seats[at];
                seat.read_ns = stamp_ns;
                if !seat.is_closing() {
                    let outcome = seat.desk.client(&self.buffer[..n], now);
                    self.settle(at, outcome);
                }
            }
            StreamRead::Empty => {}
            StreamRead::Closed | StreamRead::Failed(_) => self.client_gone(at),
        }
    }

    fn sweep(&mut self, now_ns: u64) {
        let limits = self.settings.limits;
        let is_late = |waiting: &Waiting| match waiting.close_at_ns {
            Some(at_ns) => now_ns >= at_ns,
            None => now_ns.saturating_sub(waiting.since_ns) >= limits.logon_ns_max,
        };
        let late: Vec<StreamId> =
            self.waiting.iter().filter(|(_, w)| is_late(w)).map(|(id, _)| *id).collect();
        for id in late {
            let has_failed = self.waiting.get(&id).is_some_and(|w| w.close_at_ns.is_some());
            self.counts.no_logon += u64::from(!has_failed);
            self.forget_waiting(id);
        }
        for at in 0..self.seats.len() {
            self.sweep_seat(at, now_ns, limits.stuck_ns_max);
        }
    }

    fn forget_waiting(&mut self, id: StreamId) {
        let takes = self.waiting.remove(&id).and_then(|waiting| waiting.takes);
        if let Some(at) = takes {
            self.seats[at].awaited_by = None;
        }
        self.owners.remove(&id);
        self.clients.remove(id);
    }
}
