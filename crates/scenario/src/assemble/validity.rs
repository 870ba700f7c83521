//! The rules of integrity: a record in which something was lost, doubled, wrong or not recorded is
//! void. Each rule judges one subject in one run; a rule that broke in any run is broken.
//! docs/METHODOLOGY.md gives the reason for each.

use crate::run::{Evidence, Run};
use crate::tick::rules as tick_rules;
use plan::Measure::{self, Cores, Endpoint, Engine, Ipc, Journal, Network, Orders, Soak, Ticks};
use record::{Rule, Verdict};

type Check = fn(&Evidence) -> (Verdict, String);

const RULES: &[(&str, &[Measure], Check)] = &[
    ("complete", &[Orders, Ipc, Cores, Engine, Soak, Journal, Ticks, Endpoint, Network], complete),
    ("sent", &[Orders, Ipc, Engine, Journal, Network], sent),
    ("replies", &[Orders, Ipc, Engine, Journal, Ticks, Endpoint, Network], replies),
    ("recorded", &[Orders, Ipc, Engine, Soak, Journal, Ticks, Endpoint, Network], recorded),
    ("accepted", &[Orders, Engine, Soak, Journal, Ticks, Network], accepted),
    ("flow", &[Ticks], tick_rules::flow),
    ("ticks", &[Ticks], tick_rules::ticks),
    ("book", &[Ticks], tick_rules::book),
    ("orders", &[Ticks], tick_rules::orders),
    ("stages", &[Ticks], tick_rules::stages),
    ("receive_buffer", &[Ticks], tick_rules::receive_buffer),
    ("audit", &[Ticks], tick_rules::audit),
    ("accounted", &[Orders, Ticks], accounted),
    ("state", &[Orders, Ticks], state),
    ("replay", &[Engine, Soak, Journal], replay),
];

/// The rules that apply to a kind.
fn of_kind(kind: Measure) -> impl Iterator<Item = (&'static str, Check)> {
    let own = RULES.iter().filter(move |(_, kinds, _)| kinds.contains(&kind));
    own.map(|(rule, _, check)| (*rule, *check))
}

fn held_if(holds: bool) -> Verdict {
    if holds { Verdict::Held } else { Verdict::Broken }
}

fn complete(evidence: &Evidence) -> (Verdict, String) {
    let result = evidence.result;
    let why = match (result.complete, evidence.interrupted) {
        (true, _) => "the run lasted as long as planned".to_owned(),
        (false, true) => "the run was interrupted".to_owned(),
        (false, false) if result.failures.is_empty() => "the run broke off".to_owned(),
        (false, false) => format!("the run broke off: {}", result.failures.join("; ")),
    };
    (held_if(result.complete), why)
}

/// A schedule that ends late shows it in its figures; one that ends early is another load.
fn sent(evidence: &Evidence) -> (Verdict, String) {
    let load = &evidence.result.load;
    let Some(planned) = evidence.planned else {
        return (Verdict::NotApplicable, format!("{} has no schedule", load.model));
    };
    let why = format!("{} of {planned} messages were sent", load.sent);
    (held_if(load.sent == planned), why)
}

fn recorded(evidence: &Evidence) -> (Verdict, String) {
    let load = &evidence.result.load;
    let (acks, what) = match evidence.kind {
        Orders => (load.received.saturating_sub(load.rejected), "acks"),
        Network => (load.received, "replies"),
        Engine | Soak | Journal => (load.sent, "operations"),
        Ipc | Cores => (load.received, "messages that came"),
        Endpoint => (load.received, "steps that were answered"),
        Ticks => {
            let in_order =
                |tick: &record::tick::Tick| tick.samples.saturating_sub(tick.samples_out_of_order);
            (load.tick.iter().map(in_order).sum(), "samples")
        }
    };
    let why = format!("{} latencies in the log for {acks} {what}", evidence.recorded);
    (held_if(evidence.recorded == acks && acks > 0), why)
}

fn replies(evidence: &Evidence) -> (Verdict, String) {
    let load = &evidence.result.load;
    let why = format!(
        "of {} messages {} lost, {} duplicated",
        load.sent + load.warm_up_sent,
        load.lost,
        load.duplicated
    );
    (held_if(load.lost == 0 && load.duplicated == 0), why)
}

fn accepted(evidence: &Evidence) -> (Verdict, String) {
    let load = &evidence.result.load;
    let mut why = format!("{} rejected, {} unexpected replies", load.rejected, load.unexpected);
    // A market maker's amendment may arrive after the trade that took its quote.
    let holds = (load.rejected == 0 || evidence.asked.trades) && load.unexpected == 0;
    if let Some(first) = evidence.result.failures.last().filter(|_| !holds) {
        why = format!("{why}; {first}");
    }
    (held_if(holds), why)
}

/// Why the counts and the state of an exchange are not known.
const NOT_STARTED: &str =
    "tickpath did not start the exchange, so it does not report its counts and its state here";

fn accounted(evidence: &Evidence) -> (Verdict, String) {
    let Some(exchange) = evidence.exchange else {
        return (Verdict::NotApplicable, NOT_STARTED.to_owned());
    };
    let load = &evidence.result.load;
    // A market maker amends its quotes.
    let amends = exchange.counts["amends"].as_u64().unwrap_or(0);
    let (sent, came) = (load.sent + load.warm_up_sent, exchange.orders + exchange.cancels + amends);
    // It withdraws its last quotes after the measured part.
    let all_came = sent == came || evidence.asked.trades && sent < came;
    (held_if(all_came), format!("{sent} messages sent, {came} came to the exchange"))
}

