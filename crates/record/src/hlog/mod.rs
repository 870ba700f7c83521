//! Reads HdrHistogram interval logs of any writer. A file may contain several logs, because all
//! processes of a run append to one.

pub(crate) mod placing;
pub mod slices;
pub(crate) mod sparse;

use crate::hlog::placing::BlockTimes;
use crate::hlog::sparse::{ENCODED_BYTES_MAX, Sum};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::io::{BufRead, Read};

/// The longest line: the longest histogram in base64, and the text before it.
const LINE_BYTES_MAX: usize = ENCODED_BYTES_MAX / 3 * 4 + 4096;
/// Times in a log must be below this.
const SECONDS_MAX: f64 = 1e12;

/// Why a log can't be read.
#[derive(Debug, PartialEq, Eq)]
pub struct HlogError(String);

impl HlogError {
    /// A log that can't be opened.
    pub(crate) fn of(error: &std::io::Error) -> HlogError {
        HlogError(error.to_string())
    }
}

impl std::fmt::Display for HlogError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "not a readable HdrHistogram log: {}", self.0)
    }
}

impl std::error::Error for HlogError {}

/// One interval of a log.
#[derive(Debug, PartialEq)]
pub(crate) struct LogLine<'a> {
    /// `subject.series.kind`; empty where the line has no tag.
    pub tag: &'a str,
    /// Its start in seconds, as written: [`BlockTimes`] says since when.
    pub start: f64,
    /// Its duration, seconds.
    pub length: f64,
    /// Its histogram in base64.
    pub encoded: &'a [u8],
}

/// Parses one line with its newline; `None` for comments, headers and empty lines.
///
/// # Errors
/// If the line is malformed or incomplete.
pub(crate) fn parse(line: &[u8]) -> Result<Option<LogLine<'_>>, String> {
    if line.starts_with(b"#") || line.starts_with(b"\"StartTimestamp\"") {
        return Ok(None);
    }
    let Some(text) = line.strip_suffix(b"\n") else { return Err("it is incomplete".to_owned()) };
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    if text.is_empty() {
        return Ok(None);
    }
    // The histogram is the last field and contains no comma.
    let comma = text.iter().take(LINE_HEAD_BYTES_MAX).rposition(|byte| *byte == b',');
    let (head, encoded) = text.split_at(comma.ok_or("it is not an interval")?);
    let head = std::str::from_utf8(head).map_err(|_| "it is not UTF-8 text")?;
    let (tag, times) = match head.strip_prefix("Tag=") {
        Some(rest) => rest.split_once(',').ok_or("it has no times")?,
        None => ("", head),
    };
    let mut numbers = times.split(',').map(|number| number.trim().parse::<f64>().ok());
    let mut next = |least: f64| {
        let seconds = numbers.next().ok_or("it has too few times")?;
        seconds
            .filter(|seconds| (least..SECONDS_MAX).contains(seconds))
            .ok_or("its times are not numbers in range")
    };
    // The first interval may begin slightly before the base time.
    let (start, length) = (next(-SECONDS_MAX)?, next(0.0)?);
    Ok(Some(LogLine { tag, start, length, encoded: &encoded[1..] }))
}

/// Tag and times of a line lie within this.
const LINE_HEAD_BYTES_MAX: usize = 4096;

/// Reads the next line, with its newline, into `line`. False at the end of the log.
///
/// # Errors
/// If the log can't be read, or a line is longer than [`LINE_BYTES_MAX`].
pub(crate) fn next_line(log: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool, String> {
    line.clear();
    let mut limited = log.take(LINE_BYTES_MAX as u64);
    match limited.read_until(b'\n', line) {
        Ok(LINE_BYTES_MAX) => Err(format!("it is longer than {LINE_BYTES_MAX} bytes")),
        Ok(length) => Ok(length > 0),
        Err(error) => Err(error.to_string()),
    }
}

/// Begin and end of the time for which `log` has values of `subject`, seconds since 1970.
///
/// # Errors
/// If there are none, or a line can't be read: it may be one of them.
pub fn measured_part(mut log: impl BufRead, subject: &str) -> Result<(f64, f64), String> {
    let mut placing = BlockTimes::default();
    let mut part: Option<(f64, f64)> = None;
    let mut line = Vec::new();
    let mut take_next = || {
        if !next_line(&mut log, &mut line)? {
            return Ok(false);
        }
        let Some(interval) = parse(&line)? else {
            placing.header(&line)?;
            return Ok(true);
        };
        let from = placing.interval(&interval).start;
        if interval.tag.strip_prefix(subject).is_some_and(|rest| rest.starts_with('.')) {
            let to = from + interval.length;
            let so_far = part.unwrap_or((from, to));
            part = Some((so_far.0.min(from), so_far.1.max(to)));
        }
        Ok::<bool, String>(true)
    };
    for number in 1.. {
        match take_next() {
            Ok(true) => {}
            Ok(false) => break,
            Err(why) => return Err(format!("line {number} of the log can't be read: {why}")),
        }
    }
    part.ok_or_else(|| "the log has no interval of it".to_owned())
}

/// The sum of all lines of `log` per tag. Memory: one line, and one histogram per tag, for a log of
/// any length.
///
/// # Errors
/// If a line is neither a comment, a header nor an interval with a V2 histogram.
pub fn totals(log: impl BufRead) -> Result<Totals, HlogError> {
    match totals_so_far(log) {
        (totals, None) => Ok(totals),
        (_, Some(error)) => Err(error),
    }
}

/// Latencies by tag.
pub type Totals = BTreeMap<String, Histogram<u64>>;

/// As [`totals`], up to the first error: a log may be incomplete because its writer died or its
/// disk was full.
pub fn totals_so_far(log: impl BufRead) -> (Totals, Option<HlogError>) {
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    let read = slices::each(log, |tag, layout, counts| {
        if !sums.contains_key(tag) {
            sums.insert(tag.to_owned(), Sum::new());
        }
        sums.get_mut(tag).expect("inserted above").add(layout, counts)
    });
    let totals = sums.into_iter().map(|(tag, mut sum)| (tag, sum.total().clone())).collect();
    (totals, read.err())
}

#[cfg(test)]
mod recorder_tests;
#[cfg(test)]
pub(crate) mod tests;
