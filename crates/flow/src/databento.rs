//! Databento's market data, order by order (schema mbo, in DBN): a file's records, and the orders
//! that are live at its end.

pub use crate::mbo_book::LiveOrder;

use crate::mbo_book::LiveOrders;
use dbn::decode::DynReader;
use dbn::decode::dbn::fsm::{DbnFsm, ProcessResult};
use dbn::{MboMsg, VersionUpgradePolicy};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Maximum number of records of a file that a flow keeps, 48 bytes each.
pub const RECORDS_MAX: usize = 1 << 24;

/// Maximum length of a file's header, in bytes: room for three million symbols of 71 bytes.
pub const HEADER_BYTES_MAX: usize = 1 << 28;

/// Bytes before the header: `DBN`, the version and the header's length (u32).
const PRELUDE_BYTES: usize = 8;

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
    /// A record leaves the book unknown.
    #[error("can't build a book from {file}: record {number} {why}")]
    NoBook {
        /// The file.
        file: String,
        /// The record's number in the file, from 1.
        number: u64,
        /// The fault, as the rest of a sentence.
        why: String,
    },
    /// The file has more records than a flow keeps.
    #[error("{file} has more than {RECORDS_MAX} records (limit records_max); take a part of it")]
    TooLong {
        /// The file.
        file: String,
    },
}

/// The orders that are open at the end of a file, in the order in which they trade at a price.
/// Takes only the instrument of the first record, from all publishers.
///
/// # Errors
/// If the file can't be read, or a record leaves the book unknown.
pub fn live_orders(path: &Path) -> Result<Vec<LiveOrder>, DatabentoError> {
    live_orders_of(open(path)?, &path.display().to_string())
}

/// As [`live_orders`], from `reader`; errors name the file `file`.
///
/// # Errors
/// The same.
pub fn live_orders_of(reader: impl Read, file: &str) -> Result<Vec<LiveOrder>, DatabentoError> {
    let mut live = LiveOrders::default();
    each_change(reader, file, &mut live, |_, _| Ok(()))?;
    Ok(live.in_priority())
}

/// All records of the first record's instrument, unchanged. [`LiveOrders`] can apply them.
pub(crate) fn records(path: &Path) -> Result<Vec<MboMsg>, DatabentoError> {
    let file = path.display().to_string();
    let mut records = Vec::new();
    each_change(open(path)?, &file, &mut LiveOrders::default(), |number, record| {
        // Its input would never be due.
        if record.hd.ts_event == dbn::UNDEF_TIMESTAMP {
            return Err(no_book(&file, number, "has no time"));
        }
        if records.len() == RECORDS_MAX {
            return Err(DatabentoError::TooLong { file: file.clone() });
        }
        records.push(record.clone());
        Ok(())
    })?;
    Ok(records)
}

/// Applies the records of a file to `live`, and passes on those of its instrument.
fn each_change(
    reader: impl Read,
    file: &str,
    live: &mut LiveOrders,
    mut tell: impl FnMut(u64, &MboMsg) -> Result<(), DatabentoError>,
) -> Result<(), DatabentoError> {
    let mut last = 0;
    each_record(reader, file, |number, record| {
        last = number;
        live.apply(record).map_err(|why| no_book(file, number, &why))?;
        if live.is_of_it(record) { tell(number, record) } else { Ok(()) }
    })?;
    live.unfinished().map_or(Ok(()), |why| Err(no_book(file, last, why)))
}

fn no_book(file: &str, number: u64, why: &str) -> DatabentoError {
    DatabentoError::NoBook { file: file.to_owned(), number, why: why.to_owned() }
}

fn unreadable(file: &str, why: String) -> DatabentoError {
    DatabentoError::Unreadable { file: file.to_owned(), why }
}

fn open(path: &Path) -> Result<File, DatabentoError> {
    File::open(path).map_err(|error| unreadable(&path.display().to_string(), error.to_string()))
}

/// Passes on the orders of a DBN file, plain or zstd, with the number of each record from 1.
fn each_record(
    reader: impl Read,
    file: &str,
    mut tell: impl FnMut(u64, &MboMsg) -> Result<(), DatabentoError>,
) -> Result<(), DatabentoError> {
    let text = |why: dbn::Error| match why {
        dbn::Error::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    };
    let mut reader = DynReader::new_inferred(reader).map_err(|why| unreadable(file, text(why)))?;
    // The crate's decoder ends at a cut record as at the end of the file; its state machine shows
    // the bytes that are left over.
    let mut fsm: DbnFsm = DbnFsm::builder()
        .upgrade_policy(VersionUpgradePolicy::default())
        .build()
        .map_err(|why| unreadable(file, text(why)))?;
    let mut number = 0;
    let mut prelude_checked = false;
    loop {
        if !prelude_checked && fsm.data().len() >= PRELUDE_BYTES {
            check_prelude(fsm.data()).map_err(|why| unreadable(file, why))?;
            prelude_checked = true;
        }
        match fsm.process() {
            ProcessResult::ReadMore(_) => match reader.read(fsm.space()) {
                Ok(0) if !fsm.has_decoded_metadata() => {
                    return Err(unreadable(file, "its header is cut".to_owned()));
                }
                Ok(0) if !fsm.data().is_empty() => {
                    let (number, bytes) = (number + 1, fsm.data().len());
                    let why = format!("record {number} is cut after {bytes} bytes");
                    return Err(unreadable(file, why));
                }
                Ok(0) => return Ok(()),
                Ok(bytes) => fsm.fill(bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(unreadable(file, format!("record {}: {error}", number + 1)));
                }
            },
            ProcessResult::Metadata(_) => {}
            ProcessResult::Record(()) => {
                number += 1;
                if let Some(record) = fsm.last_record().and_then(|record| record.get::<MboMsg>()) {
                    tell(number, record)?;
                }
            }
            ProcessResult::Err(why) => {
                return Err(unreadable(file, format!("record {}: {}", number + 1, text(why))));
            }
        }
    }
}

/// The crate reserves as many bytes as the header claims to have, up to 4 GiB.
fn check_prelude(bytes: &[u8]) -> Result<(), String> {
    let length = bytes[4..PRELUDE_BYTES].try_into().map_or(0, u32::from_le_bytes) as usize;
    if length <= HEADER_BYTES_MAX {
        return Ok(());
    }
    Err(format!(
        "its header claims {length} bytes, more than {HEADER_BYTES_MAX} (limit header_bytes_max)"
    ))
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
