//! Context of the figures: warnings, the machine, the scenario, and the parts that were not
//! measured.

use crate::run::figures::percentile_name;
use crate::text::words::samples;
use crate::text::words::{self, measure, not_checked, shown, title};
use maud::{Markup, html};
use record::machine::{Fingerprint, Machine};
use record::measure::Measure;
use record::{Rule, RunRecord, Subject};
use serde_json::Value;
use stats::PERCENTILES;

/// Fixed facts that stand before the fold.
const FACTS: [&str; 9] = [
    "dmi_product",
    "cpu_model",
    "cores_online",
    "cores_isolated",
    "hypervisor",
    "kernel_release",
    "kernel_command_line",
    "clock_source",
    "turbo",
];

/// The fingerprints before and after.
pub(crate) fn machine(machine: Result<&Machine, &str>) -> Markup {
    let body = match machine {
        Err(why) => html! { p class="warn" { "The fingerprint can't be read: " (why) "." } },
        Ok(machine) => fingerprints(machine),
    };
    html! { h2 { "Machine" } (body) }
}

fn fingerprints(machine: &Machine) -> Markup {
    let part = |fingerprint: &Fingerprint, name: &str| {
        let all = serde_json::to_value(fingerprint).unwrap_or_default();
        all.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let rows = |name: &str| -> Vec<(String, Value, Option<Value>)> {
        let after = machine.after.as_ref().map(|after| part(after, name));
        let before = part(&machine.before, name).into_iter();
        let beside = |key: &str| after.as_ref().map(|after| after[key].clone());
        before
            .map(|(key, value)| {
                let after = beside(&key);
                (key, value, after)
            })
            .collect()
    };
    let fixed = rows("fixed");
    let changed =
        |row: &&(String, Value, Option<Value>)| row.2.as_ref().is_some_and(|after| *after != row.1);
    let is_front = |row: &&(String, Value, Option<Value>)| {
        (FACTS.contains(&row.0.as_str()) && !row.1.is_null()) || changed(row)
    };
    let (front, rest): (Vec<_>, Vec<_>) = fixed.iter().partition(is_front);
    let table = |rows: &[&(String, Value, Option<Value>)], marks: bool| {
        html! {
            div class="box" {
                table {
                    thead { tr { th {} th scope="col" { "before" } th scope="col" { "after" } } }
                    @for row in rows {
                        tr class=[(marks && changed(row)).then_some("changed")] {
                            th scope="row" { (row.0.replace('_', " ")) }
                            td class="text" { (value(&row.1)) }
                            td class="text" {
                                @match &row.2 {
                                    None => "not looked at",
                                    Some(after) if *after == row.1 => "the same",
                                    Some(after) => (value(after)),
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    let (probes, load) = (rows("probes"), rows("load"));
    let known: Vec<_> = probes.iter().filter(|row| !row.1.is_null()).collect();
    html! {
        (table(&front, true))
        h3 { "Probes" }
        (table(&known, false))
        details {
            summary { "The rest of what must not change, and the load around it" }
            (table(&rest, true))
            (table(&load.iter().collect::<Vec<_>>(), false))
        }
    }
}

fn value(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string().replace(',', ", "),
    }
}

/// The scenario as it was resolved, and how to repeat it.
pub(crate) fn scenario(record: &RunRecord) -> Markup {
    let resolved = serde_json::to_string_pretty(&record.resolved).unwrap_or_default();
    html! {
        h2 { "Scenario" }
        @if !record.command.is_empty() {
            p { "Repeat it with:" }
            pre { code { (command(&record.command)) } }
        }
        @if !record.resolved.is_null() {
            details {
                summary { "As resolved: defaults filled in, overrides applied, cores chosen" }
                pre { code { (resolved) } }
            }
        }
    }
}

/// Words as a shell takes them.
pub(crate) fn command(words: &[String]) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "-_./=:,+@%".contains(character);
    let quoted = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Limits of these figures.
pub(crate) fn not_measured(record: &RunRecord) -> Markup {
    let skipped: Vec<&Rule> = not_checked(record).collect();
    html! {
        h2 { "Not measured" }
        ul {
            @for line in surroundings(record) { li { (line) } }
            @for line in record.subjects.iter().filter_map(unsupported) { li { (line) } }
            @for rule in skipped { li { "Rule " (rule.rule) " was not applied: " (rule.detail) "." } }
        }
    }
}

const NOISE: &[&str] = &[
    "Other cores than these.",
    "A core that is slower without standing still: others fill its cache or share its units, or it clocks down.",
];

/// Whether some subject had its producer and its consumer in two processes.
fn has_two_processes(record: &RunRecord) -> bool {
    let subjects = record.resolved["subject"].as_array();
    subjects.is_some_and(|all| all.iter().any(|one| one["processes"] == 2))
}

/// Parts of a real path that the set-up leaves out.
fn surroundings(record: &RunRecord) -> Vec<String> {
    let mut lines: Vec<&str> = Vec::new();
    let starts_exchange = record.resolved["exchange"]["start"].as_bool();
    if starts_exchange == Some(true) {
        lines.push(match record.resolved["network"].as_str() {
            Some("veth") => "Anything beyond a veth pair between two network namespaces: no NIC, no switch, no distance.",
            _ => "Anything beyond loopback: no NIC, no switch, no distance.",
        });
        lines.push(
            "Two machines: exchange and trader share caches, memory and, on a virtual machine, the hypervisor's schedule.",
        );
    } else if starts_exchange == Some(false) {
        lines.push("The exchange's own state and time: it was not started by tickpath, and its machine is not fingerprinted.");
    }
    if measure(record) == Some(Measure::Ipc) && !has_two_processes(record) {
        lines.push("Messages between processes: producer and consumer are threads of one process.");
    }
    let is_noise = words::is_noise(record);
    lines.extend(if is_noise { NOISE } else { words::of_kind(record).left_out });
    let is_ping_pong = record.subjects.iter().any(|subject| subject.load.model == "ping-pong");
    if is_ping_pong {
        lines.push(
            "Response time: ping-pong has no queue, so a stall between two messages is not seen.",
        );
    }
    let is_back_to_back =
        record.subjects.iter().any(|subject| subject.load.model == "back-to-back");
    if is_back_to_back {
        lines.push("Response time: operations follow each other without a queue. Scenario engine-open-loop has a schedule.");
    }
    if is_noise || measure(record) == Some(Measure::Cores) {
        return lines.into_iter().map(str::to_owned).collect();
    }
    if matches!(measure(record), Some(Measure::Orders | Measure::Ticks))
        && !record.subjects.iter().any(Subject::is_floor)
    {
        lines.push(
            "The floor: there was no raw echo beside it, so what the software adds is not known.",
        );
    }
    if record.subject("hiccup").is_none() {
        lines.push("The hiccup row: what this machine alone does to a response time is not known.");
    }
    let has_interval =
        |subject: &Subject| subject.series.iter().any(|one| !one.interval.is_empty());
    if !record.subjects.iter().any(has_interval) {
        lines.push("The spread between runs: fewer than six complete runs give no interval for the median.");
    }
    lines.into_iter().map(str::to_owned).collect()
}

/// Up to which percentile the samples of a subject reach.
fn unsupported(subject: &Subject) -> Option<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for series in shown(subject) {
        let missing = PERCENTILES.iter().zip(series.pooled.values()).find(|(_, ns)| ns.is_none());
        let Some(((name, _), _)) = missing else { continue };
        let group =
            format!("{} and beyond, from {}", percentile_name(name), samples(series.pooled.count));
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, titles)) => titles.push(title(series)),
            None => groups.push((group, vec![title(series)])),
        }
    }
    let list: Vec<String> = groups
        .into_iter()
        .map(|(group, titles)| format!("{group} ({})", titles.join(", ")))
        .collect();
    (!list.is_empty()).then(|| format!("{}: {}.", subject.name, list.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let words = ["tickpath", "run", "--set", "subject.rust.command=[\"a\", \"it's\"]", ""];
        assert_eq!(
            command(&words.map(str::to_owned)),
            r#"tickpath run --set 'subject.rust.command=["a", "it'\''s"]' ''"#
        );
    }
}
