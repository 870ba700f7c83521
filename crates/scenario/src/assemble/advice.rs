//! Warnings that teach: what a reader may misread in these figures, why, and what to do about it.

use crate::file::{FLOOR, Kind as ScenarioKind, Scenario};
use record::merge::pooling;
use record::noise::Noise;
use record::{Kind, Subject};
use trader::plan::Model;

/// An interval of a median wider than this share of the median is worth a warning.
const INTERVAL_SHARE_MAX: f64 = 0.2;
/// Response over service at p50 beyond which the trader itself is the bottleneck.
const RESPONSE_SHARE_MAX: f64 = 1.15;

/// Warns that reading the kernel's events during the runs had a cost.
pub(crate) fn of_noise(noise: &Noise) -> Option<String> {
    noise.attribution.traced.then(|| {
        "--noise traced the kernel's events on the measured cores: don't compare these figures with \
         figures made without it. Each interrupt and each switch of threads took about 1 us longer."
            .to_owned()
    })
}

pub(crate) fn advice(scenario: &Scenario, subjects: &[Subject], runs: usize) -> Vec<String> {
    let mut advice: Vec<String> = pooling::too_few_runs(runs).into_iter().collect();
    let has_floor = subjects.iter().any(|subject| subject.name == FLOOR);
    // An echo of requests is a floor itself.
    let is_floor = matches!(scenario.kind, ScenarioKind::Network | ScenarioKind::Endpoint);
    let wants_floor = scenario.kind.has_exchange() && !is_floor;
    if wants_floor && !has_floor {
        advice.push(
            "no floor was measured: add --set floor_seconds=2, and with --connect also \
             --connect-floor. A floor separates the machine from the software."
                .to_owned(),
        );
    }
    for subject in subjects {
        advice.extend(of_subject(scenario, subject));
    }
    advice
}

/// Names the injected faults. This warning comes first.
pub(crate) fn of_injected(injected: &[String]) -> Option<String> {
    (!injected.is_empty()).then(|| {
        format!(
            "faults were injected on purpose ({}): these figures show their effect, and say nothing \
             about the exchange or the client without them.",
            injected.join("; ")
        )
    })
}

/// Names what changed in the machine during the record.
pub(crate) fn of_machine(changes: &[String]) -> Option<String> {
    (!changes.is_empty()).then(|| {
        format!(
            "the machine changed while this was measured ({}): each figure's bracket spans all runs.",
            changes.join("; ")
        )
    })
}

fn of_subject(scenario: &Scenario, subject: &Subject) -> Vec<String> {
    let mut advice = Vec::new();
    let name = &subject.name;
    let load = &subject.load;
    if load.held_back > 0 {
        advice.push(format!(
            "{name} held messages back {} times, because {}: lower load.rate_per_second. Its response \
             time includes that wait.",
            load.held_back,
            match scenario.kind {
                ScenarioKind::OrderEntry | ScenarioKind::Network =>
                    "too many were unanswered and the other end is slower than the schedule",
                ScenarioKind::Journal =>
                    "the journal's ring was full and the disk is slower than the schedule",
                _ => "the structure was full and the consumer stood still or is too slow",
            }
        ));
    }
    if load.blocks_late > 0 {
        advice.push(format!(
            "{name} waited {} times for a block that was not ready: make blocks earlier, or lower \
             ipc.block_bytes or load.rate_per_second. Its response time includes that wait; the \
             kernel needs some ms per 10 MB to make or map a block.",
            load.blocks_late
        ));
    }
    let main = scenario.kind.replies().first().copied().unwrap_or_default();
    let order = |kind| subject.series(main, kind).and_then(|series| series.pooled.p50);
    if scenario.kind == ScenarioKind::OrderEntry
        && scenario.load.model == Model::Open
        && let (Some(response), Some(service)) = (order(Kind::Response), order(Kind::Service))
        && response as f64 > service as f64 * RESPONSE_SHARE_MAX
    {
        advice.push(format!(
            "messages of {name} wait in the trader before they are sent: lower load.rate_per_second, \
             or use more connections. Response time at p50 is {:.2} x service time; a strategy \
             would feel the response time.",
            response as f64 / service as f64
        ));
    }
    for series in &subject.series {
        if series.kind == Kind::Service
            && let (Some([low, high]), Some(p50)) = (series.interval.get("p50"), series.pooled.p50)
            && (high - low) as f64 > p50 as f64 * INTERVAL_SHARE_MAX
        {
            advice.push(format!(
                "the medians of {name} {} differ by {:.0} % between runs: use more runs, or a quieter \
                 machine. A smaller difference than that means nothing.",
                series.name,
                (high - low) as f64 / p50 as f64 * 100.0
            ));
        }
    }
    advice
}
