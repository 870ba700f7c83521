//! The flow, one operation after the other: pass after pass over the same operations, each with a fresh
//! engine. The first is not timed: it counts, and the others must end in its state.

use crate::bench::{Bench, Measured};
use crate::error::WorkloadError;
use crate::outbound::{Outbound, REPORTS};
use crate::plan::Plan;
use crate::row::{Row, Serves};
use crate::series::{BACK_TO_BACK, OPERATION};
use crate::server::{Nobody, filled};
use crate::tally::{Outcome, counted};
use crate::timed;
use engine::{Engine, Input};
use flow::w1::Flow;
use host::Root;
use measure::matching::Matching;
use measure::progress::Second;
use measure::record::{Kind, Load};
use measure::recorder::{Series, recorder};

/// How long a pass is expected to take.
const PASS_SECONDS: f64 = 8.0;

const SERIES: [Series; 1] = [Series::new(OPERATION, Kind::Service)];

/// What all passes are made of.
struct Prepared<'a> {
    row: &'a Row,
    accounts: u32,
    open_orders_max: usize,
    prefill: Vec<Input>,
    inputs: Vec<Input>,
}

impl Prepared<'_> {
    fn engine(&self) -> Engine {
        filled(self.row, self.accounts, self.open_orders_max, &self.prefill)
    }
}

/// Carries out `passes` over `operations`, and the one in which each operation is timed.
pub(crate) fn run(
    plan: &Plan,
    row: &Row,
    (operations, passes): (u64, u32),
    bench: &Bench,
) -> Result<Measured, WorkloadError> {
    let (mut flow, prefill) = Flow::new(row.shape, plan.accounts, plan.seed);
    let inputs = flow.take(operations);
    let open_orders_max = flow.open_orders_max();
    let prepared = Prepared { row, accounts: plan.accounts, open_orders_max, prefill, inputs };
    let mut matching = Matching { operations, ..Matching::default() };
    let mut outbound = Outbound::<REPORTS>::new();
    let has_engine = row.serves == Serves::Engine;
    let first = has_engine.then(|| {
        let mut engine = prepared.engine();
        let (counts, outcome) = counted(&mut engine, &prepared.inputs);
        matching.counts = counts;
        matching.huge_page_bytes = host::memory::huge_page_bytes(&Root::system());
        outcome
    });
    let compare = |matching: &mut Matching, outcome: Option<Outcome>| {
        matching.replays += u32::from(outcome.is_some());
        matching.replays_unequal += u32::from(outcome != first);
    };
    for pass in 0..passes {
        if bench.is_stopped() {
            return Err(WorkloadError::Interrupted);
        }
        let (pass_ns, outcome) = prepared.as_a_whole(&mut outbound, bench);
        compare(&mut matching, outcome);
        matching.passes_ns.push(pass_ns);
        bench.tell(&Second {
            seconds: f64::from(pass + 1),
            messages_per_second: operations as f64 / pass_ns.max(1) as f64 * 1e9,
            series: format!("{OPERATION}.{}", Kind::Service.name()),
            ..Second::default()
        });
    }
    if bench.is_stopped() {
        return Err(WorkloadError::Interrupted);
    }
    let (load, outcome) = prepared.one_by_one(&mut outbound, bench);
    compare(&mut matching, outcome);
    matching.state_hash = first.map_or(String::new(), |one| format!("{:016x}", one.state_hash));
    let load = Load {
        model: BACK_TO_BACK.to_owned(),
        rate_per_second_achieved: measure::matching::operations_per_second(&[matching.clone()])
            .map_or(0.0, |(per_second, _)| per_second),
        sent: operations,
        received: operations - matching.counts.unanswered,
        lost: matching.counts.unanswered,
        rejected: matching.counts.refused,
        matching: vec![matching],
        ..load
    };
    Ok(Measured { load, planned: operations, failure: None })
}

impl Prepared<'_> {
    fn as_a_whole(
        &self,
        outbound: &mut Outbound<REPORTS>,
        bench: &Bench,
    ) -> (u64, Option<Outcome>) {
        let before = outbound.written();
        if self.row.serves != Serves::Engine {
            return (timed::as_a_whole(&mut Nobody, &self.inputs, outbound, bench.clock), None);
        }
        let mut engine = self.engine();
        let pass_ns = timed::as_a_whole(&mut engine, &self.inputs, outbound, bench.clock);
        let reports = outbound.written() - before;
        (pass_ns, Some(Outcome { reports, state_hash: engine.state_hash() }))
    }

    /// The pass in which each operation is timed.
    fn one_by_one(
        &self,
        outbound: &mut Outbound<REPORTS>,
        bench: &Bench,
    ) -> (Load, Option<Outcome>) {
        let clock = bench.clock;
        let before = outbound.written();
        let mut engine = (self.row.serves == Serves::Engine).then(|| self.engine());
        // On a slow machine a pass takes longer: then the last interval does.
        let (mut recorder, drain) = recorder(&SERIES, PASS_SECONDS);
        let usage = host::thread::usage();
        let start_ns = bench.start(drain);
        recorder.start(start_ns);
        match &mut engine {
            Some(engine) => {
                timed::one_by_one(engine, &self.inputs, outbound, clock, &mut recorder, 0)
            }
            None => timed::one_by_one(&mut Nobody, &self.inputs, outbound, clock, &mut recorder, 0),
        };
        let end_ns = clock.now_ns();
        recorder.finish(end_ns);
        let load = bench.disturbed(usage, end_ns - start_ns, Load::default());
        let outcome = engine.map(|engine| Outcome {
            reports: outbound.written() - before,
            state_hash: engine.state_hash(),
        });
        (load, outcome)
    }
}
