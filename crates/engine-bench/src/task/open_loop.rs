//! The flow on a schedule that is never re-based. If the server is busy when an operation is due,
//! that wait is response time. The thread that keeps the schedule is the server, so there is no
//! separate pacer.

use crate::bench::{Bench, TaskResult};
use crate::error::EngineBenchError;
use crate::row;
use crate::series::{SCHEDULED, SCHEDULED_RESPONSE, SCHEDULED_SERVICE};
use crate::server::outbound::{Outbound, REPORTS};
use crate::server::tally::{Outcome, counted};
use crate::server::{Burner, Server, filled};
use crate::task::timing::{self, GRACE_NS, LEAD_NS};
use clock::recorder::{self, Recorder};
use clock::schedule::Schedule;
use engine::Input;
use flow::w1::Flow;
use plan::process::engine::EnginePlan;
use plan::process::engine::Timing;
use plan::process::engine::{Row, ServerKind};
use record::engine::EngineRun;
use std::sync::atomic::Ordering;

/// Position in the schedule, and its end.
struct Keeper<'a> {
    bench: &'a Bench<'a>,
    schedule: Schedule,
    start_ns: u64,
    deadline_ns: u64,
}

/// Warm-up and measured part, on one schedule. An engine then repeats the flow without a clock, to
/// compare states.
pub(crate) fn run(
    plan: &EnginePlan,
    row: &Row,
    timing: &Timing,
    bench: &Bench,
) -> Result<TaskResult, EngineBenchError> {
    let (mut flow, prefill) = Flow::new(row::shape(row), plan.accounts, plan.seed);
    let inputs = flow.take(timing.warm_up_operations + timing.operations);
    let (warm_up, measured) = inputs.split_at(timing.warm_up_operations as usize);
    let open_orders_max = flow.open_orders_max();
    let mut engine = filled(row, plan.accounts, open_orders_max, &prefill);
    let mut outbound = Outbound::<REPORTS>::new();
    let seconds = timing.seconds();
    let (mut recorder, drain) = recorder::recorder(&SCHEDULED, seconds);
    let schedule = timing.schedule(plan.seed);
    let start_ns = bench.clock.now_ns() + LEAD_NS;
    let deadline_ns = start_ns + (seconds * 1e9) as u64 + GRACE_NS;
    let mut keeper = Keeper { bench, schedule, start_ns, deadline_ns };
    let mut taken = recorder::histogram();
    keeper.keep(&mut engine, warm_up, &mut outbound, &mut |_, service_ns, _| {
        taken.saturating_record(service_ns);
    });
    let usage = host::thread::usage();
    let first_ns = start_ns + keeper.schedule.offset_ns();
    bench.start_at(drain, first_ns);
    recorder.start(first_ns);
    let burn_ns = (row.serves == ServerKind::Burner).then(|| taken.value_at_quantile(0.5));
    let done = {
        let mut each = recording(&mut recorder);
        match burn_ns {
            None => keeper.keep(&mut engine, measured, &mut outbound, &mut each),
            Some(burn_ns) => {
                let mut burner = Burner::new(bench.clock, burn_ns);
                keeper.keep(&mut burner, measured, &mut outbound, &mut each)
            }
        }
    };
    let end_ns = bench.clock.now_ns();
    recorder.finish(end_ns);
    let length_ns = end_ns.saturating_sub(first_ns).max(1);
    let mut engine_run =
        EngineRun { operations: timing.operations, burn_ns, ..EngineRun::default() };
    if burn_ns.is_none() {
        let reached = Outcome { reports: outbound.written(), state_hash: engine.state_hash() };
        engine_run.state_hash = format!("{:016x}", reached.state_hash);
        if done == timing.operations {
            drop(engine);
            let mut again = filled(row, plan.accounts, open_orders_max, &prefill);
            let (_, before) = counted(&mut again, warm_up);
            let (counts, after) = counted(&mut again, measured);
            let expected = Outcome { reports: before.reports + after.reports, ..after };
            engine_run.counts = counts;
            engine_run.replays = 1;
            engine_run.replays_unequal = u32::from(expected != reached);
        }
    }
    let load = timing::load_of(timing, done, length_ns, engine_run);
    let load = bench.disturbed(usage, load);
    Ok(TaskResult { load, planned: timing.operations, failure: None })
}

/// Records response and service time, and ends intervals.
fn recording(recorder: &mut Recorder) -> impl FnMut(u64, u64, u64) + '_ {
    |response_ns, service_ns, end_ns| {
        recorder.record(SCHEDULED_RESPONSE, response_ns);
        recorder.record(SCHEDULED_SERVICE, service_ns);
        recorder.roll(end_ns);
    }
}

impl Keeper<'_> {
    /// Executes each of `inputs` when it is due, or at once if it is late, without reading it
    /// earlier. `each` gets response time, service time and the end, ns. Returns how many were
    /// executed: all, unless it was told to stop.
    fn keep(
        &mut self,
        server: &mut impl Server,
        inputs: &[Input],
        outbound: &mut Outbound<REPORTS>,
        each: &mut impl FnMut(u64, u64, u64),
    ) -> u64 {
        let (clock, stop) = (self.bench.clock, self.bench.stop);
        for (done, input) in inputs.iter().enumerate() {
            let due_ns = self.start_ns + self.schedule.offset_ns();
            let mut now_ns = clock.now_ns();
            while now_ns < due_ns && !stop.load(Ordering::Relaxed) {
                now_ns = clock.now_ns();
            }
            // A server that is always late never waits above, but must end too.
            if now_ns < due_ns || now_ns > self.deadline_ns || stop.load(Ordering::Relaxed) {
                return done as u64;
            }
            server.apply(input, &mut |report| outbound.push(report));
            let end_ns = clock.now_ns();
            each(end_ns - due_ns, end_ns - now_ns, end_ns);
            self.schedule.advance();
        }
        inputs.len() as u64
    }
}
