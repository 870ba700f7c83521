//! Which figure of a record is meant: `rust.order.service.p99`, or less of it.

use crate::record::{Kind, Percentiles, RunRecord, Series, Subject};
use crate::stats::{PERCENTILES, is_supported};
use std::fmt;
use std::str::FromStr;

/// A figure of a series: one of its percentiles, or its maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Index into [`PERCENTILES`].
    Percentile(usize),
    /// The largest value.
    Max,
}

impl Figure {
    /// As people write it: `p99.9`, `max`.
    pub fn name(self) -> String {
        match self {
            Figure::Percentile(index) => PERCENTILES[index].0.replace('_', "."),
            Figure::Max => "max".to_owned(),
        }
    }

    /// Whether `count` samples support it (invariant 8).
    pub fn is_told_by(self, count: u64) -> bool {
        match self {
            Figure::Percentile(index) => is_supported(count, PERCENTILES[index].1),
            Figure::Max => count > 0,
        }
    }

    /// Its value; `None` where the sample can't support it.
    pub fn of(self, percentiles: &Percentiles) -> Option<u64> {
        match self {
            Figure::Percentile(index) => percentiles.values()[index],
            Figure::Max => (percentiles.count > 0).then_some(percentiles.max),
        }
    }
}

impl FromStr for Figure {
    type Err = ();

    fn from_str(text: &str) -> Result<Figure, ()> {
        if text == "max" {
            return Ok(Figure::Max);
        }
        let name = text.replace('.', "_");
        let index = PERCENTILES.iter().position(|(known, _)| *known == name);
        index.map(Figure::Percentile).ok_or(())
    }
}

/// `[SUBJECT.][SERIES.][KIND.]FIGURE`. What is left out is the first subject of the record, the series
/// `order`, and the first kind of response and service that the series has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// Of which subject.
    pub subject: Option<String>,
    /// Of which series.
    pub series: String,
    /// Of which kind.
    pub kind: Option<Kind>,
    /// Which figure.
    pub figure: Figure,
}

impl Selector {
    /// The series that is meant, in `record`.
    pub fn series<'a>(&self, record: &'a RunRecord) -> Option<&'a Series> {
        let subject: &Subject = match &self.subject {
            Some(name) => record.subject(name)?,
            None => record.subjects.first()?,
        };
        let kinds = match &self.kind {
            Some(kind) => std::slice::from_ref(kind),
            None => &[Kind::Response, Kind::Service],
        };
        kinds.iter().find_map(|kind| subject.series(&self.series, *kind))
    }

    /// The pooled figure that is meant, in `record`.
    pub fn value(&self, record: &RunRecord) -> Option<u64> {
        self.figure.of(&self.series(record)?.pooled)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(subject) = &self.subject {
            write!(f, "{subject}.")?;
        }
        write!(f, "{}.", self.series)?;
        if let Some(kind) = self.kind {
            write!(f, "{}.", kind.name())?;
        }
        f.write_str(&self.figure.name())
    }
}

/// Not a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSelector {
    text: String,
    why: String,
}

impl fmt::Display for BadSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} {}; write [SUBJECT.][SERIES.][KIND.]FIGURE, such as p99, order.service.p99.9 or max",
            self.text, self.why
        )
    }
}

impl std::error::Error for BadSelector {}

impl FromStr for Selector {
    type Err = BadSelector;

    fn from_str(text: &str) -> Result<Selector, BadSelector> {
        let bad = |why: &str| BadSelector { text: text.to_owned(), why: why.to_owned() };
        // A percentile has dots of its own: it begins at the last part that begins one.
        let parts: Vec<&str> = text.split('.').collect();
        let (begins, figure) = (0..parts.len())
            .rev()
            .find_map(|at| Some((at, parts[at..].join(".").parse::<Figure>().ok()?)))
            .ok_or_else(|| {
                bad("names no percentile that is measured (p50, p90, p95, p99, p99.9 …)")
            })?;
        let mut parts = parts[..begins].to_vec();
        if parts.iter().any(|part| part.is_empty()) {
            return Err(bad("has an empty part"));
        }
        let kind = parts.last().and_then(|part| Kind::from_name(part));
        if kind.is_some() {
            parts.pop();
        }
        let (subject, series) = match parts[..] {
            [] => (None, "order"),
            [series] => (None, series),
            [subject, series] => (Some(subject.to_owned()), series),
            _ => return Err(bad("has too many parts")),
        };
        Ok(Selector { subject, series: series.to_owned(), kind, figure })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        match text.parse::<Selector>() {
            Ok(selector) => selector.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn parts_may_be_left_out_from_the_left() {
        assert_eq!(parsed("p99"), "order.p99");
        assert_eq!(parsed("service.p99.9"), "order.service.p99.9");
        assert_eq!(parsed("cancel.max"), "cancel.max");
        assert_eq!(parsed("rust.cycle.service.p99_99"), "rust.cycle.service.p99.99");
        assert_eq!(parsed("rust.order.p50"), "rust.order.p50");
    }

    #[test]
    fn what_is_no_selector_says_why() {
        for text in ["", "p98", "order.service", "a.b.c.service.p99", ".p99", "order..p99"] {
            let error = text.parse::<Selector>().unwrap_err().to_string();
            assert!(error.contains("such as p99"), "{text}: {error}");
        }
    }
}
