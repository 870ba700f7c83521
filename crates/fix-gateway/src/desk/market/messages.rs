//! Messages of market data: snapshots, increments, rejects.

use super::book::{Action, Book, BookChange, Entry};
use super::request::{Rejection, SubscriptionKind};
use super::state::{Market, Subscription, of};
use crate::desk::number::put_decimal;
use crate::desk::state::Desk;
use fix::encode::Body;
use fix::session::{Now, Session};
use fix::store::FileStore;
use fix::tag;
use std::io;
use wire::market_data::{TickStamps, Trade};
use wire::request::Side;

/// Entries of one MarketDataIncrementalRefresh; the next one begins another.
const ENTRIES_MAX: usize = 400;

fn entry_type(side: Side) -> char {
    match side {
        Side::Buy => '0',
        Side::Sell => '1',
    }
}

impl Subscription {
    /// Its increments so far are worth nothing: a snapshot comes.
    pub(super) fn begin_again(&mut self) {
        self.entries.0.clear();
        self.entries.1 = 0;
        self.is_stale = true;
    }

    /// The book has changed.
    pub(super) fn changed(&mut self, book: &Book, applied: &BookChange) {
        if self.is_stale {
            return;
        }
        for entry in book.seen(applied, self.depth) {
            let is_wanted = match entry.side {
                Side::Buy => self.types.bids,
                Side::Sell => self.types.asks,
            };
            if !is_wanted {
                continue;
            }
            if self.kind == (SubscriptionKind::Updates { refreshes: true }) {
                self.is_stale = true;
                return;
            }
            self.put_entry(&entry);
        }
    }

    fn put_entry(&mut self, entry: &Entry) {
        self.entries.1 += 1;
        let mut body = Body::new(&mut self.entries.0);
        let action = match entry.action {
            Action::New => '0',
            Action::Change => '1',
            Action::Delete => '2',
        };
        body.char(279, action).char(269, entry_type(entry.side)).text(55, &self.symbol);
        put_decimal(&mut body, 270, Some(entry.price));
        if entry.action != Action::Delete {
            put_decimal(&mut body, 271, Some(entry.amount));
        }
    }

    /// Two orders have traded.
    pub(super) fn traded(&mut self, trade: &Trade<'_>) {
        if !self.types.trades || !self.has_begun {
            return;
        }
        self.entries.1 += 1;
        let mut body = Body::new(&mut self.entries.0);
        body.char(279, '0').char(269, '2').number(278, trade.trade_id).text(55, &self.symbol);
        put_decimal(&mut body, 270, Some(trade.price));
        put_decimal(&mut body, 271, Some(trade.amount));
        body.time_of_day(273, trade.time_ms.unsigned_abs() * 1_000_000);
    }

    /// Sends its increments so far; with the number and the stamps of a tick that they end.
    fn send(
        &mut self,
        session: &mut Session<FileStore>,
        to_client: &mut Vec<u8>,
        tick: Option<(u64, TickStamps)>,
        now: Now,
    ) -> io::Result<()> {
        let (entries, count) = &mut self.entries;
        session.send_once("X", now, to_client, |body| {
            body.text(262, &self.id).number(268, *count as u64).encoded(entries);
            if let Some((number, [intended_ns, acknowledged_ns, published_ns])) = tick {
                body.number(tag::TICK_NUMBER, number)
                    .number(tag::TICK_INTENDED_NS, intended_ns)
                    .number(tag::TICK_ACKNOWLEDGED_NS, acknowledged_ns)
                    .number(tag::TICK_PUBLISHED_NS, published_ns);
            }
        })?;
        entries.clear();
        *count = 0;
        Ok(())
    }

    /// A whole snapshot.
    fn put_snapshot(&self, body: &mut Body<'_>, book: &Book) {
        let mut entries = Vec::new();
        let mut count = 0;
        for (side, is_wanted) in [(Side::Buy, self.types.bids), (Side::Sell, self.types.asks)] {
            for (price, amount) in book.levels(side).take(self.depth).filter(|_| is_wanted) {
                count += 1;
                let mut body = Body::new(&mut entries);
                body.char(269, entry_type(side));
                put_decimal(&mut body, 270, Some(price));
                put_decimal(&mut body, 271, Some(amount));
            }
        }
        body.text(262, &self.id).text(55, &self.symbol).number(268, count).encoded(&entries);
    }
}

impl Desk {
    /// Sends the increments that have come together in one read, and snapshots that are due.
    pub(super) fn send_market_data(&mut self, now: Now) -> io::Result<()> {
        self.send_increments(1, now)?;
        let Desk { market: Market { subscriptions, books, .. }, session, to_client, .. } = self;
        for one in subscriptions.iter_mut().filter(|one| one.is_stale) {
            let Some(Some(book)) = books.get(&one.symbol) else { continue };
            session.send_once("W", now, to_client, |body| one.put_snapshot(body, book))?;
            (one.has_begun, one.is_stale) = (true, false);
        }
        subscriptions.retain(|one| !(one.has_begun && one.kind == SubscriptionKind::Snapshot));
        Ok(())
    }

    /// Sends the increments that fill a message.
    pub(super) fn send_full(&mut self, now: Now) -> io::Result<()> {
        self.send_increments(ENTRIES_MAX, now)
    }

    fn send_increments(&mut self, at_least: usize, now: Now) -> io::Result<()> {
        let Desk { market, session, to_client, .. } = self;
        for one in market.subscriptions.iter_mut().filter(|one| one.entries.1 >= at_least) {
            one.send(session, to_client, None, now)?;
        }
        Ok(())
    }

    /// Ends a tick for the subscriptions of a symbol that want its stamps: also if none of the
    /// prices that they see has changed.
    pub(super) fn end_tick(
        &mut self,
        symbol: &str,
        tick: (u64, TickStamps),
        now: Now,
    ) -> io::Result<()> {
        let Desk { market, session, to_client, .. } = self;
        let of_symbol = of(&mut market.subscriptions, symbol);
        for one in of_symbol.filter(|one| one.is_stamped && !one.is_stale) {
            one.send(session, to_client, Some(tick), now)?;
        }
        Ok(())
    }

    /// A MarketDataRequestReject.
    pub(super) fn market_data_reject(
        &mut self,
        id: &str,
        (reason, text): Rejection,
        now: Now,
    ) -> io::Result<()> {
        self.send("Y", now, |body| {
            body.text(262, id);
            if let Some(reason) = reason {
                body.char(281, reason);
            }
            body.text(58, &text);
        })
    }
}
