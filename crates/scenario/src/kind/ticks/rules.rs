//! Rules of integrity for ticks.

use crate::evidence::{Evidence, FeedExpectation};
use plan::tables::ticks::DURATION_SHARE_MIN;
use record::Verdict;
use record::text::counted;
use record::tick::Tick;
use serde::Deserialize;

type Outcome = (Verdict, String);

fn held_if(holds: bool, why: String) -> Outcome {
    (if holds { Verdict::Held } else { Verdict::Broken }, why)
}

fn not_applicable(why: &str) -> Outcome {
    (Verdict::NotApplicable, why.to_owned())
}

/// For rules about books: a floor has no book, and its datagrams are empty.
fn of_book(evidence: &Evidence, rule: fn(&Evidence, &Tick) -> Outcome) -> Outcome {
    match (evidence.result.load.tick.first(), evidence.is_floor) {
        (_, true) => not_applicable("the floor keeps no book"),
        (None, false) => (Verdict::Broken, "the trader says nothing of a feed".to_owned()),
        (Some(tick), false) => rule(evidence, tick),
    }
}

fn of_feed(evidence: &Evidence, rule: fn(&Evidence, &Tick) -> Outcome) -> Outcome {
    match evidence.result.load.tick.first() {
        None => (Verdict::Broken, "the trader says nothing of a feed".to_owned()),
        Some(tick) => rule(evidence, tick),
    }
}

/// Every datagram arrived on the live feed, once and complete.
pub(crate) fn ticks(evidence: &Evidence) -> Outcome {
    of_feed(evidence, |evidence, tick| {
        let faults: u64 = tick.faults.values().sum();
        let why = format!(
            "the kernel dropped {} of {}; {}, {} by replay, {}",
            tick.kernel_drops,
            counted(tick.datagrams, "datagram"),
            counted(tick.gaps, "gap"),
            counted(tick.messages_replayed, "message"),
            counted(faults, "faulty datagram")
        );
        let undisturbed = tick.gaps == 0 && tick.messages_replayed == 0 && faults == 0;
        let holds = tick.datagrams > 0 && tick.kernel_drops == 0;
        held_if(holds && (undisturbed || evidence.asked.is_harmed), why)
    })
}

/// At the end the trader's book equals the exchange's. A trader that follows best prices must have
/// had every best price of the exchange.
pub(crate) fn book(evidence: &Evidence) -> Outcome {
    of_book(evidence, |evidence, tick| {
        let (ours, theirs) = (&tick.book_hash, &tick.exchange_book_hash);
        let at = tick.book_sequence;
        match (theirs.is_empty(), evidence.exchange) {
            (true, None) => return not_applicable("the exchange did not tell its book"),
            (true, Some(_)) => {
                let why = format!(
                    "the trader's book stayed at message {at}, and the exchange was never asked at the same"
                );
                return (Verdict::Broken, why);
            }
            (false, _) => {}
        }
        let books = match evidence.asked.is_top {
            false => {
                format!("after message {at} the trader's book is {ours}, the exchange's {theirs}")
            }
            true => format!(
                "up to message {at} the trader's best prices are {ours}, the exchange's {theirs}; deeper prices are \
                 neither followed nor judged"
            ),
        };
        match (published_wrong(evidence), evidence.exchange) {
            (Some((faults, overrun)), _) => {
                let why = format!(
                    "{books}; there {faults} events did not go with the published book, and {overrun} datagrams were gone \
                     before they were sent"
                );
                held_if(ours == theirs && (faults, overrun) == (0, 0), why)
            }
            (None, Some(_)) => {
                let why =
                    format!("{books}; the exchange's result has no count of faults in its feed");
                (Verdict::Broken, why)
            }
            (None, None) => {
                let why = format!("{books}; whether that is its engine's book is not known here");
                held_if(ours == theirs, why)
            }
        }
    })
}

/// Counts of our own exchange: its published book equals the engine's only if both are 0. `None` if
/// it does not give them.
fn published_wrong(evidence: &Evidence) -> Option<(u64, u64)> {
    let feed = &evidence.exchange?.counts["feed"];
    Some((feed["faults"].as_u64()?, feed["overrun"].as_u64()?))
}

/// The trader's own reason to reject an order because its connection is full. Such a tick has no
/// sample, and would have been among the slowest.
const BACKLOG: &str = "outbound_bytes_max";

