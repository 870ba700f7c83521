//! When a record is a result. Each rule looks at one subject in one run; a rule that broke in any run
//! is broken. docs/METHODOLOGY.md says why each is there.

use crate::file::Kind::{self, CoreToCore, Engine, Ipc, Journal, OrderEntry, Soak, Tick};
use crate::run::{Evidence, LATE_CLOCK_READINGS, LATE_SHARE_OF_SERVICE, Run};
use crate::tick_rules;
use measure::record::{Rule, Verdict};
use measure::sweep::RATE_SHARE_MIN;

/// Messages that the pacer may make late, of all.
pub(crate) const LATE_MESSAGES_MAX: f64 = 0.01;
/// Looks of an idle thread that may be late; on a worse machine nothing is measured but the machine.
pub(crate) const LATE_LOOKS_MAX: f64 = 0.05;

type Check = fn(&Evidence) -> (Verdict, String);

const RULES: &[(&str, &[Kind], Check)] = &[
    ("complete", &[OrderEntry, Ipc, CoreToCore, Engine, Soak, Journal, Tick], complete),
    ("rate", &[OrderEntry, Ipc, Engine, Journal], rate),
    ("replies", &[OrderEntry, Ipc, Engine, Journal, Tick], replies),
    ("recorded", &[OrderEntry, Ipc, Engine, Soak, Journal, Tick], recorded),
    ("accepted", &[OrderEntry, Engine, Soak, Journal, Tick], accepted),
    // An engine's thread keeps its schedule itself: to be busy when one is due is response time, and no fault.
    ("lateness", &[OrderEntry, Ipc], lateness),
    ("flow", &[Tick], tick_rules::flow),
    ("ticks", &[Tick], tick_rules::ticks),
    ("book", &[Tick], tick_rules::book),
    ("orders", &[Tick], tick_rules::orders),
    ("stages", &[Tick], tick_rules::stages),
    ("receive_buffer", &[Tick], tick_rules::receive_buffer),
    ("audit", &[Tick], tick_rules::audit),
    ("accounted", &[OrderEntry, Tick], accounted),
    ("state", &[OrderEntry, Tick], state),
    ("replay", &[Engine, Soak, Journal], replay),
];

