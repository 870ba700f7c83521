//! The flow for as long as asked: block after block, made just before it is timed, in memory that is there. Between
//! them, now and then, the reference: a fresh small engine does the same block every time, so that a drift of the
//! machine is told from one of the engine.

use crate::flow::{Flow, SHALLOW};
use crate::outbound::Outbound;
use crate::passes::{BACK_TO_BACK, OPERATION};
use crate::plan::Plan;
use crate::row::Row;
use crate::run::{Bench, WorkloadError};
use crate::server::filled;
use crate::state::State;
use crate::{tally, timed};
use engine::{Engine, Input};
use measure::matching::{Counts, Matching};
use measure::record::{Kind, Load};
use measure::recorder::{Recorder, Series, recorder};
use std::path::Path;

pub use crate::state::StateError as SoakError;

/// The series of the reference.
pub const REFERENCE: &str = "reference";

pub(crate) const SERIES: [Series; 2] =
    [Series::new(OPERATION, Kind::Service), Series::new(REFERENCE, Kind::Service)];
pub(crate) const SERVICE: usize = 0;
pub(crate) const REFERENCE_SERVICE: usize = 1;

/// Operations of a block: short enough that making them leaves most of the book in the caches.
const BLOCK: usize = 4_096;
/// Reports that a block has room for, so that all can be counted after it: some three times what W1 gives.
const BLOCK_REPORTS: usize = 1 << 14;
/// Operations of the reference, each time.
const REFERENCE_OPERATIONS: u64 = 20_000;
/// Between two references: one takes some ten milliseconds.
const REFERENCE_EVERY_NS: u64 = 1_000_000_000;

/// What to do.
pub(crate) struct Soak<'a> {
    pub(crate) operations: u64,
    pub(crate) seconds: f64,
    pub(crate) state: &'a str,
    pub(crate) resume: Option<&'a str>,
}

/// The fresh small engine: the same book and the same operations every time.
struct Reference {
    row: Row,
    open_orders_max: usize,
    prefill: Vec<Input>,
    inputs: Vec<Input>,
    outbound: Outbound<BLOCK_REPORTS>,
    /// When it is due next, ns.
    due_ns: u64,
}

/// What a soak came to, and how many operations it was to be.
pub(crate) fn run(
    plan: &Plan,
    row: &Row,
    soak: &Soak,
    bench: &Bench,
) -> Result<(Load, u64), WorkloadError> {
    let identity = State::identity(plan);
    let (mut flow, mut engine) = match soak.resume {
        Some(path) => State::load(Path::new(path), &identity)?,
        None => {
            let (flow, prefill) = Flow::bounded(row.shape, plan.accounts, plan.seed);
            let engine = filled(row, plan.accounts, flow.open_orders_max(), &prefill);
            (flow, engine)
        }
    };
    let operations_before = flow.operations();
    let mut reference = Reference::new(plan, bench);
    // However long it lasts, the other thread drains it meanwhile.
    let (mut recorder, drain) = recorder(&SERIES, f64::INFINITY);
    let usage = host::thread::usage();
    let start_ns = bench.start(drain);
    recorder.start(start_ns);
    let mut done = Done::default();
    done.all_blocks(&mut flow, &mut engine, &mut reference, &mut recorder, (soak, start_ns), bench);
    let end_ns = bench.clock.now_ns();
    recorder.finish(end_ns);
    let elapsed_ns = end_ns - start_ns;
    let disturbed = bench.disturbed(usage, elapsed_ns, Load::default());
    State::save(Path::new(soak.state), &identity, &flow, &engine)?;
    let operations = flow.operations() - operations_before;
    let planned = match soak.operations {
        0 if bench.is_stopped() => operations + 1,
        0 => operations,
        all => all.saturating_sub(operations_before),
    };
    let matching = Matching {
        operations,
        operations_before,
        counts: done.counts,
        state_hash: format!("{:016x}", engine.state_hash()),
        busy_ns: done.busy_ns,
        ..Matching::default()
    };
    let load = Load {
        model: BACK_TO_BACK.to_owned(),
        rate_per_second_achieved: operations as f64 / elapsed_ns.max(1) as f64 * 1e9,
        sent: operations,
        received: operations,
        rejected: done.counts.refused,
        matching: vec![matching],
        ..disturbed
    };
    Ok((load, planned))
}

#[derive(Default)]
struct Done {
    counts: Counts,
    busy_ns: u64,
}

impl Done {
    fn all_blocks(
        &mut self,
        flow: &mut Flow,
        engine: &mut Engine,
        reference: &mut Reference,
        recorder: &mut Recorder,
        (soak, start_ns): (&Soak, u64),
        bench: &Bench,
    ) {
        let mut inputs = vec![flow_filler(); BLOCK];
        let mut outbound = Outbound::<BLOCK_REPORTS>::new();
        let lasts_ns = (soak.seconds * 1e9) as u64;
        while !bench.is_stopped() {
            let now_ns = bench.clock.now_ns();
            let left = match soak.operations {
                0 if now_ns - start_ns >= lasts_ns => 0,
                0 => u64::MAX,
                all => all.saturating_sub(flow.operations()),
            };
            if left == 0 {
                break;
            }
            if now_ns >= reference.due_ns {
                reference.run(recorder, bench);
            }
            let block = &mut inputs[..left.min(BLOCK as u64) as usize];
            flow.fill(block);
            let before = outbound.written();
            self.busy_ns +=
                timed::one_by_one(engine, block, &mut outbound, bench.clock, recorder, SERVICE);
            block.iter().for_each(|input| tally::sent(&mut self.counts, input));
            outbound.since(before).for_each(|event| tally::reported(&mut self.counts, event));
            // What there was no room to count is not known to be fine.
            self.counts.refused +=
                (outbound.written() - before).saturating_sub(BLOCK_REPORTS as u64);
        }
    }
}

fn flow_filler() -> Input {
    let (_, prefill) = Flow::new(crate::flow::Shape { live: 1, depth_ticks: 1 }, 1, 0);
    prefill[0]
}

impl Reference {
    fn new(plan: &Plan, bench: &Bench) -> Reference {
        let row = Row {
            name: REFERENCE,
            about: "",
            shape: SHALLOW,
            has_risk: false,
            serves: crate::row::Serves::Engine,
        };
        let (mut flow, prefill) = Flow::new(row.shape, plan.accounts, plan.seed);
        let inputs = flow.take(REFERENCE_OPERATIONS);
        let open_orders_max = flow.open_orders_max();
        let due_ns = bench.clock.now_ns();
        Reference { row, open_orders_max, prefill, inputs, outbound: Outbound::new(), due_ns }
    }

    fn run(&mut self, recorder: &mut Recorder, bench: &Bench) {
        let mut engine = filled(&self.row, 1, self.open_orders_max, &self.prefill);
        let (inputs, outbound) = (&self.inputs, &mut self.outbound);
        timed::one_by_one(&mut engine, inputs, outbound, bench.clock, recorder, REFERENCE_SERVICE);
        self.due_ns = bench.clock.now_ns() + REFERENCE_EVERY_NS;
    }
}
