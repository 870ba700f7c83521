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
    pub fn is_readable(&self, place: usize) -> bool {
        let Some(user) = self.links.user(place) else { return true };
        let (User::Orders(at) | User::Data(at)) = user;
        !self.seats[at].for_exchange(user).is_empty()
    }

    /// Whether the connection takes bytes.
    pub fn is_writable(&self, place: usize) -> bool {
        match self.links.user(place) {
            Some(User::Data(at)) => self.seats[at].data.as_ref().is_none_or(|data| !data.is_paused),
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
        let out = seat.for_exchange(user);
        let n = out.len().min(into.len());
        if n == 0 {
            return StreamRead::Empty;
        }
        into[..n].copy_from_slice(&out[..n]);
        seat.taken_by_exchange(user, n);
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
        let mut has_opened = false;
        let Seat { desk, link: Some(OrdersLink { link, .. }), .. } = &mut self.seats[at] else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let taken = link.each(from, |link| {
            has_opened |= link.log_in()?;
            match link.is_open() {
                true => desk.exchange(&mut link.reader, now),
                false => Ok(()),
            }
        });
        if let Err(error) = taken {
            self.link_gone(at);
            return Err(error);
        }
        if has_opened {
            self.seat_is_open(at);
        }
        self.settle(at, Ok(None));
        Ok(from.len())
    }

    /// The exchange has ended its side of the connection: the session's side ends too.
    pub fn ended(&mut self, place: usize) {
        match self.links.user(place) {
            None => {}
            Some(User::Orders(at)) => self.link_gone(at),
            Some(User::Data(at)) => self.data_gone(at),
        }
    }

    /// The exchange has removed the connection.
    pub fn removed(&mut self, place: usize) {
        match self.links.removed(place) {
            None => {}
            Some(User::Orders(at)) => self.link_gone(at),
            Some(User::Data(at)) => self.data_gone(at),
        }
    }
}
