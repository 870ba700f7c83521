//! A session's place: its desk and its connections.

use super::data::DataLink;
use super::links::User;
use super::{Door, Owner};
use crate::desk::Desk;
use crate::link::Link;
use fix::session::{End, Now};
use std::io;
use transport::{StreamId, Write};

/// Bytes that wait for either side before the client is no longer read.
const PAUSE_BYTES: usize = 1 << 20;
/// Bytes that may wait for a client: all that its store can send again, and more. Beyond it the
/// client is cut off.
pub(crate) const TO_CLIENT_BYTES_MAX: usize = fix::store::FILE_BYTES_MAX as usize + (16 << 20);
/// How long a client that we end may take to read the rest and to end its side.
const DRAIN_NS: u64 = 1_000_000_000;

pub(super) struct Client {
    pub id: StreamId,
    is_watched: bool,
    is_paused: bool,
    /// It is not read any more, and removed then at the latest.
    closes_at_ns: Option<u64>,
    is_shut: bool,
    /// Since when bytes wait of which it takes none.
    stuck_since_ns: Option<u64>,
}

impl Client {
    pub fn new(id: StreamId) -> Client {
        Client {
            id,
            is_watched: false,
            is_paused: false,
            closes_at_ns: None,
            is_shut: false,
            stuck_since_ns: None,
        }
    }
}

/// A session's connection to the exchange for orders. It outlives the client's.
pub(super) struct OrdersLink {
    pub place: usize,
    pub link: Link,
}

pub(super) struct Seat {
    pub desk: Desk,
    pub client: Option<Client>,
    /// Waits until the exchange has logged the session on.
    pub awaited_by: Option<StreamId>,
    pub link: Option<OrdersLink>,
    /// For market data, while the client follows some.
    pub data: Option<DataLink>,
    /// The token of the last Logon, for a further connection.
    pub token: String,
    /// Whether the next client has its orders cancelled when its connection ends.
    pub cancels_next: bool,
    /// When its client was read last, or ended.
    pub read_ns: u64,
}

impl Seat {
    pub fn new(desk: Desk) -> Seat {
        Seat {
            desk,
            client: None,
            awaited_by: None,
            link: None,
            data: None,
            token: String::new(),
            cancels_next: false,
            read_ns: 0,
        }
    }

    /// Whether it has a client, or one that waits for it.
    pub fn is_taken(&self) -> bool {
        self.client.is_some() || self.awaited_by.is_some()
    }

    pub fn is_closing(&self) -> bool {
        self.client.as_ref().is_some_and(|client| client.closes_at_ns.is_some())
    }

    /// Bytes that wait for the exchange on one of its connections; `None`: none may be sent now.
    pub fn for_exchange(&mut self, user: User) -> Option<&mut Vec<u8>> {
        let (link, out) = match user {
            User::Orders(_) => {
                (self.link.as_mut().map(|link| &mut link.link), &mut self.desk.to_exchange)
            }
            User::Data(_) => {
                (self.data.as_mut().map(|data| &mut data.link), &mut self.desk.market.to_exchange)
            }
        };
        match link? {
            link if !link.opening.is_empty() => Some(&mut link.opening),
            link if link.is_open() => Some(out),
            _ => None,
        }
    }
}

impl Door {
    /// After a call to a desk: writes what it made, and ends the client if it must.
    pub(super) fn settle(&mut self, at: usize, outcome: io::Result<Option<End>>) {
        match outcome {
            Ok(None) => {}
            Ok(Some(_)) => {
                let closes_at_ns = self.clock.now_ns() + DRAIN_NS;
                if let Some(client) = &mut self.seats[at].client {
                    client.closes_at_ns.get_or_insert(closes_at_ns);
                }
            }
            // The store failed: nothing more may be sent in this session.
            Err(error) => {
                self.counts.failed(&error);
                self.client_gone(at);
            }
        }
        self.tell_exchange(at);
        self.settle_data(at);
        self.flush_client(at);
    }