fn state(evidence: &Evidence) -> (Verdict, String) {
    let Some(exchange) = evidence.exchange else {
        return (Verdict::NotApplicable, NOT_STARTED.to_owned());
    };
    match exchange.replay_equal {
        Some(equal) => (held_if(equal), exchange.replay_detail.clone()),
        None => (Verdict::NotApplicable, exchange.replay_detail.clone()),
    }
}

/// The same operations with a fresh engine end in the same state with as many reports.
fn replay(evidence: &Evidence) -> (Verdict, String) {
    let Some(engine_run) = evidence.result.load.engine.first() else {
        return (Verdict::NotApplicable, "it says nothing of an engine".to_owned());
    };
    let why = match (engine_run.replays, evidence.kind) {
        (0, _) if engine_run.state_hash.is_empty() => "there is no engine in it".to_owned(),
        (0, Soak) => "it would take as long once more".to_owned(),
        (0, _) => "the run broke off before it".to_owned(),
        (replays, _) => {
            let unequal = engine_run.replays_unequal;
            let why = format!(
                "of {replays} passes over the same operations {unequal} ended in another state, or with another \
                 number of reports, than the first"
            );
            return (held_if(unequal == 0), why);
        }
    };
    (Verdict::NotApplicable, why)
}

/// Every rule for every subject, over all runs that count.
pub(crate) fn rules(subjects: &[String], runs: &[Run]) -> Vec<Rule> {
    let mut rules = Vec::new();
    for subject in subjects {
        let of_subject =
            |run: &'_ Run| run.measured.iter().position(|measured| measured.subject == *subject);
        let Some(kind) = runs.iter().find_map(|run| Some(run.measured[of_subject(run)?].kind))
        else {
            continue;
        };
        for (rule, check) in of_kind(kind) {
            let mut outcome: Option<(Verdict, String)> = None;
            for (number, run) in (1..).zip(runs) {
                let Some(index) = of_subject(run) else { continue };
                let (verdict, why) = check(&run.evidence(&run.measured[index]));
                let worse = match &outcome {
                    None => true,
                    Some((so_far, _)) => {
                        verdict == Verdict::Broken && *so_far != Verdict::Broken
                            || verdict == Verdict::Held && *so_far == Verdict::NotApplicable
                    }
                };
                if worse {
                    outcome = Some((verdict, format!("run {number}: {why}")));
                }
            }
            if let Some((verdict, detail)) = outcome {
                rules.push(Rule { rule: format!("{subject}.{rule}"), verdict, detail });
            }
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Asked;
    use record::{ClientResult, ExchangeResult, Load, MessageBytes};

    fn fine() -> ClientResult {
        ClientResult {
            complete: true,
            load: Load {
                rate_per_second_offered: Some(1000.0),
                rate_per_second_achieved: 1000.0,
                sent: 900,
                warm_up_sent: 100,
                received: 900,
                message_bytes: MessageBytes { order: 900, ..MessageBytes::default() },
                ..Load::default()
            },
            ..ClientResult::default()
        }
    }

    /// `message_bytes.order` is used as the number of latencies in the log.
    fn verdicts(change: fn(&mut ClientResult, &mut ExchangeResult)) -> Vec<&'static str> {
        let mut result = fine();
        let mut exchange = ExchangeResult {
            orders: 500,
            cancels: 500,
            replay_equal: Some(true),
            ..ExchangeResult::default()
        };
        change(&mut result, &mut exchange);
        let evidence = Evidence {
            kind: Orders,
            result: &result,
            exchange: Some(&exchange),
            planned: Some(900),
            recorded: result.load.message_bytes.order,
            asked: Asked::default(),
            is_floor: false,
            interrupted: false,
        };
        let broken = |(_, check): &(&str, Check)| check(&evidence).0 == Verdict::Broken;
        of_kind(Orders).filter(broken).map(|(rule, _)| rule).collect()
    }

    #[test]
    fn each_rule_breaks_by_its_own_cause_alone() {
        assert_eq!(verdicts(|_, _| ()), [""; 0]);
        assert_eq!(verdicts(|result, _| result.complete = false), ["complete"]);
        assert_eq!(verdicts(|result, _| result.load.rate_per_second_achieved = 900.0), [""; 0]);
        assert_eq!(verdicts(|result, _| result.load.sent = 899), ["sent", "accounted"]);
        assert_eq!(verdicts(|result, _| result.load.lost = 1), ["replies"]);
        assert_eq!(verdicts(|result, _| result.load.duplicated = 1), ["replies"]);
        assert_eq!(verdicts(|result, _| result.load.message_bytes.order = 899), ["recorded"]);
        assert_eq!(
            verdicts(|result, _| {
                result.load.rejected = 1;
                result.load.message_bytes.order = 899;
            }),
            ["accepted"]
        );
        assert_eq!(verdicts(|result, _| result.load.unexpected = 1), ["accepted"]);
        assert_eq!(verdicts(|_, exchange| exchange.cancels = 499), ["accounted"]);
        assert_eq!(verdicts(|_, exchange| exchange.replay_equal = Some(false)), ["state"]);
    }
}
