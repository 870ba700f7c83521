//! A session's place: its desk and its connections.

use super::data::DataLink;
use super::{Door, Owner};
use crate::desk::Desk;
use fix::session::{End, Now};
use std::io;
use transport::{StreamId, Streams, Write};
use wire::reader::MessageReader;

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

pub(super) struct Link {
    pub id: StreamId,
    pub reader: MessageReader,
    pub is_watched: bool,
}

impl Link {
    pub fn new(id: StreamId, reader: MessageReader) -> Link {
        Link { id, reader, is_watched: false }
    }
}

pub(super) struct Seat {
    pub desk: Desk,
    pub client: Option<Client>,
    pub link: Option<Link>,
    /// For market data, while the client follows some.
    pub data: Option<DataLink>,
    /// The token of the last Logon, for a further connection.
    pub token: String,
}

impl Seat {
    pub fn new(desk: Desk) -> Seat {
        Seat { desk, client: None, link: None, data: None, token: String::new() }
    }

    pub fn is_closing(&self) -> bool {
        self.client.as_ref().is_some_and(|client| client.closes_at_ns.is_some())
    }
}

impl Door<'_> {
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
            Err(_) => {
                self.counts.unavailable += 1;
                self.client_gone(at);
            }
        }
        self.flush_exchange(at);
        self.settle_data(at);
        self.flush_client(at);
        self.pace_data(at);
    }

    pub(super) fn writable(&mut self, id: StreamId) {
        match self.owners.get(&id).copied() {
            Some(Owner::Client(at)) => {
                self.flush_client(at);
                self.pace_data(at);
            }
            Some(Owner::Exchange(at)) => self.flush_exchange(at),
            Some(Owner::Data(at)) => self.flush_data(at),
            Some(Owner::Waiting) | None => {}
        }
    }

    fn flush_client(&mut self, at: usize) {
        let Seat { desk, client, .. } = &mut self.seats[at];
        let Some(client) = client else { return };
        let before = desk.to_client.len();
        let id = client.id;
        if flush(self.streams, id, &mut desk.to_client, &mut client.is_watched).is_err() {
            return self.client_gone(at);
        }
        let left = desk.to_client.len();
        if left > TO_CLIENT_BYTES_MAX {
            self.counts.slow_readers += 1;
            return self.client_gone(at);
        }
        if left == 0 || left < before {
            client.stuck_since_ns = None;
        }
        if client.closes_at_ns.is_some() && left == 0 && !client.is_shut {
            client.is_shut = true;
            self.streams.shutdown(id);
        }
        let pause = left > PAUSE_BYTES || desk.to_exchange.len() > PAUSE_BYTES;
        if pause != client.is_paused {
            client.is_paused = pause;
            if self.streams.watch_readable(id, !pause).is_err() {
                self.client_gone(at);
            }
        }
    }

    fn flush_exchange(&mut self, at: usize) {
        let Seat { desk, link, .. } = &mut self.seats[at];
        let Some(link) = link else { return };
        let (id, out) = (link.id, &mut desk.to_exchange);
        if flush(self.streams, id, out, &mut link.is_watched).is_err() {
            self.link_gone(at);
        }
    }

    /// The client's connection is gone; its session stays.
    pub(super) fn client_gone(&mut self, at: usize) {
        if let Some(client) = self.seats[at].client.take() {
            self.owners.remove(&client.id);
            self.streams.remove(client.id);
            self.seats[at].desk.disconnected();
            self.flush_exchange(at);
            self.close_data(at);
        }
    }

    /// The exchange has closed the session's connection. The client must log on again.
    pub(super) fn link_gone(&mut self, at: usize) {
        let Some(link) = self.seats[at].link.take() else { return };
        self.owners.remove(&link.id);
        self.streams.remove(link.id);
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

/// Writes as much as the stream takes, and watches it while something is left.
pub(super) fn flush(
    streams: &mut dyn Streams,
    id: StreamId,
    out: &mut Vec<u8>,
    is_watched: &mut bool,
) -> io::Result<()> {
    if !out.is_empty() {
        match streams.write(id, out) {
            Write::Bytes { n, .. } => {
                out.drain(..n);
            }
            Write::Failed(error) => return Err(error),
        }
    }
    let watch = !out.is_empty();
    if watch != *is_watched {
        *is_watched = watch;
        streams.watch_writable(id, watch)?;
    }
    Ok(())
}
