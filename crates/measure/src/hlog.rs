//! Reading HdrHistogram interval logs, whoever wrote them. Several logs may follow each other in one
//! file, as several processes of one run append to it.

use crate::recorder::histogram;
use base64::Engine;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogHistogram, IntervalLogIterator, LogEntry,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// One line of a log.
pub struct Interval {
    /// `subject.series.kind`; empty where the line has no tag.
    pub tag: String,
    /// Its start, after the start of the log that it stands in.
    pub offset: Duration,
    /// How long it lasted.
    pub length: Duration,
    /// Its values, ns.
    pub histogram: Histogram<u64>,
}

/// Why a log can't be read.
#[derive(Debug, PartialEq, Eq)]
pub struct HlogError(String);

impl std::fmt::Display for HlogError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not a readable HdrHistogram log: {}", self.0)
    }
}

impl std::error::Error for HlogError {}

/// Every line of `log`, in order.
///
/// # Errors
/// If a line is neither a comment, a header nor an interval with a V2 histogram.
pub fn intervals(log: &[u8]) -> Result<Vec<Interval>, HlogError> {
    let mut intervals = Vec::new();
    visit(log, |line, histogram| {
        intervals.push(Interval {
            tag: line.tag().map_or_else(String::new, |tag| tag.as_str().to_owned()),
            offset: line.start_timestamp(),
            length: line.duration(),
            histogram,
        });
    })?;
    Ok(intervals)
}

/// The sum of all lines of `log` per tag; holds one histogram a tag, however long the log.
///
/// # Errors
/// As [`intervals`].
pub fn totals(log: &[u8]) -> Result<BTreeMap<String, Histogram<u64>>, HlogError> {
    let mut totals: BTreeMap<String, Histogram<u64>> = BTreeMap::new();
    let mut result = Ok(());
    visit(log, |line, values| {
        let tag = line.tag().map_or("", |tag| tag.as_str());
        let total = totals.entry(tag.to_owned()).or_insert_with(histogram);
        if let Err(error) = total.add(values) {
            result = Err(HlogError(format!("a histogram of {tag:?} is out of bounds: {error}")));
        }
    })?;
    result.map(|()| totals)
}

fn visit(
    log: &[u8],
    mut each: impl FnMut(&IntervalLogHistogram<'_>, Histogram<u64>),
) -> Result<(), HlogError> {
    let mut deserializer = Deserializer::new();
    for entry in IntervalLogIterator::new(log) {
        let entry = entry.map_err(|error| HlogError(format!("{error:?}")))?;
        if let LogEntry::Interval(line) = entry {
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(line.encoded_histogram())
                .map_err(|error| HlogError(error.to_string()))?;
            let histogram = deserializer
                .deserialize(&mut bytes.as_slice())
                .map_err(|error| HlogError(error.to_string()))?;
            each(&line, histogram);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_is_an_error_not_a_panic() {
        assert!(intervals(b"Tag=a,0.1,1.0,2.0,!!!!\n").is_err());
        assert!(intervals(b"Tag=a,0.1,1.0,2.0,AAAA\n").is_err());
        assert!(totals(b"\x00\xff\n").is_err());
    }

    #[test]
    fn an_empty_log_has_no_lines() {
        assert_eq!(intervals(b"#a comment\n").unwrap().len(), 0);
    }
}
