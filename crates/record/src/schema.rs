//! Tests that docs/run.schema.json and the other schemas match the types in `record`.

use crate::audited::AuditSummary;
use crate::comparison::Comparison;
use crate::directory::load_record;
use crate::history::History;
use crate::lifecycle::Lifecycles;
use crate::race::RaceRecord;
use crate::sweep::SweepRecord;
use crate::tune::{TRIAL_SCHEMA, Trial};
use crate::{Kind, RunRecord, SCHEMA};
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use std::path::Path;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/run.schema.json");
const SHIPPED: &str = include_str!("../../../docs/run.schema.json");
const OLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records/schema-1.json");

const ID: &str = "https://github.com/tickpath/tickpath/blob/main/docs/run.schema.json";
const DESCRIPTION: &str = "The measurements of one `tickpath run`, with its verdict. Latencies are integers in \
    the `unit` of their series. Keys may be added without a new version: readers ignore those that they \
    don't know, and take absent ones at their default.";

/// The schema of the current types.
fn generated() -> Value {
    let mut schema = schema_of::<RunRecord>(ID, SCHEMA);
    schema["title"] = json!("run.json, the run record of tickpath");
    schema["description"] = json!(DESCRIPTION);
    schema
}

/// The schema of a type without a version of its own.
fn unversioned<T: schemars::JsonSchema>(id: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    schema["$id"] = json!(id);
    schema
}

/// The schema of a type whose key `schema` is its version.
pub(crate) fn schema_of<T: schemars::JsonSchema>(id: &str, version: u32) -> Value {
    let mut schema = unversioned::<T>(id);
    let key = &mut schema["properties"]["schema"];
    *key = json!({"description": key["description"], "const": version});
    schema
}

/// Removes details of Rust: names of number formats, the newlines of comments, and defaults that
/// repeat those of their keys.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            if keys.get("format").is_some_and(Value::is_string) {
                keys.remove("format");
            }
            let repeats = |default: &Value| default.as_object().is_some_and(|one| !one.is_empty());
            if keys.get("default").is_some_and(repeats) {
                keys.remove("default");
            }
            if let Some(Value::String(text)) = keys.get_mut("description") {
                *text = text.replace('\n', " ").replace("`None`", "`null`");
            }
            keys.values_mut().for_each(tidy);
        }
        Value::Array(values) => values.iter_mut().for_each(tidy),
        _ => {}
    }
}

#[test]
fn the_schema_in_docs_is_that_of_the_types() {
    check_file(FILE, SHIPPED, generated());
}

/// compare.json, sweep.json, trial.json, and the output of `report --json` for a directory and for
/// an audit log, and that of `race --json`.
#[test]
fn the_other_schemas_in_docs_are_those_of_their_types() {
    let id = |name: &str| ID.replace("run.schema", &format!("{name}.schema"));
    let of_types = [
        ("compare", schema_of::<Comparison>(&id("compare"), crate::comparison::SCHEMA)),
        ("sweep", schema_of::<SweepRecord>(&id("sweep"), crate::sweep::SCHEMA)),
        ("history", unversioned::<History>(&id("history"))),
        ("audit", unversioned::<AuditSummary>(&id("audit"))),
        ("lifecycle", schema_of::<Lifecycles>(&id("lifecycle"), crate::lifecycle::SCHEMA)),
        ("trial", schema_of::<Trial>(&id("trial"), TRIAL_SCHEMA)),
        ("race", schema_of::<RaceRecord>(&id("race"), crate::race::SCHEMA)),
    ];
    for (name, schema) in of_types {
        let file = FILE.replace("run.schema", &format!("{name}.schema"));
        let shipped = std::fs::read_to_string(&file).unwrap_or_else(|_| "null".to_owned());
        check_file(&file, &shipped, schema);
    }
}

/// Compares the schema with the file, or writes the file if the environment says so.
#[track_caller]
pub(crate) fn check_file(file: &str, shipped: &str, generated: Value) {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        // Convert to schemars' type, which sorts the keys as readers expect.
        let schema = schemars::Schema::try_from(generated).unwrap();
        let text = serde_json::to_string_pretty(&schema).unwrap();
        std::fs::write(file, text + "\n").unwrap();
        return;
    }
    assert!(
        generated == serde_json::from_str::<Value>(shipped).unwrap(),
        "{file} no longer matches its types; \
         UPDATE_EXPECT=1 cargo test -p record schema writes it anew"
    );
}

/// Violations of the shipped schema in `record`.
pub(crate) fn faults(record: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(SHIPPED).unwrap();
    testing::schema::faults(&schema, record)
}

fn old_record() -> Value {
    serde_json::from_str(&std::fs::read_to_string(OLD).unwrap()).unwrap()
}

/// The old record as it would be written today.
fn any_record() -> Value {
    serde_json::to_value(load_record(Path::new(OLD)).unwrap()).unwrap()
}

/// A record of tickpath 0.1.0 (tests/records/README.md) must always open.
#[test]
fn an_old_record_opens_and_validates() {
    let record = load_record(Path::new(OLD)).unwrap();
    assert_eq!((record.schema, record.tool.as_str()), (SCHEMA, "tickpath 0.1.0"));
    // It keeps its verdict: it was valid as a whole, so all of its figures hold.
    assert_eq!(old_record()["valid"], !record.is_void());
    assert_eq!(record.holds(0.99), !record.is_void());
    let order = record.subject("rust").unwrap().series("order", Kind::Response).unwrap();
    assert!(order.pooled.p50.is_some() && order.pooled.p99_999.is_none());
    // Written again, it still matches the schema.
    assert_eq!(faults(&serde_json::to_value(record).unwrap()), [""; 0]);
}

#[test]
fn keys_that_nobody_knows_and_keys_with_a_default_are_no_fault() {
    let mut record = any_record();
    record["from_the_future"] = json!({"x": 1});
    record["subjects"][0]["load"]["from_the_future"] = json!(1);
    record["subjects"][0]["load"]["rate_per_second_offered"] = json!(null);
    for key in ["started", "command", "rules", "clock", "resolved"] {
        record.as_object_mut().unwrap().remove(key);
    }
    record["subjects"][0].as_object_mut().unwrap().remove("load");
    record["subjects"][1]["load"] = json!({});
    assert_eq!(faults(&record), [""; 0]);
}

#[test]
fn what_is_no_record_does_not_validate() {
    for (pointer, wrong) in [
        ("/schema", json!(SCHEMA + 1)),
        ("/schema", json!("1")),
        ("/void_because", json!("yes")),
        ("/runs", json!(-1)),
        ("/warnings", json!(null)),
        ("/subjects/0/name", json!(7)),
        ("/subjects/0/load/rate_per_second_achieved", json!("10 000")),
        ("/subjects/0/load/sent", json!(0.5)),
        ("/subjects/0/series/0/kind", json!("latency")),
        ("/subjects/0/series/0/pooled/p50", json!("41 us")),
        ("/subjects/0/series/0/pooled/max", json!(null)),
        ("/rules/0/verdict", json!("fine")),
    ] {
        let mut record = any_record();
        *record.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = wrong.clone();
        assert_eq!(faults(&record).len(), 1, "{pointer}: {wrong}");
    }
    for key in ["schema", "tool", "complete", "runs", "subjects"] {
        let mut record = any_record();
        record.as_object_mut().unwrap().remove(key);
        assert_eq!(faults(&record).len(), 1, "without {key}");
    }
    assert!(!faults(&json!([])).is_empty());
}
