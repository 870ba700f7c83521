//! The book of one instrument by the exchange's JSON: a `BOOK_SNAPSHOT`, then a `BOOK` for each
//! price that changes. The last `BOOK` of a tick carries the exchange's stamps.
//!
//! TCP loses nothing, so every fault is final: a `GAP`, a message that is none of these, a number
//! that does not grow, or a price between ticks.

use crate::tick::followed::{FollowedBook, Kind, Tick};
use engine::Side;
use feed::{Book, Channel, Counts, Message};
use wire::Decimal;
use wire::market_data::{
    BookSnapshot, Level, MarketData, PriceAndAmount, decode_level, decode_market_data,
};
use wire::request;

/// Bytes of a message that an error quotes.
const QUOTED_BYTES_MAX: usize = 120;

/// One instrument's book.
pub(crate) struct JsonBook {
    book: Book,
    instrument_code: String,
    /// The value of a tick, and the size of a lot.
    units: [Decimal; 2],
    /// Number of the snapshot or of the last `BOOK`.
    at: u64,
    /// Number of the last `BOOK`; 0 before the first.
    sequence: u64,
    /// Messages, and their bytes, of a tick whose last one is still to come.
    messages: u16,
    bytes: usize,
    counts: Counts,
    failure: Option<String>,
}

impl JsonBook {
    /// An empty book with room for so many prices a side.
    pub(crate) fn new(instrument_code: &str, units: [Decimal; 2], levels_max: u32) -> JsonBook {
        JsonBook {
            book: Book::new(Channel::Levels, 0, levels_max),
            instrument_code: instrument_code.to_owned(),
            units,
            at: 0,
            sequence: 0,
            messages: 0,
            bytes: 0,
            counts: Counts::default(),
            failure: None,
        }
    }

    /// Takes over the book of a snapshot.
    ///
    /// # Errors
    /// If its prices are between ticks, or more than there is room for.
    pub(crate) fn begin(&mut self, snapshot: &BookSnapshot<'_>) -> Result<(), String> {
        self.book.clear();
        for (side, levels) in [(Side::Buy, &snapshot.bids), (Side::Sell, &snapshot.asks)] {
            for level in levels {
                self.set(side, *level)?;
            }
        }
        self.at = snapshot.feed_sequence;
        self.counts.snapshots += 1;
        Ok(())
    }

    #[inline]
    fn set(&mut self, side: Side, (price, amount): PriceAndAmount) -> Result<(), String> {
        let [tick, lot] = self.units;
        let ticks = price.in_units_of(tick);
        let lots = amount.in_units_of(lot).ok().and_then(|lots| u64::try_from(lots).ok());
        let (Ok(price_ticks), Some(quantity_lots)) = (ticks, lots) else {
            return Err(format!("{amount} at {price} is in no ticks of {tick} and lots of {lot}"));
        };
        let (instrument, orders) = (0, u32::from(quantity_lots > 0));
        let level = Message::Level { instrument, side, price_ticks, quantity_lots, orders };
        self.book.apply(&level).map_err(|fault| {
            format!("{amount} at {price}: {fault}; raise feed.levels_max if the book is full")
        })
    }

    #[inline]
    fn apply(&mut self, text: &[u8]) -> Result<Tick, String> {
        let level = match decode_level(text) {
            Ok(Some(level)) => level,
            Ok(None) => return Err(self.other(text)),
            Err(error) => return Err(format!("{error}: {}", quoted(text))),
        };
        let Level { instrument_code, side, price, amount, feed_sequence, stamps, .. } = level;
        if instrument_code != self.instrument_code || feed_sequence <= self.at {
            return Err(format!(
                "after message {} of {} came {}: is the exchange another one?",
                self.at,
                self.instrument_code,
                quoted(text)
            ));
        }
        let side = match side {
            request::Side::Buy => Side::Buy,
            request::Side::Sell => Side::Sell,
        };
        self.set(side, (price, amount))?;
        (self.at, self.sequence) = (feed_sequence, feed_sequence);
        self.counts.messages += 1;
        self.messages = self.messages.saturating_add(1);
        self.bytes += text.len();
        let Some([intended_ns, acknowledged_ns, published_ns]) = stamps else {
            return Ok(self.no_tick(text.len()));
        };
        let (messages, bytes) = (self.messages, self.bytes);
        (self.messages, self.bytes) = (0, 0);
        let (number, kind) = (feed_sequence, Kind::Live);
        Ok(Tick { number, messages, bytes, kind, intended_ns, acknowledged_ns, published_ns })
    }

    fn no_tick(&self, bytes: usize) -> Tick {
        let (intended_ns, acknowledged_ns, published_ns) = (0, 0, 0);
        let (number, messages, kind) = (self.at, 1, Kind::NotNow);
        Tick { number, messages, bytes, kind, intended_ns, acknowledged_ns, published_ns }
    }

    /// Why a message that is no `BOOK` ends the run.
    #[cold]
    fn other(&mut self, text: &[u8]) -> String {
        match decode_market_data(text) {
            Ok(MarketData::Gap(gap)) => {
                self.counts.gaps += 1;
                format!(
                    "the exchange skipped messages {} to {}, because the trader did not read fast \
                     enough: lower flow.rate_per_second",
                    gap.from, gap.to
                )
            }
            _ => format!("{} is no BOOK, and nothing else was subscribed", quoted(text)),
        }
    }
}

/// The beginning of a message.
fn quoted(text: &[u8]) -> String {
    let shown = &text[..text.len().min(QUOTED_BYTES_MAX)];
    let dots = if shown.len() < text.len() { "…" } else { "" };
    format!("{}{dots}", String::from_utf8_lossy(shown))
}

impl FollowedBook for JsonBook {
    const HAS_HEARTBEATS: bool = false;

    #[inline]
    fn take(&mut self, text: &[u8]) -> Option<Tick> {
        self.counts.datagrams += 1;
        let taken = self.apply(text);
        Some(taken.unwrap_or_else(|why| {
            self.failure.get_or_insert(why);
            self.no_tick(text.len())
        }))
    }

    #[inline]
    fn book(&self, _instrument: u16) -> Option<&Book> {
        Some(&self.book)
    }

    fn sequence(&self) -> u64 {
        self.sequence
    }

    #[inline]
    fn is_in_sync(&self) -> bool {
        self.failure.is_none()
    }

    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    fn hash(&self) -> u64 {
        self.book.price_hash()
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
