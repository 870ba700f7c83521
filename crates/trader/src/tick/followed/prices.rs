//! One instrument's book by price, for dialects that come over TCP. The last message of a tick
//! carries the exchange's stamps.
//!
//! TCP loses nothing, so every fault is final.

use crate::tick::followed::{FollowedBook, MarketDataKind, Tick};
use crate::tick::followed_state::FollowedState;
use engine::{Side, Top};
use feed::{Book, Channel, Counts, FeedMessage};
use wire::Decimal;
use wire::market_data::{PriceAndAmount, TickStamps};

/// Bytes of a message that an error quotes.
const QUOTED_BYTES_MAX: usize = 120;

/// The messages of a dialect.
pub(crate) trait PriceDialect {
    /// Applies a message. Returns the number and the stamps of the tick that it ends, if it does.
    ///
    /// # Errors
    /// Why nothing more can be followed, in words.
    fn apply(
        &mut self,
        prices: &mut PriceBook,
        message: &[u8],
    ) -> Result<Option<(u64, TickStamps)>, String>;

    /// Bytes on the wire of a message that is so long.
    fn wire_bytes(message_bytes: usize) -> usize {
        message_bytes
    }

    /// Off the path: the work that can wait until the tick's order has left.
    fn afterwards(&mut self, _prices: &PriceBook) {}

    /// The exchange's state that the book must agree with.
    fn state(&self, instrument_code: &str) -> FollowedState {
        FollowedState::Book { instrument_code: instrument_code.to_owned() }
    }

    /// A hash of what came, as the exchange describes it.
    fn hash(&self, prices: &PriceBook) -> u64 {
        prices.book.price_hash()
    }
}

/// A book that follows one dialect.
pub(crate) struct PriceFollower<D> {
    pub(super) dialect: D,
    pub(super) prices: PriceBook,
}

/// The book, and what has changed of it.
pub(crate) struct PriceBook {
    book: Book,
    /// The value of a tick, and the size of a lot.
    units: [Decimal; 2],
    /// Number of the last change that was applied; 0 before the first.
    pub(super) sequence: u64,
    /// Changes, and the bytes of their messages on the wire, of a tick whose end is still to come.
    messages: u16,
    bytes: usize,
    pub(super) counts: Counts,
    failure: Option<String>,
}

impl PriceBook {
    fn new(units: [Decimal; 2], levels_max: u32) -> PriceBook {
        PriceBook {
            book: Book::new(Channel::Levels, 0, levels_max),
            units,
            sequence: 0,
            messages: 0,
            bytes: 0,
            counts: Counts::default(),
            failure: None,
        }
    }

    /// Takes over a snapshot.
    ///
    /// # Errors
    /// If its prices are between ticks, or more than there is room for.
    pub(super) fn begin(
        &mut self,
        levels: impl Iterator<Item = (Side, PriceAndAmount)>,
    ) -> Result<(), String> {
        self.book.clear();
        for (side, level) in levels {
            self.set(side, level)?;
        }
        self.counts.snapshots += 1;
        Ok(())
    }

    /// Applies a change.
    ///
    /// # Errors
    /// As [`PriceBook::begin`].
    #[inline]
    pub(super) fn change(&mut self, side: Side, level: PriceAndAmount) -> Result<(), String> {
        self.set(side, level)?;
        self.count_change();
        Ok(())
    }

    /// Counts a change of the tick that is to come.
    #[inline]
    pub(super) fn count_change(&mut self) {
        self.counts.messages += 1;
        self.messages = self.messages.saturating_add(1);
    }

    /// The best price of a side is this one, or there is none. The book has no other one of it.
    ///
    /// # Errors
    /// If it is between ticks, or nothing is there.
    #[inline]
    pub(super) fn set_best(
        &mut self,
        side: Side,
        level: Option<PriceAndAmount>,
    ) -> Result<(), String> {
        let now = level.map(|level| self.in_units(level)).transpose()?;
        if let (Some((_, 0)), Some((price, _))) = (now, level) {
            return Err(format!("the best price {price} came with amount 0"));
        }
        let price_ticks = now.map(|(price_ticks, _)| price_ticks);
        let before = self.book.levels(side).next().map(|(before, ..)| before);
        if let Some(before) = before.filter(|before| price_ticks != Some(*before)) {
            self.put(side, (before, 0))?;
        }
        now.map_or(Ok(()), |now| self.put(side, now))
    }

