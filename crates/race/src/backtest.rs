//! Latencies of runs as order latencies for hftbacktest: an archive that its `intp_order_latency`
//! reads.
//!
//! The backtester interpolates between two rows, which would average the tail away. So each drawn
//! latency has two rows, one at each end of its part of the second: between them it is constant,
//! and requests at random times meet the log's distribution.

mod bursts;

pub use bursts::ByIntensity;

use crate::error::{RaceError, in_range};
use crate::latency::CumulativeBlock;
use crate::random::generator;
use crate::recorded;
use clock::random::SplitMix64;
use std::io::{Cursor, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The most rows of an archive: 320 MB.
pub const ROWS_MAX: u64 = 10_000_000;

const SECOND_NS: i64 = 1_000_000_000;
/// A row's fields, as the backtester names them.
const FIELDS: [&str; 4] = ["req_ts", "exch_ts", "resp_ts", "_padding"];
/// The array's data begins at a multiple of this; the backtester maps it and asks for 64.
const ALIGNMENT: usize = 128;
/// Magic number, version and length, before the header's text.
const PREAMBLE: usize = 10;

/// Which latencies an archive gets, and for which time.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderLatencies {
    /// From the request to the exchange: `subject.series.kind`. Without `response`, a round trip.
    pub entry: String,
    /// From the exchange back. `None`: each way takes half of the round trip.
    pub response: Option<String>,
    /// Time of the first row, ns since 1970.
    pub start_ns: i64,
    /// Time that the rows cover, seconds; the log's seconds repeat, in their order.
    pub seconds: u32,
    /// Drawn latencies a second, 1 to 100 000. Each has two rows.
    pub draws_per_second: u32,
}

/// A row: an order's request, its arrival at the exchange, and the response's arrival, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderLatencyRow {
    /// The request's time.
    pub req_ts: i64,
    /// Its arrival at the exchange.
    pub exch_ts: i64,
    /// The response's arrival.
    pub resp_ts: i64,
}

impl OrderLatencies {
    /// The rows from the logs of a run. Each second has the distribution of one second of the log,
    /// in random order: the order within a second is not in the log.
    ///
    /// # Errors
    /// If the run is void or has no such series, or there would be more than [`ROWS_MAX`] rows.
    pub fn rows(&self, run: &Path) -> Result<Vec<OrderLatencyRow>, RaceError> {
        in_range("--draws-per-second", f64::from(self.draws_per_second), 1.0, 1e5)?;
        let rows = 2 * u64::from(self.seconds) * u64::from(self.draws_per_second);
        in_range("the number of rows (limit rows_max)", rows as f64, 1.0, ROWS_MAX as f64)?;
        let read = |tag: &str| {
            let blocks = recorded::blocks(run, Some(tag))?;
            Ok(blocks.iter().map(|block| CumulativeBlock::new(block)).collect::<Vec<_>>())
        };
        let entry = read(&self.entry)?;
        let response = self.response.as_deref().map(read).transpose()?;
        Ok(self.draw(&entry, response.as_deref()))
    }

    fn draw(
        &self,
        entry: &[CumulativeBlock],
        response: Option<&[CumulativeBlock]>,
    ) -> Vec<OrderLatencyRow> {
        let step_ns = SECOND_NS / i64::from(self.draws_per_second);
        let mut rows = Vec::new();
        for second in 0..self.seconds {
            let draws = |of: &[CumulativeBlock], stream: u64| {
                let block = &of[second as usize % of.len()];
                let mut random = generator(0, stream, u64::from(second));
                shares(self.draws_per_second, &mut random)
                    .into_iter()
                    .map(|share| block.at(share))
                    .collect::<Vec<u64>>()
            };
            let entries = draws(entry, 0);
            let responses = response.map(|response| draws(response, 1));
            for (place, drawn) in entries.iter().enumerate() {
                let (entry_ns, response_ns) = match &responses {
                    Some(responses) => (*drawn, responses[place]),
                    None => (drawn / 2, drawn - drawn / 2),
                };
                let from_ns =
                    self.start_ns + i64::from(second) * SECOND_NS + place as i64 * step_ns;
                rows.extend([from_ns, from_ns + step_ns - 1].map(|req_ts| {
                    let exch_ts = req_ts + entry_ns as i64;
                    OrderLatencyRow { req_ts, exch_ts, resp_ts: exch_ts + response_ns as i64 }
                }));
            }
        }
        rows
    }
}

/// One share of each of `n` equal parts of `(0, 1]`, in random order.
fn shares(n: u32, random: &mut SplitMix64) -> Vec<f64> {
    let mut shares: Vec<f64> =
        (0..n).map(|part| (f64::from(part) + random.unit_open()) / f64::from(n)).collect();
    for last in (1..n).rev() {
        shares.swap(last as usize, random.below(last + 1) as usize);
    }
    shares
}

/// The rows as a NumPy archive with one array, `data`.
///
/// # Errors
/// If the archive can't be made.
pub fn npz(rows: &[OrderLatencyRow]) -> Result<Vec<u8>, RaceError> {
    let archived = || {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        archive.start_file("data.npy", options)?;
        archive.write_all(&npy(rows))?;
        Ok::<_, zip::result::ZipError>(archive.finish()?.into_inner())
    };
    archived().map_err(|error| RaceError::Archive(error.to_string()))
}

/// A NumPy array of structures, format version 1.0.
fn npy(rows: &[OrderLatencyRow]) -> Vec<u8> {
    let fields = FIELDS.map(|name| format!("('{name}', '<i8')")).join(", ");
    let shape = rows.len();
    let dictionary =
        format!("{{'descr': [{fields}], 'fortran_order': False, 'shape': ({shape},), }}");
    let data_at = (PREAMBLE + dictionary.len() + 1).next_multiple_of(ALIGNMENT);
    let width = data_at - PREAMBLE - 1;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&((width + 1) as u16).to_le_bytes());
    bytes.extend_from_slice(format!("{dictionary:<width$}\n").as_bytes());
    for row in rows {
        for field in [row.req_ts, row.exch_ts, row.resp_ts, 0] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
    }
    bytes
}

#[cfg(test)]
#[path = "backtest_tests.rs"]
mod tests;
