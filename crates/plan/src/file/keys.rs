//! Which keys a scenario file may have.

use crate::measure;
use crate::scenario::Measure;
use crate::tables::load::Model;
use toml::{Table, Value};

/// Keys of every kind.
const COMMON: &[&str] =
    &["about", "hiccup_seconds", "kind", "name", "runs", "subject.cores", "subject.name"];

/// The keys of a kind, as paths. The path of a table stands for all keys below it.
pub(crate) struct Keys(Vec<&'static str>);

impl Keys {
    /// The keys of a kind under that load.
    pub(crate) fn of(kind: Measure, model: Model) -> Keys {
        Keys([COMMON, measure::of(kind).keys(model)].concat())
    }

    /// The keys of a kind under any load.
    pub(crate) fn of_any_load(kind: Measure) -> Keys {
        let measurement = measure::of(kind);
        let of = |model| measurement.keys(model);
        Keys([COMMON, of(Model::Open), of(Model::PingPong)].concat())
    }

    /// Whether the kind has the key with that path, such as `subject.rust.backend`.
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = of_members(path);
        self.covers(&path) || self.is_above(&path)
    }

    /// The first key of a scenario's text that the kind doesn't have.
    pub(crate) fn foreign(&self, scenario: &mut Table) -> Option<String> {
        let mut foreign = Vec::new();
        self.split(scenario, "", &mut foreign);
        foreign.into_iter().next()
    }

    /// Removes the keys that the kind doesn't have.
    pub(crate) fn keep(&self, scenario: &mut Table) {
        self.split(scenario, "", &mut Vec::new());
    }

    /// Whether `path` is one of the keys, or below one.
    fn covers(&self, path: &str) -> bool {
        let is_in = |key: &&str| {
            path.strip_prefix(*key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.0.iter().any(is_in)
    }

    /// Whether a key is below `path`.
    fn is_above(&self, path: &str) -> bool {
        let below = |key: &&str| key.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
        self.0.iter().any(below)
    }

    /// Moves the paths of foreign keys from `table`, which is at `path`, to `foreign`.
    fn split(&self, table: &mut Table, path: &str, foreign: &mut Vec<String>) {
        table.retain(|key, value| {
            let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            if self.covers(&path) {
                return true;
            }
            if !self.is_above(&path) {
                foreign.push(path);
                return false;
            }
            match value {
                Value::Table(inner) => self.split(inner, &path, foreign),
                Value::Array(members) => members
                    .iter_mut()
                    .filter_map(Value::as_table_mut)
                    .for_each(|member| self.split(member, &path, foreign)),
                _ => {}
            }
            true
        });
    }
}

/// The path of a key without the names of list members.
fn of_members(path: &str) -> String {
    match path.strip_prefix("subject.").and_then(|rest| rest.split_once('.')) {
        Some((_, key)) => format!("subject.{key}"),
        None => path.to_owned(),
    }
}
