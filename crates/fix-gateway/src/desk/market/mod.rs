//! Market data of one session: MarketDataRequests in; snapshots and increments out. It is made from
//! the exchange's JSON market data, which comes over a connection of its own, so that no report
//! waits for a burst of it.
//!
//! Subscriptions end with the client's connection. Their messages are not sent again: a resend has
//! gap fills in their place.
//!
//! See docs/decisions/036-market-data-over-fix.md; of stamped ticks 039-ticks-over-fix.md.

mod book;
mod messages;
pub(super) mod request;
pub(super) mod securities;
mod security_list;
pub(super) mod state;

use super::state::Desk;
use book::Book;
use fix::session::Now;
use request::{
    DUPLICATE_ID, MarketDataRequest, NO_ROOM, Rejection, SUBSCRIPTIONS_MAX, SubscriptionKind,
    no_room,
};
use state::{BOOK, Market, Subscription, of};
use std::io;
use wire::frame::FrameError;
use wire::market_data::{MarketData, decode_level, decode_market_data};
use wire::reader::{Message as Frame, MessageReader};
use wire::reply::{Reply, decode_reply};

impl Desk {
    /// Answers a MarketDataRequest, or begins to.
    pub(super) fn market_data_request(
        &mut self,
        request: Result<MarketDataRequest, (String, Rejection)>,
        now: Now,
    ) -> io::Result<()> {
        let request = match request {
            Ok(request) => request,
            Err((id, rejection)) => return self.market_data_reject(&id, rejection, now),
        };
        let id = request.id.clone();
        match self.market_data_changed(request) {
            Ok(()) => self.send_market_data(now),
            Err(rejection) => self.market_data_reject(&id, rejection, now),
        }
    }

    fn market_data_changed(&mut self, request: MarketDataRequest) -> Result<(), Rejection> {
        let MarketDataRequest { id, kind, depth, types, is_stamped, symbols } = request;
        let market = &mut self.market;
        let is_known = market.subscriptions.iter().any(|one| one.id == id);
        if kind == SubscriptionKind::End {
            if !is_known {
                return Err((None, format!("no subscription has MDReqID (262) {id}")));
            }
            market.subscriptions.retain(|one| one.id != id);
            return Ok(());
        }
        if is_known {
            return Err((DUPLICATE_ID, format!("MDReqID (262) {id} is that of a subscription")));
        }
        if market.subscriptions.len() + symbols.len() > SUBSCRIPTIONS_MAX {
            return Err((NO_ROOM, no_room()));
        }
        for symbol in symbols {
            market.ask(&symbol, is_stamped);
            market.subscriptions.push(Subscription {
                id: id.clone(),
                symbol,
                kind,
                depth,
                types,
                is_stamped,
                has_begun: false,
                is_stale: true,
                entries: (Vec::new(), 0),
            });
        }
        Ok(())
    }

    /// Market data of the exchange that is in the reader.
    ///
    /// # Errors
    /// The store failed, or the exchange closed the connection.
    pub fn market_data(&mut self, reader: &mut MessageReader, now: Now) -> io::Result<()> {
        let framing = |error: FrameError| io::Error::other(error);
        while let Some(received) = reader.next().map_err(framing)? {
            match received.message {
                Frame::Text(text) => match decode_level(text).map_err(io::Error::other)? {
                    Some(level) => self.market_event(&MarketData::Level(level), now)?,
                    None => self.market_reply(text, now)?,
                },
                Frame::Close { .. } => return Err(io::ErrorKind::ConnectionAborted.into()),
                Frame::Binary(_) | Frame::Ping(_) | Frame::Pong(_) => {}
            }
        }
        self.send_market_data(now)
    }

    /// A message that is no `BOOK`.
    fn market_reply(&mut self, text: &[u8], now: Now) -> io::Result<()> {
        match decode_reply(text).map_err(io::Error::other)? {
            Reply::Other { .. } => {
                let data = decode_market_data(text).map_err(io::Error::other)?;
                self.market_event(&data, now)?;
            }
            Reply::Subscriptions(_) => drop(self.market.asked.pop_front()),
            Reply::Error { reason } => {
                let symbol = self.market.asked.pop_front().unwrap_or_default();
                for id in self.market.forget(&symbol) {
                    self.market_data_reject(&id, (NO_ROOM, reason.to_string()), now)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The connection for market data can't be made, or has ended: so have all subscriptions.
    pub fn market_data_gone(&mut self, now: Now) -> io::Result<()> {
        let ended = std::mem::take(&mut self.market).subscriptions;
        let mut ids: Vec<String> = ended.into_iter().map(|one| one.id).collect();
        ids.dedup();
        let text = "the exchange has closed the connection for market data; request it again";
        for id in ids {
            self.market_data_reject(&id, (None, text.to_owned()), now)?;
        }
        Ok(())
    }

    fn market_event(&mut self, data: &MarketData<'_>, now: Now) -> io::Result<()> {
        let Market { books, subscriptions, .. } = &mut self.market;
        match data {
            MarketData::Snapshot(snapshot) => {
                let Some(book) = books.get_mut(&*snapshot.instrument_code) else { return Ok(()) };
                *book = Some(Book::of(&snapshot.bids, &snapshot.asks));
                of(subscriptions, &snapshot.instrument_code).for_each(Subscription::begin_again);
            }
            MarketData::Level(level) => {
                let book = books.get_mut(&*level.instrument_code).and_then(Option::as_mut);
                let Some(book) = book else { return Ok(()) };
                if let Some(applied) = book.apply(level.side, level.price, level.amount) {
                    of(subscriptions, &level.instrument_code)
                        .for_each(|one| one.changed(book, &applied));
                }
                if let Some(stamps) = level.stamps {
                    let tick = (level.feed_sequence, stamps);
                    self.end_tick(&level.instrument_code, tick, now)?;
                }
            }
            MarketData::Trade(trade) => {
                of(subscriptions, &trade.instrument_code).for_each(|one| one.traded(trade));
            }
            MarketData::Gap(gap) => {
                // The exchange's snapshot comes next.
                if gap.channel == BOOK
                    && let Some(book) = books.get_mut(&*gap.instrument_code)
                {
                    *book = None;
                }
                of(subscriptions, &gap.instrument_code).for_each(Subscription::begin_again);
            }
            MarketData::Top(_) => {}
        }
        self.send_full(now)
    }
}

#[cfg(test)]
mod tests;
