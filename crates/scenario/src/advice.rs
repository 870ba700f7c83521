//! Warnings that teach: what in these figures a reader may misread, why, and what to do about it.

use crate::file::{FLOOR, Kind as ScenarioKind, Scenario};
use crate::run::LATE_SHARE_OF_SERVICE;
use measure::noise::Noise;
use measure::pooling;
use measure::record::{Kind, Subject};
use trader::plan::Model;

/// A median's interval wider than this share of it is worth a word.
const INTERVAL_SHARE_MAX: f64 = 0.2;
/// Response over service at p50 beyond which the trader itself is the bottleneck.
const RESPONSE_SHARE_MAX: f64 = 1.15;

/// Where the kernel's events were read during the runs, it cost something.
pub(crate) fn of_noise(noise: &Noise) -> Option<String> {
    noise.attribution.traced.then(|| {
        "the kernel's events were read on the measured cores while they measured (--noise), which makes \
         each interrupt and change of threads some 1 us longer: compare these figures with none that were \
         made without."
            .to_owned()
    })
}

pub(crate) fn advice(scenario: &Scenario, subjects: &[Subject], runs: usize) -> Vec<String> {
    let mut advice: Vec<String> = pooling::too_few_runs(runs).into_iter().collect();
    let has_floor = subjects.iter().any(|subject| subject.name == FLOOR);
    if scenario.kind.has_exchange() && !has_floor {
        advice.push(
            "no floor was measured, so it can't be told what the machine costs and what the \
             software: --set floor_seconds=2, and with --connect also --connect-floor."
                .to_owned(),
        );
    }
    advice.extend(machine_is_late(scenario, subjects));
    for subject in subjects {
        advice.extend(of_subject(scenario, subject, runs));
    }
    advice
}

/// What was broken on purpose comes before everything else.
pub(crate) fn of_injected(injected: &[String]) -> Option<String> {
    (!injected.is_empty()).then(|| {
        format!(
            "faults were injected on purpose ({}): these figures tell what tickpath sees of them, and \
             nothing about the exchange or the client without them.",
            injected.join("; ")
        )
    })
}

/// An idle thread that is late tells from which percentile on the figures are the machine's.
fn machine_is_late(scenario: &Scenario, subjects: &[Subject]) -> Option<String> {
    // A look takes as long as an engine's operation. There the floor, the ideal server and the reference tell.
    if matches!(scenario.kind, ScenarioKind::Engine | ScenarioKind::Soak) {
        return None;
    }
    let main = scenario.kind.replies().first()?;
    let p99 = |subject: &Subject| {
        let noise = subject.series.iter().filter(|series| series.kind == Kind::Noise);
        noise.filter_map(|series| series.pooled.p99).max()
    };
    let late = subjects.iter().filter_map(p99).max()?;
    let service = subjects.iter().find_map(|one| one.series(main, Kind::Service)?.pooled.p50)?;
    (late as f64 > service as f64 * LATE_SHARE_OF_SERVICE).then(|| {
        format!(
            "the machine itself is late: an idle thread on these cores saw its time {late} ns late in \
             one of a hundred looks (hiccup row). From p99 on these figures are mostly the \
             machine's; `tickpath report` beside a quieter machine's tells how much."
        )
    })
}

fn of_subject(scenario: &Scenario, subject: &Subject, runs: usize) -> Vec<String> {
    let mut advice = Vec::new();
    let name = &subject.name;
    let load = &subject.load;
    if load.context_switches_involuntary > 0 {
        advice.push(format!(
            "the kernel took {name}'s thread off its core {} times in {runs} {}: each is a stall of \
             up to some ms in the tail. Isolated cores (isolcpus) keep other threads away. A \
             real-time class does too, but while it spins the kernel takes up to 50 ms a second back.",
            load.context_switches_involuntary,
            if runs == 1 { "run" } else { "runs" }
        ));
    }
    if load.held_back > 0 {
        advice.push(format!(
            "{name} held messages back {} times because {}, and its response time includes that \
             wait. Lower load.rate_per_second.",
            load.held_back,
            match scenario.kind {
                ScenarioKind::OrderEntry =>
                    "too many were unanswered: the exchange is slower than the schedule",
                ScenarioKind::Journal =>
                    "the journal's ring was full: the disk is slower than the schedule",
                _ => "the structure was full: the consumer stood still, or is too slow",
            }
        ));
    }
    if load.blocks_late > 0 {
        advice.push(format!(
            "{name} waited {} times for a block that was not ready: it was made, or mapped, when it was \
             needed, and response time includes that. It takes the kernel some ms for each 10 MB: make \
             blocks ahead in time, a smaller ipc.block_bytes, or a lower load.rate_per_second.",
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
            "{name}'s response time at p50 is {:.2} x its service time: messages wait in the trader \
             before they are sent. Response time is what a strategy would feel; service time alone \
             would hide it.",
            response as f64 / service as f64
        ));
    }
    for series in &subject.series {
        if series.kind == Kind::Service
            && let (Some([low, high]), Some(p50)) = (series.interval.get("p50"), series.pooled.p50)
            && (high - low) as f64 > p50 as f64 * INTERVAL_SHARE_MAX
        {
            advice.push(format!(
                "the medians of {name} {} differ by {:.0} % between runs: the machine is noisy, and \
                 a difference smaller than that says nothing. More runs, or a quieter machine.",
                series.name,
                (high - low) as f64 / p50 as f64 * 100.0
            ));
        }
    }
    advice
}
