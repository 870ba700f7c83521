//! An objective: a limit for a figure of a record, such as `p99 < 100us`, or for its ratio to the
//! floor, such as `p50 / floor <= 1.2`.

use crate::Load;
use crate::RunRecord;
use crate::comparison::compared::OVER_FLOOR;
use crate::comparison::selector::{BadSelector, Figure, Selector};
use crate::unit::Unit;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// `SELECTOR < LIMIT` or `SELECTOR <= LIMIT`, where the selector may end with `/ floor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Objective {
    /// The figure.
    pub selector: Selector,
    /// The unit of the limit: `Ppm` for a ratio to the floor.
    pub unit: Unit,
    /// The limit, in that unit.
    pub limit: u64,
    /// Whether the limit itself is allowed.
    pub or_equal: bool,
    /// As it was written.
    text: String,
}

/// The longest measurable latency: an hour.
const LIMIT_NS_MAX: f64 = 3.6e12;
/// Ratios to the floor.
const RATIO_MIN: f64 = 0.001;
const RATIO_MAX: f64 = 1e6;
const PPM: f64 = 1e6;
const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

impl Objective {
    /// The figure in `record`, in the objective's unit: pooled, or the median over runs of its
    /// ratio to the floor. `None` if the record lacks it or the sample can't support it.
    pub fn value(&self, record: &RunRecord) -> Option<u64> {
        match self.unit {
            Unit::Ns => self.selector.value(record),
            Unit::Ppm => self.selector.ratio(record).map(|figure| millionths(figure.ratio)),
        }
    }

    /// The two values between which the undisturbed figure lies, in the objective's unit; `None`
    /// if unknown.
    pub fn bracket(&self, record: &RunRecord) -> Option<[u64; 2]> {
        match self.unit {
            Unit::Ns => self.selector.bracket(record),
            Unit::Ppm => Some(self.selector.ratio(record)?.ratio_bracket?.map(millionths)),
        }
    }

    /// The figure's name: `p99`, `p50 / floor`.
    pub fn figure(&self) -> String {
        format!("{}{}", self.selector.figure.name(), self.over_floor())
    }

    /// The end of the figure's name: ` / floor` if it is a ratio.
    pub(crate) fn over_floor(&self) -> &'static str {
        match self.unit {
            Unit::Ns => "",
            Unit::Ppm => OVER_FLOOR,
        }
    }

    /// Whether a load of datagrams lost any, if that is what the objective asks: that the slowest
    /// reply came in the time that was waited for it. Losses are counted, so that no bracket is
    /// needed. `None` for other objectives and loads.
    pub fn loses(&self, load: &Load) -> Option<bool> {
        let patience_ns = load.datagrams?.patience_ns;
        let asks = self.selector.figure == Figure::Max && self.limit == patience_ns;
        asks.then_some(load.lost > 0)
    }

    /// Whether `value`, in the objective's unit, meets it.
    pub fn is_met_by(&self, value: u64) -> bool {
        value < self.limit || self.or_equal && value == self.limit
    }
}

/// A ratio in parts per million.
fn millionths(ratio: f64) -> u64 {
    (ratio * PPM).round() as u64
}

/// As it was written, with single spaces.
impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Objective> for String {
    fn from(objective: Objective) -> String {
        objective.text
    }
}

impl TryFrom<String> for Objective {
    type Error = BadObjective;

    fn try_from(text: String) -> Result<Objective, BadObjective> {
        text.parse()
    }
}

/// The text is not an objective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadObjective {
    /// It is not a figure, a comparison and a limit.
    Malformed {
        /// As given.
        text: String,
        /// The reason.
        why: &'static str,
    },
    /// The figure is not one that tickpath measures.
    Selector(BadSelector),
}

impl fmt::Display for BadObjective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadObjective::Malformed { text, why } => {
                write!(
                    f,
                    "{text:?} {why}; write FIGURE < LIMIT, such as \"p99 < 100us\" or \"p50 / floor <= 1.2\""
                )
            }
            BadObjective::Selector(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BadObjective {}

impl FromStr for Objective {
    type Err = BadObjective;

    fn from_str(text: &str) -> Result<Objective, BadObjective> {
        let bad = |why| BadObjective::Malformed { text: text.to_owned(), why };
        if text.contains('>') {
            return Err(bad("asks for more latency: an objective is an upper bound"));
        }
        let (figure, limit) = text.split_once('<').ok_or_else(|| bad("has no < or <="))?;
        let (or_equal, limit) = match limit.strip_prefix('=') {
            Some(limit) => (true, limit.trim()),
            None => (false, limit.trim()),
        };
        let comparison = if or_equal { "<=" } else { "<" };
        let (figure, over_floor) = match figure.split_once('/') {
            Some((figure, below)) if below.trim() == "floor" => (figure.trim(), OVER_FLOOR),
            Some(_) => return Err(bad("has a ratio to something else than the floor")),
            None => (figure.trim(), ""),
        };
        let selector: Selector = figure.parse().map_err(BadObjective::Selector)?;
        let (unit, limit) = if over_floor.is_empty() {
            (Unit::Ns, latency(limit))
        } else if selector.figure == Figure::Max {
            return Err(bad("asks for a maximum, which has no ratio to the floor"));
        } else {
            (Unit::Ppm, ratio(limit))
        };
        let (limit, written) = limit.map_err(bad)?;
        let text = format!("{figure}{over_floor} {comparison} {written}");
        Ok(Objective { selector, unit, limit, or_equal, text })
    }
}

/// A limit such as `100us` in ns, and as it is written again.
pub(crate) fn latency(limit: &str) -> Result<(u64, String), &'static str> {
    let begins = limit.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(limit.len());
    let (number, unit) = limit.split_at(begins);
    let known = UNITS.iter().find(|(known, _)| *known == unit);
    let (_, ns) = known.ok_or("needs a unit behind its number: ns, us, ms or s")?;
    let number: f64 = number.trim().parse().map_err(|_| "has no number as its limit")?;
    let limit_ns = (number * ns).round();
    if !(1.0..=LIMIT_NS_MAX).contains(&limit_ns) {
        return Err("has a limit outside of 1 ns to an hour");
    }
    Ok((limit_ns as u64, format!("{number}{unit}")))
}