    /// The exchange shall read what waits for it.
    fn tell_exchange(&mut self, at: usize) {
        let Seat { desk, link, .. } = &self.seats[at];
        if let Some(link) = link
            && !desk.to_exchange.is_empty()
        {
            self.links.has_news(link.place);
        }
    }

    pub(super) fn writable(&mut self, id: StreamId) {
        if let Some(Owner::Client(at)) = self.owners.get(&id).copied() {
            self.flush_client(at);
        }
    }

    fn flush_client(&mut self, at: usize) {
        let Seat { desk, client, .. } = &mut self.seats[at];
        let Some(client) = client else { return };
        let before = desk.to_client.len();
        let id = client.id;
        if !desk.to_client.is_empty() {
            match self.clients.write(id, &desk.to_client) {
                Write::Bytes { n, .. } => drop(desk.to_client.drain(..n)),
                Write::Failed(_) => return self.client_gone(at),
            }
        }
        let left = desk.to_client.len();
        if (left > 0) != client.is_watched {
            client.is_watched = left > 0;
            if self.clients.watch_writable(id, left > 0).is_err() {
                return self.client_gone(at);
            }
        }
        if left > TO_CLIENT_BYTES_MAX {
            self.counts.slow_readers += 1;
            return self.client_gone(at);
        }
        if left == 0 || left < before {
            client.stuck_since_ns = None;
        }
        if client.closes_at_ns.is_some() && left == 0 && !client.is_shut {
            client.is_shut = true;
            self.clients.shutdown(id);
        }
        self.pace_client(at);
    }

    /// Reads no more of a client while much waits for it, or for the exchange.
    #[inline]
    pub(super) fn pace_client(&mut self, at: usize) {
        let Seat { desk, client: Some(client), .. } = &mut self.seats[at] else { return };
        let pause = desk.to_client.len() > PAUSE_BYTES || desk.to_exchange.len() > PAUSE_BYTES;
        if pause != client.is_paused {
            client.is_paused = pause;
            if self.clients.watch_readable(client.id, !pause).is_err() {
                self.client_gone(at);
            }
        }
    }

    /// The client's connection is gone; its session stays.
    pub(super) fn client_gone(&mut self, at: usize) {
        if let Some(client) = self.seats[at].client.take() {
            self.owners.remove(&client.id);
            self.clients.remove(client.id);
            let seat = &mut self.seats[at];
            seat.read_ns = self.clock.now_ns();
            seat.desk.disconnected();
            self.tell_exchange(at);
            self.close_data(at);
        }
    }

    /// The exchange has closed the session's connection, or rejects its login. The client must log
    /// on again.
    pub(super) fn link_gone(&mut self, at: usize, why: &io::Error) {
        let Some(link) = self.seats[at].link.take() else { return };
        self.links.close(link.place);
        if let Some(id) = self.seats[at].awaited_by.take() {
            self.counts.failed(why);
            self.forget_waiting(id);
        }
        let now = self.now();
        let seat = &mut self.seats[at];
        seat.desk.exchange_gone();
        let said = seat.desk.log_out("the exchange has closed the connection", now);
        self.settle(at, said.map(|()| None));
    }

    pub(super) fn sweep_seat(&mut self, at: usize, now_ns: u64, stuck_ns_max: u64) {
        let now = Now { steady_ns: now_ns, utc_ns: clock::steady_wall_ns() };
        let seat = &mut self.seats[at];
        let Some(client) = &mut seat.client else { return };
        if client.closes_at_ns.is_some_and(|at_ns| now_ns >= at_ns) {
            return self.client_gone(at);
        }
        if !seat.desk.to_client.is_empty() {
            let since_ns = *client.stuck_since_ns.get_or_insert(now_ns);
            if now_ns.saturating_sub(since_ns) >= stuck_ns_max {
                self.counts.slow_readers += 1;
                return self.client_gone(at);
            }
        }
        if client.closes_at_ns.is_none()
            && seat.desk.poll_at_ns().is_some_and(|at_ns| now_ns >= at_ns)
        {
            let outcome = seat.desk.client(&[], now);
            self.settle(at, outcome);
        }
    }
}
