//! `tickpath race` as a process.

use crate::support::*;
use record::race::RaceRecord;

fn fails_with(arguments: &[&str], expected: &str) {
    let done = output(arguments);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(said.contains(expected), "{arguments:?}: {said}");
}

const SMALL: [&str; 5] = ["race", "--seeds", "6", "--seconds", "2"];

#[test]
fn the_example_races_and_repeats() {
    let json = || output(&[&SMALL[..], &["--json"]].concat());
    let (first, second) = (json(), json());
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    assert_eq!(first.stdout, second.stdout);
    let value: serde_json::Value = serde_json::from_slice(&first.stdout).unwrap();
    let schema = include_str!("../../../../docs/race.schema.json");
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
    assert_eq!(testing::schema::faults(&schema, &value), [""; 0]);
    let record: RaceRecord = serde_json::from_value(value).unwrap();
    assert_eq!((record.seeds, record.participants.len()), (6, 5));
    let worth = record.worth.unwrap();
    assert_eq!((worth.subject.as_str(), worth.ladder.len()), ("maker", 7));
    assert!(worth.per_us.interval.is_some());

    let table = output(&SMALL);
    let table = text(&table.stdout);
    for expected in ["race · example · 6 markets of 2 s", "sniper", "picked off", "per us less"] {
        assert!(table.contains(expected), "{table}");
    }
}

#[test]
fn the_page_has_the_slope_and_one_race() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("race.html").display().to_string();
    let done = output(&[&SMALL[..], &["--html", &file]].concat());
    assert_eq!((done.status.code(), text(&done.stdout)), (Some(0), String::new()));
    let page = std::fs::read_to_string(&file).unwrap();
    for expected in ["race · example", "The slope", "maker: edge by latency", "One race, message"]
    {
        assert!(page.contains(expected), "{expected}: {page}");
    }
}

/// The example is a file that the command takes.
#[test]
fn the_example_can_be_written_and_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("my.toml");
    let example = output(&["race", "--example"]);
    let changed = text(&example.stdout).replace("name = \"example\"", "name = \"mine\"");
    std::fs::write(&path, changed).unwrap();
    let path = path.display().to_string();
    let done = output(&["race", &path, "--seeds", "1", "--seconds", "1", "--subject", "sniper"]);
    let shown = text(&done.stdout);
    assert!(shown.contains("race · mine · 1 market of 1 s"), "{shown}{}", text(&done.stderr));
    assert!(shown.contains("fewer than 6 seeds"), "{shown}");
}

/// A comparison in which B is 30 us faster at the p50 and the p99, and one in which it is slower.
#[test]
fn effects_are_ranked_by_money() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, added_ns: i64| {
        let figure = |figure: &str| {
            serde_json::json!({
                "subject": "rust", "series": "order", "kind": "service", "figure": figure,
                "a": 50_000, "b": 50_000 + added_ns, "change": 0.1, "interval": [0.1, 0.1],
                "added_ns": added_ns, "added_ns_interval": [added_ns - 100, added_ns + 100],
                "noise_floor": 0.01, "p": 0.01, "p_adjusted": 0.01, "outcome": "worse"
            })
        };
        let arm = |name: &str| serde_json::json!({"name": name, "runs": 6, "records": []});
        let comparison = serde_json::json!({
            "schema": 3, "tool": "tickpath", "started": "", "command": [], "a": arm("a"),
            "b": arm(name), "design": "interleaved", "pairs_void": 0, "void_because": [],
            "differs": [], "incomparable_because": [], "forced": false,
            "figures": [figure("p50"), figure("p99")], "outcome": "worse", "why": ""
        });
        let place = directory.path().join(name);
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join("compare.json"), comparison.to_string()).unwrap();
        place.display().to_string()
    };
    let (slower, faster) = (write("slower", 30_000), write("faster", -30_000));
    let what_if = ["--json", "--what-if", &slower, "--what-if", &faster];
    let done = output(&[&SMALL[..], &what_if].concat());
    let record: RaceRecord =
        serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{}", text(&done.stderr)));
    let [best, worst] = &record.what_if[..] else { panic!("{:?}", record.what_if) };
    assert!(best.name.contains("B faster: rust.order.service"), "{}", best.name);
    assert_eq!((best.body_ns, best.tail_ns), (-30_000, Some(-30_000)));
    assert!(best.gain.mean.unwrap() > 0.0 && worst.gain.mean.unwrap() < 0.0, "{best:?} {worst:?}");
    let [low, high] = best.range.unwrap();
    assert!(low <= best.gain.mean.unwrap() && best.gain.mean.unwrap() <= high, "{best:?}");
}

