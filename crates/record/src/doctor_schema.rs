//! Tests that docs/doctor.schema.json matches the types in `doctor` and the output of `tickpath
//! doctor --json`.

use crate::doctor::{Finding, Findings, Grade, SCHEMA};
use crate::schema::{check_file, schema_of};
use serde_json::{Value, json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/doctor.schema.json");
const SHIPPED: &str = include_str!("../../../docs/doctor.schema.json");
const ID: &str = "https://github.com/tickpath/tickpath/blob/main/docs/doctor.schema.json";

fn generated() -> Value {
    let mut schema = schema_of::<Findings>(ID, SCHEMA);
    schema["title"] = json!("the output of tickpath doctor --json");
    schema["description"] = json!(
        "Whether a machine is fit to measure on, and its problems. Keys may be added without a \
         new version: readers ignore those that they don't know, and take absent ones at their default."
    );
    // All other keys have a default; a document without a version is something else.
    schema["required"] = json!(["schema"]);
    schema
}

fn is_valid(findings: &Value) -> bool {
    let schema: Value = serde_json::from_str(SHIPPED).unwrap();
    testing::schema::faults(&schema, findings).is_empty()
}

#[test]
fn the_schema_in_docs_is_that_of_the_types() {
    check_file(FILE, SHIPPED, generated());
}

#[test]
fn what_is_printed_validates_and_what_is_not_does_not() {
    let findings = Grade::ALL.map(|grade| Finding { grade, ..Finding::default() });
    let findings = Findings { schema: SCHEMA, findings: findings.to_vec(), ..Findings::default() };
    let good = serde_json::to_value(findings).unwrap();
    assert!(is_valid(&good));
    let with = |pointer: &str, value: Value| {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed
    };
    assert!(is_valid(&with("/findings/0/value", json!("1"))));
    for (pointer, wrong) in [
        ("/schema", json!(SCHEMA + 1)),
        ("/fit", json!("yes")),
        ("/cores", json!([-1])),
        ("/findings/0/grade", json!("fine")),
        ("/findings/0/removes", json!(null)),
        ("/watched_seconds", json!("2 s")),
    ] {
        assert!(!is_valid(&with(pointer, wrong.clone())), "{pointer}: {wrong}");
    }
    assert!(!is_valid(&json!({})));
}
