//! Each rule breaks by its own cause.

use super::*;
use plan::scenario::Measure;
use record::tick::Audit;
use record::{ClientResult, ExchangeResult};

fn fine() -> Tick {
    Tick {
        datagrams: 1_000,
        samples: 900,
        receive_buffer_bytes: Some(8_192),
        book_hash: "aa".to_owned(),
        exchange_book_hash: "aa".to_owned(),
        audit: Some(Audit::default()),
        ..Tick::default()
    }
}

type NamedRule = (&'static str, fn(&Evidence) -> Outcome);
const RULES: [NamedRule; 6] = [
    ("ticks", ticks),
    ("book", book),
    ("orders", orders),
    ("stages", stages),
    ("receive_buffer", receive_buffer),
    ("audit", audit),
];

/// The rules with that verdict after `change`.
fn with(verdict: Verdict, change: fn(&mut Tick, &mut Evidence)) -> Vec<&'static str> {
    let no_result = ClientResult::default();
    let mut evidence = evidence(&no_result);
    let mut tick = fine();
    change(&mut tick, &mut evidence);
    let mut result = ClientResult::default();
    result.load.tick = vec![tick];
    let evidence = Evidence { result: &result, ..evidence };
    RULES.iter().filter(|(_, rule)| rule(&evidence).0 == verdict).map(|(name, _)| *name).collect()
}

fn evidence(result: &ClientResult) -> Evidence<'_> {
    Evidence {
        asked: FeedExpectation {
            receive_buffer_bytes: 4_096,
            flow_seconds: 6.0,
            ..FeedExpectation::default()
        },
        ..Evidence::of(Measure::Ticks, result)
    }
}

#[test]
fn each_rule_breaks_by_its_own_cause_alone() {
    let broken = |change| with(Verdict::Broken, change);
    assert_eq!(broken(|_, _| ()), [""; 0]);
    assert_eq!(broken(|tick, _| tick.kernel_drops = 1), ["ticks"]);
    assert_eq!(broken(|tick, _| tick.gaps = 1), ["ticks"]);
    assert_eq!(broken(|tick, _| tick.messages_replayed = 1), ["ticks"]);
    assert_eq!(broken(|tick, _| tick.datagrams = 0), ["ticks"]);
    assert_eq!(
        broken(|tick, _| *tick.faults.entry("garbage".to_owned()).or_default() = 1),
        ["ticks"]
    );
    assert_eq!(broken(|tick, _| tick.book_hash = "ab".to_owned()), ["book"]);
    assert_eq!(
        broken(|tick, _| *tick.refused.entry(BACKLOG.to_owned()).or_default() = 1),
        ["orders"]
    );
    assert_eq!(
        broken(|tick, _| *tick.refused.entry("collar".to_owned()).or_default() = 1),
        [""; 0]
    );
    assert_eq!(broken(|tick, _| tick.samples_not_adding_up = 1), ["stages"]);
    assert_eq!(broken(|tick, _| tick.samples_out_of_order = 1), ["stages"]);
    assert_eq!(broken(|tick, _| tick.samples = 0), ["stages"]);
    assert_eq!(broken(|tick, _| tick.receive_buffer_bytes = Some(8_191)), ["receive_buffer"]);
    assert_eq!(
        broken(|tick, _| tick.audit = Some(Audit { lost: 1, ..Audit::default() })),
        ["audit"]
    );
    assert_eq!(
        broken(|tick, _| {
            let failed = "No space left on device".to_owned();
            tick.audit = Some(Audit { failed, ..Audit::default() });
        }),
        ["audit"]
    );
}

#[test]
fn a_flow_is_whole_and_has_its_effect() {
    let judged = |late_ns_p99: u64, refused: u64, inputs: u64, change: fn(&mut FeedExpectation)| {
        let flow = serde_json::json!({"scheduled": 60_000, "inputs": inputs, "refused": refused,
            "duration_ns": 6_000_000_000u64,
            "late_ns_p99": late_ns_p99, "late_ns_max": 9_000_000});
        let counts = serde_json::json!({ "flow": flow });
        let exchange = ExchangeResult { counts, ..ExchangeResult::default() };
        let result = ClientResult::default();
        let mut evidence = evidence(&result);
        evidence.exchange = Some(&exchange);
        change(&mut evidence.asked);
        super::flow(&evidence).0
    };
    let nothing: fn(&mut FeedExpectation) = |_| ();
    // A late flow is a disturbance, which the figures show; it is still complete.
    assert_eq!(judged(6_000_001, 0, 60_000, nothing), Verdict::Held);
    assert_eq!(judged(1, 1, 60_000, nothing), Verdict::Broken);
    assert_eq!(judged(1, 1, 60_000, |asked| asked.trades = true), Verdict::Held);
    assert_eq!(judged(1, 0, 59_999, nothing), Verdict::Broken);
    // A file of 6 s.
    assert_eq!(judged(1, 0, 60_000, |asked| asked.flow_seconds = 6.05), Verdict::Held);
    assert_eq!(judged(1, 0, 60_000, |asked| asked.flow_seconds = 7.0), Verdict::Broken);
    let result = ClientResult::default();
    assert_eq!(super::flow(&evidence(&result)).0, Verdict::NotApplicable);
}