/// The guide once named trials before the command could read one.
#[test]
fn settings_of_a_trial_are_ranked_by_money() {
    let directory = tempfile::tempdir().unwrap();
    let setting = |id: &str, added_ns: i64| {
        let figure = |figure: &str, unit: &str| {
            serde_json::json!({
                "figure": figure, "unit": unit, "pairs": 6, "effect": {
                    "a": 50_000, "b": 50_000 + added_ns, "change": 0.1, "interval": [0.1, 0.1],
                    "added_ns": added_ns, "added_ns_interval": [added_ns, added_ns],
                    "noise_floor": 0.01, "p": 0.01
                },
                "range": null, "p_adjusted": 0.01, "outcome": "better", "why": ""
            })
        };
        serde_json::json!({
            "id": id, "pairs": 6, "pairs_void": 0, "seconds": 1.0, "outcome": "better", "why": "",
            "figures": [figure("p50", "ns"), figure("noise share", "ppm")]
        })
    };
    let trial = serde_json::json!({
        "schema": 3, "tried": [setting("turbo", 20_000), setting("c-states", -20_000)]
    });
    std::fs::write(directory.path().join("trial.json"), trial.to_string()).unwrap();
    let what_if = ["--json", "--what-if", &directory.path().display().to_string()];
    let done = output(&[&SMALL[..], &what_if].concat());
    let record: RaceRecord =
        serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{}", text(&done.stderr)));
    let [best, worst] = &record.what_if[..] else { panic!("{:?}", record.what_if) };
    assert!(best.name.ends_with(", c-states") && worst.name.ends_with(", turbo"), "{best:?}");
    assert_eq!((best.body_ns, best.tail_ns), (-20_000, None));
    assert!(best.gain.mean.unwrap() > worst.gain.mean.unwrap());
}

#[test]
fn an_error_says_what_to_do() {
    fails_with(&["race", "/no/file"], "name a race file; --example prints one");
    fails_with(&["race", "--subject", "nobody"], "subject is nobody, but must be a participant");
    fails_with(&["race", "--latency", "maker"], "write NAME=RUN,SERIES");
    fails_with(&["race", "--latency", "maker=/no,x"], "no latencies from /no");
    fails_with(&["race", "--seeds", "0"], "seeds is 0, but must be from 1");
    fails_with(&["race", "--what-if", "/"], "neither compare.json nor trial.json");
}

/// The fit of a day is a table that a race takes.
#[test]
fn a_fitted_market_can_be_raced() {
    let Some(day) = testing::market_data("esh4-glbx-mdp3-20231225.mbo.dbn.zst") else { return };
    let day = day.display().to_string();
    let fit = output(&["race", "--fit", &day]);
    let market = text(&fit.stdout);
    assert!(market.contains("time rescaling: distance"), "{market}{}", text(&fit.stderr));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fitted.toml");
    let maker = "[[participant]]\nname = \"a\"\nkind = \"maker\"\nlatency.constant_us = 9\n";
    std::fs::write(&path, format!("name = \"fitted\"\n{market}\n{maker}")).unwrap();
    let done = output(&["race", &path.display().to_string(), "--seeds", "6", "--json"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    fails_with(&["race", "--fit", "/no/day"], "name a Databento MBO file");
}
