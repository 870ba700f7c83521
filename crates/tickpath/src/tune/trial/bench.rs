//! The machine under trial: runs without and with settings, and the way back after each.

use crate::progress::with_screen;
use crate::tune::seen::MachineReading;
use crate::tune::trial::budget::Budget;
use ::tune::apply::{OnFailure, apply};
use ::tune::journal::Journal;
use ::tune::revert::{StepSelection, revert};
use anyhow::anyhow;
use clock::{Deadline, monotonic_ns};
use record::RunRecord;
use record::tune::{SettingState, Survey, Trial, TriedSetting, UntriedSetting, corrected, figures};
use scenario::Interrupt;
use scenario::experiment::{Experiment, Rounds, Side, Switch, Treatment};
use stats::compare::Design;
use stats::verdict::Outcome;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Directory of the confirmation's runs; each setting has one of its name.
const CONFIRMATION: &str = "confirmation";

/// The machine under trial. Whatever happens, it is as before when this is dropped.
pub(super) struct Bench<'a> {
    pub seen: &'a MachineReading,
    pub tool: &'a str,
    pub journal: RefCell<Journal>,
    pub treatment: Treatment,
    pub directory: PathBuf,
    pub quiet: bool,
    pub interrupt: &'a Interrupt,
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        if let Err(why) = self.revert() {
            eprintln!("error: {why}; `tickpath tune revert` takes it back");
        }
    }
}

/// Pairs, and when no more begin.
type Time = (u32, Option<Deadline>);

impl Bench<'_> {
    /// Duration of a run here, s: of one pair without any setting.
    ///
    /// # Errors
    /// If the scenario can't be carried out.
    pub(super) fn run_s(&self) -> anyhow::Result<f64> {
        let directory = self.directory.join("first-look");
        let (_, seconds) = self.pairs((1, None), &directory, &|_| self.revert())?;
        Ok(seconds / 2.0)
    }

    pub(super) fn carry_out(
        &self,
        candidates: &[SettingState],
        budget: &mut Budget,
        trial: &mut Trial,
    ) -> anyhow::Result<()> {
        for (number, one) in candidates.iter().enumerate() {
            let left = candidates.len() - number;
            let Some((pairs, deadline)) = budget.next(candidates.len(), left, trial.pairs) else {
                let why = "runs became slower and the budget ended before it; raise --budget";
                trial.not_tried.push(UntriedSetting { id: one.id.clone(), why: why.to_owned() });
                continue;
            };
            let time = (pairs, Some(deadline));
            match self.against_none(&one.id, &one.id, std::slice::from_ref(one), time)? {
                Ok(tried) => {
                    budget.ran(2 * (tried.pairs + tried.pairs_void), tried.seconds);
                    trial.tried.push(tried);
                }
                Err(why) => trial.not_tried.push(UntriedSetting { id: one.id.clone(), why }),
            }
            if self.interrupt.is_set() {
                trial.ended_because = Some("it was interrupted".to_owned());
                break;
            }
        }
        corrected(&mut trial.tried);
        let helps = |one: &&TriedSetting| one.outcome == Outcome::Better;
        trial.chosen = trial.tried.iter().filter(helps).map(|one| one.id.clone()).collect();
        if trial.chosen.is_empty() || trial.ended_because.is_some() {
            return Ok(());
        }
        self.confirm(candidates, budget, trial)
    }

    /// All chosen settings together, on fresh runs.
    fn confirm(
        &self,
        candidates: &[SettingState],
        budget: &Budget,
        trial: &mut Trial,
    ) -> anyhow::Result<()> {
        let chosen: Vec<SettingState> =
            candidates.iter().filter(|one| trial.chosen.contains(&one.id)).cloned().collect();
        let name = trial.chosen.join(", ");
        let (pairs, deadline) = budget.last(trial.pairs);
        match self.against_none(CONFIRMATION, &name, &chosen, (pairs, Some(deadline)))? {
            Ok(tried) => {
                let mut confirmation = vec![tried];
                corrected(&mut confirmation);
                trial.confirmation = confirmation.pop();
            }
            Err(why) => trial.ended_because = Some(why),
        }
        if self.interrupt.is_set() {
            trial.ended_because = Some("it was interrupted".to_owned());
        }
        Ok(())
    }

    /// Runs without and with these settings. The inner error says why they can't be tried.
    fn against_none(
        &self,
        directory: &str,
        id: &str,
        settings: &[SettingState],
        time: Time,
    ) -> anyhow::Result<Result<TriedSetting, String>> {
        let failure = RefCell::new(None);
        let switch = |side: Side| -> Result<(), String> {
            self.revert()?;
            if side == Side::A {
                return Ok(());
            }
            self.apply(settings).inspect_err(|why| *failure.borrow_mut() = Some(why.clone()))
        };
        let made = self.pairs(time, &self.directory.join(directory), &switch);
        self.revert().map_err(|why| anyhow!("{why}"))?;
        let (made, seconds) = match (made, failure.into_inner()) {
            (_, Some(why)) => return Ok(Err(why)),
            (Err(error), None) => return Err(error),
            (Ok(made), None) => made,
        };
        if let Some(failure) = made.failure {
            return Ok(Err(failure));
        }
        let records = |side: Side| -> Vec<RunRecord> {
            made.of(side).iter().map(|one| one.record.clone()).collect()
        };
        Ok(Ok(TriedSetting {
            id: id.to_owned(),
            pairs: made.count(),
            pairs_void: made.void_because.len(),
            seconds,
            figures: figures(Design::Interleaved, &records(Side::A), &records(Side::B)),
            outcome: Outcome::Inconclusive,
            why: made.void_because.first().cloned().unwrap_or_default(),
        }))
    }

    /// Pairs of runs, and the time that they took, s.
    fn pairs(
        &self,
        (pairs, deadline): Time,
        directory: &Path,
        switch: Switch<'_>,
    ) -> anyhow::Result<(Rounds, f64)> {
        let experiment = Experiment {
            treatments: &[&self.treatment, &self.treatment],
            rounds: pairs,
            directory,
            takes_void: false,
            deadline: deadline.as_ref(),
            switch: Some(switch),
        };
        let began_ns = monotonic_ns();
        let made = with_screen(self.quiet, |say| experiment.carry_out(self.interrupt, say))?;
        Ok((made, monotonic_ns().saturating_sub(began_ns) as f64 / 1e9))
    }

    fn apply(&self, settings: &[SettingState]) -> Result<(), String> {
        let plan = Survey {
            settings: settings.to_vec(),
            persistence: Vec::new(),
            tool: self.tool.to_owned(),
            ..Survey::default()
        };
        let mut machine = self.seen.machine.clone();
        let mut journal = self.journal.borrow_mut();
        let outcomes = apply(&mut machine, &self.seen.root, &mut journal, &plan, OnFailure::GoOn)
            .map_err(|error| error.to_string())?;
        if outcomes.iter().any(|one| one.outcome == "changed") {
            return Ok(());
        }
        let why = outcomes.first().map_or("nothing to change", |one| one.detail.as_str());
        Err(format!("can't be changed: {why}"))
    }

    pub(super) fn revert(&self) -> Result<(), String> {
        let mut machine = self.seen.machine.clone();
        let mut journal = self.journal.borrow_mut();
        let outcomes =
            revert(&mut machine, &self.seen.root, &mut journal, &StepSelection::All, true)
                .map_err(|error| error.to_string())?;
        match outcomes.iter().find(|one| one.outcome == "failed") {
            None => Ok(()),
            Some(one) => Err(format!("{} can't be taken back: {}", one.place, one.detail)),
        }
    }
}
