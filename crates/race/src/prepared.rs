//! A race that is ready to be simulated.

use crate::error::RaceError;
use crate::file::File;
use crate::market::Race;
use crate::replay::replay;
use crate::seeds::{Money, outcomes, state_hash};
use crate::worth::{MeasuredDifference, Question};
use record::Unit;
use record::comparison::Comparison;
use record::comparison::compared::ComparedFigure;
use record::race::{RaceRecord, SCHEMA};
use record::tune::{Trial, TriedSetting};

/// A race with all its latencies.
#[derive(Clone, Debug)]
pub struct PreparedRace {
    /// Its file, with all defaults.
    pub file: File,
    /// The race.
    pub race: Race,
    /// How money is counted.
    pub money: Money,
    /// The participant whose latency is varied.
    pub subject: Option<usize>,
}

/// A measured effect with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    name: String,
    body: MeasuredDifference,
    tail: Option<MeasuredDifference>,
}

impl PreparedRace {
    /// Simulates all seeds and takes the slopes of the subject; `progress` gets a line before each
    /// part.
    #[must_use]
    pub fn run(&self, progress: impl Fn(&str)) -> RaceRecord {
        self.run_with(&[], progress)
    }

    /// As [`PreparedRace::run`], and ranks effects by money.
    #[must_use]
    pub fn run_with(&self, effects: &[Effect], progress: impl Fn(&str)) -> RaceRecord {
        let File { seeds, first_seed, .. } = self.file;
        progress("racing");
        let done = outcomes(&self.race, first_seed, seeds);
        let participants = (0..self.race.participants.len())
            .map(|who| self.race.participant(&done, who, &self.money))
            .collect();
        let mut record = RaceRecord {
            schema: SCHEMA,
            race: self.file.name.clone(),
            currency: self.file.currency.clone(),
            resolved: serde_json::to_value(&self.file).unwrap_or_default(),
            first_seed,
            seeds,
            seconds: self.race.duration_ns as f64 / 1e9,
            inputs: done.iter().map(|outcome| outcome.inputs).sum(),
            state_hash: format!("{:016x}", state_hash(&done)),
            participants,
            replay: replay(&self.race, first_seed),
            warnings: self.warnings(),
            ..RaceRecord::default()
        };
        if let Some(who) = self.subject {
            let edges = self.race.edges(&done, who, &self.money);
            let question = Question::new(&self.race, who, first_seed, self.money, edges);
            progress("varying the subject's latency");
            record.worth = Some(question.worth());
            for effect in effects {
                progress(&effect.name);
                record.what_if.push(question.effect(&effect.name, effect.body, effect.tail));
            }
            let mean = |one: &record::race::RaceEffect| one.gain.mean.unwrap_or(f64::NEG_INFINITY);
            record.what_if.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
        }
        record
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if (self.file.seeds as usize) < stats::mean::VALUES_MIN {
            let least = stats::mean::VALUES_MIN;
            warnings.push(format!("fewer than {least} seeds: no intervals; set seeds to 30"));
        }
        if self.race.background.is_some() {
            let one_day = "all markets are the same recorded day: the intervals have the chance of \
                 the latencies in them, not that of the day";
            warnings.push(one_day.to_owned());
        }
        warnings
    }

    /// The effects of a comparison: those of each candidate and series of which it has the p50.
    ///
    /// # Errors
    /// If it has none, or there is no subject.
    pub fn effects(&self, name: &str, comparison: &Comparison) -> Result<Vec<Effect>, RaceError> {
        let mut effects = Vec::new();
        for (letter, candidate) in comparison.candidates() {
            if !candidate.incomparable_because.is_empty() && !candidate.forced {
                continue;
            }
            let medians = candidate.figures.iter().filter(|one| one.figure == "p50");
            for median in medians.filter(|one| !one.is_ratio()) {
                let is_tail = |one: &&ComparedFigure| {
                    one.figure == "p99"
                        && (&one.subject, &one.series, one.kind)
                            == (&median.subject, &median.series, median.kind)
                };
                let series = median.name();
                let series = series.trim_end_matches(".p50");
                let tail = candidate.figures.iter().find(is_tail);
                effects.push(Effect {
                    name: format!("{name}, {letter} {}: {series}", candidate.b.name),
                    body: measured(&median.effect),
                    tail: tail.map(|one| measured(&one.effect)),
                });
            }
        }
        self.some(name, effects, "a comparison with a p50 of A and B that can be compared")
    }

    /// The effects of a trial of settings: each one alone, and the chosen ones together.
    ///
    /// # Errors
    /// As [`PreparedRace::effects`].
    pub fn effects_of_trial(&self, name: &str, trial: &Trial) -> Result<Vec<Effect>, RaceError> {
        let effect = |tried: &TriedSetting| {
            let of = |figure: &str| {
                let figure = tried.figures.iter().find(|one| one.figure == figure)?;
                figure.effect.as_ref().filter(|_| figure.unit == Unit::Ns).map(measured)
            };
            let name = format!("{name}, {}", tried.id);
            Some(Effect { name, body: of("p50")?, tail: of("p99") })
        };
        let effects = trial.tried.iter().chain(&trial.confirmation).filter_map(effect).collect();
        self.some(name, effects, "a trial that has the p50 of a setting")
    }

    /// The effects, if there are any and someone whose latency they change.
    fn some(&self, name: &str, effects: Vec<Effect>, must: &str) -> Result<Vec<Effect>, RaceError> {
        let not = |key: &str, value: &str, must: &str| RaceError::Value {
            key: key.to_owned(),
            value: value.to_owned(),
            must: must.to_owned(),
        };
        match (self.subject, effects.is_empty()) {
            (None, _) => Err(not("subject", "absent", "the participant whose latency changes")),
            (_, true) => Err(not("--what-if", name, must)),
            _ => Ok(effects),
        }
    }
}

fn measured(effect: &stats::compare::Effect) -> MeasuredDifference {
    MeasuredDifference { added_ns: effect.added_ns, interval: effect.added_ns_interval }
}
