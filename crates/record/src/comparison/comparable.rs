//! Whether two records can be compared, and how their settings differ.

use crate::RunRecord;
use crate::machine::{self, Fingerprint, Machine};

/// Why two records made apart can't be compared; empty if they can.
pub fn incomparable_because(
    a: &RunRecord,
    of_a: &Machine,
    b: &RunRecord,
    of_b: &Machine,
) -> Vec<String> {
    let mut because: Vec<String> = [("A", a), ("B", b)]
        .into_iter()
        .filter(|(_, record)| record.is_void())
        .map(|(name, record)| format!("{name} is void: {}", record.void_because.join("; ")))
        .collect();
    let quick = [("A", a), ("B", b)].into_iter().filter(|(_, record)| record.smoke_test);
    because.extend(quick.map(|(name, _)| format!("{name} is a smoke test (--quick)")));
    if of_a.before == Fingerprint::default() || of_b.before == Fingerprint::default() {
        because.push("a fingerprint is missing, so the machines may differ".to_owned());
        return because;
    }
    let differences = machine::differences(&of_a.before, &of_b.before, machine::PROBE_RATIO_MAX);
    because.extend(
        differences
            .into_iter()
            .map(|what| format!("the machines or their settings differ (A -> B): {what}")),
    );
    because
}

/// Differences of two resolved scenarios: `load.connections: 16 -> 4`.
pub fn differs(a: &RunRecord, b: &RunRecord) -> Vec<String> {
    let mut differs = Vec::new();
    for (name, a, b) in [("tool", &a.tool, &b.tool), ("scenario", &a.scenario, &b.scenario)] {
        if a != b {
            differs.push(format!("{name}: {a} -> {b}"));
        }
    }
    let mut changes = Vec::new();
    machine::collect_changes(String::new(), &a.resolved, &b.resolved, &mut changes);
    // Ignore the names and descriptions of the scenarios.
    changes.retain(|(path, _, _)| path != "name" && path != "about");
    differs.extend(changes.iter().map(|(path, a, b)| format!("{path}: {a} -> {b}")));
    differs
}

/// Whether the raw echo had the same load, cores and network in both records, so that it can't have
/// changed.
pub fn same_floor(a: &RunRecord, b: &RunRecord) -> bool {
    floor_key(a).is_some_and(|of_a| floor_key(b) == Some(of_a))
}

/// All that the raw echo of `record` depends on, as text; `None` if it has none.
pub(crate) fn floor_key(record: &RunRecord) -> Option<String> {
    let floor = record.subjects.iter().find(|subject| subject.is_floor())?;
    // Each kind of scenario has some of these.
    let of_all = ["/load", "/flow", "/feed", "/network", "/exchange/backend", "/exchange/gateways"];
    let settings = of_all.map(|pointer| record.resolved.pointer(pointer));
    let (backend, scheduling) = (&floor.backend, &floor.scheduling);
    Some(format!(
        "{backend} {scheduling} {:?} {:?} {settings:?}",
        floor.cores, floor.load.message_bytes
    ))
}
