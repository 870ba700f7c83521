//! The flow back to back, in passes over the same operations, each with a fresh engine. The first
//! pass is not timed: it counts, and the others must end in its state.

use crate::bench::{Bench, TaskResult};
use crate::error::EngineBenchError;
use crate::row;
use crate::series::BACK_TO_BACK;
use crate::server::outbound::{Outbound, REPORTS};
use crate::server::tally::{Outcome, counted};
use crate::server::{EmptyDispatch, LookAhead, filled};
use crate::timed;
use clock::recorder::{Series, recorder};
use engine::{Engine, Input};
use flow::w1::Flow;
use host::Root;
use plan::process::engine::EnginePlan;
use plan::process::engine::OPERATION;
use plan::process::engine::{Row, ServerKind};
use record::engine::EngineRun;
use record::progress::Second;
use record::{Kind, Load};

/// Expected length of a pass.
const PASS_SECONDS: f64 = 8.0;

const SERIES: [Series; 1] = [Series::new(OPERATION, Kind::Service)];

/// Inputs of all passes.
struct PassInputs<'a> {
    row: &'a Row,
    accounts: u32,
    open_orders_max: usize,
    prefill: Vec<Input>,
    inputs: Vec<Input>,
}

impl PassInputs<'_> {
    fn engine(&self) -> Engine {
        filled(self.row, self.accounts, self.open_orders_max, &self.prefill)
    }
}

/// Makes `passes` over `operations`, and the one that times each operation.
pub(crate) fn run(
    plan: &EnginePlan,
    row: &Row,
    (operations, passes): (u64, u32),
    bench: &Bench,
) -> Result<TaskResult, EngineBenchError> {
    let (mut flow, prefill) = Flow::new(row::shape(row), plan.accounts, plan.seed);
    let inputs = flow.take(operations);
    let open_orders_max = flow.open_orders_max();
    let prepared = PassInputs { row, accounts: plan.accounts, open_orders_max, prefill, inputs };
    let mut engine_run = EngineRun { operations, ..EngineRun::default() };
    let mut outbound = Outbound::<REPORTS>::new();
    let has_engine = row.serves == ServerKind::Engine;
    let first = has_engine.then(|| {
        let mut engine = prepared.engine();
        let (counts, outcome) = counted(&mut engine, &prepared.inputs);
        engine_run.counts = counts;
        engine_run.huge_page_bytes = host::memory::huge_page_bytes(&Root::system());
        outcome
    });
    let compare = |engine_run: &mut EngineRun, outcome: Option<Outcome>| {
        engine_run.replays += u32::from(outcome.is_some());
        engine_run.replays_unequal += u32::from(outcome != first);
    };
    for pass in 0..passes {
        if bench.is_stopped() {
            return Err(EngineBenchError::Interrupted);
        }
        let (pass_ns, outcome) = prepared.as_a_whole(&mut outbound, bench);
        compare(&mut engine_run, outcome);
        engine_run.passes_ns.push(pass_ns);
        bench.tell(&Second {
            seconds: f64::from(pass + 1),
            messages_per_second: operations as f64 / pass_ns.max(1) as f64 * 1e9,
            series: format!("{OPERATION}.{}", Kind::Service.name()),
            ..Second::default()
        });
    }
    if bench.is_stopped() {
        return Err(EngineBenchError::Interrupted);
    }
    let (load, outcome) = prepared.one_by_one(&mut outbound, bench);
    compare(&mut engine_run, outcome);
    engine_run.state_hash = first.map_or(String::new(), |one| format!("{:016x}", one.state_hash));
    let load = Load {
        model: BACK_TO_BACK.to_owned(),
        rate_per_second_achieved: record::engine::operations_per_second(&[engine_run.clone()])
            .map_or(0.0, |(per_second, _)| per_second),
        sent: operations,
        received: operations - engine_run.counts.unanswered,
        lost: engine_run.counts.unanswered,
        rejected: engine_run.counts.refused,
        engine: vec![engine_run],
        ..load
    };
    Ok(TaskResult { load, planned: operations, failure: None })
}

impl PassInputs<'_> {
    fn as_a_whole(
        &self,
        outbound: &mut Outbound<REPORTS>,
        bench: &Bench,
    ) -> (u64, Option<Outcome>) {
        let before = outbound.written();
        if self.row.serves != ServerKind::Engine {
            return (
                timed::as_a_whole(&mut EmptyDispatch, &self.inputs, outbound, bench.clock),
                None,
            );
        }
        let mut engine = self.engine();
        let clock = bench.clock;
        let pass_ns = match self.row.look_ahead {
            false => timed::as_a_whole(&mut engine, &self.inputs, outbound, clock),
            true => timed::as_a_whole(&mut LookAhead(&mut engine), &self.inputs, outbound, clock),
        };
        let reports = outbound.written() - before;
        (pass_ns, Some(Outcome { reports, state_hash: engine.state_hash() }))
    }

    /// The pass that times each operation.
    fn one_by_one(
        &self,
        outbound: &mut Outbound<REPORTS>,
        bench: &Bench,
    ) -> (Load, Option<Outcome>) {
        let clock = bench.clock;
        let before = outbound.written();
        let mut engine = (self.row.serves == ServerKind::Engine).then(|| self.engine());
        // On a slow machine a pass takes longer; then its last interval is longer.
        let (mut recorder, drain) = recorder(&SERIES, PASS_SECONDS);
        let usage = host::thread::usage();
        let start_ns = bench.start(drain);
        recorder.start(start_ns);
        let (inputs, recording) = (&self.inputs, &mut recorder);
        match &mut engine {
            Some(engine) if self.row.look_ahead => {
                timed::one_by_one(&mut LookAhead(engine), inputs, outbound, clock, recording, 0)
            }
            Some(engine) => timed::one_by_one(engine, inputs, outbound, clock, recording, 0),
            None => timed::one_by_one(&mut EmptyDispatch, inputs, outbound, clock, recording, 0),
        };
        let end_ns = clock.now_ns();
        recorder.finish(end_ns);
        let load = bench.disturbed(usage, Load::default());
        let outcome = engine.map(|engine| Outcome {
            reports: outbound.written() - before,
            state_hash: engine.state_hash(),
        });
        (load, outcome)
    }
}
