//! Which records open.

use super::*;
use crate::{Kind, Load};

/// The example of the design document must open.
#[test]
fn a_record_with_few_and_with_unknown_keys_opens() {
    let text = r#"{"schema": 3, "tool": "tickpath 0.1.0", "scenario": "order-to-ack",
      "complete": true, "void_because": [], "runs": 6,
      "warnings": [], "from_the_future": 1,
      "subjects": [{"name": "rust", "backend": "spin",
        "load": {"model": "open", "rate_per_second_offered": 10000.0, "sent": 240000},
        "series": [{"name": "order", "kind": "response", "unit": "ns",
          "pooled": {"count": 120000, "p50": 1, "p99_999": null, "max": 2},
          "uncertain": ["p99_99"], "per_run": [{"count": 20000, "p50": 0, "p99": 0}],
          "interval": {"p50": [0, 0]}}]},
        {"name": "floor", "backend": "spin", "load": {}, "series": []}]}"#;
    let example = serde_json::from_str(text).unwrap();
    assert_eq!(crate::schema::faults(&example), [""; 0]);
    let record: RunRecord = serde_json::from_value(example).unwrap();
    let order = record.subject("rust").unwrap().series("order", Kind::Response).unwrap();
    assert_eq!(order.pooled.count, 120_000);
    let again = serde_json::to_string(&record).unwrap();
    assert!(serde_json::from_str::<RunRecord>(&again).is_ok());
}

#[test]
fn kinds_have_one_name_each() {
    for kind in [Kind::Response, Kind::Service, Kind::Stage, Kind::Noise, Kind::Lateness] {
        assert_eq!(Kind::from_name(kind.name()), Some(kind));
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
    }
}

/// A record of schema 1 was valid or invalid as a whole.
#[test]
fn a_record_of_schema_1_keeps_its_verdict() {
    let record = |valid: bool, because: &str| {
        let text = format!(
            r#"{{"schema": 1, "tool": "", "scenario": "s", "complete": true, "valid": {valid},
              "invalid_because": [{because}], "runs": 1, "runs_void": 0, "warnings": [],
              "subjects": [{{"name": "rust", "series": [{{"name": "order", "kind": "response", "unit": "ns",
                "pooled": {{"count": 2000, "p50": 1, "p99": 2}}}}]}}]}}"#
        );
        RunRecord::from_json(&text).unwrap()
    };
    let good = record(true, "");
    assert!(good.holds(0.99) && !good.holds(0.999), "{good:?}");
    let bad = record(false, r#""rust.lateness: too late""#);
    assert!(bad.is_void() && !bad.holds(0.5));
}

/// The key `engine` was once `matching`.
#[test]
fn an_engines_run_opens_by_its_old_name() {
    let load: Load = serde_json::from_str(r#"{"matching": [{"operations": 7}]}"#).unwrap();
    assert_eq!(load.engine[0].operations, 7);
    let again = serde_json::to_value(&load).unwrap();
    assert_eq!(again["engine"][0]["operations"], 7);
}