/// Every order that passed risk left.
pub(crate) fn orders(evidence: &Evidence) -> Outcome {
    of_feed(evidence, |_, tick| {
        let kept = tick.refused.get(BACKLOG).copied().unwrap_or(0);
        let why = format!(
            "{} not sent because the exchange did not read those before: the slowest ticks would have no sample",
            counted(kept, "order")
        );
        held_if(kept == 0, why)
    })
}

/// Stages add up, and no stamp lies before its cause.
pub(crate) fn stages(evidence: &Evidence) -> Outcome {
    of_feed(evidence, |_, tick| {
        let why = format!(
            "of {} the stages of {} do not add up, and in {} a stamp lies before the one it must follow",
            counted(tick.samples, "sample"),
            tick.samples_not_adding_up,
            tick.samples_out_of_order
        );
        let all_right = tick.samples_not_adding_up == 0 && tick.samples_out_of_order == 0;
        held_if(all_right && tick.samples > 0, why)
    })
}

/// The exchange's counts of its own orders.
#[derive(Deserialize)]
struct Flow {
    scheduled: u64,
    duration_ns: u64,
    inputs: u64,
    refused: u64,
    late_ns_p99: Option<u64>,
    late_ns_max: Option<u64>,
}

/// There were inputs for the whole time, and each was executed and had an effect.
pub(crate) fn flow(evidence: &Evidence) -> Outcome {
    if evidence.is_floor {
        return not_applicable("the floor's ticks are a schedule and nothing else");
    }
    let Some(exchange) = evidence.exchange else {
        return not_applicable("the other end is not ours, and keeps its schedule to itself");
    };
    let Ok(flow) = serde_json::from_value::<Flow>(exchange.counts["flow"].clone()) else {
        return (Verdict::Broken, "the exchange says nothing of a flow".to_owned());
    };
    let late = |ns: Option<u64>| ns.map_or("unknown".to_owned(), |ns| format!("{ns} ns"));
    let FeedExpectation { flow_seconds, trades, .. } = evidence.asked;
    let seconds = flow.duration_ns as f64 / 1e9;
    let is_long = seconds >= flow_seconds * DURATION_SHARE_MIN;
    let short = match is_long {
        true => String::new(),
        false => format!(
            "the flow's inputs are over after {seconds:.3} of {flow_seconds} s: take fewer seconds, a lower rate or speed, \
             or a longer file; "
        ),
    };
    let why = format!(
        "{short}{} of {} executed, {} without effect; late by {} at p99, {} at most",
        flow.inputs,
        counted(flow.scheduled, "input"),
        flow.refused,
        late(flow.late_ns_p99),
        late(flow.late_ns_max),
    );
    // A trader's fills remove orders that the flow would cancel.
    let with_effect = trades || flow.refused == 0;
    let is_whole = is_long && flow.inputs == flow.scheduled && flow.inputs > 0;
    held_if(is_whole && with_effect, why)
}

/// The kernel granted the buffer that was requested. It reserves and reports twice the size
/// (socket(7)), limited to an int.
pub(crate) fn receive_buffer(evidence: &Evidence) -> Outcome {
    of_feed(evidence, |evidence, tick| {
        let asked = evidence.asked.receive_buffer_bytes;
        let Some(got) = tick.receive_buffer_bytes else {
            return not_applicable("no datagrams wait in a buffer of the kernel");
        };
        let why = format!(
            "asked for a receive buffer of {asked} bytes the kernel set aside {got}, of which half are for what is in \
             datagrams; without CAP_NET_ADMIN it gives no more than net.core.rmem_max: sysctl -w \
             net.core.rmem_max={asked}, or a smaller feed.receive_buffer_bytes"
        );
        held_if(got >= 2 * asked.min(i32::MAX as u64 / 2), why)
    })
}

/// The audit log is complete.
pub(crate) fn audit(evidence: &Evidence) -> Outcome {
    of_book(evidence, |_, tick| match &tick.audit {
        None => not_applicable("nothing was written down"),
        Some(audit) => {
            let failed = if audit.failed.is_empty() { "" } else { "; " };
            let why = format!(
                "{} in the audit log, {} lost{failed}{}",
                counted(audit.records, "record"),
                audit.lost,
                audit.failed
            );
            held_if(audit.lost == 0 && audit.failed.is_empty(), why)
        }
    })
}

#[cfg(test)]
mod tests {
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
        RULES
            .iter()
            .filter(|(_, rule)| rule(&evidence).0 == verdict)
            .map(|(name, _)| *name)
            .collect()
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
        let judged = |late_ns_p99: u64,
                      refused: u64,
                      inputs: u64,
                      change: fn(&mut FeedExpectation)| {
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
}
