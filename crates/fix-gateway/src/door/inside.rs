//! The exchange's side of the door: it reads from a session's connection, writes to it, and ends
//! it.

use super::Door;
use super::links::User;
use super::seat::{OrdersLink, Seat};
use std::io;
use transport::{StreamRead, Write};

impl Door {
    /// Whether a read gives something: bytes or the end.
    #[inline]
    pub fn is_readable(&mut self, place: usize) -> bool {
        let Some(user) = self.links.user(place) else { return true };
        let (User::Orders(at) | User::Data(at)) = user;
        self.seats[at].for_exchange(user).is_some_and(|out| !out.is_empty())
    }

    /// Whether the connection takes bytes.
    pub fn is_writable(&self, place: usize) -> bool {
        match self.links.user(place) {
            Some(User::Data(at)) => !self.seats[at].is_behind(),
            _ => true,
        }
    }

    /// Gives the exchange what a session has for it, stamped with the latest read of its client.
    #[inline]
    pub fn read(&mut self, place: usize, into: &mut [u8]) -> StreamRead {
        let Some(user) = self.links.user(place) else { return StreamRead::Closed };
        let (User::Orders(at) | User::Data(at)) = user;
        let seat = &mut self.seats[at];
        let stamp_ns = seat.read_ns;
        let Some(out) = seat.for_exchange(user).filter(|out| !out.is_empty()) else {
            return StreamRead::Empty;
        };
        let n = out.len().min(into.len());
        into[..n].copy_from_slice(&out[..n]);
        out.drain(..n);
        // It may have waited until the exchange reads.
        self.pace_client(at);
        StreamRead::Bytes { n, stamp_ns }
    }

    /// Takes what the exchange has for a session, and sends its client what follows from it.
    #[inline]
    pub fn write(&mut self, place: usize, from: &[u8]) -> Write {
        let stamp_ns = self.clock.now_ns();
        let taken = match self.links.user(place) {
            None => Err(io::ErrorKind::NotConnected.into()),
            Some(User::Orders(at)) => self.take_replies(at, from),
            Some(User::Data(at)) => self.take_data(at, from),
        };
        match taken {
            Ok(n) => Write::Bytes { n, stamp_ns },
            Err(error) => Write::Failed(error),
        }
    }

    fn take_replies(&mut self, at: usize, from: &[u8]) -> io::Result<usize> {
        let now = self.now();
        let Seat { desk, link: Some(OrdersLink { link, .. }), .. } = &mut self.seats[at] else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        match link.each(from, |reader| desk.exchange(reader, now)) {
            Ok(true) => self.seat_is_open(at),
            Ok(false) => {}
            Err(error) => {
                self.link_gone(at, &error);
                return Err(error);
            }
        }
        self.settle(at, Ok(None));
        Ok(from.len())
    }

    /// The exchange has ended its side of the connection: the session's side ends too.
    pub fn ended(&mut self, place: usize) {
        let user = self.links.user(place);
        self.gone(user);
    }

    /// The exchange has removed the connection.
    pub fn removed(&mut self, place: usize) {
        let user = self.links.removed(place);
        self.gone(user);
    }

    fn gone(&mut self, user: Option<User>) {
        match user {
            None => {}
            Some(User::Orders(at)) => {
                let why = "the exchange closed the connection before it answered the login";
                self.link_gone(at, &io::Error::other(why));
            }
            Some(User::Data(at)) => self.data_gone(at),
        }
    }
}