    /// The best prices.
    #[inline]
    pub(super) fn top(&self) -> Top {
        self.book.top()
    }

    #[inline]
    fn set(&mut self, side: Side, level: PriceAndAmount) -> Result<(), String> {
        let units = self.in_units(level)?;
        self.put(side, units)
    }

    /// As ticks and lots.
    #[inline]
    fn in_units(&self, (price, amount): PriceAndAmount) -> Result<(i64, u64), String> {
        let [tick, lot] = self.units;
        let ticks = price.in_units_of(tick);
        let lots = amount.in_units_of(lot).ok().and_then(|lots| u64::try_from(lots).ok());
        let (Ok(price_ticks), Some(quantity_lots)) = (ticks, lots) else {
            return Err(format!("{amount} at {price} is no multiple of lot {lot} and tick {tick}"));
        };
        Ok((price_ticks, quantity_lots))
    }

    #[inline]
    fn put(&mut self, side: Side, (price_ticks, quantity_lots): (i64, u64)) -> Result<(), String> {
        let (instrument, orders) = (0, u32::from(quantity_lots > 0));
        let level = FeedMessage::Level { instrument, side, price_ticks, quantity_lots, orders };
        self.book.apply(&level).map_err(|fault| {
            format!(
                "{quantity_lots} lots at {price_ticks} ticks: {fault}; raise feed.levels_max if the \
                 book is full"
            )
        })
    }

    fn no_tick(&self, bytes: usize) -> Tick {
        let (intended_ns, acknowledged_ns, published_ns) = (0, 0, 0);
        let (number, messages, kind) = (self.sequence, 1, MarketDataKind::NotNow);
        Tick { number, messages, bytes, kind, intended_ns, acknowledged_ns, published_ns }
    }
}

impl<D> PriceFollower<D> {
    /// An empty book with room for `levels_max` prices a side.
    pub(super) fn of(dialect: D, units: [Decimal; 2], levels_max: u32) -> PriceFollower<D> {
        PriceFollower { dialect, prices: PriceBook::new(units, levels_max) }
    }
}

/// The beginning of a message.
pub(super) fn quoted(text: &[u8]) -> String {
    let shown = &text[..text.len().min(QUOTED_BYTES_MAX)];
    let dots = if shown.len() < text.len() { "…" } else { "" };
    format!("{}{dots}", String::from_utf8_lossy(shown))
}

impl<D: PriceDialect> FollowedBook for PriceFollower<D> {
    const HAS_HEARTBEATS: bool = false;

    #[inline]
    fn take(&mut self, message: &[u8]) -> Option<Tick> {
        let PriceFollower { dialect, prices } = self;
        prices.counts.datagrams += 1;
        let ended = match dialect.apply(prices, message) {
            Ok(ended) => ended,
            Err(why) => {
                prices.failure.get_or_insert(why);
                return Some(prices.no_tick(message.len()));
            }
        };
        prices.bytes += D::wire_bytes(message.len());
        let Some((number, [intended_ns, acknowledged_ns, published_ns])) = ended else {
            return Some(prices.no_tick(message.len()));
        };
        let (messages, bytes, kind) = (prices.messages, prices.bytes, MarketDataKind::Live);
        (prices.messages, prices.bytes) = (0, 0);
        Some(Tick { number, messages, bytes, kind, intended_ns, acknowledged_ns, published_ns })
    }

    #[inline]
    fn book(&self, _instrument: u16) -> Option<&Book> {
        Some(&self.prices.book)
    }

    fn sequence(&self) -> u64 {
        self.prices.sequence
    }

    #[inline]
    fn is_in_sync(&self) -> bool {
        self.prices.failure.is_none()
    }

    fn failure(&self) -> Option<&str> {
        self.prices.failure.as_deref()
    }

    #[inline]
    fn afterwards(&mut self) {
        self.dialect.afterwards(&self.prices);
    }

    fn state(&self, instrument_code: &str) -> FollowedState {
        self.dialect.state(instrument_code)
    }

    fn hash(&self) -> u64 {
        self.dialect.hash(&self.prices)
    }

    fn counts(&self) -> Counts {
        self.prices.counts
    }
}
