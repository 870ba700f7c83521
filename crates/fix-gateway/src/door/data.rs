//! A session's connection to the exchange for market data: made when its client asks for some, and
//! closed when it follows none.
//!
//! A client that is behind is no longer sent any: the door stops reading the connection, so the
//! exchange skips it as it does any slow reader of its market data, and begins again with a
//! snapshot.

use super::seat::{Link, flush};
use super::{Door, Owner};
use crate::link::{self, Purpose};
use std::io;
use transport::{StreamId, StreamRead};

/// Bytes that wait for a client before it is sent no more market data.
const BEHIND_BYTES: usize = 256 * 1024;

pub(super) struct DataLink {
    link: Link,
    is_paused: bool,
}

impl Door<'_> {
    /// Makes or closes the connection as the desk needs it, and writes what waits for it.
    pub(super) fn settle_data(&mut self, at: usize) {
        let seat = &self.seats[at];
        match (seat.desk.market.is_wanted(), seat.data.is_some()) {
            (true, false) if self.open_data(at).is_err() => {
                self.counts.unavailable += 1;
                self.end_data(at);
            }
            (false, true) => self.close_data(at),
            _ => {}
        }
        self.flush_data(at);
    }

    fn open_data(&mut self, at: usize) -> io::Result<()> {
        let Self { exchange, streams, seats, .. } = self;
        let token = &seats[at].token;
        let purpose = Purpose::MarketData;
        let (stream, reader) = link::open(exchange.address, &exchange.secure, token, purpose)?;
        let id = streams.add(stream)?;
        self.owners.insert(id, Owner::Data(at));
        self.seats[at].data = Some(DataLink { link: Link::new(id, reader), is_paused: false });
        Ok(())
    }

    pub(super) fn read_data(&mut self, at: usize, id: StreamId) {
        let now = self.now();
        let super::Seat { desk, data, .. } = &mut self.seats[at];
        let Some(DataLink { link, .. }) = data else { return };
        match self.streams.read(id, link.reader.space()) {
            StreamRead::Bytes { n, .. } => {
                link.reader.filled(n, 0);
                match desk.market_data(&mut link.reader, now) {
                    Ok(()) => self.settle(at, Ok(None)),
                    Err(_) => self.data_gone(at),
                }
            }
            StreamRead::Empty => {}
            StreamRead::Closed | StreamRead::Failed(_) => self.data_gone(at),
        }
    }

    pub(super) fn flush_data(&mut self, at: usize) {
        let super::Seat { desk, data, .. } = &mut self.seats[at];
        let Some(DataLink { link, .. }) = data else { return };
        let out = &mut desk.market.to_exchange;
        if flush(self.streams, link.id, out, &mut link.is_watched).is_err() {
            self.data_gone(at);
        }
    }

    /// Reads no more market data while the client is behind.
    pub(super) fn pace_data(&mut self, at: usize) {
        let super::Seat { desk, data, .. } = &mut self.seats[at];
        let Some(data) = data else { return };
        let pause = desk.to_client.len() > BEHIND_BYTES;
        if pause != data.is_paused {
            data.is_paused = pause;
            if self.streams.watch_readable(data.link.id, !pause).is_err() {
                self.data_gone(at);
            }
        }
    }

    /// The exchange has closed the connection.
    fn data_gone(&mut self, at: usize) {
        self.close_data(at);
        self.end_data(at);
        self.settle(at, Ok(None));
    }

    /// Tells the client that its subscriptions have ended.
    fn end_data(&mut self, at: usize) {
        let now = self.now();
        if self.seats[at].desk.market_data_gone(now).is_err() {
            self.counts.unavailable += 1;
            self.client_gone(at);
        }
    }

    pub(super) fn close_data(&mut self, at: usize) {
        if let Some(data) = self.seats[at].data.take() {
            self.owners.remove(&data.link.id);
            self.streams.remove(data.link.id);
            self.seats[at].desk.market.close();
        }
    }
}
