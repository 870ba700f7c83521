//! `tickpath.toml`: defaults of a project, beside its scenarios. The environment comes before it,
//! and the command line before both.
//!
//! ```toml
//! out = "results"
//!
//! [set]                       # any key of a scenario; ignored by scenarios without the key
//! exchange.cores = [2]
//! subject.rust.cores = [3]
//! ```

use anyhow::{Context, anyhow, bail};
use plan::file::SHIPPED;
use plan::{Scenario, ScenarioError};

use record::nearest::did_you_mean;
use scenario::experiment::{OUT_VARIABLE, SET_VARIABLE};
use std::path::{Path, PathBuf};

const FILE: &str = "tickpath.toml";
const KEYS: [&str; 2] = ["out", "set"];

/// The defaults of the directory that tickpath was started in.
#[derive(Debug, Default)]
pub(crate) struct Project {
    out: Option<PathBuf>,
    /// KEY=VALUE.
    sets: Vec<String>,
}

impl Project {
    /// Reads the file in this directory or in the nearest one above it.
    pub(crate) fn find() -> anyhow::Result<Project> {
        let here = std::env::current_dir().context("cannot tell the current directory")?;
        let file = here.ancestors().map(|one| one.join(FILE)).find(|file| file.is_file());
        let Some(file) = file else { return Ok(Project::default()) };
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let above = file.parent().unwrap_or(Path::new("."));
        Project::parse(&text, above).with_context(|| file.display().to_string())
    }

    /// `above` is the directory of the file; a relative `out` is below it.
    fn parse(text: &str, above: &Path) -> anyhow::Result<Project> {
        let table: toml::Table = text.parse()?;
        let mut project = Project::default();
        for (key, value) in table {
            match (key.as_str(), value) {
                ("out", toml::Value::String(out)) => project.out = Some(above.join(out)),
                ("set", toml::Value::Table(set)) => flatten("", &set, &mut project.sets),
                ("out", _) => bail!("out is the path of a directory, in quotes"),
                ("set", _) => bail!("set is a table: write [set] and keys of a scenario below it"),
                (unknown, _) => {
                    let meant = did_you_mean(unknown, KEYS);
                    bail!("there is no key {unknown:?}.{meant} There are: {}", KEYS.join(", "));
                }
            }
        }
        Ok(project)
    }

    /// Where records go.
    pub(crate) fn directory(&self, asked: Option<&Path>) -> PathBuf {
        let environment = std::env::var_os(OUT_VARIABLE).map(PathBuf::from);
        let asked = asked.map(Path::to_owned);
        asked.or(environment).or_else(|| self.out.clone()).unwrap_or_else(|| "runs".into())
    }

    /// The scenario of that name or file with the project's settings, those of the environment, and
    /// then `sets`.
    pub(crate) fn scenario(&self, name: &str, sets: &[String]) -> anyhow::Result<Scenario> {
        let plain = Scenario::find(name, &[])?;
        let (mut all, others): (Vec<String>, Vec<String>) =
            self.sets.iter().cloned().partition(|set| plain.has_key(set));
        if let Some(set) = others.iter().find(|set| !is_known(set)) {
            bail!("{FILE}: [set] {set}: no scenario has this key; see `tickpath run --dry-run`");
        }
        let environment = environment();
        all.extend_from_slice(&environment);
        all.extend_from_slice(sets);
        Scenario::find(name, &all).map_err(|error| match error {
            ScenarioError::Set { set, why } if sets.contains(&set) => {
                anyhow!(ScenarioError::Set { set, why })
            }
            ScenarioError::Set { set, why } if environment.contains(&set) => {
                anyhow!("{SET_VARIABLE}: {set}: {why}")
            }
            ScenarioError::Set { set, why } => anyhow!("{FILE}: [set] {set}: {why}"),
            other => other.into(),
        })
    }
}

/// Whether a scenario that ships has the key of `set`. Any subject's name may be that of a
/// scenario of the user's.
fn is_known(set: &str) -> bool {
    let of_subject = set.strip_prefix("subject.").and_then(|rest| rest.split_once('.'));
    let set = of_subject.map_or(set.to_owned(), |(_, key)| format!("subject.0.{key}"));
    let mut shipped = SHIPPED.iter().filter_map(|(name, _)| Scenario::find(name, &[]).ok());
    shipped.any(|scenario| scenario.has_key(&set))
}

/// The overrides of a comparison that started this process.
fn environment() -> Vec<String> {
    let text = std::env::var(SET_VARIABLE).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Nested tables as `a.b.c=value`.
fn flatten(path: &str, table: &toml::Table, sets: &mut Vec<String>) {
    for (key, value) in table {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match value {
            toml::Value::Table(inner) => flatten(&path, inner, sets),
            value => sets.push(format!("{path}={value}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_tables_are_settings_and_scenarios_take_those_that_they_have() {
        let text = "out = \"results\"\n[set]\nseconds = 0.5\nexchange.cores = [2]\n[set.subject.rust]\ncores = [3]\n";
        let project = Project::parse(text, Path::new("/p")).unwrap();
        assert_eq!(project.directory(None), Path::new("/p/results"));
        assert_eq!(project.directory(Some(Path::new("x"))), Path::new("x"));
        let orders = project.scenario("order-to-ack", &["seconds=2".to_owned()]).unwrap();
        assert_eq!(orders.exchange.cores.to_string(), "2");
        assert_eq!((orders.subject[0].cores.to_string().as_str(), orders.seconds), ("3", 2.0));
        let ring = project.scenario("ring", &[]).unwrap();
        assert_eq!(ring.seconds, 0.5);
    }

    /// It was once ignored, as are the keys of other kinds of scenario.
    #[test]
    fn a_misspelt_setting_is_an_error_that_names_the_file() {
        let error = |set: &str, sets: &[String]| {
            let project = Project::parse(&format!("[set]\n{set}\n"), Path::new("/p")).unwrap();
            project.scenario("order-to-ack", sets).map(drop).map_err(|error| error.to_string())
        };
        let misspelt = error("exchange.bok = \"empty\"", &[]).unwrap_err();
        assert!(misspelt.contains("tickpath.toml: [set] exchange.bok"), "{misspelt}");
        assert!(error("subject.rust.coers = [2]", &[]).is_err());
        assert_eq!(error("subject.another.cores = [2]\nflow.speed = 2.0", &[]), Ok(()));
        let asked = error("runs = 2", &["rnus=3".to_owned()]).unwrap_err();
        assert!(asked.starts_with("--set rnus=3"), "{asked}");
    }

    #[test]
    fn a_misspelt_key_says_what_there_is() {
        let error = |text: &str| Project::parse(text, Path::new("")).unwrap_err().to_string();
        assert!(error("outt = \"x\"").contains("Did you mean out?"));
        assert!(error("out = 1").contains("in quotes"));
        assert!(error("set = 1").contains("[set]"));
    }
}
