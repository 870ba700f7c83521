//! The book at the start: orders of the house that rest before the first client comes, so that orders
//! land in realistic depth.

use crate::instruments::{Instrument, Instruments};
use crate::orders::NO_TAG;
use crate::sessions::HOUSE;
use dbn::decode::{DbnDecoder, DecodeRecordRef, DynReader};
use dbn::{Action, MboMsg};
use engine::{NewOrder, Side};
use measure::random::SplitMix64;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Levels per side of a synthetic book.
pub const SYNTHETIC_LEVELS: u32 = 400;
/// Orders at a level of it: 1 to this.
const SYNTHETIC_ORDERS_MAX: u32 = 8;
/// Ticks from a level of it to the next: 1 to this.
const SYNTHETIC_GAP_TICKS_MAX: u32 = 4;
/// Round lots in an order of it: 1 to this.
const SYNTHETIC_ROUND_LOTS_MAX: u32 = 200;
const SYNTHETIC_SEED: u64 = 42;

/// Which orders rest at the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StartBook {
    /// None.
    Empty,
    /// Made up, the same on every machine: [`SYNTHETIC_LEVELS`] a side around each instrument's
    /// `start_price`, several orders a level.
    #[default]
    Synthetic,
    /// The orders that are live at the end of a Databento MBO file (DBN, plain or zstd), in the first instrument.
    ///
    /// Of a file with several instruments, those of the first record's. A price becomes ticks by division
    /// with the greatest common divisor of the live prices, which is the file's own price increment
    /// or a multiple of it; a size of n becomes n times the instrument's round lot. So the book keeps
    /// its shape, not its prices.
    DatabentoMbo(PathBuf),
}

/// Why a start book can't be made.
#[derive(Debug, thiserror::Error)]
pub enum StartBookError {
    /// The file can't be read or is no DBN.
    #[error("can't read a book from {file}: {why}; name a Databento MBO file (.dbn or .dbn.zst)")]
    Unreadable {
        /// The file.
        file: String,
        /// What is wrong.
        why: String,
    },
    /// Nothing is live at its end.
    #[error("{file} has no live order at its end; name a file of schema mbo with a snapshot")]
    Empty {
        /// The file.
        file: String,
    },
    /// A price or a size that the instrument does not take.
    #[error(
        "{file} does not fit into {code}: {why}; raise price_max or amount_max, or take another file"
    )]
    DoesNotFit {
        /// The file.
        file: String,
        /// The instrument.
        code: String,
        /// Which bound it breaks.
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

fn house_order(instrument: u16, side: Side, price_ticks: i64, quantity_lots: u64) -> NewOrder {
    let order = NewOrder::limit(side, price_ticks, quantity_lots);
    NewOrder { account: HOUSE, tag: NO_TAG, instrument, ..order }
}

/// A hundredth where the instrument has such an amount, else a lot: sizes that a person would send.
fn round_lot(instrument: &Instrument) -> u64 {
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
                    // A start price near an end of the range has a shorter side there.
                    if (1..=instrument.price_ticks_max).contains(&price_ticks) {
                        orders.push(house_order(number, side, price_ticks, quantity_lots));
                    }
                }
            }
        }
    }
    orders
}

/// An order of a file while it is live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Live {
    side: Side,
    price: i64,
    size: u32,
    /// Counts up; the lower trades first at a price.
    priority: u64,
}

/// The live orders of one instrument of a file.
#[derive(Debug, Default)]
struct LiveOrders {
    instrument_id: Option<u32>,
    orders: HashMap<u64, Live>,
    records: u64,
}

impl LiveOrders {
    /// Follows Databento's rules: Trade and Fill don't change the book, since a Cancel or a Modify
    /// comes with them; a Modify keeps its priority unless the price changes or the size grows
    /// (<https://databento.com/docs/examples/order-book/order-tracking>). A Cancel or a Modify of an
    /// order that is not known changes nothing.
    fn apply(&mut self, record: &MboMsg) {
        if *self.instrument_id.get_or_insert(record.hd.instrument_id) != record.hd.instrument_id {
            return;
        }
        self.records += 1;
        let priority = self.records;
        let side = match record.side as u8 {
            b'B' => Some(Side::Buy),
            b'A' => Some(Side::Sell),
            _ => None,
        };
        let (price, size) = (record.price, record.size);
        match (record.action(), side) {
            (Ok(Action::Clear), _) => self.orders.clear(),
            (Ok(Action::Add), Some(side)) if price != dbn::UNDEF_PRICE && size > 0 => {
                self.orders.insert(record.order_id, Live { side, price, size, priority });
            }
            (Ok(Action::Modify), _) => {
                let Some(live) = self.orders.get_mut(&record.order_id) else { return };
                if live.price != price || size > live.size {
                    live.priority = priority;
                }
                (live.price, live.size) = (price, size);
            }
            (Ok(Action::Cancel), _) => {
                let Some(live) = self.orders.get_mut(&record.order_id) else { return };
                live.size = live.size.saturating_sub(size);
                if live.size == 0 {
                    self.orders.remove(&record.order_id);
                }
            }
            _ => {}
        }
    }

    /// The first to trade first, and nothing without a price or a size.
    fn in_priority(self) -> Vec<Live> {
        let mut live: Vec<Live> = self.orders.into_values().collect();
        live.retain(|order| order.size > 0 && order.price != dbn::UNDEF_PRICE);
        live.sort_unstable_by_key(|order| order.priority);
        live
    }
}

fn databento(path: &Path, instruments: &Instruments) -> Result<Vec<NewOrder>, StartBookError> {
    let file = path.display().to_string();
    let unreadable =
        |why: dbn::Error| StartBookError::Unreadable { file: file.clone(), why: why.to_string() };
    let reader = DynReader::from_file(path).map_err(unreadable)?;
    let mut decoder = DbnDecoder::new(reader).map_err(unreadable)?;
    let mut live = LiveOrders::default();
    while let Some(record) = decoder.decode_record_ref().map_err(unreadable)? {
        if let Some(record) = record.get::<MboMsg>() {
            live.apply(record);
        }
    }
    let live = live.in_priority();
    let increment = live.iter().fold(0, |divisor, order| common_divisor(divisor, order.price));
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
        orders.push(house_order(0, order.side, price_ticks, quantity_lots));
    }
    Ok(orders)
}

/// The greatest, of the sizes of both.
fn common_divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}

#[cfg(test)]
#[path = "start_book_tests.rs"]
mod tests;
