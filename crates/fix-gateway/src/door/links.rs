//! The connections of sessions to the exchange, as the exchange sees them: streams that come, have
//! something to read, and end.

use std::collections::VecDeque;

/// The user of a connection: the seat of that number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    Orders(usize),
    Data(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Free,
    Used(User),
    /// Its user has ended it, and the exchange has not removed it yet.
    Closed,
}

/// Each connection has a place, a small number, until the exchange has removed it.
#[derive(Debug, Default)]
pub(crate) struct Links {
    places: Vec<Place>,
    incoming: VecDeque<usize>,
    /// Places that may have something to read.
    readable: Vec<usize>,
}

impl Links {
    /// A new connection.
    pub fn open(&mut self, user: User) -> usize {
        let free = self.places.iter().position(|place| *place == Place::Free);
        let place = free.unwrap_or_else(|| {
            self.places.push(Place::Free);
            self.places.len() - 1
        });
        self.places[place] = Place::Used(user);
        self.incoming.push_back(place);
        self.has_news(place);
        place
    }

    /// There is something to read.
    pub fn has_news(&mut self, place: usize) {
        if !self.readable.contains(&place) {
            self.readable.push(place);
        }
    }

    /// Its user ends it: the exchange reads its end.
    pub fn close(&mut self, place: usize) {
        if let Place::Used(_) = self.places[place] {
            self.places[place] = Place::Closed;
            self.has_news(place);
        }
    }

    /// The exchange has removed it. Gives its user, if that has not ended it.
    pub fn removed(&mut self, place: usize) -> Option<User> {
        self.readable.retain(|one| *one != place);
        match std::mem::replace(&mut self.places[place], Place::Free) {
            Place::Used(user) => Some(user),
            Place::Free | Place::Closed => None,
        }
    }

    /// The user of a connection; `None` if it has ended.
    #[inline]
    pub fn user(&self, place: usize) -> Option<User> {
        match self.places.get(place) {
            Some(Place::Used(user)) => Some(*user),
            _ => None,
        }
    }

    /// The next one that the exchange has not accepted.
    pub fn accept(&mut self) -> Option<usize> {
        self.incoming.pop_front()
    }

    /// Whether there is one to accept.
    pub fn has_incoming(&self) -> bool {
        !self.incoming.is_empty()
    }

    /// The places that may have something to read, to be looked through and given back.
    pub fn take_readable(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.readable)
    }

    /// Gives them back.
    pub fn put_readable(&mut self, readable: Vec<usize>) {
        self.readable = readable;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise the exchange would send one session's reports to another one.
    #[test]
    fn a_place_is_not_used_again_before_the_exchange_has_removed_it() {
        let mut links = Links::default();
        let (first, second) = (links.open(User::Orders(7)), links.open(User::Data(7)));
        assert_eq!((links.accept(), links.accept(), links.accept()), (Some(0), Some(1), None));
        links.close(first);
        assert_eq!((links.user(first), links.user(second)), (None, Some(User::Data(7))));
        assert_eq!(links.open(User::Orders(8)), 2);
        assert_eq!(links.removed(first), None);
        assert_eq!(links.open(User::Orders(9)), first);
        assert_eq!(links.removed(second), Some(User::Data(7)));
        links.close(second);
        assert_eq!(links.user(second), None);
        assert_eq!(links.open(User::Data(9)), second);
    }
}
