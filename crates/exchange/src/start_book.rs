//! The start book: orders of the exchange that rest before the first client connects, so that
//! orders meet realistic depth.

use crate::account::orders::NO_TAG;
use crate::account::sessions::EXCHANGE_ACCOUNT;
use crate::setup::instruments::{Instrument, Instruments};
use clock::random::SplitMix64;
use engine::{NewOrder, Side};
use flow::DatabentoError;
use flow::databento::price_increment;
use std::path::{Path, PathBuf};

/// Levels per side of a synthetic book.
pub const SYNTHETIC_LEVELS: u32 = 400;
/// The most orders at a level of it.
const SYNTHETIC_ORDERS_MAX: u32 = 8;
/// The most ticks from a level of it to the next.
const SYNTHETIC_GAP_TICKS_MAX: u32 = 4;
/// The most round lots in an order of it.
const SYNTHETIC_ROUND_LOTS_MAX: u32 = 200;
const SYNTHETIC_SEED: u64 = 42;

/// The orders that rest at the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StartBook {
    /// None.
    Empty,
    /// Generated, the same on every machine: [`SYNTHETIC_LEVELS`] a side around each instrument's
    /// `start_price`, several orders a level.
    #[default]
    Synthetic,
    /// The orders that are live at the end of a Databento MBO file (DBN, plain or zstd), in the
    /// first instrument.
    ///
    /// If a file has several instruments, the first record's is used. Prices are divided by the
    /// greatest common divisor of the live prices, which is the file's price increment or a
    /// multiple of it. A size of n becomes n round lots of the instrument. So the book keeps its
    /// shape, but not its prices.
    DatabentoMbo(PathBuf),
}

/// Why a start book can't be made.
#[derive(Debug, thiserror::Error)]
pub enum StartBookError {
    /// The file can't be read or is not DBN.
    #[error(transparent)]
    Unreadable(#[from] DatabentoError),
    /// No order is live at its end.
    #[error("{file} has no live order at its end; name a file of schema mbo with a snapshot")]
    Empty {
        /// The file.
        file: String,
    },
    /// A price or a size is out of the instrument's range.
    #[error(
        "{file} does not fit into {code}: {why}; raise price_max or amount_max, or take another file"
    )]
    DoesNotFit {
        /// The file.
        file: String,
        /// The instrument.
        code: String,
        /// The bound that it breaks.
        why: String,
    },
}

impl StartBook {
    /// The orders, in the order in which they enter, with ids from 1.
    ///
    /// # Errors
    /// [`StartBookError`], for a file only.
    pub fn orders(&self, instruments: &Instruments) -> Result<Vec<NewOrder>, StartBookError> {
        let mut orders = match self {
            StartBook::Empty => Vec::new(),
            StartBook::Synthetic => synthetic(instruments),
            StartBook::DatabentoMbo(path) => databento(path, instruments)?,
        };
        (1..).zip(&mut orders).for_each(|(id, order)| order.order_id = id);
        Ok(orders)
    }
}

fn start_order(instrument: u16, side: Side, price_ticks: i64, quantity_lots: u64) -> NewOrder {
    let order = NewOrder::limit(side, price_ticks, quantity_lots);
    NewOrder { account: EXCHANGE_ACCOUNT, tag: NO_TAG, instrument, ..order }
}

/// A realistic order size in lots: 0.01 if the instrument allows it, else its smallest amount.
pub(crate) fn round_lot(instrument: &Instrument) -> u64 {
    let hundredth = wire::Decimal::new(1, 2).unwrap_or_default();
    instrument.quantity_lots(hundredth).unwrap_or(instrument.quantity_lots_min)
}

fn synthetic(instruments: &Instruments) -> Vec<NewOrder> {
    let mut random = SplitMix64::new(SYNTHETIC_SEED);
    let mut orders = Vec::new();
    for (number, instrument) in (0..).zip(instruments.all()) {
        for (side, direction) in [(Side::Buy, -1), (Side::Sell, 1)] {
            let mut price_ticks = instrument.start_price_ticks;
            for _ in 0..SYNTHETIC_LEVELS {
                price_ticks += direction * (1 + i64::from(random.below(SYNTHETIC_GAP_TICKS_MAX)));
                for _ in 0..=random.below(SYNTHETIC_ORDERS_MAX) {
                    let round_lots = 1 + random.below(SYNTHETIC_ROUND_LOTS_MAX);
                    let quantity_lots = (u64::from(round_lots) * round_lot(instrument))
                        .min(instrument.quantity_lots_max);
                    // Near an end of the price range that side of the book is shorter.
                    if (1..=instrument.price_ticks_max).contains(&price_ticks) {
                        orders.push(start_order(number, side, price_ticks, quantity_lots));
                    }
                }
            }
        }
    }
    orders
}

fn databento(path: &Path, instruments: &Instruments) -> Result<Vec<NewOrder>, StartBookError> {
    let file = path.display().to_string();
    let live = flow::databento::live_orders(path)?;
    let increment = price_increment(live.iter().map(|order| order.price));
    if live.is_empty() || increment == 0 {
        return Err(StartBookError::Empty { file });
    }
    let instrument = instruments.get(0);
    let does_not_fit = |why| {
        let (file, code) = (file.clone(), instrument.code.clone());
        StartBookError::DoesNotFit { file, code, why }
    };
    let mut orders = Vec::with_capacity(live.len());
    for order in live {
        let price_ticks = order.price / increment;
        let quantity_lots = u64::from(order.size).saturating_mul(round_lot(instrument));
        if !(1..=instrument.price_ticks_max).contains(&price_ticks) {
            let max = instrument.price_ticks_max;
            return Err(does_not_fit(format!("a price is {price_ticks} ticks, not 1 to {max}")));
        }
        if quantity_lots > instrument.quantity_lots_max {
            let max = instrument.quantity_lots_max;
            return Err(does_not_fit(format!("a size is {quantity_lots} lots, above {max}")));
        }
        orders.push(start_order(0, order.side, price_ticks, quantity_lots));
    }
    Ok(orders)
}

#[cfg(test)]
#[path = "start_book_tests.rs"]
mod tests;
