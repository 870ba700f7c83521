//! Records in groups.

use super::*;
use crate::instance::Instance;
use crate::machine::{Fingerprint, FixedFacts};
use serde_json::json;

fn member(name: &str, connections: u32, p50: u64) -> Member {
    let record = serde_json::from_value(json!({
        "schema": 2, "tool": "tickpath 0.3.0", "scenario": "s", "complete": true, "runs": 2, "warnings": [],
        "resolved": {"name": "s", "load": {"connections": connections}},
        "subjects": [{"name": "rust", "series": [{"name": "order", "kind": "response", "unit": "ns",
            "pooled": {"count": 100, "p50": p50, "max": 9 * p50}, "holds_to": 0.5,
            "per_run": [{"count": 50, "p50": p50 - 1}, {"count": 50, "p50": p50 + 1}]}]}]
    }));
    Member { name: name.to_owned(), record: record.unwrap(), machine: None }
}

fn on(zone: &str, kernel: &str, memory_total_kib: u64, member: Member) -> Member {
    let fixed = FixedFacts {
        kernel_release: Some(kernel.to_owned()),
        memory_total_kib: Some(memory_total_kib),
        dmi_vendor: Some("Amazon EC2".to_owned()),
        dmi_product: Some("c7i.large".to_owned()),
        ..FixedFacts::default()
    };
    let instance = Instance { zone_id: Some(zone.to_owned()), ..Instance::default() };
    let before = Fingerprint { fixed, instance, ..Fingerprint::default() };
    Member { machine: Some(Machine { before, after: None }), ..member }
}

fn values(of: &SideBySide) -> Vec<String> {
    of.groups.iter().map(|group| group.values.join(" ")).collect()
}

#[test]
fn settings_that_differ_make_groups_and_others_do_not() {
    let members = vec![member("a", 4, 100), member("b", 16, 300), member("c", 4, 200)];
    let found = side_by_side(members);
    assert_eq!(found.by, ["load.connections"]);
    assert_eq!(values(&found), ["4", "16"]);
    assert_eq!((found.groups[0].runs, found.groups[0].records.len()), (4, 2));
    let figure = found.groups[0].rows[0].figure("p50").unwrap();
    assert_eq!((figure.value, figure.over_runs, figure.holds), (150, [99, 201], true));
    assert!(found.groups[0].rows[0].figure("p90").is_none(), "not supported");
}

#[test]
fn a_zone_and_a_kernel_stand_for_the_machine() {
    let found = side_by_side(vec![
        on("euc1-az1", "6.1", 7, member("a", 4, 100)),
        on("euc1-az2", "6.1", 8, member("b", 4, 100)),
        on("euc1-az2", "6.8", 8, member("c", 4, 100)),
    ]);
    assert_eq!(found.by, ["zone", "kernel"]);
    assert_eq!(values(&found), ["euc1-az1 6.1", "euc1-az2 6.1", "euc1-az2 6.8"]);
    // Two records that differ only in their letters.
    let found = side_by_side(vec![
        on("euc1-az1", "6.1", 7, member("a", 4, 100)),
        on("euc1-az1", "6.1", 8, member("b", 4, 100)),
    ]);
    assert_eq!((found.by.as_slice(), found.groups.len()), (&["machine".to_owned()][..], 2));
}

#[test]
fn where_nothing_differs_each_record_is_a_group() {
    let found = side_by_side(vec![member("a", 4, 100), member("b", 4, 110)]);
    assert_eq!(
        (found.by.as_slice(), values(&found)),
        (&["record".to_owned()][..], vec!["a".into(), "b".into()])
    );
}

#[test]
fn what_is_no_result_is_left_out_and_named() {
    let mut void = member("b", 4, 110);
    void.record.void_because = vec!["lost replies".to_owned()];
    let found = side_by_side(vec![member("a", 4, 100), void]);
    assert_eq!(found.left_out, ["b: void: lost replies"]);
    assert_eq!(found.groups.len(), 1);
}

#[test]
fn many_settings_are_letters_that_a_note_explains() {
    let mut other = member("b", 16, 100);
    for key in ["a", "b", "c", "d"] {
        other.record.resolved[key] = json!(key);
    }
    let found = side_by_side(vec![member("a", 4, 100), other]);
    assert_eq!(found.by, ["settings"]);
    assert!(found.notes[0].contains("; 1 more"), "{:?}", found.notes);
}

/// A p50 between two regimes is no figure: of several records, those with one speed count in the
/// nearer regime.
#[test]
fn two_regimes_and_the_ratio_stand_beside_p50() {
    let with = |name: &str, p50: u64, regimes: &[u64], ratio: f64| {
        let mut member = member(name, 4, p50);
        let series = &mut member.record.subjects[0].series[0];
        let regime = |(name, p50): (&str, &u64)| json!({"regime": name, "slices": 6, "share": 0.5, "figures": {"count": 90, "p50": p50}});
        let regimes: Vec<_> = ["fast", "slow"].into_iter().zip(regimes).map(regime).collect();
        series.regimes = serde_json::from_value(json!(regimes)).unwrap();
        series.over_floor = serde_json::from_value(
            json!({"floor": "floor", "holds_to": 0.9, "figures": {"p50": {"ratio": ratio}}}),
        )
        .unwrap();
        member
    };
    let row = |members: Vec<Member>| {
        let members: Vec<&Member> = members.iter().collect();
        rows(&members).remove(0)
    };
    let both = row(vec![with("a", 90, &[78, 109], 1.07), with("b", 80, &[], 1.09)]);
    assert_eq!(both.figure("p50").unwrap().regimes, Some([79, 109]));
    assert_eq!(both.over_floor, Some(Ratio { value: 1.08, holds: true }));
    let one = row(vec![with("a", 90, &[], 1.07), member("b", 4, 80)]);
    assert_eq!((one.figure("p50").unwrap().regimes, one.over_floor), (None, None));
}
