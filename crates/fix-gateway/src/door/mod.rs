//! The loop of the FIX thread: accepts clients, finds each one's session by its Logon, and carries
//! bytes between sockets and [desks](crate::desk).
//!
//! A connection is nobody's until its Logon is whole and authentic: it may take
//! [`Limits::logon_ns_max`], and [`LOGON_BYTES_MAX`] bytes. A failed login is closed after
//! [`Limits::failed_login_ns`], without an answer: a session that nobody has proved to have can't
//! have a sequence number.

mod admit;
mod data;
mod seat;

use crate::desk::{Desk, Securities, Security};
use crate::link::Secure;
use clock::Clock;
use fix::dictionary::Dictionary;
use fix::session::{Logon, Now};
use seat::Seat;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use transport::{Ready, StreamId, StreamRead, Streams};

/// The longest Logon, with the bytes that may follow it in the same reads.
pub(crate) const LOGON_BYTES_MAX: usize = 16 * 1024;
/// Sessions, connected or not. Another Logon is rejected.
pub(crate) const SESSIONS_MAX: usize = 1024;
/// The longest CompID of a client, in bytes.
pub(crate) const COMP_ID_BYTES_MAX: usize = 32;

const SWEEP_NS: u64 = 100_000_000;
const READ_BYTES: usize = 64 * 1024;

/// The exchange behind the door.
pub struct Exchange {
    /// Where it listens for JSON.
    pub address: SocketAddr,
    /// Secures a connection to it, if it listens with TLS.
    pub secure: Box<Secure>,
}

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

/// Settings of the door.
pub struct Settings {
    /// Our CompID, which a client has as TargetCompID.
    pub comp_id: String,
    /// The folder of the message stores; it exists.
    pub store: PathBuf,
    /// The account of an authentic Logon.
    pub login: Box<FindLogin>,
    /// The instruments of the exchange.
    pub securities: Vec<Security>,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Logons that the exchange or the store failed.
    pub unavailable: u64,
    /// Clients cut off because they took no bytes.
    pub slow_readers: u64,
}

/// The owner of a stream.
#[derive(Clone, Copy)]
enum Owner {
    Waiting,
    Client(usize),
    Exchange(usize),
    /// The connection to the exchange for market data.
    Data(usize),
}

/// A connection without a Logon.
struct Waiting {
    bytes: Vec<u8>,
    peer: Option<IpAddr>,
    since_ns: u64,
    /// Its login has failed; it is closed then.
    close_at_ns: Option<u64>,
}

struct Door<'a> {
    streams: &'a mut dyn Streams,
    exchange: Exchange,
    settings: Settings,
    dictionary: Arc<Dictionary>,
    securities: Arc<Securities>,
    clock: Clock,
    seats: Vec<Seat>,
    by_name: HashMap<String, usize>,
    owners: HashMap<StreamId, Owner>,
    waiting: HashMap<StreamId, Waiting>,
    counts: Counts,
    buffer: Box<[u8]>,
}

/// Serves FIX clients that `streams` accepts, until `stop` is set; then sends each a Logout.
///
/// # Errors
/// If the backend fails as a whole.
pub fn serve(
    streams: &mut dyn Streams,
    exchange: Exchange,
    mut settings: Settings,
    clock: Clock,
    stop: &AtomicBool,
) -> io::Result<Counts> {
    let securities = Securities::new(std::mem::take(&mut settings.securities));
    let mut door = Door {
        streams,
        exchange,
        settings,
        dictionary: Arc::new(Dictionary::tickpath()),
        securities: Arc::new(securities),
        clock,
        seats: Vec::new(),
        by_name: HashMap::new(),
        owners: HashMap::new(),
        waiting: HashMap::new(),
        counts: Counts::default(),
        buffer: vec![0; READ_BYTES].into_boxed_slice(),
    };
    let mut ready = Vec::new();
    let mut sweep_at_ns = clock.now_ns() + SWEEP_NS;
    while !stop.load(Ordering::Relaxed) {
        // Without a client a backend that spins would only take a core from the exchange.
        match door.owners.is_empty() {
            true => door.streams.rest(sweep_at_ns, &mut ready)?,
            false => door.streams.wait(sweep_at_ns, &mut ready)?,
        }
        for event in ready.drain(..) {
            match event {
                Ready::Incoming => door.accept(),
                Ready::Readable(id) => door.readable(id),
                Ready::Writable(id) => door.writable(id),
            }
        }
        let now_ns = clock.now_ns();
        if now_ns >= sweep_at_ns {
            sweep_at_ns = now_ns + SWEEP_NS;
            door.sweep(now_ns);
        }
    }
    door.close_all();
    Ok(door.counts)
}

