//! The records of a watch so far, for the terminal and for scrapers.

use plan::scenario::{BARE, FLOOR};
use record::RunRecord;
use record::comparison::gate::{GateOutcome, GateResult};
use record::progress::Second;
use report::export::{ExportedRecord, families};
use report::metrics::{Family, FamilyKind, Latencies, Metric, Value};
use std::collections::BTreeMap;

/// Everything, since it began.
#[derive(Default)]
pub(crate) struct Tally {
    scenario: String,
    /// The subject that is measured now.
    subject: String,
    /// By subject and series, as the clients report them each second.
    latencies: BTreeMap<(String, String), Latencies>,
    /// The same of the first subject's since the last record.
    lately: Latencies,
    results: u64,
    no_results: u64,
    failures: u64,
    last: Option<LatestRecord>,
    gates: Vec<GateResult>,
}

/// The latest record.
struct LatestRecord {
    record: RunRecord,
    machine: String,
    wall_ms: u64,
}

impl Tally {
    pub(crate) fn new(scenario: &str) -> Tally {
        Tally { scenario: scenario.to_owned(), ..Tally::default() }
    }

    /// A part begins.
    pub(crate) fn part(&mut self, subject: &str) {
        subject.clone_into(&mut self.subject);
    }

    /// A second is over.
    pub(crate) fn second(&mut self, second: &Second) {
        if second.buckets.is_empty() {
            return;
        }
        let key = (self.subject.clone(), second.series.clone());
        self.latencies.entry(key).or_default().add(&second.buckets, second.sum_ns);
        if ![FLOOR, BARE].iter().any(|own| self.subject.starts_with(own)) {
            self.lately.add(&second.buckets, second.sum_ns);
        }
    }

    /// Latencies of the subjects since the last record.
    pub(crate) fn lately(&self) -> &Latencies {
        &self.lately
    }

    /// Nothing could be measured this time.
    pub(crate) fn failed(&mut self) {
        self.failures += 1;
    }

    /// A record was made.
    pub(crate) fn record(
        &mut self,
        record: &RunRecord,
        machine: String,
        gates: &[GateResult],
        wall_ms: u64,
    ) {
        self.lately = Latencies::default();
        match record.holds(0.5) {
            true => self.results += 1,
            false => self.no_results += 1,
        }
        self.gates = gates.to_vec();
        self.last = Some(LatestRecord { record: record.clone(), machine, wall_ms });
    }

    /// All of it as metrics.
    pub(crate) fn families(&self) -> Vec<Family> {
        let scenario = || ("scenario", self.scenario.clone());
        let mut all = vec![self.histogram()];
        let mut records = Family::new(
            "tickpath_watch_records",
            FamilyKind::Counter,
            "Records made, by whether they are a result whose p50 holds.",
        );
        for (is_result, n) in [("yes", self.results), ("no", self.no_results)] {
            records.number(vec![scenario(), ("result", is_result.to_owned())], n as f64);
        }
        let mut failures = Family::new(
            "tickpath_watch_failures",
            FamilyKind::Counter,
            "Times that nothing could be measured.",
        );
        failures.number(vec![scenario()], self.failures as f64);
        all.extend([records, failures]);
        if let Some(last) = &self.last {
            let mut moment = Family::new(
                "tickpath_watch_last_record_timestamp_seconds",
                FamilyKind::Gauge,
                "When the latest record was made, in seconds since 1970.",
            );
            moment.number(vec![scenario()], last.wall_ms as f64 / 1e3);
            all.push(moment);
            let latest =
                ExportedRecord { name: "latest", machine: &last.machine, record: &last.record };
            all.extend(families(&[latest]));
        }
        let mut gates = Family::new(
            "tickpath_watch_gate",
            FamilyKind::Gauge,
            "1 for the outcome of each gate in the latest record.",
        );
        for gate in &self.gates {
            for outcome in [GateOutcome::Passed, GateOutcome::Failed, GateOutcome::Inconclusive] {
                let name = ("outcome", outcome.name().to_owned());
                let labels = vec![scenario(), ("gate", gate.gate.clone()), name];
                gates.number(labels, f64::from(u8::from(gate.outcome == outcome)));
            }
        }
        all.push(gates);
        all
    }

    fn histogram(&self) -> Family {
        let mut family = Family::new(
            "tickpath_watch_latency_seconds",
            FamilyKind::Histogram,
            "Latencies of all messages since the watch began, disturbed ones included.",
        );
        for ((subject, series), latencies) in &self.latencies {
            let (name, kind) = series.rsplit_once('.').unwrap_or((series, ""));
            let labels = vec![
                ("scenario", self.scenario.clone()),
                ("subject", subject.clone()),
                ("series", name.to_owned()),
                ("kind", kind.to_owned()),
            ];
            family.metrics.push(Metric { labels, value: Value::Latencies(latencies.clone()) });
        }
        family
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_add_up_and_a_record_begins_anew() {
        let mut seen = Tally::new("s");
        let second = Second {
            series: "order.response".to_owned(),
            buckets: vec![(-132, 9)],
            sum_ns: 90_000,
            ..Second::default()
        };
        seen.part("rust");
        seen.second(&second);
        seen.part("floor");
        seen.second(&second);
        assert_eq!(seen.lately().count(), 9, "the floor is not shown");
        let gate = |outcome| GateResult { gate: "g".into(), outcome, why: String::new() };
        seen.record(&RunRecord::default(), "abcd".to_owned(), &[gate(GateOutcome::Failed)], 5_000);
        seen.part("rust");
        seen.second(&second);
        assert_eq!(seen.lately().count(), 9);
        let text = report::metrics::text(&seen.families());
        for line in [
            "tickpath_watch_latency_seconds_count{scenario=\"s\",subject=\"rust\",series=\"order\",kind=\"response\"} 18",
            "tickpath_watch_records_total{scenario=\"s\",result=\"no\"} 1",
            "tickpath_watch_last_record_timestamp_seconds{scenario=\"s\"} 5",
            "tickpath_watch_gate{scenario=\"s\",gate=\"g\",outcome=\"failed\"} 1",
            "tickpath_watch_gate{scenario=\"s\",gate=\"g\",outcome=\"passed\"} 0",
        ] {
            assert!(text.lines().any(|one| one == line), "no {line} in {text}");
        }
    }
}
