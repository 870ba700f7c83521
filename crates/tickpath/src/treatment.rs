//! The treatments that a comparison measures: a scenario, or settings of one.

use crate::project::Project;
use crate::tool::{TOOL, command_line};
use anyhow::{Context, bail};
use plan::Scenario;
use plan::file;
use record::nearest::did_you_mean;
use scenario::Conduct;
use scenario::experiment::Treatment;
use std::path::Path;

/// Reads a treatment: a scenario's name or file with KEY=VALUE behind it, or KEY=VALUE alone for
/// `default`. `common` is set in every scenario.
pub(crate) fn treatment(
    text: &str,
    default: &str,
    common: &[String],
    project: &Project,
) -> anyhow::Result<Treatment> {
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
        (false, false) => bail!(unknown(text)),
    };
    if let Some(word) = sets.iter().find(|word| !is_set(word)) {
        bail!("{text:?}: {word:?} behind the scenario {name} is not KEY=VALUE");
    }
    let sets: Vec<String> =
        common.iter().cloned().chain(sets.iter().map(|set| (*set).to_owned())).collect();
    let scenario = project.scenario(name, &sets)?;
    Ok(Treatment::Scenario(Box::new(conduct_of(scenario, Path::new(""))?)))
}

fn unknown(text: &str) -> String {
    let what =
        if text.ends_with(".toml") { "scenario file" } else { "record, scenario or setting" };
    let meant = similar(text);
    format!("there is no {what} {text:?}.{meant} To compare shell commands, add --command")
}

/// Asks whether a scenario that ships or a record beside the path `text` is meant.
pub(crate) fn similar(text: &str) -> String {
    let path = Path::new(text);
    let above = path.parent().filter(|above| *above != Path::new(""));
    let beside = std::fs::read_dir(above.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let records = beside.map(|entry| entry.path()).filter(|path| path.join("run.json").is_file());
    let mut known: Vec<String> = records
        .map(|path| path.strip_prefix("./").unwrap_or(&path).display().to_string())
        .collect();
    known.extend(file::SHIPPED.iter().map(|(name, _)| (*name).to_owned()));
    did_you_mean(text, known.iter().map(String::as_str))
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
        until: None,
        smoke_test: false,
        rate_search: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Treatment {
        let common = ["seconds=0.5".to_owned()];
        treatment(text, "ping-pong", &common, &Project::default()).unwrap()
    }

    #[test]
    fn scenarios_and_sets_are_told_apart() {
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
    }

    #[test]
    fn what_is_neither_says_so() {
        let error = |text: &str| {
            treatment(text, "ping-pong", &[], &Project::default()).unwrap_err().to_string()
        };
        assert!(error("ping-pong faster").contains("not KEY=VALUE"));
        assert!(error(" ").contains("empty"));
        assert!(error("nowhere.toml").contains("no scenario file"));
        assert!(error("ping-pang").contains("Did you mean ping-pong"));
        assert!(error("./old/tickpath run --json").contains("--command"));
        assert!(error("load.rat=1").contains("there is no"));
    }
}
