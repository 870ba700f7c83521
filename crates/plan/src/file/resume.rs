//! A soak that goes on: its scenario from the record of the run that was interrupted.

use crate::scenario::{Scenario, ScenarioError};
use record::directory;
use std::path::Path;
use toml::{Table, Value};

/// The soak that left the record in `directory`, to be resumed; `overrides` as in
/// [`Scenario::find`].
///
/// # Errors
/// If there is no such record, it is of another kind, or a value in it or an override is
/// wrong.
pub fn resumed(directory: &Path, overrides: &[String]) -> Result<Scenario, ScenarioError> {
    let name = directory.display().to_string();
    let malformed = |message: String| ScenarioError::Malformed { name: name.clone(), message };
    let record = directory::load_record(directory)
        .map_err(|error| malformed(format!("{error}; --resume takes a run's directory")))?;
    let mut table = Table::try_from(&record.resolved)
        .map_err(|error| malformed(format!("its run.json has no scenario: {error}")))?;
    let kind = table.get("kind").and_then(Value::as_str);
    let engine = table.get("engine").cloned();
    let (Some("soak"), Some(Value::Table(mut engine))) = (kind, engine) else {
        return Err(malformed("it is no soak, and only those can be resumed".to_owned()));
    };
    engine.insert("resume".to_owned(), Value::String(name.clone()));
    table.insert("engine".to_owned(), Value::Table(engine));
    let text = toml::to_string(&table).map_err(|error| malformed(error.to_string()))?;
    Scenario::parse(&name, &text, overrides)
}