/// A ratio such as `1.2` or `1.2x` in millionths, and as it is written again.
fn ratio(limit: &str) -> Result<(u64, String), &'static str> {
    let number = limit.strip_suffix('x').unwrap_or(limit).trim();
    let ratio: f64 = number.parse().map_err(|_| "has no number as its limit")?;
    if !(RATIO_MIN..=RATIO_MAX).contains(&ratio) {
        return Err("has a ratio outside of 0.001 to a million");
    }
    Ok((millionths(ratio), ratio.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Datagrams;
    use proptest::prelude::*;

    fn parsed(text: &str) -> (String, u64, bool) {
        let objective: Objective = text.parse().unwrap();
        assert_eq!(objective.to_string().parse::<Objective>().unwrap(), objective);
        (objective.to_string(), objective.limit, objective.or_equal)
    }

    /// The maximum has no bracket, so that no rate could be told to lose nothing.
    #[test]
    fn whether_datagrams_were_lost_needs_no_bracket() {
        let load = |lost, patience_ns| Load {
            lost,
            datagrams: Some(Datagrams { patience_ns, late: 0 }),
            ..Load::default()
        };
        let loses = |text: &str, load: &Load| text.parse::<Objective>().unwrap().loses(load);
        assert_eq!(loses("request.service.max < 1s", &load(0, 1_000_000_000)), Some(false));
        assert_eq!(loses("request.service.max < 1s", &load(1, 1_000_000_000)), Some(true));
        assert_eq!(loses("request.service.max < 900ms", &load(1, 1_000_000_000)), None);
        assert_eq!(loses("p99 < 1s", &load(1, 1_000_000_000)), None);
        assert_eq!(loses("max < 1s", &Load { lost: 1, ..Load::default() }), None);
    }

    #[test]
    fn spaces_are_free_and_units_are_four() {
        assert_eq!(parsed("p99<100us"), ("p99 < 100us".into(), 100_000, false));
        assert_eq!(parsed(" p99.9 <= 1.50 ms "), ("p99.9 <= 1.5ms".into(), 1_500_000, true));
        let long = "rust.order.service.max < 2s";
        assert_eq!(parsed(long), (long.into(), 2_000_000_000, false));
        assert_eq!(parsed("service.p50 < 900ns"), ("service.p50 < 900ns".into(), 900, false));
        let ratio = ("order.p50 / floor <= 1.2".into(), 1_200_000, true);
        assert_eq!(parsed("order.p50/floor<=1.20x"), ratio);
    }

    #[test]
    fn what_is_no_objective_says_why_and_what_to_write() {
        for (text, expected) in [
            ("", "has no < or <="),
            ("p99", "has no < or <="),
            ("p99 > 100us", "upper bound"),
            ("p98 < 100us", "names no percentile"),
            ("p99 < 100", "needs a unit"),
            ("p99 < 100 min", "needs a unit"),
            ("p99 < us", "has no number"),
            ("p99 < 1_000us", "has no number"),
            ("p99 < 0us", "outside of 1 ns"),
            ("p99 < -1us", "outside of 1 ns"),
            ("p99 < 2e9s", "needs a unit"),
            ("p99 < 99999s", "outside of 1 ns"),
            ("p99 << 1us", "has no number"),
            ("p99 / bare < 1.2", "something else than the floor"),
            ("max / floor < 1.2", "maximum"),
            ("p99 / floor < 1.2us", "has no number"),
            ("p99 / floor < 0", "outside of 0.001"),
        ] {
            let error = text.parse::<Objective>().unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("such as"), "{text}: {error}");
        }
    }

    #[test]
    fn the_bound_itself_is_good_only_with_or_equal() {
        let met = |text: &str, ns| text.parse::<Objective>().unwrap().is_met_by(ns);
        assert!(met("p99 < 100us", 99_999) && !met("p99 < 100us", 100_000));
        assert!(met("p99 <= 100us", 100_000) && !met("p99 <= 100us", 100_001));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_rejected(text in ".{0,40}") {
            let _ = text.parse::<Objective>();
        }

        #[test]
        fn what_was_read_is_written_as_it_reads(limit in 1u32.., unit in 0..3usize) {
            let text = format!("p99 < {limit}{}", UNITS[unit].0);
            if let Ok(objective) = text.parse::<Objective>() {
                prop_assert_eq!(objective.to_string(), text);
            }
        }
    }
}
