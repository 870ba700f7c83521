//! The flow for as long as asked: block after block, made just before it is timed, in memory that is there. Between
//! them, now and then, the reference: a fresh small engine does the same block every time, so that a drift of the
//! machine is told from one of the engine.

use crate::bench::{Bench, Measured};
use crate::error::WorkloadError;
use crate::outbound::Outbound;
use crate::plan::Plan;
use crate::row::{Row, Serves};
use crate::series::{BACK_TO_BACK, REFERENCE, SOAK, SOAK_REFERENCE, SOAK_SERVICE};
use crate::server::filled;
use crate::{state, tally, timed};
use engine::{Cancel, Command, Engine, Input};
use flow::w1::{Flow, SHALLOW};
use measure::clock::Clock;
use measure::matching::{Counts, Matching};
use measure::record::Load;
use measure::recorder::{Recorder, recorder};
use std::path::Path;

/// Operations of a block: short enough that making them leaves most of the book in the caches.
const BLOCK: usize = 4_096;
/// Reports that a block has room for, so that all can be counted after it: some three times what W1 gives.
const BLOCK_REPORTS: usize = 1 << 14;
/// Operations of the reference, each time.
const REFERENCE_OPERATIONS: u64 = 20_000;
/// Between two references: one takes some ten milliseconds.
const REFERENCE_EVERY_NS: u64 = 1_000_000_000;

const REFERENCE_ROW: Row = Row {
    name: REFERENCE,
    about: "a fresh shallow book, matching alone",
    shape: SHALLOW,
    has_risk: false,
    serves: Serves::Engine,
};

/// What stands in memory before there are operations.
const FILLER: Input = {
    let cancel = Cancel { order_id: 0, account: 0, tag: 0, instrument: 0 };
    Input { time_ns: 0, command: Command::Cancel(cancel) }
};

/// What to do.
pub(crate) struct Soak<'a> {
    pub(crate) operations: u64,
    pub(crate) seconds: f64,
    pub(crate) state: &'a str,
    pub(crate) resume: Option<&'a str>,
}

/// The fresh small engine: the same book and the same operations every time.
struct Reference {
    open_orders_max: usize,
    prefill: Vec<Input>,
    inputs: Vec<Input>,
    outbound: Outbound<BLOCK_REPORTS>,
}

/// What goes on.
struct Going<'a> {
    flow: Flow,
    engine: Engine,
    reference: Reference,
    recorder: Recorder,
    bench: &'a Bench<'a>,
    counts: Counts,
    busy_ns: u64,
}

/// What a soak came to.
pub(crate) fn run(
    plan: &Plan,
    row: &Row,
    soak: &Soak,
    bench: &Bench,
) -> Result<Measured, WorkloadError> {
    let (flow, engine) = match soak.resume {
        Some(path) => state::load(Path::new(path), plan, row.shape)?,
        None => {
            let (flow, prefill) = Flow::bounded(row.shape, plan.accounts, plan.seed);
            let engine = filled(row, plan.accounts, flow.open_orders_max(), &prefill);
            (flow, engine)
        }
    };
    let operations_before = flow.operations();
    // However long it lasts, the other thread drains it meanwhile.
    let (recorder, drain) = recorder(&SOAK, f64::INFINITY);
    let mut going = Going {
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
    let Going { flow, engine, recorder, counts, busy_ns, .. } = going;
    recorder.finish(end_ns);
    let elapsed_ns = end_ns - start_ns;
    let disturbed = bench.disturbed(usage, elapsed_ns, Load::default());
    state::save(Path::new(soak.state), plan, &flow, &engine)?;
    let operations = flow.operations() - operations_before;
    let planned = match soak.operations {
        0 => operations + u64::from(bench.is_stopped()),
        all => all.saturating_sub(operations_before),
    };
    let matching = Matching {
        operations,
        operations_before,
        counts,
        state_hash: format!("{:016x}", engine.state_hash()),
        busy_ns,
        ..Matching::default()
    };
    let load = Load {
        model: BACK_TO_BACK.to_owned(),
        rate_per_second_achieved: operations as f64 / elapsed_ns.max(1) as f64 * 1e9,
        sent: operations,
        received: operations,
        rejected: counts.refused,
        matching: vec![matching],
        ..disturbed
    };
    Ok(Measured { load, planned, failure: None })
}

impl Going<'_> {
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
        // What there was no room to count is not known to be fine.
        let reports = outbound.written() - before;
        self.counts.refused += reports.saturating_sub(BLOCK_REPORTS as u64);
    }
}

impl Reference {
    fn new(plan: &Plan) -> Reference {
        let (mut flow, prefill) = Flow::new(REFERENCE_ROW.shape, plan.accounts, plan.seed);
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
