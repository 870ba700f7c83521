//! The flow for a long time, block after block, each made just before it is timed, in memory that
//! exists. Once a second a reference runs in between: a fresh small engine executes the same block
//! every time, which separates drift of the machine from drift of the engine.

pub(crate) mod state;
pub(crate) mod watch;

use crate::bench::{Bench, TaskResult};
use crate::error::EngineBenchError;
use crate::row;
use crate::series::{BACK_TO_BACK, REFERENCE, SOAK, SOAK_REFERENCE, SOAK_SERVICE};
use crate::server::filled;
use crate::server::outbound::Outbound;
use crate::server::tally;
use crate::timed;
use clock::Clock;
use clock::recorder::{Recorder, recorder};
use engine::{Cancel, Command, Engine, Input};
use flow::w1::Flow;
use plan::process::engine::{Book, EnginePlan, Row};
use record::Load;
use record::engine::{Counts, EngineRun};
use std::path::Path;

/// Operations of a block: few enough that generating them leaves most of the book in the caches.
const BLOCK: usize = 4_096;
/// Room for the reports of a block, to count them afterwards: about three times what W1 makes.
const BLOCK_REPORTS: usize = 1 << 14;
/// Operations of each reference.
const REFERENCE_OPERATIONS: u64 = 20_000;
/// Interval between references; one takes some ten milliseconds.
const REFERENCE_EVERY_NS: u64 = 1_000_000_000;

const REFERENCE_ROW: Row =
    Row::plain(REFERENCE, "a fresh shallow book, matching alone", Book::Shallow);

/// Fills the memory of a block before it has operations.
const FILLER: Input = {
    let cancel = Cancel { order_id: 0, account: 0, tag: 0, instrument: 0 };
    Input { time_ns: 0, command: Command::Cancel(cancel) }
};

/// Parameters of a soak.
pub(crate) struct Soak<'a> {
    pub(crate) operations: u64,
    pub(crate) seconds: f64,
    pub(crate) state: &'a str,
    pub(crate) resume: Option<&'a str>,
}

/// The fresh small engine, always with the same book and operations.
struct Reference {
    open_orders_max: usize,
    prefill: Vec<Input>,
    inputs: Vec<Input>,
    outbound: Outbound<BLOCK_REPORTS>,
}

/// State of a running soak.
struct SoakRun<'a> {
    flow: Flow,
    engine: Engine,
    reference: Reference,
    recorder: Recorder,
    bench: &'a Bench<'a>,
    counts: Counts,
    busy_ns: u64,
}

/// Runs the soak.
pub(crate) fn run(
    plan: &EnginePlan,
    row: &Row,
    soak: &Soak,
    bench: &Bench,
) -> Result<TaskResult, EngineBenchError> {
    let (flow, engine) = match soak.resume {
        Some(path) => state::load(Path::new(path), plan, row::shape(row))?,
        None => {
            let (flow, prefill) = Flow::bounded(row::shape(row), plan.accounts, plan.seed);
            let engine = filled(row, plan.accounts, flow.open_orders_max(), &prefill);
            (flow, engine)
        }
    };
    let operations_before = flow.operations();
    // The other thread drains the recorder meanwhile, however long the soak is.
    let (recorder, drain) = recorder(&SOAK, f64::INFINITY);
    let mut going = SoakRun {
        flow,
        engine,
        reference: Reference::new(plan),
        recorder,
        bench,
        counts: Counts::default(),
        busy_ns: 0,
    };
    let usage = host::thread::usage();
    let start_ns = bench.start(drain);
    going.recorder.start(start_ns);
    going.all_blocks(soak, start_ns);
    let end_ns = bench.clock.now_ns();
    let SoakRun { flow, engine, recorder, counts, busy_ns, .. } = going;
    recorder.finish(end_ns);
    let elapsed_ns = end_ns - start_ns;
    let disturbed = bench.disturbed(usage, Load::default());
    state::save(Path::new(soak.state), plan, &flow, &engine)?;
    let operations = flow.operations() - operations_before;
    let planned = match soak.operations {
        0 => operations + u64::from(bench.is_stopped()),
        all => all.saturating_sub(operations_before),
    };
    let engine_run = EngineRun {
        operations,
        operations_before,
        counts,
        state_hash: format!("{:016x}", engine.state_hash()),
        busy_ns,
        ..EngineRun::default()
    };
    let load = Load {
        model: BACK_TO_BACK.to_owned(),
        rate_per_second_achieved: operations as f64 / elapsed_ns.max(1) as f64 * 1e9,
        sent: operations,
        received: operations,
        rejected: counts.refused,
        engine: vec![engine_run],
        ..disturbed
    };
    Ok(TaskResult { load, planned, failure: None })
}

impl SoakRun<'_> {
    fn all_blocks(&mut self, soak: &Soak, start_ns: u64) {
        let mut inputs = vec![FILLER; BLOCK];
        let mut outbound = Outbound::<BLOCK_REPORTS>::new();
        let lasts_ns = (soak.seconds * 1e9) as u64;
        let mut due_ns = start_ns;
        while !self.bench.is_stopped() {
            let now_ns = self.bench.clock.now_ns();
            let left = match soak.operations {
                0 if now_ns - start_ns >= lasts_ns => 0,
                0 => u64::MAX,
                all => all.saturating_sub(self.flow.operations()),
            };
            if left == 0 {
                break;
            }
            if now_ns >= due_ns {
                self.reference.run(&mut self.recorder, self.bench.clock);
                due_ns = now_ns + REFERENCE_EVERY_NS;
            }
            self.block(&mut inputs[..left.min(BLOCK as u64) as usize], &mut outbound);
        }
    }

    fn block(&mut self, inputs: &mut [Input], outbound: &mut Outbound<BLOCK_REPORTS>) {
        self.flow.fill(inputs);
        let before = outbound.written();
        let (engine, recorder) = (&mut self.engine, &mut self.recorder);
        let clock = self.bench.clock;
        self.busy_ns += timed::one_by_one(engine, inputs, outbound, clock, recorder, SOAK_SERVICE);
        inputs.iter().for_each(|input| tally::sent(&mut self.counts, input));
        outbound.since(before).for_each(|event| tally::reported(&mut self.counts, event));
        // Reports without room can't be counted, so the soak fails.
        let reports = outbound.written() - before;
        self.counts.refused += reports.saturating_sub(BLOCK_REPORTS as u64);
    }
}

impl Reference {
    fn new(plan: &EnginePlan) -> Reference {
        let (mut flow, prefill) = Flow::new(row::shape(&REFERENCE_ROW), plan.accounts, plan.seed);
        let inputs = flow.take(REFERENCE_OPERATIONS);
        let open_orders_max = flow.open_orders_max();
        Reference { open_orders_max, prefill, inputs, outbound: Outbound::new() }
    }

    fn run(&mut self, recorder: &mut Recorder, clock: Clock) {
        let mut engine = filled(&REFERENCE_ROW, 1, self.open_orders_max, &self.prefill);
        let outbound = &mut self.outbound;
        timed::one_by_one(&mut engine, &self.inputs, outbound, clock, recorder, SOAK_REFERENCE);
    }
}
