//! The market data that a client follows.

use super::book::Book;
use super::request::{SubscriptionKind, Types};
use crate::link::put_frame;
use std::collections::{HashMap, VecDeque};
use wire::request::{Channel, encode_subscribe};

pub(super) const BOOK: &str = "BOOK";
const TRADES: &str = "TRADES";

/// The market data that a client follows.
#[derive(Default)]
pub(crate) struct Market {
    pub(super) subscriptions: Vec<Subscription>,
    /// The books of the symbols that were subscribed at the exchange; `None` until its snapshot.
    pub(super) books: HashMap<String, Option<Book>>,
    /// Symbols whose subscription the exchange has not answered yet, in order.
    pub(super) asked: VecDeque<String>,
    /// Waits for the exchange.
    pub to_exchange: Vec<u8>,
}

/// One symbol of a request.
#[derive(Debug)]
pub(super) struct Subscription {
    /// MDReqID (262).
    pub(super) id: String,
    pub(super) symbol: String,
    pub(super) kind: SubscriptionKind,
    pub(super) depth: usize,
    pub(super) types: Types,
    /// Whether the last increment of a tick carries the exchange's stamps.
    pub(super) is_stamped: bool,
    /// Whether its first snapshot was sent.
    pub(super) has_begun: bool,
    /// Whether a whole snapshot is to be sent again.
    pub(super) is_stale: bool,
    /// Entries of the next MarketDataIncrementalRefresh, encoded, and how many.
    pub(super) entries: (Vec<u8>, usize),
}

impl Market {
    /// Whether there is anything to follow.
    pub fn is_wanted(&self) -> bool {
        !self.subscriptions.is_empty()
    }

    /// The client's connection has ended, and its subscriptions with it.
    pub fn clear(&mut self) {
        *self = Market::default();
    }

    /// The connection to the exchange has ended.
    pub fn close(&mut self) {
        let subscriptions = std::mem::take(&mut self.subscriptions);
        *self = Market { subscriptions, ..Market::default() };
    }

    /// Has the exchange send a symbol's book and trades, or stamp a book that it sends already.
    pub(super) fn ask(&mut self, symbol: &str, is_stamped: bool) {
        let is_new = !self.books.contains_key(symbol);
        if !is_new && !is_stamped {
            return;
        }
        let channel = |name: &'static str| Channel {
            instrument_code: Some(symbol.to_owned().into()),
            ..Channel::named(name)
        };
        let channels =
            [Channel { stamps: is_stamped.then_some(true), ..channel(BOOK) }, channel(TRADES)];
        put_frame(&mut self.to_exchange, |out| encode_subscribe(out, &channels));
        if is_new {
            self.books.insert(symbol.to_owned(), None);
        }
        self.asked.push_back(symbol.to_owned());
    }

    /// Removes the requests for a symbol that the exchange does not send; their ids.
    pub(super) fn forget(&mut self, symbol: &str) -> Vec<String> {
        self.books.remove(symbol);
        let of_symbol = self.subscriptions.iter().filter(|one| one.symbol == symbol);
        let ids: Vec<String> = of_symbol.map(|one| one.id.clone()).collect();
        self.subscriptions.retain(|one| !ids.contains(&one.id));
        ids
    }
}

/// The subscriptions of a symbol.
pub(super) fn of<'a>(
    subscriptions: &'a mut [Subscription],
    symbol: &'a str,
) -> impl Iterator<Item = &'a mut Subscription> {
    subscriptions.iter_mut().filter(move |one| one.symbol == symbol)
}
