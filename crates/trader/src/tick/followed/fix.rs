//! The book of one instrument by the exchange's FIX: a MarketDataSnapshotFullRefresh, then a
//! MarketDataIncrementalRefresh with the prices that changed.
//!
//! A run ends with any other message, an entry of another symbol or type, a number that does not
//! grow, a price between ticks, or as many prices as FIX shows, because there may be more.

use crate::tick::followed::prices::{PriceBook, PriceDialect, PriceFollower, quoted};
use engine::Side;
use fix::hot::{Header, fields};
use fix::message::{Message, number};
use fix::tag;
use wire::Decimal;
use wire::market_data::{PriceAndAmount, TickStamps};

/// The most prices of a side that the exchange's FIX shows: `MARKET_DEPTH_MAX` of its gateway.
const PRICES_MAX: usize = 500;

pub(crate) const MD_REQ_ID: u32 = 262;
pub(crate) const NO_MD_ENTRIES: u32 = 268;
pub(crate) const MD_ENTRY_TYPE: u32 = 269;
pub(crate) const MD_ENTRY_PX: u32 = 270;
pub(crate) const MD_ENTRY_SIZE: u32 = 271;
pub(crate) const MD_UPDATE_ACTION: u32 = 279;
pub(crate) const SYMBOL: u32 = 55;

/// One instrument's book.
pub(crate) type FixBook = PriceFollower<Fix>;

/// The dialect.
pub(crate) struct Fix {
    symbol: String,
    /// Number of the last tick.
    at: u64,
    /// Bids and offers in the book.
    shown: [usize; 2],
}

/// An entry of a refresh.
#[derive(Clone, Copy, Default)]
struct Entry<'a> {
    action: &'a [u8],
    entry_type: &'a [u8],
    symbol: &'a [u8],
    price: &'a [u8],
    size: &'a [u8],
}

impl FixBook {
    /// An empty book with room for `levels_max` prices a side.
    pub(crate) fn new(symbol: &str, units: [Decimal; 2], levels_max: u32) -> FixBook {
        let dialect = Fix { symbol: symbol.to_owned(), at: 0, shown: [0; 2] };
        PriceFollower::of(dialect, units, levels_max)
    }

    /// Takes over the book of a MarketDataSnapshotFullRefresh.
    ///
    /// # Errors
    /// If it is of another symbol, its prices are between ticks, or more than FIX shows or there is
    /// room for.
    pub(crate) fn begin(&mut self, snapshot: Message<'_>) -> Result<(), String> {
        let mut levels = Vec::new();
        let (mut entry_type, mut price) = (&b""[..], &b""[..]);
        for field in snapshot.fields() {
            let value = snapshot.value(*field);
            match field.tag {
                MD_ENTRY_TYPE => entry_type = value,
                MD_ENTRY_PX => price = value,
                MD_ENTRY_SIZE => levels.push((side(entry_type)?, level(price, value)?)),
                _ => {}
            }
        }
        if snapshot.text(SYMBOL) != Some(&self.dialect.symbol) {
            return Err(format!("the exchange sent a snapshot of {:?}", snapshot.text(SYMBOL)));
        }
        self.dialect.shown = [0; 2];
        for (side, _) in &levels {
            self.dialect.count(*side, true)?;
        }
        self.prices.begin(levels.into_iter())
    }
}

impl PriceDialect for Fix {
    #[inline]
    fn apply(
        &mut self,
        prices: &mut PriceBook,
        message: &[u8],
    ) -> Result<Option<(u64, TickStamps)>, String> {
        let (mut entry, mut announced, mut entries) = (None, 0, 0);
        // Number and stamps; 0: none.
        let mut tick = [0; 4];
        for field in fields(message) {
            let Some((tag, value)) = field else { return Err(unreadable(message)) };
            match tag {
                tag::MSG_TYPE if value != b"X" => return Err(other(prices, value, message)),
                NO_MD_ENTRIES => announced = number(value).ok_or_else(|| unreadable(message))?,
                MD_UPDATE_ACTION => {
                    self.enter(prices, entry.replace(Entry { action: value, ..Entry::default() }))?;
                    entries += 1;
                }
                tag::TICK_NUMBER..=tag::TICK_PUBLISHED_NS => {
                    let value = number(value).ok_or_else(|| unreadable(message))?;
                    tick[(tag - tag::TICK_NUMBER) as usize] = value;
                }
                _ => {
                    if let Some(entry) = &mut entry {
                        entry.take(tag, value);
                    }
                }
            }
        }
        self.enter(prices, entry)?;
        let [number, stamps @ ..] = tick;
        let is_end = number > 0;
        if entries != announced || is_end && number <= self.at {
            return Err(format!(
                "after tick {} came {number}, with {entries} of {announced} entries: {}",
                self.at,
                quoted(message)
            ));
        }
        if is_end {
            (self.at, prices.sequence) = (number, number);
        }
        Ok(is_end.then_some((number, stamps)))
    }
}

