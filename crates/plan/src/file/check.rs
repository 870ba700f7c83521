//! Checks a scenario before it is carried out: the keys that every kind has, then those of its
//! kind.

use crate::range::{require, within};
use crate::scenario::{BARE, FLOOR, HICCUP, RUNS_MAX, Scenario, ScenarioError};
use crate::tables::load::SECONDS_MAX;
use record::directory::is_plain;

/// Limit on the length of a name: it is in the names of files.
const NAME_BYTES_MAX: usize = 40;
/// Subject names that tickpath uses itself.
const RESERVED: [&str; 3] = [FLOOR, BARE, HICCUP];

/// Checks every key against its range, and against the others.
pub(crate) fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let plain = "a name has 1 to 40 letters, digits, - and _";
    require(is_name(&scenario.name), "name", &scenario.name, plain)?;
    within("runs", scenario.runs, 1..=RUNS_MAX, "there must be {}")?;
    for (key, seconds, least) in [
        ("warm_up_seconds", scenario.warm_up_seconds, 0.0),
        ("seconds", scenario.seconds, 0.001),
        ("floor_seconds", scenario.floor_seconds, 0.0),
        ("bare_seconds", scenario.bare_seconds, 0.0),
        ("hiccup_seconds", scenario.hiccup_seconds, 0.0),
    ] {
        let why = format!("from {least} to 30 days");
        require((least..=SECONDS_MAX).contains(&seconds), key, seconds, why)?;
    }
    let measurement = scenario.measurement();
    measurement.check(scenario)?;
    require(!scenario.subject.is_empty(), "subject", "[]", "there must be one")?;
    for (index, subject) in scenario.subject.iter().enumerate() {
        let (key, name) = (format!("subject.{index}.name"), &subject.name);
        require(is_name(name), &key, name, plain)?;
        let is_free = !RESERVED.iter().any(|own| name.starts_with(own));
        require(is_free, &key, name, "floor…, bare… and hiccup… are tickpath's own names")?;
        let is_new = scenario.subject[..index].iter().all(|other| other.name != *name);
        require(is_new, &key, name, "two subjects have this name; give each its own")?;
        measurement.check_subject(scenario, subject)?;
    }
    Ok(())
}

/// Whether it names a scenario or a subject.
fn is_name(text: &str) -> bool {
    text.len() <= NAME_BYTES_MAX && is_plain(text)
}
