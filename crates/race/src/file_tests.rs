use super::*;

fn prepare(text: &str) -> Result<PreparedRace, RaceError> {
    File::parse(text).and_then(File::prepare)
}

const ONE: &str = "name = \"x\"\n[[participant]]\nname = \"a\"\nkind = \"maker\"\n";

/// The example shows every key with its default. Only those that make it a race of its own differ.
#[test]
fn the_example_is_a_race() {
    let prepared = prepare(EXAMPLE).unwrap();
    assert_eq!((prepared.race.participants.len(), prepared.race.venues()), (5, 2));
    assert_eq!(prepared.subject, Some(0));
    let keys = |text: &str| -> Vec<String> {
        let table: toml::Table = toml::from_str(text).unwrap();
        table["market"].as_table().unwrap().keys().cloned().collect()
    };
    // `recorded` has no default.
    let resolved = toml::to_string(&prepared.file).unwrap();
    assert_eq!(keys(EXAMPLE), keys(&resolved), "keys of [market]");
}

/// A spread of 1 tick around a value between two ticks joins the best prices there: half of it is
/// half a tick.
#[test]
fn a_spread_is_between_the_quotes() {
    let role = |ticks: &str| {
        let text = format!("{ONE}spread_ticks = {ticks}\nlatency.constant_us = 1");
        prepare(&text).map(|prepared| prepared.race.participants[0].role)
    };
    assert_eq!(role("1").unwrap(), Role::Maker { venue: 0, half_spread: 1, lots: 1 });
    assert_eq!(role("2.0").unwrap(), Role::Maker { venue: 0, half_spread: 2, lots: 1 });
    assert!(role("1.3").unwrap_err().to_string().contains("half ticks"));
}

#[test]
fn an_error_names_the_key_the_value_and_the_range() {
    let latency = "latency.constant_us = 1\n";
    for (text, expected) in [
        ("name = 5", "not a race: "),
        ("name = \"x\"\nspeed = 1", "unknown field `speed`"),
        ("name = \"x\"", "the number of participants is 0, but must be 1 to 1000 tables"),
        (&format!("seeds = 0\n{ONE}{latency}"), "seeds is 0, but must be from 1 to 100000"),
        (&format!("seconds = nan\n{ONE}{latency}"), "seconds is NaN"),
        (&format!("subject = \"b\"\n{ONE}{latency}"), "subject is b, but must be a participant: a"),
        (&format!("worth_at = \"2s\"\n{ONE}{latency}"), "worth_at is 2s, but must be 1ms"),
        (&format!("{ONE}latency.times = 2"), "one of constant_us, exponential_us and run"),
        (&format!("{ONE}latency.constant_us = -1"), "participant \"a\": latency is -1"),
        (&format!("{ONE}venue = 16\n{latency}"), "participant \"a\": venue is 16"),
        (&format!("{ONE}latency.run = \"/no/run\""), "no latencies from /no/run"),
        (
            &format!("{ONE}{latency}[[participant]]\nname = \"a\"\nkind = \"sniper\"\n{latency}"),
            "participant.name is a",
        ),
        (&format!("{ONE}{latency}[market]\nnews_branching = 1"), "market.news_branching is 1"),
    ] {
        let error = prepare(text).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}\n{error}");
    }
}

/// A log in the repository, written by HdrHistogram's C library.
#[test]
fn a_log_gives_its_latencies() {
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/../record/tests/writers/c.hlog");
    let text = format!("{ONE}latency.run = {log:?}\n");
    let error = prepare(&text).map(|_| ()).unwrap_err().to_string();
    let (_, tags) = error.split_once("say which series with latency.series: ").expect(&error);
    let tag = tags.split(", ").next().unwrap();
    let prepared = prepare(&format!("{text}latency.series = {tag:?}")).unwrap();
    let summary = prepared.race.participants[0].latency.summary();
    let totals = record::hlog::totals(&std::fs::read(log).unwrap()[..]).unwrap();
    assert!(summary.p50_ns > 0 && summary.p99_9_ns <= totals[tag].max(), "{summary:?}");
    let error = prepare(&format!("{text}latency.series = \"no\"")).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("it has no series \"no\", but "), "{error}");
}
