//! `tickpath tune trial`: each setting against none, in turns A B B A; those that help together
//! against none, on fresh runs.

mod bench;
mod budget;
mod reboot;
mod setup;

use crate::cli::TrialArguments;
use crate::exit::NO_RESULT;
use crate::signals;
use crate::tune::seen::planned;
use crate::turn::Turn;
use anyhow::{Context, bail};
use bench::Bench;
use budget::Budget;
use record::tune::{SettingState, State, Step, Survey, UntriedSetting};
use scenario::experiment::Treatment;
use setup::{Setup, blank, finish, journal};
use std::cell::RefCell;

pub(super) fn trial(arguments: &TrialArguments) -> anyhow::Result<u8> {
    match (arguments.resume, arguments.reboot) {
        (true, _) => reboot::resume(arguments),
        (_, true) => reboot::begin(arguments),
        _ => while_it_runs(arguments),
    }
}

/// Settings that can be switched on and off.
fn while_it_runs(arguments: &TrialArguments) -> anyhow::Result<u8> {
    let Setup { conduct, cores, seen, out } =
        Setup::new(arguments, &arguments.goal, &arguments.scenario, &arguments.settings.set)?;
    let plan = planned(&seen, &arguments.choice())?;
    let mut trial = blank(&seen, arguments);
    let mut candidates = match arguments.plant.is_empty() {
        true => candidates(&plan, &mut trial.not_tried),
        false => planted(&arguments.plant)?,
    };
    let journal = journal(&arguments.state)?;
    let interrupt = signals::interrupt()?;
    let Some(_turn) = Turn::take(&cores, arguments.output.no_wait, || interrupt.is_set())? else {
        return Ok(NO_RESULT);
    };
    let path = crate::errors::make_directory(&out, "trial")?;
    let mut budget = Budget::begin(arguments.budget.as_secs_f64());
    let bench = Bench {
        seen: &seen,
        tool: &plan.tool,
        journal: RefCell::new(journal),
        treatment: Treatment::Scenario(Box::new(conduct)),
        directory: path.clone(),
        quiet: arguments.output.quiet,
        interrupt: &interrupt,
    };
    if !candidates.is_empty() {
        budget.run_s = bench.run_s()?;
        trial.run_seconds = budget.run_s;
        trial.pairs = budget.fit(&mut candidates, &mut trial.not_tried)?;
    }
    bench.carry_out(&candidates, &mut budget, &mut trial)?;
    drop(bench);
    trial.took_seconds = budget.took_s();
    finish(&trial, &path, arguments.output.json)
}

/// Settings that can be switched on and off while the machine runs, in the order of the plan.
fn candidates(plan: &Survey, not_tried: &mut Vec<UntriedSetting>) -> Vec<SettingState> {
    let mut candidates = Vec::new();
    for one in plan.settings.iter().filter(|one| one.state == State::Better) {
        let why = match one.steps.is_empty() {
            false => {
                candidates.push(one.clone());
                continue;
            }
            true if one.needs_reboot() => "needs a reboot: trial --reboot",
            true => "can't be set from here",
        };
        not_tried.push(UntriedSetting { id: one.id.clone(), why: why.to_owned() });
    }
    candidates.sort_by_key(|one| one.tier);
    candidates
}

/// Settings of a test: `ID=FILE=VALUE`.
fn planted(texts: &[String]) -> anyhow::Result<Vec<SettingState>> {
    let one = |text: &String| {
        let mut parts = text.splitn(3, '=');
        let (Some(id), Some(file), Some(value)) = (parts.next(), parts.next(), parts.next()) else {
            bail!("--plant {text:?} is not ID=FILE=VALUE");
        };
        let before = std::fs::read_to_string(file).with_context(|| format!("--plant {file}"))?;
        let step = Step {
            place: format!("kernel:{file}"),
            before: Some(before),
            after: Some(value.to_owned()),
        };
        Ok(SettingState { id: id.to_owned(), steps: vec![step], ..SettingState::default() })
    };
    texts.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planted_setting_has_three_parts() {
        assert!(planted(&["x=/no/such/file=1".to_owned()]).is_err());
        assert!(planted(&["x".to_owned()]).is_err());
    }

    /// Sorted settings within a tier keep the order of the catalogue.
    #[test]
    fn the_first_tier_is_tried_first_and_a_reboot_is_named() {
        let setting = |id: &str, tier, steps: usize, needs: &str| SettingState {
            id: id.to_owned(),
            tier,
            state: State::Better,
            steps: vec![Step::default(); steps],
            needs: vec![needs.to_owned()],
            ..SettingState::default()
        };
        let settings =
            vec![setting("a", 3, 1, ""), setting("b", 1, 1, ""), setting("c", 1, 0, "reboot")];
        let mut not_tried = Vec::new();
        let chosen = candidates(&Survey { settings, ..Survey::default() }, &mut not_tried);
        let ids: Vec<&str> = chosen.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, ["b", "a"]);
        assert!(not_tried[0].why.contains("reboot"), "{not_tried:?}");
    }
}