/// Equal books may both be wrong.
#[test]
fn a_book_that_was_published_wrong_is_not_the_exchanges() {
    for (faults, overrun, verdict) in
        [(0, 0, Verdict::Held), (1, 0, Verdict::Broken), (0, 1, Verdict::Broken)]
    {
        let counts = serde_json::json!({"feed": {"faults": faults, "overrun": overrun}});
        let exchange = ExchangeResult { counts, ..ExchangeResult::default() };
        let mut result = ClientResult::default();
        result.load.tick = vec![fine()];
        let evidence = Evidence { exchange: Some(&exchange), ..evidence(&result) };
        assert_eq!(book(&evidence).0, verdict, "{faults} {overrun}");
    }
}

/// The rule does not say that more is equal than was compared.
#[test]
fn a_trader_of_the_best_prices_is_judged_by_these_alone() {
    let counts = serde_json::json!({"feed": {"faults": 0, "overrun": 0}});
    let exchange = ExchangeResult { counts, ..ExchangeResult::default() };
    let judged = |theirs: &str| {
        let mut result = ClientResult::default();
        result.load.tick = vec![Tick { exchange_book_hash: theirs.to_owned(), ..fine() }];
        let mut evidence = Evidence { exchange: Some(&exchange), ..evidence(&result) };
        evidence.asked.is_top = true;
        book(&evidence)
    };
    let (verdict, why) = judged("aa");
    assert_eq!(verdict, Verdict::Held);
    assert!(why.contains("best prices are aa, the exchange's aa"), "{why}");
    assert!(why.contains("neither followed nor judged"), "{why}");
    assert_eq!(judged("ab").0, Verdict::Broken);
}

/// Counts that are absent were taken for 0, and the rule held.
#[test]
fn a_book_without_the_exchanges_counts_is_not_held_to_be_right() {
    let mut result = ClientResult::default();
    result.load.tick = vec![fine()];
    let exchange = ExchangeResult::default();
    let ours = Evidence { exchange: Some(&exchange), ..evidence(&result) };
    assert_eq!(book(&ours).0, Verdict::Broken);
    let (verdict, why) = book(&evidence(&result));
    assert_eq!(verdict, Verdict::Held);
    assert!(why.contains("not known"), "{why}");
}

/// Injected damage explains gaps, but not datagrams that the kernel dropped.
#[test]
fn harm_on_purpose_makes_gaps_and_excuses_nothing_else() {
    let harmed = with(Verdict::Broken, |tick, evidence| {
        evidence.asked.is_harmed = true;
        (tick.gaps, tick.messages_replayed) = (9, 18);
    });
    assert_eq!(harmed, [""; 0]);
    let dropped = with(Verdict::Broken, |tick, evidence| {
        evidence.asked.is_harmed = true;
        tick.kernel_drops = 1;
    });
    assert_eq!(dropped, ["ticks"]);
}

/// Our own exchange always tells its book, so a trader that never compared stayed behind.
#[test]
fn a_trader_that_stays_behind_breaks_the_rule_of_books() {
    let mut result = ClientResult::default();
    result.load.tick = vec![Tick { exchange_book_hash: String::new(), ..fine() }];
    let ours = ExchangeResult::default();
    let mut evidence = evidence(&result);
    assert_eq!(book(&evidence).0, Verdict::NotApplicable);
    evidence.exchange = Some(&ours);
    assert_eq!(book(&evidence).0, Verdict::Broken);
}

#[test]
fn what_is_not_there_is_not_checked() {
    let unknown = |change| with(Verdict::NotApplicable, change);
    assert_eq!(unknown(|tick, _| tick.exchange_book_hash.clear()), ["book"]);
    assert_eq!(unknown(|tick, _| tick.audit = None), ["audit"]);
    assert_eq!(unknown(|_, evidence| evidence.is_floor = true), ["book", "audit"]);
}
