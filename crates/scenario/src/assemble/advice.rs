//! Warnings that teach: what a reader may misread in these figures, why, and what to do about it.

use plan::scenario::Measure;
use plan::scenario::{FLOOR, Scenario};
use plan::segments::{SEGMENTS, STAMPS};
use plan::tables::load::Model;
use record::merge::pooling;
use record::noise::Noise;
use record::text::counted;
use record::tick::Departures;
use record::{Datagrams, KernelStamped, Kind, Subject};

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
    advice.extend(load.stamped.iter().flat_map(|stamped| of_stamps(subject, stamped)));
    let mut departures = load.tick.iter().filter_map(|tick| tick.departures.as_ref());
    advice.extend(departures.find_map(|departures| of_departures(name, departures)));
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

/// Says which segments some stamped messages lack, and what the kernel's stamps don't show.
fn of_stamps(subject: &Subject, stamped: &KernelStamped) -> Vec<String> {
    let (name, messages) = (&subject.name, stamped.messages);
    let lacking = |(segment, stamp): (&str, &str)| {
        let series = subject.series(segment, Kind::Service);
        let seen = series.map_or(0, |series| series.pooled.count);
        (seen < messages).then(|| match seen {
            0 => {
                format!("{segment} of {name} has no row: the kernel or the driver gave no {stamp}.")
            }
            _ => format!(
                "{segment} of {name} holds {seen} of {messages} stamped messages: others had no \
                 {stamp}, or their reply was read together with other bytes."
            ),
        })
    };
    let mut said: Vec<String> = SEGMENTS.into_iter().zip(STAMPS).filter_map(lacking).collect();
    if stamped.by_card > 0 && stamped.card_bound_ns.is_none() {
        said.push(format!(
            "the network card stamped messages of {name} as well, and its clock could not be read, \
             so that no segment begins or ends at the wire: run as root, or give this user the \
             right to read /dev/ptp*."
        ));
    }
    if stamped.clock_steps > 0 {
        said.push(format!(
            "the wall clock was set {} while the kernel stamped messages of {name} by it: segments \
             of those seconds are wrong.",
            counted(stamped.clock_steps, "time")
        ));
    }
    said
}

/// Says why stamps of the exchange's datagrams are missing.
fn of_departures(name: &str, departures: &Departures) -> Option<String> {
    let Departures { datagrams, samples, clock_steps, .. } = departures;
    if *clock_steps > 0 {
        return Some(format!(
            "the exchange's wall clock was set {} while its kernel stamped ticks of {name} by it: \
             network_in is not split.",
            counted(*clock_steps, "time")
        ));
    }
    (*samples == 0).then(|| {
        format!(
            "network_in of {name} is not split: of {} that the exchange's kernel stamped, none led \
             to an order that is measured. Lower load.stamp_every.",
            counted(*datagrams, "datagram")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_that_stamped_messages_lack_is_said() {
        let rows = |counts: [u64; 4]| -> Subject {
            let row = |(name, count): (&str, u64)| {
                serde_json::json!({"name": name, "kind": "service", "unit": "ns",
                                   "pooled": {"count": count, "p50": 100}})
            };
            let series: Vec<_> = SEGMENTS.into_iter().zip(counts).map(row).collect();
            serde_json::from_value(serde_json::json!({"name": "a", "series": series})).unwrap()
        };
        let stamped = KernelStamped { messages: 9, ..KernelStamped::default() };
        assert_eq!(of_stamps(&rows([9; 4]), &stamped), Vec::<String>::new());
        let said = of_stamps(&rows([0, 9, 9, 7]), &stamped);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("application_to_queue of a has no row"), "{said:?}");
        assert!(said[1].starts_with("kernel_to_application of a holds 7 of 9"), "{said:?}");
        let odd = KernelStamped { by_card: 1, clock_steps: 2, ..stamped };
        let said = of_stamps(&rows([9; 4]), &odd);
        assert!(said[0].contains("/dev/ptp*") && said[1].contains("2 times"), "{said:?}");
    }

    #[test]
    fn why_network_in_is_not_split_is_said() {
        let departures = Departures { datagrams: 3, samples: 2, ..Departures::default() };
        assert_eq!(of_departures("a", &departures), None);
        let unused = Departures { samples: 0, ..departures.clone() };
        assert!(of_departures("a", &unused).unwrap().contains("of 3 datagrams that"));
        let stepped = Departures { clock_steps: 1, ..departures };
        assert!(of_departures("a", &stepped).unwrap().contains("set 1 time while"));
    }

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
