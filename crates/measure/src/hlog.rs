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
use std::io::BufRead;
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
        Ok(())
    })?;
    Ok(intervals)
}

/// The sum of all lines of `log` per tag; holds one line and one histogram a tag, however long the log.
///
/// # Errors
/// As [`intervals`].
pub fn totals(log: impl BufRead) -> Result<Totals, HlogError> {
    match totals_so_far(log) {
        (totals, None) => Ok(totals),
        (_, Some(error)) => Err(error),
    }
}

/// Latencies by tag.
pub type Totals = BTreeMap<String, Histogram<u64>>;

/// As [`totals`], of what could be read before the error: a log may be cut off where its writer died
/// or its disk was full.
pub fn totals_so_far(log: impl BufRead) -> (Totals, Option<HlogError>) {
    let mut totals = Totals::new();
    let result = visit(log, |line, values| {
        let tag = line.tag().map_or("", |tag| tag.as_str());
        let total = totals.entry(tag.to_owned()).or_insert_with(histogram);
        total
            .add(values)
            .map_err(|error| HlogError(format!("a histogram of {tag:?} is out of bounds: {error}")))
    });
    (totals, result.err())
}

fn visit(
    mut log: impl BufRead,
    mut each: impl FnMut(&IntervalLogHistogram<'_>, Histogram<u64>) -> Result<(), HlogError>,
) -> Result<(), HlogError> {
    let mut deserializer = Deserializer::new();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let failed = |why: String| HlogError(format!("line {number}: {why}"));
        match log.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => return Err(failed(error.to_string())),
        }
        for entry in IntervalLogIterator::new(&line) {
            let entry = entry.map_err(|error| failed(format!("{error:?}")))?;
            if let LogEntry::Interval(interval) = entry {
                let bytes = base64::engine::general_purpose::STANDARD
                    .decode(interval.encoded_histogram())
                    .map_err(|error| failed(error.to_string()))?;
                let histogram = deserializer
                    .deserialize(&mut bytes.as_slice())
                    .map_err(|error| failed(error.to_string()))?;
                each(&interval, histogram)?;
            }
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
        assert!(totals(&b"\x00\xff\n"[..]).is_err());
    }

    #[test]
    fn an_empty_log_has_no_lines() {
        assert_eq!(intervals(b"#a comment\n").unwrap().len(), 0);
    }

    /// A writer that was killed, or a disk that was full: the whole lines count.
    #[test]
    fn a_log_that_was_cut_off_gives_what_was_whole() {
        let (mut recorder, drain) = crate::recorder::recorder(
            &[crate::recorder::Series::new("a", crate::record::Kind::Stage)],
            2.0,
        );
        recorder.start(0);
        recorder.record(0, 7);
        recorder.roll(crate::recorder::INTERVAL_NS);
        recorder.record(0, 9);
        recorder.finish(crate::recorder::INTERVAL_NS + 1);
        let mut log = Vec::new();
        drain.run("s", &mut log, std::time::SystemTime::now(), 0, &|| ()).unwrap();
        let (whole, error) = totals_so_far(&log[..log.len() - 20]);
        assert!(error.is_some());
        assert_eq!((whole["s.a.stage"].len(), whole["s.a.stage"].max()), (1, 7));
    }
}
