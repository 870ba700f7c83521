//! `order.service.p99 <= +5%`: what a comparison must show to pass.

use crate::compared::Compared;
use crate::selector::Selector;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A limit on how much a figure of B may be above that of A.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Which figure.
    pub figure: Selector,
    /// At most so many percent above A; negative asks for an improvement. As it was asked: a share would say
    /// 7.000000000000001 for 7.
    pub percent_max: f64,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// The whole confidence interval keeps the limit.
    Passed,
    /// The whole confidence interval is past the limit.
    Failed,
    /// The limit lies within the interval, or there is no such figure.
    Inconclusive,
}

impl GateOutcome {
    /// As in a record.
    pub fn name(self) -> &'static str {
        match self {
            GateOutcome::Passed => "passed",
            GateOutcome::Failed => "failed",
            GateOutcome::Inconclusive => "inconclusive",
        }
    }
}

/// A gate with its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateResult {
    /// As it was asked.
    pub gate: String,
    /// What became of it.
    pub outcome: GateOutcome,
    /// The figures that decided it.
    pub why: String,
}

impl Gate {
    /// Decides it.
    pub(crate) fn judge(&self, figures: &[Compared], comparable: bool) -> GateResult {
        let result = |outcome, why| GateResult { gate: self.to_string(), outcome, why };
        let Some(figure) = figures.iter().find(|figure| self.is_of(figure)) else {
            let why = "there is no such figure in every run of both".to_owned();
            return result(GateOutcome::Inconclusive, why);
        };
        let [low, high] = figure.effect.interval;
        let why = format!(
            "{}: {:+.1} %, between {:+.1} % and {:+.1} %",
            figure.name(),
            figure.effect.change * 100.0,
            low * 100.0,
            high * 100.0
        );
        let change_max = self.percent_max / 100.0;
        let outcome = match (high <= change_max, low > change_max) {
            _ if !comparable => GateOutcome::Inconclusive,
            (true, _) => GateOutcome::Passed,
            (_, true) => GateOutcome::Failed,
            _ => GateOutcome::Inconclusive,
        };
        result(outcome, why)
    }

    fn is_of(&self, figure: &Compared) -> bool {
        let wanted = &self.figure;
        wanted.subject.as_ref().is_none_or(|subject| *subject == figure.subject)
            && wanted.series == figure.series
            && wanted.kind.is_none_or(|kind| kind == figure.kind)
            && wanted.figure.name() == figure.figure
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <= {:+}%", self.figure, self.percent_max)
    }
}

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Gate, String> {
        let usage = "write FIGURE <= ±PERCENT%, such as \"order.service.p99 <= +5%\"";
        let (figure, limit) = text.split_once("<=").ok_or(format!("no <=; {usage}"))?;
        let percent = limit.trim().strip_suffix('%').ok_or(format!("no %; {usage}"))?;
        let percent_max: f64 = percent
            .trim()
            .parse()
            .map_err(|_| format!("{:?} is no number of percent; {usage}", percent.trim()))?;
        if !(-100.0..=1e6).contains(&percent_max) {
            return Err(format!(
                "{percent_max} % is out of range, from -100 to a million; {usage}"
            ));
        }
        let figure = figure.trim().parse::<Selector>().map_err(|error| error.to_string())?;
        Ok(Gate { figure, percent_max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Effect, Outcome};
    use crate::record::Kind;

    fn figure(interval: [f64; 2]) -> Compared {
        Compared {
            subject: "rust".to_owned(),
            series: "order".to_owned(),
            kind: Kind::Service,
            figure: "p99".to_owned(),
            effect: Effect {
                a: 100,
                b: 102,
                change: f64::midpoint(interval[0], interval[1]),
                interval,
                added_ns: 2,
                added_ns_interval: [1, 3],
                noise_floor: 0.01,
                p: 0.5,
            },
            p_adjusted: 1.0,
            outcome: Outcome::Inconclusive,
        }
    }

    fn judged(gate: &str, interval: [f64; 2]) -> GateOutcome {
        gate.parse::<Gate>().unwrap().judge(&[figure(interval)], true).outcome
    }

    #[test]
    fn the_whole_interval_decides() {
        assert_eq!(judged("order.service.p99 <= +5%", [-0.02, 0.04]), GateOutcome::Passed);
        assert_eq!(judged("rust.order.p99 <= 5%", [0.02, 0.08]), GateOutcome::Inconclusive);
        assert_eq!(judged("p99 <= 5 %", [0.06, 0.08]), GateOutcome::Failed);
        assert_eq!(judged("p99 <= -10%", [-0.2, -0.11]), GateOutcome::Passed);
        assert_eq!(judged("p50 <= +5%", [-0.02, 0.04]), GateOutcome::Inconclusive);
        assert_eq!(judged("java.order.p99 <= +5%", [0.1, 0.2]), GateOutcome::Inconclusive);
    }

    #[test]
    fn it_is_said_as_it_was_asked() {
        let said = |text: &str| text.parse::<Gate>().unwrap().to_string();
        for percent in -100..=100 {
            let gate = format!("order.p99 <= {percent:+}%");
            assert_eq!(said(&gate), gate);
        }
        assert_eq!(said("p99 <= 0.7 %"), "order.p99 <= +0.7%");
    }

    #[test]
    fn what_cannot_be_compared_passes_no_gate() {
        let gate: Gate = "p99 <= +5%".parse().unwrap();
        let judged = gate.judge(&[figure([-0.02, 0.04])], false);
        assert_eq!(judged.outcome, GateOutcome::Inconclusive);
    }

    #[test]
    fn what_is_no_gate_says_how_to_write_one() {
        for text in ["p99", "p99 <= 5", "p99 <= many%", "p99 <= nan%", "p98 <= 5%"] {
            let error = text.parse::<Gate>().unwrap_err();
            assert!(error.contains("such as"), "{text}: {error}");
        }
    }
}