/// The rules that apply to what was measured.
fn of_kind(kind: Kind) -> impl Iterator<Item = (&'static str, Check)> {
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

fn rate(evidence: &Evidence) -> (Verdict, String) {
    let load = &evidence.result.load;
    let (Some(offered), Some(planned)) = (evidence.offered, evidence.planned) else {
        return (Verdict::NotApplicable, format!("{} offers no rate", load.model));
    };
    let share = load.rate_per_second_achieved / offered;
    let why = format!(
        "{} of {planned} messages sent, at {:.2} % of the offered {offered} messages/s; all, and at \
         least {:.1} %, are asked",
        load.sent,
        share * 100.0,
        RATE_SHARE_MIN * 100.0
    );
    (held_if(share >= RATE_SHARE_MIN && load.sent == planned), why)
}

fn recorded(evidence: &Evidence) -> (Verdict, String) {
    let load = &evidence.result.load;
    let (acks, what) = match evidence.kind {
        OrderEntry => (load.received.saturating_sub(load.rejected), "acks"),
        Engine | Soak | Journal => (load.sent, "operations"),
        Ipc | CoreToCore => (load.received, "messages that came"),
        Tick => {
            let in_order =
                |tick: &measure::tick::Tick| tick.samples.saturating_sub(tick.samples_out_of_order);
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
    // A market maker's amendment may come behind the trade that took its quote away.
    let holds = (load.rejected == 0 || evidence.asked.trades) && load.unexpected == 0;
    if let Some(first) = evidence.result.failures.last().filter(|_| !holds) {
        why = format!("{why}; {first}");
    }
    (held_if(holds), why)
}

fn lateness(evidence: &Evidence) -> (Verdict, String) {
    let Some(planned) = evidence.planned else {
        return (Verdict::NotApplicable, "ping-pong has no schedule".to_owned());
    };
    let (Some(late), Some(late_from_ns)) = (evidence.late, evidence.late_from_ns) else {
        let why = format!("{planned} messages are too few to tell one in a hundred");
        let enough = planned >= 2_000;
        let verdict = if enough { Verdict::Broken } else { Verdict::NotApplicable };
        return (verdict, if enough { "the log has no lateness".to_owned() } else { why });
    };
    // What the same core does to a thread that has nothing to send is not the pacer's doing.
    let idle = evidence.late_without_load.unwrap_or(0.0);
    let waited = evidence.result.load.core_waited_share;
    let machine = idle.max(waited);
    let why = format!(
        "{:.2} % of messages left {late_from_ns} ns late or more, which is {:.0} % of the service \
         time's p50, or {LATE_CLOCK_READINGS} readings of the clock if that is more; an idle \
         thread on this core was as late in {:.2} % of its looks before, and other threads had the \
         pacer's core {:.2} % of the time; it may add {:.0} % to the larger, and that be {:.0} %",
        late * 100.0,
        LATE_SHARE_OF_SERVICE * 100.0,
        idle * 100.0,
        waited * 100.0,
        LATE_MESSAGES_MAX * 100.0,
        LATE_LOOKS_MAX * 100.0
    );
    (held_if(late - machine <= LATE_MESSAGES_MAX && machine <= LATE_LOOKS_MAX), why)
}

fn accounted(evidence: &Evidence) -> (Verdict, String) {
    let Some(exchange) = evidence.exchange else {
        return (Verdict::NotApplicable, "the other end is not our exchange".to_owned());
    };
    let load = &evidence.result.load;
    // A market maker amends its quotes.
    let amends = exchange.counts["amends"].as_u64().unwrap_or(0);
    let (sent, came) = (load.sent + load.warm_up_sent, exchange.orders + exchange.cancels + amends);
    // It takes its last quotes back when nothing is measured any more.
    let all_came = sent == came || evidence.asked.trades && sent < came;
    (held_if(all_came), format!("{sent} messages sent, {came} came to the exchange"))
}

fn state(evidence: &Evidence) -> (Verdict, String) {
    let Some(exchange) = evidence.exchange else {
        return (Verdict::NotApplicable, "the other end is not our exchange".to_owned());
    };
    match exchange.replay_equal {
        Some(equal) => (held_if(equal), exchange.replay_detail.clone()),
        None => (Verdict::NotApplicable, exchange.replay_detail.clone()),
    }
}

/// The same operations once more, with a fresh engine, end in the same state with as many reports.
fn replay(evidence: &Evidence) -> (Verdict, String) {
    let Some(matching) = evidence.result.load.matching.first() else {
        return (Verdict::NotApplicable, "it says nothing of an engine".to_owned());
    };
    let why = match (matching.replays, evidence.kind) {
        (0, _) if matching.state_hash.is_empty() => "there is no engine in it".to_owned(),
        (0, Soak) => "it would take as long once more".to_owned(),
        (0, _) => "the run broke off before it".to_owned(),
        (replays, _) => {
            let unequal = matching.replays_unequal;
            let why = format!(
                "of {replays} passes over the same operations {unequal} ended in another state, or with another \
                 number of reports, than the first"
            );
            return (held_if(unequal == 0), why);
        }
    };
    (Verdict::NotApplicable, why)
}

/// What broke in one run, in words.
pub(crate) fn broken(run: &Run) -> Vec<String> {
    run.measured
        .iter()
        .flat_map(|measured| {
            let evidence = run.evidence(measured);
            of_kind(measured.kind).filter_map(move |(rule, check)| match check(&evidence) {
                (Verdict::Broken, why) => Some(format!("{} {rule}: {why}", measured.subject)),
                _ => None,
            })
        })
        .collect()
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
    use measure::record::{ClientResult, ExchangeResult, Load, MessageBytes};

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

    /// `lateness_ns_p99` stands for late messages in a thousand, of which an idle thread has 20, and
    /// `message_bytes.order` for latencies in the log.
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
            kind: OrderEntry,
            result: &result,
            exchange: Some(&exchange),
            offered: Some(1000.0),
            planned: Some(900),
            recorded: result.load.message_bytes.order,
            late_from_ns: Some(1_001),
            late: Some(result.load.lateness_ns_p99.map_or(0.0, |permille| permille as f64 / 1e3)),
            late_without_load: Some(0.02),
            asked: Asked::default(),
            is_floor: false,
            interrupted: false,
        };
        let broken = |(_, check): &(&str, Check)| check(&evidence).0 == Verdict::Broken;
        of_kind(OrderEntry).filter(broken).map(|(rule, _)| rule).collect()
    }

    #[test]
    fn each_rule_breaks_by_its_own_cause_alone() {
        assert_eq!(verdicts(|_, _| ()), [""; 0]);
        assert_eq!(verdicts(|result, _| result.complete = false), ["complete"]);
        assert_eq!(verdicts(|result, _| result.load.rate_per_second_achieved = 998.9), ["rate"]);
        assert_eq!(verdicts(|result, _| result.load.sent = 899), ["rate", "accounted"]);
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
        assert_eq!(verdicts(|result, _| result.load.lateness_ns_p99 = Some(31)), ["lateness"]);
        assert_eq!(verdicts(|result, _| result.load.lateness_ns_p99 = Some(29)), [""; 0]);
        assert_eq!(
            verdicts(|result, _| {
                result.load.lateness_ns_p99 = Some(45);
                result.load.core_waited_share = 0.04;
            }),
            [""; 0]
        );
        assert_eq!(verdicts(|result, _| result.load.core_waited_share = 0.051), ["lateness"]);
        assert_eq!(verdicts(|_, exchange| exchange.cancels = 499), ["accounted"]);
        assert_eq!(verdicts(|_, exchange| exchange.replay_equal = Some(false)), ["state"]);
    }
}
