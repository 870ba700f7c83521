//! A session's connection to the exchange for market data: made when its client asks for some, and
//! closed when it follows none.
//!
//! A client that is behind is no longer sent any: the door takes no more from the connection, so
//! the exchange skips it as it does any slow reader of its market data, and begins again with a
//! snapshot.

use super::Door;
use super::links::User;
use super::seat::Seat;
use crate::link::{Link, Purpose};
use std::io;

/// Bytes that wait for a client before it is sent no more market data.
const BEHIND_BYTES: usize = 256 * 1024;

pub(super) struct DataLink {
    pub place: usize,
    pub link: Link,
}

impl Seat {
    /// Whether its client is behind.
    pub fn is_behind(&self) -> bool {
        self.desk.to_client.len() > BEHIND_BYTES
    }
}

impl Door {
    /// Makes or closes the connection as the desk needs it, and tells the exchange what waits.
    pub(super) fn settle_data(&mut self, at: usize) {
        let seat = &mut self.seats[at];
        match (seat.desk.market.is_wanted(), &seat.data) {
            (true, None) => {
                let link = Link::new(&seat.token, Purpose::MarketData);
                let place = self.links.open(User::Data(at));
                seat.data = Some(DataLink { place, link });
            }
            (false, Some(_)) => self.close_data(at),
            (true, Some(data)) if !seat.desk.market.to_exchange.is_empty() => {
                self.links.has_news(data.place);
            }
            _ => {}
        }
    }

    pub(super) fn take_data(&mut self, at: usize, from: &[u8]) -> io::Result<usize> {
        if self.seats[at].is_behind() {
            return Ok(0);
        }
        let now = self.now();
        let Seat { desk, data: Some(data), .. } = &mut self.seats[at] else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        if let Err(error) = data.link.each(from, |reader| desk.market_data(reader, now)) {
            self.data_gone(at);
            return Err(error);
        }
        self.settle(at, Ok(None));
        Ok(from.len())
    }

    /// The exchange has closed the connection.
    pub(super) fn data_gone(&mut self, at: usize) {
        self.close_data(at);
        self.end_data(at);
        self.settle(at, Ok(None));
    }

    /// Tells the client that its subscriptions have ended.
    fn end_data(&mut self, at: usize) {
        let now = self.now();
        if let Err(error) = self.seats[at].desk.market_data_gone(now) {
            self.counts.failed(&error);
            self.client_gone(at);
        }
    }

    pub(super) fn close_data(&mut self, at: usize) {
        if let Some(data) = self.seats[at].data.take() {
            self.links.close(data.place);
            self.seats[at].desk.market.close();
        }
    }
}
