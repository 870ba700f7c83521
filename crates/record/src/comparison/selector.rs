//! Selects a figure of a record: `rust.order.service.p99`, or a shorter form.

use crate::nearest::did_you_mean;
use crate::over_floor::PairedPercentile;
use crate::{Kind, Percentiles, RunRecord, Series, Subject};
use stats::{PERCENTILES, is_supported};
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
    /// As users write it: `p99.9`, `max`.
    pub fn name(self) -> String {
        match self {
            Figure::Percentile(index) => PERCENTILES[index].0.replace('_', "."),
            Figure::Max => "max".to_owned(),
        }
    }

    /// Its key in a record: `p99_9`, `max`.
    pub fn key(self) -> String {
        match self {
            Figure::Percentile(index) => PERCENTILES[index].0.to_owned(),
            Figure::Max => "max".to_owned(),
        }
    }

    /// Its rank, from 0 to 1.
    pub fn rank(self) -> f64 {
        match self {
            Figure::Percentile(index) => PERCENTILES[index].1,
            Figure::Max => 1.0,
        }
    }

    /// Whether `count` samples support the figure (invariant 8).
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

/// `[SUBJECT.][SERIES.][KIND.]FIGURE`. The defaults are the first subject of the record, the series
/// `order`, and response time, or service time if the series has no response time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The subject; `None`: the first one.
    pub subject: Option<String>,
    /// The series' name.
    pub series: String,
    /// The kind; `None`: response time, or service time if there is none.
    pub kind: Option<Kind>,
    /// The figure.
    pub figure: Figure,
}

impl Selector {
    /// The selected series of `record`.
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

    /// Why `record` lacks the figure, with the names that may be meant; `None` if it has it.
    pub fn lacking(&self, record: &RunRecord) -> Option<String> {
        if self.series(record).is_some() {
            return None;
        }
        let names = || record.subjects.iter().map(|subject| subject.name.as_str());
        let subject = match &self.subject {
            Some(name) => match record.subject(name) {
                Some(subject) => subject,
                None if names_a_series(record, name) => return Some(self.lacking_kind(name)),
                None => {
                    let (meant, all) = (did_you_mean(name, names()), names().collect::<Vec<_>>());
                    let all = all.join(", ");
                    return Some(format!("there is no subject {name:?}.{meant} There are: {all}"));
                }
            },
            None => record.subjects.first()?,
        };
        let known: Vec<String> = subject.series.iter().map(Series::own_tag).collect();
        let asked = match self.kind {
            Some(kind) => format!("{}.{}", self.series, kind.name()),
            None => self.series.clone(),
        };
        let meant = did_you_mean(&asked, known.iter().map(String::as_str));
        Some(format!("there is no series {asked:?}.{meant} There are: {}", known.join(", ")))
    }

    /// An error for a kind that the series lacks. It covers a misspelt kind that looks like a
    /// series, as in `order.respons.p99`.
    pub fn lacking_kind(&self, series: &str) -> String {
        let kinds = [Kind::Response, Kind::Service].map(Kind::name);
        let (asked, known) = (&self.series, kinds.join(", "));
        let meant = did_you_mean(asked, kinds);
        format!("the series {series} has no kind {asked:?}.{meant} There are: {known}")
    }

    /// The bracket of the figure in `record`; `None` if unknown. A maximum has none.
    pub fn bracket(&self, record: &RunRecord) -> Option<[u64; 2]> {
        let series = self.series(record)?;
        let Figure::Percentile(index) = self.figure else { return None };
        let (name, quantile) = PERCENTILES[index];
        // A record older than schema 2 has no brackets: all of its figures hold, or none.
        let as_it_is = self.value(record).filter(|_| series.holds(quantile));
        series.bracket.get(name).copied().or(as_it_is.map(|value| [value, value]))
    }

    /// The figure over its floor in `record`; `None` if unknown. A maximum has none.
    pub fn ratio<'a>(&self, record: &'a RunRecord) -> Option<&'a PairedPercentile> {
        let Figure::Percentile(index) = self.figure else { return None };
        let over = self.series(record)?.over_floor.as_ref()?;
        over.figures.get(PERCENTILES[index].0)
    }

    /// The pooled figure in `record`.
    pub fn value(&self, record: &RunRecord) -> Option<u64> {
        self.figure.of(&self.series(record)?.pooled)
    }
}

/// Whether the first subject of `record` has a series of that name.
fn names_a_series(record: &RunRecord, name: &str) -> bool {
    record.subjects.first().is_some_and(|first| first.series.iter().any(|one| one.name == name))
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

/// The text is not a selector.
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
        // A percentile may contain a dot, so its first part may not be the last part of the text.
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
