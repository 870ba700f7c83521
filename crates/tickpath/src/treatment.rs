//! What a person compares: a scenario, what is set in one, or a command.

use crate::{TOOL, command_line};
use anyhow::{Context, bail};
use scenario::conduct::REPEATS_MAX;
use scenario::experiment::Treatment;
use scenario::{Conduct, Scenario, file};
use std::path::{Path, PathBuf};

/// Reads a treatment: the name or the file of a scenario, with KEY=VALUE behind it; KEY=VALUE alone for
/// `default`; anything else is a command for the shell. `common` is set in every scenario.
pub(crate) fn treatment(text: &str, default: &str, common: &[String]) -> anyhow::Result<Treatment> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let Some(first) = words.first() else { bail!("a treatment is empty; say what to compare") };
    let is_set = |word: &&str| {
        word.split_once('=').is_some_and(|(key, _)| {
            key.starts_with(|c: char| c.is_ascii_lowercase())
                && key.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        })
    };
    let is_scenario = file::SHIPPED.iter().any(|(name, _)| name == first)
        || (first.ends_with(".toml") && Path::new(first).is_file());
    let (name, sets) = match (is_scenario, words.iter().all(is_set)) {
        (true, _) => (*first, &words[1..]),
        (false, true) => (default, &words[..]),
        (false, false) if words.len() == 1 && first.ends_with(".toml") => {
            bail!("there is no scenario file {first:?}")
        }
        (false, false) if !common.is_empty() => {
            bail!("{text:?} is a command, for which --set does nothing; say it in the command")
        }
        (false, false) => return Ok(Treatment::Command(text.to_owned())),
    };
    if let Some(word) = sets.iter().find(|word| !is_set(word)) {
        bail!("{text:?}: {word:?} behind the scenario {name} is not KEY=VALUE");
    }
    let sets: Vec<String> =
        common.iter().cloned().chain(sets.iter().map(|set| (*set).to_owned())).collect();
    Ok(Treatment::Scenario(Box::new(conduct(name, &sets, &PathBuf::new())?)))
}

/// A scenario that starts everything itself, as `tickpath run` carries it out.
pub(crate) fn conduct(name: &str, sets: &[String], runs: &Path) -> anyhow::Result<Conduct> {
    conduct_of(Scenario::find(name, sets)?, runs)
}

/// The same of a scenario that was read already.
pub(crate) fn conduct_of(scenario: Scenario, runs: &Path) -> anyhow::Result<Conduct> {
    Ok(Conduct {
        scenario,
        runs_directory: runs.to_owned(),
        program: std::env::current_exe().context("cannot find the tickpath binary")?,
        tool: TOOL.to_owned(),
        command: command_line(),
        connect: None,
        connect_floor: None,
        noise: false,
        repeats_max: REPEATS_MAX,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Treatment {
        treatment(text, "ping-pong", &["seconds=0.5".to_owned()]).unwrap()
    }

    #[test]
    fn scenarios_sets_and_commands_are_told_apart() {
        let Treatment::Scenario(named) = read("order-to-ack load.connections=4 load.price=2")
        else {
            panic!("a scenario")
        };
        assert_eq!(named.scenario.name, "order-to-ack");
        assert_eq!((named.scenario.load.connections, named.scenario.seconds), (4, 0.5));
        let Treatment::Scenario(set) = read("subject.rust.backend=block") else { panic!("a set") };
        assert_eq!(
            (set.scenario.name.as_str(), set.scenario.subject[0].backend.as_str()),
            ("ping-pong", "block")
        );
        let line = "TASKSET=1 ./old/tickpath run --json";
        let with_set = treatment(line, "ping-pong", &["seconds=1".to_owned()]).unwrap_err();
        assert!(with_set.to_string().contains("--set does nothing"), "{with_set}");
        let command = treatment(line, "ping-pong", &[]).unwrap();
        assert!(matches!(command, Treatment::Command(command) if command == line));
    }

    #[test]
    fn what_is_neither_says_so() {
        let error = |text: &str| treatment(text, "ping-pong", &[]).unwrap_err().to_string();
        assert!(error("ping-pong faster").contains("not KEY=VALUE"));
        assert!(error(" ").contains("empty"));
        assert!(error("nowhere.toml").contains("no scenario file"));
        assert!(error("load.rat=1").contains("there is no"));
    }
}
