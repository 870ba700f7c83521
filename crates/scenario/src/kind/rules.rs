//! Rules of integrity that several kinds share. docs/METHODOLOGY.md gives the reason for each.

use crate::evidence::Evidence;
use plan::Measure;
use record::Verdict;
use record::between::HostClocks;
use record::text::{counted, counted_as};

pub(crate) fn held_if(holds: bool) -> Verdict {
    if holds { Verdict::Held } else { Verdict::Broken }
}

pub(crate) fn complete(evidence: &Evidence) -> (Verdict, String) {
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
pub(crate) fn sent(evidence: &Evidence) -> (Verdict, String) {
    let load = &evidence.result.load;
    let Some(planned) = evidence.planned else {
        return (Verdict::NotApplicable, format!("{} has no schedule", load.model));
    };
    let why = format!("{} of {} sent", load.sent, counted(planned, "message"));
    (held_if(load.sent == planned), why)
}

/// Whether the log has a latency of each of `count` `replies`.
pub(crate) fn recorded(evidence: &Evidence, count: u64, replies: &str) -> (Verdict, String) {
    let why = match count {
        0 => format!("the run got no {replies}, so its log has nothing to hold"),
        _ => format!("{count} {replies}; the log has {} latencies", evidence.recorded),
    };
    (held_if(evidence.recorded == count && count > 0), why)
}

pub(crate) fn replies(evidence: &Evidence) -> (Verdict, String) {
    let load = &evidence.result.load;
    let why = format!(
        "of {} {} lost, {} duplicated",
        counted(load.sent + load.warm_up_sent, "message"),
        load.lost,
        load.duplicated
    );
    (held_if(load.lost == 0 && load.duplicated == 0), why)
}

/// Why counts are no rule where the exchange was lost in mid-run; `None` if it was not.
fn after_a_loss(evidence: &Evidence) -> Option<(Verdict, String)> {
    let load = &evidence.result.load;
    let exchanges = load.outages.iter().filter(|outage| !outage.exchange_stayed).count();
    if exchanges == 0 {
        return None;
    }
    let why = format!(
        "{} lost; messages that the next one does not have are rejected ({} were), and it counts its \
         own only",
        counted(exchanges as u64, "exchange"),
        load.rejected
    );
    Some((Verdict::NotApplicable, why))
}

pub(crate) fn accepted(evidence: &Evidence) -> (Verdict, String) {
    if let Some(lost) = after_a_loss(evidence) {
        return lost;
    }
    let load = &evidence.result.load;
    let unexpected = counted_as(load.unexpected, "unexpected reply", "unexpected replies");
    let mut why = format!("{} rejected, {unexpected}", load.rejected);
    if load.rejected > 0 && load.outages.iter().any(|outage| outage.exchange_stayed) {
        why = format!(
            "{why}; the leader of the cluster was lost, and an exchange rejects orders after \
             follower.cluster_lost_ms without one"
        );
        return (held_if(load.unexpected == 0), why);
    }
    // A market maker's amendment may arrive after the trade that took its quote.
    let holds = (load.rejected == 0 || evidence.asked.trades) && load.unexpected == 0;
    if let Some(first) = evidence.result.failures.last().filter(|_| !holds) {
        why = format!("{why}; {first}");
    }
    (held_if(holds), why)
}

/// Why the counts and the state of an exchange are not known.
fn no_exchange(evidence: &Evidence) -> String {
    match evidence.is_floor {
        true => "a raw echo stands in the exchange's place and keeps no counts and no state",
        false => "tickpath did not start the exchange, so it does not report its counts and its state here",
    }
    .to_owned()
}

/// Whether what the clocks' keepers claim agrees with what the messages prove.
pub(crate) fn clocks(evidence: &Evidence) -> (Verdict, String) {
    let load = &evidence.result.load;
    let ends = load.fan_out.iter().flat_map(|run| &run.hosts).flat_map(|hosts| &hosts.ends);
    let all: Vec<&HostClocks> = load.between.iter().chain(ends.map(|end| &end.between)).collect();
    if all.is_empty() {
        let why = "no stamp of another host's clock was converted";
        return (Verdict::NotApplicable, why.to_owned());
    }
    let claimed = || all.iter().flat_map(|between| &between.claims);
    let contradicted: Vec<&str> =
        claimed().map(|claim| claim.contradicted.as_str()).filter(|why| !why.is_empty()).collect();
    if !contradicted.is_empty() {
        let why = format!(
            "{}: one of the wall clocks is further from UTC than it is said to be. Look at \
             `chronyc tracking` and `tickpath doctor` on both hosts, or stop the keeper that is wrong",
            contradicted.join("; ")
        );
        return (Verdict::Broken, why);
    }
    let mut claims: Vec<&str> = claimed().map(|claim| claim.from.as_str()).collect();
    claims.sort_unstable();
    claims.dedup();
    let has_bracket = all.iter().all(|between| between.bracket.is_some());
    match (claims.is_empty(), has_bracket) {
        (true, _) => {
            let why =
                "nobody states how far both wall clocks are from UTC: the bracket stands alone";
            (Verdict::NotApplicable, why.to_owned())
        }
        (false, false) => {
            let why = "too few messages came back for a bracket to check the clocks' keepers by";
            (Verdict::NotApplicable, why.to_owned())
        }
        (false, true) => {
            let why = format!("the bracket of the offset agrees with {}", claims.join(", "));
            (Verdict::Held, why)
        }
    }
}

pub(crate) fn accounted(evidence: &Evidence) -> (Verdict, String) {
    if let Some(lost) = after_a_loss(evidence) {
        return lost;
    }
    let Some(exchange) = evidence.exchange else {
        return (Verdict::NotApplicable, no_exchange(evidence));
    };
    let load = &evidence.result.load;
    // A market maker amends its quotes.
    let Some(amends) = exchange.counts["amends"].as_u64() else {
        let why = "the exchange's result has no count of amendments: is it another version?";
        return (Verdict::Broken, why.to_owned());
    };
    let (sent, came) = (load.sent + load.warm_up_sent, exchange.orders + exchange.cancels + amends);
    // It withdraws its last quotes after the measured part.
    let all_came = sent == came || evidence.asked.trades && sent < came;
    (held_if(all_came), format!("{} sent, {came} reached the exchange", counted(sent, "message")))
}

pub(crate) fn state(evidence: &Evidence) -> (Verdict, String) {
    let Some(exchange) = evidence.exchange else {
        return (Verdict::NotApplicable, no_exchange(evidence));
    };
    match exchange.replay_equal {
        Some(equal) => (held_if(equal), exchange.replay_detail.clone()),
        None => (Verdict::NotApplicable, exchange.replay_detail.clone()),
    }
}

/// The same operations with a fresh engine end in the same state with as many reports.
pub(crate) fn replay(evidence: &Evidence) -> (Verdict, String) {
    let Some(engine_run) = evidence.result.load.engine.first() else {
        return (Verdict::NotApplicable, "it says nothing of an engine".to_owned());
    };
    let why = match (engine_run.replays, evidence.kind) {
        (0, _) if engine_run.state_hash.is_empty() => "there is no engine in it".to_owned(),
        (0, Measure::Soak) => "it would take as long once more".to_owned(),
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
