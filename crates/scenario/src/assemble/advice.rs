//! Warnings that teach: what a reader may misread in these figures, why, and what to do about it.

use plan::scenario::Measure;
use plan::scenario::{FLOOR, Scenario};
use plan::tables::load::Model;
use record::merge::pooling;
use record::noise::Noise;
use record::text::counted;
use record::{Datagrams, Kind, Subject};

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
    // An echo of requests is a floor itself, and copies have none.
    let is_floor = matches!(scenario.kind, Measure::Network | Measure::Endpoint | Measure::FanOut);
    let wants_floor = scenario.measurement().has_exchange() && !is_floor;
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
    advice.extend(of_scatter(subjects));
    advice
}

/// Warns once of all medians that differ much between runs.
fn of_scatter(subjects: &[Subject]) -> Option<String> {
    let widest = |subject: &Subject| {
        let shares = subject.series.iter().filter(|series| series.kind == Kind::Service);
        let shares = shares.filter_map(|series| {
            let [low, high] = *series.interval.get("p50")?;
            Some((high - low) as f64 / series.pooled.p50.filter(|p50| *p50 > 0)? as f64)
        });
        shares.fold(0.0, f64::max)
    };
    let wide: Vec<(&str, f64)> = subjects
        .iter()
        .map(|subject| (subject.name.as_str(), widest(subject)))
        .filter(|(_, share)| *share > INTERVAL_SHARE_MAX)
        .collect();
    let names: Vec<&str> = wide.iter().map(|(name, _)| *name).collect();
    let most = wide.iter().map(|(_, share)| *share).fold(0.0, f64::max);
    (!wide.is_empty()).then(|| {
        format!(
            "medians of {} differ by up to {:.0} % between runs: use more runs, or a quieter machine. A \
             smaller difference than that means nothing.",
            names.join(", "),
            most * 100.0
        )
    })
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
            "{name} held messages back {}, because {}: lower load.rate_per_second. Its response \
             time includes that wait.",
            counted(load.held_back, "time"),
            match scenario.kind {
                Measure::Orders | Measure::Network =>
                    "too many were unanswered and the other end is slower than the schedule",
                Measure::Journal =>
                    "the journal's ring was full and the disk is slower than the schedule",
                _ => "the structure was full and the consumer stood still or is too slow",
            }
        ));
    }
    if let Some(Datagrams { patience_ns, .. }) = load.datagrams
        && load.lost > 0
    {
        advice.push(format!(
            "{name} lost {} of {} ({:.4} %): each is in the figures as the time that was waited for \
             it, at least {} ms, and not left out.",
            load.lost,
            counted(load.sent, "datagram"),
            load.lost as f64 * 100.0 / load.sent.max(1) as f64,
            patience_ns / 1_000_000,
        ));
    }
    if load.blocks_late > 0 {
        advice.push(format!(
            "{name} waited {} for a block that was not ready: make blocks earlier, or lower \
             ipc.block_bytes or load.rate_per_second. Its response time includes that wait; the \
             kernel needs some ms per 10 MB to make or map a block.",
            counted(load.blocks_late, "time")
        ));
    }
    let main = scenario.measurement().replies().first().copied().unwrap_or_default();
    let order = |kind| subject.series(main, kind).and_then(|series| series.pooled.p50);
    if scenario.kind == Measure::Orders
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
    advice
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It was said once for each series of each subject: twelve times for one noisy machine.
    #[test]
    fn medians_that_differ_between_runs_are_said_once() {
        let subject = |name: &str, interval: [u64; 2]| -> Subject {
            serde_json::from_value(serde_json::json!({"name": name, "series": [
                {"name": "order", "kind": "service", "unit": "ns", "pooled": {"count": 9, "p50": 100},
                 "interval": {"p50": [100, 110]}},
                {"name": "cancel", "kind": "service", "unit": "ns", "pooled": {"count": 9, "p50": 100},
                 "interval": {"p50": interval}},
            ]}))
            .unwrap()
        };
        let said = of_scatter(&[
            subject("a", [90, 120]),
            subject("b", [95, 105]),
            subject("c", [50, 122]),
        ]);
        let said = said.unwrap();
        assert!(said.starts_with("medians of a, c differ by up to 72 % between runs"), "{said}");
        assert_eq!(of_scatter(&[subject("b", [95, 105])]), None);
    }
}
