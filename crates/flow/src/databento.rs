//! Databento's market data, order by order (schema mbo, in DBN): a file's records, and the orders
//! that are live at its end.

use dbn::decode::{DbnDecoder, DecodeRecordRef, DynReader};
use dbn::{Action, MboMsg};
use engine::Side;
use std::collections::HashMap;
use std::path::Path;

/// Maximum number of records of a file that a flow keeps, 48 bytes each.
pub const RECORDS_MAX: usize = 1 << 24;

/// Why a file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabentoError {
    /// The file can't be read or is no DBN.
    #[error("can't read orders from {file}: {why}; name a Databento MBO file (.dbn or .dbn.zst)")]
    Unreadable {
        /// The file.
        file: String,
        /// The fault.
        why: String,
    },
    /// The file has more records than a flow keeps.
    #[error("{file} has more than {RECORDS_MAX} records (limit records_max); take a part of it")]
    TooLong {
        /// The file.
        file: String,
    },
}

/// An order of a file that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveOrder {
    /// Its side.
    pub side: Side,
    /// Its price, in 10^-9.
    pub price: i64,
    /// The remaining quantity.
    pub size: u32,
    /// The order with the lower number trades first at a price.
    pub(crate) priority: u64,
}

/// The open orders of one instrument of a file: that of the first record.
#[derive(Debug, Default)]
pub(crate) struct LiveOrders {
    instrument_id: Option<u32>,
    pub(crate) orders: HashMap<u64, LiveOrder>,
    records: u64,
}

impl LiveOrders {
    /// Whether the record is of the instrument.
    fn is_of_it(&mut self, record: &MboMsg) -> bool {
        *self.instrument_id.get_or_insert(record.hd.instrument_id) == record.hd.instrument_id
    }

    /// Follows Databento's rules: Trade and Fill don't change the book, since a Cancel or a Modify
    /// comes with them; a Modify keeps its priority unless the price changes or the size grows
    /// (<https://databento.com/docs/examples/order-book/order-tracking>). A Cancel or a Modify of
    /// an order that is not known changes nothing.
    pub(crate) fn apply(&mut self, record: &MboMsg) {
        if !self.is_of_it(record) {
            return;
        }
        self.records += 1;
        let priority = self.records;
        let (price, size) = (record.price, record.size);
        match (record.action(), side(record)) {
            (Ok(Action::Clear), _) => self.orders.clear(),
            (Ok(Action::Add), Some(side)) if price != dbn::UNDEF_PRICE && size > 0 => {
                self.orders.insert(record.order_id, LiveOrder { side, price, size, priority });
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

    /// In the order in which they trade, without those that have no price or size.
    pub(crate) fn in_priority(self) -> Vec<LiveOrder> {
        let mut live: Vec<LiveOrder> = self.orders.into_values().collect();
        live.retain(|order| order.size > 0 && order.price != dbn::UNDEF_PRICE);
        live.sort_unstable_by_key(|order| order.priority);
        live
    }
}

/// The side that a record names.
pub(crate) fn side(record: &MboMsg) -> Option<Side> {
    match record.side as u8 {
        b'B' => Some(Side::Buy),
        b'A' => Some(Side::Sell),
        _ => None,
    }
}

/// The orders that are open at the end of a file, in the order in which they trade at a price.
/// Takes only the instrument of the first record.
///
/// # Errors
/// If the file can't be read.
pub fn live_orders(path: &Path) -> Result<Vec<LiveOrder>, DatabentoError> {
    let mut live = LiveOrders::default();
    each_record(path, |record| {
        live.apply(record);
        Ok(())
    })?;
    Ok(live.in_priority())
}

/// All records of the first record's instrument, unchanged.
pub(crate) fn records(path: &Path) -> Result<Vec<MboMsg>, DatabentoError> {
    let mut of = LiveOrders::default();
    let mut records = Vec::new();
    each_record(path, |record| {
        if of.is_of_it(record) {
            if records.len() == RECORDS_MAX {
                return Err(DatabentoError::TooLong { file: path.display().to_string() });
            }
            records.push(record.clone());
        }
        Ok(())
    })?;
    Ok(records)
}

fn each_record(
    path: &Path,
    mut tell: impl FnMut(&MboMsg) -> Result<(), DatabentoError>,
) -> Result<(), DatabentoError> {
    let file = path.display().to_string();
    let unreadable = |why: dbn::Error| {
        let why = match why {
            dbn::Error::Io { source, .. } => source.to_string(),
            other => other.to_string(),
        };
        let file = file.clone();
        DatabentoError::Unreadable { file, why }
    };
    let reader = DynReader::from_file(path).map_err(unreadable)?;
    let mut decoder = DbnDecoder::new(reader).map_err(unreadable)?;
    while let Some(record) = decoder.decode_record_ref().map_err(unreadable)? {
        if let Some(record) = record.get::<MboMsg>() {
            tell(record)?;
        }
    }
    Ok(())
}

/// The greatest common divisor of the prices: the file's price increment or a multiple of it. 0
/// without prices.
pub fn price_increment(prices: impl Iterator<Item = i64>) -> i64 {
    prices.fold(0, common_divisor)
}

/// Greatest common divisor of the absolute values.
fn common_divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}

#[cfg(test)]
#[path = "databento_tests.rs"]
mod tests;