impl Door<'_> {
    fn now(&self) -> Now {
        Now { steady_ns: self.clock.now_ns(), utc_ns: clock::steady_wall_ns() }
    }

    fn accept(&mut self) {
        // Out of descriptors: the connection waits until the next event.
        while let Ok(Some(id)) = self.streams.accept() {
            let peer = self.streams.peer(id).map(|peer| peer.ip());
            let of_peer = self.waiting.values().filter(|waiting| waiting.peer == peer).count();
            let clients = self.seats.iter().filter(|seat| seat.client.is_some()).count();
            let limits = &self.settings.limits;
            if clients + self.waiting.len() >= limits.connections_max
                || of_peer >= limits.logons_per_address_max
            {
                self.counts.rejected_connections += 1;
                self.streams.remove(id);
                continue;
            }
            self.counts.connections += 1;
            let since_ns = self.clock.now_ns();
            let waiting = Waiting { bytes: Vec::new(), peer, since_ns, close_at_ns: None };
            self.waiting.insert(id, waiting);
            self.owners.insert(id, Owner::Waiting);
        }
    }

    fn readable(&mut self, id: StreamId) {
        match self.owners.get(&id).copied() {
            None => {}
            Some(Owner::Waiting) => self.read_logon(id),
            Some(Owner::Client(at)) => self.read_client(at, id),
            Some(Owner::Exchange(at)) => self.read_exchange(at, id),
            Some(Owner::Data(at)) => self.read_data(at, id),
        }
    }

    fn read_client(&mut self, at: usize, id: StreamId) {
        match self.streams.read(id, &mut self.buffer) {
            StreamRead::Bytes { n, .. } => {
                let now = self.now();
                let seat = &mut self.seats[at];
                if !seat.is_closing() {
                    let outcome = seat.desk.client(&self.buffer[..n], now);
                    self.settle(at, outcome);
                }
            }
            StreamRead::Empty => {}
            StreamRead::Closed | StreamRead::Failed(_) => self.client_gone(at),
        }
    }

    fn read_exchange(&mut self, at: usize, id: StreamId) {
        let now = self.now();
        let Some(link) = &mut self.seats[at].link else { return };
        match self.streams.read(id, link.reader.space()) {
            StreamRead::Bytes { n, .. } => {
                link.reader.filled(n, 0);
                self.take_replies(at, now);
            }
            StreamRead::Empty => {}
            StreamRead::Closed | StreamRead::Failed(_) => self.link_gone(at),
        }
    }

    fn take_replies(&mut self, at: usize, now: Now) {
        let Seat { desk, link, .. } = &mut self.seats[at];
        let Some(link) = link else { return };
        match desk.exchange(&mut link.reader, now) {
            Ok(()) => self.settle(at, Ok(None)),
            Err(_) => self.link_gone(at),
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
        self.waiting.remove(&id);
        self.owners.remove(&id);
        self.streams.remove(id);
    }

    fn close_all(&mut self) {
        let now = self.now();
        for at in 0..self.seats.len() {
            if self.seats[at].client.is_some() {
                let outcome = self.seats[at].desk.log_out("the exchange is stopping", now);
                self.settle(at, outcome.map(|()| None));
                self.client_gone(at);
            }
        }
    }
}
