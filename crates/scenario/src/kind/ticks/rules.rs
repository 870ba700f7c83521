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
#[path = "rules_tests.rs"]
mod tests;
