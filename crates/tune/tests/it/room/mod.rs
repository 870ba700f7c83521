//! Examines a machine given as text (host/tests/it/tree), at two moments.

#![allow(dead_code, reason = "each test file uses its part")]

#[path = "../../../../host/tests/it/tree/mod.rs"]
pub mod tree;

use std::sync::LazyLock;

use clock::Clock;
use expect_test::Expect;
use host::{Cores, Topology, capture};
use record::doctor::{Findings, Grade};
use record::machine::Probes;
use tune::Inspection;
use tune::watch::{Activity, CounterReading};

/// Calibrated once, which takes 40 ms.
static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::calibrate);

/// A machine and the examining process.
pub struct Room<'a> {
    /// The machine's files.
    pub text: &'a str,
    /// Files that changed two seconds later; empty without a watch.
    pub later: &'a str,
    /// Cores that the process may use.
    pub allowed: &'a [usize],
    /// The value of `--cores`.
    pub cpu: &'a str,
    /// Results of the probes: clock, cache line, blocking round trip, ns.
    pub probes_ns: Option<[u64; 3]>,
}

impl Room<'_> {
    pub fn examine(&self) -> Findings {
        let (_directory, root) = tree::machine(self.text);
        let (_directory_later, root_later) =
            tree::machine(&format!("{}\n{}", self.text, self.later));
        let cores: Cores = self.cpu.parse().unwrap();
        let wanted = if let Cores::List(list) = &cores { list.len() } else { 2 };
        let cores = cores.place(&Topology::read(&root), self.allowed, wanted).unwrap().cores;
        let mut machine = capture(&root, &CLOCK, None);
        machine.probes =
            self.probes_ns.map_or(Probes::default(), |[clock, line, blocking]| Probes {
                clock_cost_ns: Some(clock),
                clock_counter: Some("a counter".to_owned()),
                cores: cores.first().copied().zip(cores.last().copied()),
                cache_line_round_trip_ns_p50: Some(line),
                blocking_round_trip_ns_p50: Some(blocking),
                ..Probes::default()
            });
        let mut seen = Inspection::read(&root, machine, &cores, self.allowed);
        let readings = (CounterReading::take(&root), CounterReading::take(&root_later));
        seen.watched =
            (!self.later.is_empty()).then(|| Activity::between(&readings.0, &readings.1, 2.0));
        tune::examine(&root, &seen, "a test")
    }
}

/// All findings, the worst first, a line each.
pub fn check(findings: &Findings, expected: Expect) {
    let mut lines =
        format!("{} on {:?}\n", if findings.fit { "fit" } else { "not fit" }, findings.cores);
    for grade in Grade::ALL {
        for one in findings.findings.iter().filter(|one| one.grade == grade) {
            lines += &format!("{} {}: {}\n", grade.name(), one.id, one.found);
        }
    }
    expected.assert_eq(&lines);
}
