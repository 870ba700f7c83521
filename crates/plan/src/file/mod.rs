//! Scenario files: those that ship and a user's own, with overrides from the command line.

mod check;
mod keys;
mod resume;
pub mod set;
mod shipped;

pub use self::resume::resumed;
pub use self::shipped::SHIPPED;

use self::check::check;
use self::keys::Keys;
use crate::scenario::{Scenario, ScenarioError};
use record::nearest::did_you_mean;

/// The parser's words, and which keys may be meant where it doesn't know one.
fn with_meant(error: &toml::de::Error) -> String {
    let told = error.to_string();
    let mut names = error.message().split('`').skip(1).step_by(2);
    let unknown = error.message().starts_with("unknown field").then(|| names.next()).flatten();
    match unknown {
        Some(asked) => format!("{}{}", told.trim_end(), did_you_mean(asked, names)),
        None => told,
    }
}

/// The parser's words with the names of types as a user knows them.
fn plain(message: &str) -> String {
    let words = [
        ("expected f64", "expected a number, such as 400000, 400k or 1.5M"),
        ("expected u64", "expected a whole number"),
        ("expected u32", "expected a whole number"),
        ("expected usize", "expected a whole number"),
    ];
    words.iter().fold(message.to_owned(), |told, (types, plain)| told.replace(types, plain))
}

impl Scenario {
    /// Finds `name` among the scenarios that ship, or reads it as a file; applies `overrides`
    /// (`key.path=value`) and checks everything.
    ///
    /// # Errors
    /// If there is no such scenario, or a value is wrong.
    pub fn find(name: &str, overrides: &[String]) -> Result<Scenario, ScenarioError> {
        if let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            return Scenario::parse(name, text, overrides);
        }
        let text = std::fs::read_to_string(name).map_err(|source| ScenarioError::Unknown {
            name: name.to_owned(),
            source,
            meant: did_you_mean(name, SHIPPED.iter().map(|(name, _)| *name)),
            shipped: SHIPPED.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        })?;
        Scenario::parse(name, &text, overrides)
    }

    /// As [`Scenario::find`], from a text.
    ///
    /// # Errors
    /// If a value is wrong.
    pub fn parse(name: &str, text: &str, overrides: &[String]) -> Result<Scenario, ScenarioError> {
        let malformed =
            |message: String| ScenarioError::Malformed { name: name.to_owned(), message };
        let mut scenario: Scenario =
            toml::from_str(text).map_err(|error| malformed(with_meant(&error)))?;
        let mut written: toml::Table =
            text.parse().map_err(|error: toml::de::Error| malformed(error.to_string()))?;
        let keys = Keys::of(scenario.kind, scenario.load.model);
        if let Some(key) = keys.foreign(&mut written) {
            let kind = scenario.kind.name();
            return Err(malformed(format!("scenarios of kind {kind} have no {key}; leave it out")));
        }
        if !overrides.is_empty() {
            // Overrides apply to the whole scenario with its defaults, so the type of each value is
            // known and an unknown key is an error.
            let mut table = scenario.settable().map_err(malformed)?;
            for text in overrides {
                set::apply(&mut table, text)
                    .map_err(|why| ScenarioError::Set { set: text.clone(), why })?;
            }
            scenario = table.try_into().map_err(|error: toml::de::Error| {
                let name = format!("{name} with {}", overrides.join(" "));
                ScenarioError::Malformed { name, message: plain(error.message()) }
            })?;
            let model = scenario.load.model;
            let keys = Keys::of(scenario.kind, model);
            let is_foreign = |text: &&String| !keys.has(set::path(text));
            if let Some(text) = overrides.iter().find(is_foreign) {
                let model = model.name();
                let why = format!("with load.model = {model} there is no such key; leave it out");
                return Err(ScenarioError::Set { set: text.clone(), why });
            }
        }
        check(&scenario)?;
        Ok(scenario)
    }

    /// Whether it has the key in `KEY=VALUE`.
    pub fn has_key(&self, set: &str) -> bool {
        let table = self.settable().ok();
        table.is_some_and(|mut table| set::apply(&mut table, set).is_ok())
            && Keys::of(self.kind, self.load.model).has(set::path(set))
    }

    /// Whether it could measure a raw echo as its floor, and is told not to.
    pub fn goes_without_floor(&self) -> bool {
        self.has_key("floor_seconds=0") && self.floor_seconds <= 0.0
    }

    /// Its keys with defaults, without those that its kind lacks.
    pub fn table(&self) -> Result<toml::Table, String> {
        let mut table = toml::Table::try_from(self).map_err(|error| error.to_string())?;
        Keys::of(self.kind, self.load.model).keep(&mut table);
        Ok(table)
    }

    /// The same, with the keys that other load models have: they can be set as well.
    fn settable(&self) -> Result<toml::Table, String> {
        let mut table = toml::Table::try_from(self).map_err(|error| error.to_string())?;
        Keys::of_any_load(self.kind).keep(&mut table);
        Ok(table)
    }
}

#[cfg(test)]
mod tests;
