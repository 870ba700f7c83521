//! Whether a candidate pays: it must be faster than A by a margin.

use crate::comparison::compared::ComparedFigure;
use crate::comparison::file::Comparison;
use crate::objective::latency;
use serde::{Deserialize, Serialize};
use stats::compare::Effect;
use stats::verdict::Outcome;
use std::fmt;
use std::str::FromStr;

/// The least that a candidate must save to be worth its cost: a share of A's time, or a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Margin {
    least: Least,
    /// As it was written.
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Least {
    Share(f64),
    Ns(u64),
}

/// The answer for a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WorthVerdict {
    /// It is faster, and all that chance, noise and disturbance allow saves the margin.
    WorthIt,
    /// All that chance, noise and disturbance allow saves less than the margin.
    NotWorthIt,
    /// The margin lies within what these allow, or figures contradict each other.
    Undecided,
}

impl WorthVerdict {
    /// The name in words.
    pub fn name(self) -> &'static str {
        match self {
            WorthVerdict::WorthIt => "worth it",
            WorthVerdict::NotWorthIt => "not worth it",
            WorthVerdict::Undecided => "undecided",
        }
    }
}

/// The answer and its reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Worth {
    /// The margin as the user wrote it.
    pub margin: String,
    /// The answer.
    pub verdict: WorthVerdict,
    /// The figures that decided it.
    pub why: String,
}

/// A treatment that was to be measured and could not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotRun {
    /// As the user named it.
    pub name: String,
    /// The reason: driver, kernel, rights.
    pub why: String,
}

impl fmt::Display for Margin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Margin {
    type Err = String;

    fn from_str(text: &str) -> Result<Margin, String> {
        let bad = |why: &str| format!("{text:?} {why}; write a share or a time, such as 5% or 2us");
        let Some(percent) = text.trim().strip_suffix('%') else {
            let (ns, text) = latency(text.trim()).map_err(bad)?;
            return Ok(Margin { least: Least::Ns(ns), text });
        };
        let percent: f64 = percent.trim().parse().map_err(|_| bad("has no number"))?;
        if !(0.1..=99.0).contains(&percent) {
            return Err(bad("is outside of 0.1 to 99 %"));
        }
        Ok(Margin { least: Least::Share(percent / 100.0), text: format!("{percent} %") })
    }
}

impl Comparison {
    /// The figure that decides whether the candidate pays: the first p50.
    pub fn paying_figure(&self) -> Option<&ComparedFigure> {
        self.figures.iter().find(|one| one.figure == "p50" && !one.is_ratio())
    }

    /// Another percentile of the same series.
    pub fn beside(&self, paying: &ComparedFigure, percentile: &str) -> Option<&ComparedFigure> {
        let is_it = |one: &&ComparedFigure| {
            (&one.subject, &one.series, one.kind) == (&paying.subject, &paying.series, paying.kind)
                && one.figure == percentile
        };
        self.figures.iter().find(is_it)
    }

    /// Decides whether the candidate saves the margin: after [`Comparison::decide`].
    pub fn decide_worth(&mut self, margin: &Margin) {
        let (verdict, why) = self.worth_by(margin);
        self.worth = Some(Worth { margin: margin.to_string(), verdict, why });
    }

    fn worth_by(&self, margin: &Margin) -> (WorthVerdict, String) {
        let undecided = |why: String| (WorthVerdict::Undecided, why);
        let Some(paying) = self.paying_figure() else { return undecided(self.why.clone()) };
        if !self.incomparable_because.is_empty() && !self.forced {
            return undecided(self.why.clone());
        }
        let Some([low, high]) = paying.range else {
            return undecided(format!("not known: {}", paying.disturbance));
        };
        // A positive change costs, a negative one saves. A against A may show the noise floor.
        let Effect { change, noise_floor, a, .. } = paying.effect;
        let (low, high) = (low.min(change - noise_floor), high.max(change + noise_floor));
        let least = match margin.least {
            Least::Share(share) => share,
            Least::Ns(ns) => ns as f64 / a.max(1) as f64,
        };
        let said = format!(
            "{} changes by {:+.1} %, with noise and disturbance {:+.1} % to {:+.1} %",
            paying.name(),
            change * 100.0,
            low * 100.0,
            high * 100.0
        );
        if -low < least {
            return (WorthVerdict::NotWorthIt, said);
        }
        if -high < least {
            return undecided(format!("{said}: the margin is within that"));
        }
        if paying.outcome != Outcome::Better {
            return undecided(format!("{said}, which chance may show among so many figures"));
        }
        let worse = |one: &&ComparedFigure| {
            one.outcome == Outcome::Worse
                && (&one.series, one.kind) == (&paying.series, paying.kind)
        };
        match self.figures.iter().find(worse) {
            Some(tail) => undecided(format!(
                "{said}, and {} is worse by {:.1} %",
                tail.name(),
                tail.effect.change * 100.0
            )),
            None => (WorthVerdict::WorthIt, said),
        }
    }
}

#[cfg(test)]
#[path = "worth_tests.rs"]
mod tests;
