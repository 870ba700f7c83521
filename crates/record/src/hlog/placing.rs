//! Places the intervals of a log in wall-clock time, as the reference reader of HdrHistogram does,
//! but block by block: each process of a run appends a block of its own.
//!
//! | header of the block | start of an interval |
//! |---|---|
//! | `BaseTime` | seconds after it |
//! | only `StartTime` | seconds after it, if more than a year before it; otherwise since 1970 |
//! | neither | seconds since 1970 |

use crate::hlog::LogLine;

/// Times further than this before `StartTime` are relative to it: the reference reader's rule, s.
const ABSOLUTE_SINCE_SECONDS: f64 = 365.0 * 24.0 * 3600.0;
const START: &[u8] = b"#[StartTime:";
const BASE: &[u8] = b"#[BaseTime:";
/// Lines of a header that carry no time.
const OTHERS: [&[u8]; 2] = [b"#[Histogram log format", b"\"StartTimestamp\""];

/// The times of the block that is being read.
#[derive(Debug, Default)]
pub(crate) struct BlockTimes {
    start: Option<f64>,
    base: Option<f64>,
    /// The subject of its intervals; `None` before the first.
    subject: Option<String>,
}

/// An interval in wall-clock time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PlacedInterval {
    /// Seconds since 1970, if the block's writer says so; see the module's table.
    pub start: f64,
    /// It is the first of its block.
    pub begins_block: bool,
}

impl BlockTimes {
    /// Takes a line that is no interval. A header after an interval begins the next block.
    ///
    /// # Errors
    /// If its time is not a number.
    pub(crate) fn header(&mut self, line: &[u8]) -> Result<(), String> {
        let is_time = line.starts_with(START) || line.starts_with(BASE);
        if !is_time && !OTHERS.iter().any(|other| line.starts_with(other)) {
            return Ok(());
        }
        if self.subject.is_some() {
            *self = BlockTimes::default();
        }
        if let Some(text) = line.strip_prefix(START) {
            self.start = Some(seconds(text).ok_or("its StartTime is not a number")?);
        } else if let Some(text) = line.strip_prefix(BASE) {
            self.base = Some(seconds(text).ok_or("its BaseTime is not a number")?);
        }
        Ok(())
    }

    /// Places an interval. One of another subject than the interval before it begins a block
    /// without a header.
    pub(crate) fn interval(&mut self, line: &LogLine<'_>) -> PlacedInterval {
        let subject = line.tag.rsplitn(3, '.').nth(2).unwrap_or_default();
        let begins_block = self.subject.as_deref() != Some(subject);
        if begins_block {
            if self.subject.is_some() {
                *self = BlockTimes::default();
            }
            self.subject = Some(subject.to_owned());
        }
        // The first interval decides for its block.
        let relative_to = |start: f64| match line.start < start - ABSOLUTE_SINCE_SECONDS {
            true => start,
            false => 0.0,
        };
        let base = *self.base.get_or_insert_with(|| self.start.map_or(0.0, relative_to));
        PlacedInterval { start: base + line.start, begins_block }
    }
}

fn seconds(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let number = text.trim_start().split(|c: char| c.is_whitespace() || c == ']').next()?;
    number.parse().ok().filter(|seconds: &f64| seconds.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts of the intervals of a log of headers and `subject start` lines.
    fn placed(log: &[&str]) -> Vec<f64> {
        let mut placing = BlockTimes::default();
        let mut starts = Vec::new();
        for line in log {
            match line.split_once(' ').filter(|_| !line.starts_with(['#', '"'])) {
                Some((subject, start)) => {
                    let tag = format!("{subject}.order.service");
                    let start = start.parse().unwrap();
                    let line = LogLine { tag: &tag, start, length: 1.0, encoded: b"" };
                    starts.push(placing.interval(&line).start);
                }
                None => placing.header(line.as_bytes()).unwrap(),
            }
        }
        starts
    }

    #[test]
    fn each_header_places_the_intervals_as_the_reference_reader_does() {
        let start = "#[StartTime: 1700000000.000 (seconds since epoch), now]";
        let base = "#[BaseTime: 1700000005.000 (seconds since epoch)]";
        let legend = "\"StartTimestamp\",\"Interval_Length\"";
        assert_eq!(placed(&[start, base, legend, "a 2"]), [1_700_000_007.0]);
        assert_eq!(placed(&[base, start, "a 2", "a 3"]), [1_700_000_007.0, 1_700_000_008.0]);
        assert_eq!(placed(&[start, "a 2"]), [1_700_000_002.0]);
        assert_eq!(placed(&[start, "a 1700000002"]), [1_700_000_002.0]);
        assert_eq!(placed(&["a 1700000002"]), [1_700_000_002.0]);
        assert_eq!(placed(&["a 2"]), [2.0]);
        assert_eq!(placed(&[base, "a -0.25"]), [1_700_000_004.75]);
    }

    /// The base of the floor's log once moved the client's absolute times by half a century, so
    /// that nothing disturbed them.
    #[test]
    fn a_base_is_that_of_its_block_only() {
        let base = "#[BaseTime: 1700000000.000 (seconds since epoch)]";
        let start = "#[StartTime: 1700000010.000 (seconds since epoch), now]";
        let absolute = "a 1700000011";
        let expected = [1_700_000_001.0, 1_700_000_011.0];
        assert_eq!(placed(&[base, "floor 1", start, absolute]), expected);
        assert_eq!(
            placed(&[base, "floor 1", "#[Histogram log format version 1.3]", absolute]),
            expected
        );
        assert_eq!(placed(&[base, "floor 1", absolute]), expected);
        // Any other comment belongs to the block.
        assert_eq!(placed(&[base, "a 1", "#[a comment]", "a 11"]), expected);
    }

    #[test]
    fn a_time_that_is_no_number_is_an_error() {
        for line in ["#[StartTime: soon]", "#[BaseTime:", "#[BaseTime: NaN (seconds)]"] {
            assert!(BlockTimes::default().header(line.as_bytes()).is_err(), "{line}");
        }
    }
}