impl Fix {
    /// Applies an entry, if there is one.
    #[inline]
    fn enter(&mut self, prices: &mut PriceBook, entry: Option<Entry<'_>>) -> Result<(), String> {
        let Some(Entry { action, entry_type, symbol, price, size }) = entry else { return Ok(()) };
        if symbol != self.symbol.as_bytes() {
            let symbol = String::from_utf8_lossy(symbol);
            return Err(format!("an entry of {symbol:?} came, and {} was asked for", self.symbol));
        }
        let side = side(entry_type)?;
        let level = match action {
            b"0" | b"1" => level(price, size)?,
            b"2" => level(price, b"0")?,
            _ => {
                let action = String::from_utf8_lossy(action);
                return Err(format!("an entry with MDUpdateAction (279) {action} came"));
            }
        };
        if action != b"1" {
            self.count(side, action == b"0")?;
        }
        prices.change(side, level)
    }

    /// A price has appeared or disappeared.
    #[inline]
    fn count(&mut self, side: Side, is_new: bool) -> Result<(), String> {
        let shown = &mut self.shown[usize::from(side == Side::Sell)];
        *shown = if is_new { *shown + 1 } else { shown.saturating_sub(1) };
        if *shown < PRICES_MAX {
            return Ok(());
        }
        Err(format!(
            "a side of the book has {PRICES_MAX} prices, and FIX shows no more: follow it as SBE or \
             JSON (subject.*.feed)"
        ))
    }
}

impl<'a> Entry<'a> {
    #[inline]
    fn take(&mut self, tag: u32, value: &'a [u8]) {
        match tag {
            MD_ENTRY_TYPE => self.entry_type = value,
            SYMBOL => self.symbol = value,
            MD_ENTRY_PX => self.price = value,
            MD_ENTRY_SIZE => self.size = value,
            _ => {}
        }
    }
}

#[inline]
fn side(entry_type: &[u8]) -> Result<Side, String> {
    match entry_type {
        b"0" => Ok(Side::Buy),
        b"1" => Ok(Side::Sell),
        _ => {
            let entry_type = String::from_utf8_lossy(entry_type);
            Err(format!("an entry of type {entry_type:?} came, and bids and offers were asked for"))
        }
    }
}

#[inline]
fn level(price: &[u8], size: &[u8]) -> Result<PriceAndAmount, String> {
    let decimal = |value: &[u8]| {
        let text = std::str::from_utf8(value).unwrap_or_default();
        Decimal::parse(text).map_err(|error| format!("{:?}: {error}", quoted(value)))
    };
    Ok((decimal(price)?, decimal(size)?))
}

#[cold]
fn unreadable(message: &[u8]) -> String {
    format!("unreadable message: {}", quoted(message))
}

/// Why a message that is no increment ends the run.
#[cold]
fn other(prices: &mut PriceBook, msg_type: &[u8], message: &[u8]) -> String {
    let texts = || fields(message).flatten().find(|(tag, _)| *tag == tag::TEXT);
    let text = texts().map_or_else(String::new, |(_, text)| quoted(text));
    match msg_type {
        b"W" => {
            prices.counts.gaps += 1;
            "the exchange skipped messages and sent a snapshot, because the trader did \
             not read fast enough: lower flow.rate_per_second"
                .to_owned()
        }
        b"Y" => format!("the exchange ended the market data: {text}"),
        _ => {
            let seq = Header::of(message).map_or(0, |header| header.seq);
            let msg_type = String::from_utf8_lossy(msg_type);
            format!("message {seq} of type {msg_type}, which was not asked for: {text}")
        }
    }
}

#[cfg(test)]
#[path = "fix_tests.rs"]
mod tests;
