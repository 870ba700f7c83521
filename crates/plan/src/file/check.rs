//! Checks a scenario before it is carried out: the keys that every kind has, then those of its
//! kind.

use crate::scenario::{BARE, FLOOR, HICCUP, RUNS_MAX, Scenario, ScenarioError};
use crate::tables::load::SECONDS_MAX;
use clock::range::{require, within};

/// Subject names that tickpath uses itself.
const RESERVED: [&str; 3] = [FLOOR, BARE, HICCUP];

/// Checks every key against its range, and against the others.
pub(crate) fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let plain = "a name has 1 to 40 letters, digits, - and _";
    require(is_plain(&scenario.name), "name", &scenario.name, plain)?;
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
        require(is_plain(name), &key, name, plain)?;
        let is_free = !RESERVED.iter().any(|own| name.starts_with(own));
        require(is_free, &key, name, "floor…, bare… and hiccup… are tickpath's own names")?;
        let is_new = scenario.subject[..index].iter().all(|other| other.name != *name);
        require(is_new, &key, name, "two subjects have this name; give each its own")?;
        measurement.check_subject(scenario, subject)?;
    }
    Ok(())
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=40).contains(&name.len()) && name.chars().all(plain)
}
