//! The flow through a journal, on a schedule: an operation is logged, executed, and answered when
//! the journal's mode allows it. Response time ends at the answer.

use crate::bench::{Bench, TaskResult};
use crate::error::EngineBenchError;
use crate::row;
use crate::series::{SCHEDULED, SCHEDULED_RESPONSE, SCHEDULED_SERVICE};
use crate::server::filled;
use crate::server::outbound::{Outbound, REPORTS};
use crate::server::tally::counted;
use crate::task::timing::{self, GRACE_NS, LEAD_NS};
use clock::recorder::{self, Recorder};
use clock::schedule::Schedule;
use engine::{Engine, Input};
use flow::w1::Flow;
use host::Root;
use journal::{AppendError, Appender, Identity, JournalError, Mode, Options};
use plan::process::engine::Row;
use plan::process::engine::Timing;
use plan::process::engine::{EnginePlan, JournalMode};
use record::Load;
use record::engine::{EngineRun, Storage};
use std::collections::VecDeque;
use std::path::Path;

/// Limit on unanswered operations: more than the journal's ring and one group of writes hold.
const PENDING_MAX: usize = 1 << 18;

/// The journal's place and mode.
pub(crate) struct JournalTask<'a> {
    pub(crate) mode: JournalMode,
    pub(crate) directory: &'a str,
    pub(crate) writer_core: Option<usize>,
}

/// An operation that is not answered yet.
#[derive(Clone, Copy)]
struct PendingOperation {
    due_ns: u64,
    sent_ns: u64,
}

/// The loop's state.
struct Desk<'a> {
    bench: &'a Bench<'a>,
    schedule: Schedule,
    start_ns: u64,
    deadline_ns: u64,
    appender: Appender,
    engine: Engine,
    outbound: Outbound<REPORTS>,
    pending: VecDeque<PendingOperation>,
    /// Sequence number of the first of them.
    first_pending: u64,
    recorder: Recorder,
    is_measuring: bool,
    held_back: u64,
    answered: u64,
    failure: Option<String>,
}

/// Warm-up and measured part, on one schedule. Then compares the states of the engine, of the
/// replayed journal, and of the flow without a journal.
pub(crate) fn run(
    plan: &EnginePlan,
    row: &Row,
    logged: &JournalTask,
    timing: &Timing,
    bench: &Bench,
) -> Result<TaskResult, EngineBenchError> {
    let (mut flow, prefill) = Flow::new(row::shape(row), plan.accounts, plan.seed);
    let inputs = flow.take(timing.warm_up_operations + timing.operations);
    let (warm_up, measured) = inputs.split_at(timing.warm_up_operations as usize);
    let open_orders_max = flow.open_orders_max();
    let (appender, engine) = open(plan, row, logged, open_orders_max)?;
    let (recorder, drain) = recorder::recorder(&SCHEDULED, timing.seconds());
    let mut desk = Desk::new(bench, timing, plan.seed, (appender, engine), recorder);
    let settings = row::settings(row, plan.accounts, open_orders_max);
    desk.unhurried(settings.iter().chain(&prefill));
    desk.start_ns = bench.clock.now_ns() + LEAD_NS;
    desk.keep(warm_up);
    desk.answer_all();
    let usage = host::thread::usage();
    let first_ns = desk.start_ns + desk.schedule.offset_ns();
    bench.start_at(drain, first_ns);
    desk.recorder.start(first_ns);
    desk.is_measuring = true;
    desk.held_back = 0;
    let sent = desk.keep(measured);
    // The rate of sending, without the wait for the last answers.
    let length_ns = bench.clock.now_ns().saturating_sub(first_ns).max(1);
    desk.answer_all();
    let end_ns = bench.clock.now_ns();
    let Desk { appender, engine, recorder, held_back, answered, mut failure, .. } = desk;
    recorder.finish(end_ns);
    let state_hash = engine.state_hash();
    let closed = appender.close().map_err(|error| error.to_string());
    failure = failure.or(closed.err());
    let mut engine_run = EngineRun {
        operations: timing.operations,
        state_hash: format!("{state_hash:016x}"),
        storage: storage(logged),
        ..EngineRun::default()
    };
    if sent == timing.operations && failure.is_none() {
        let mut again = filled(row, plan.accounts, open_orders_max, &prefill);
        counted(&mut again, warm_up);
        let (counts, after) = counted(&mut again, measured);
        engine_run.counts = counts;
        let unequal = |hash: u64| u32::from(hash != state_hash);
        (engine_run.replays, engine_run.replays_unequal) = (1, unequal(after.state_hash));
        if logged.mode != JournalMode::None {
            let replayed = journal::replay(Path::new(logged.directory))?;
            engine_run.replays += 1;
            engine_run.replays_unequal += unequal(replayed.state_hash);
        }
    }
    let load = timing::load_of(timing, sent, length_ns, engine_run);
    let lost = sent - answered;
    let load = Load { received: answered, lost, held_back, ..load };
    let load = bench.disturbed(usage, load);
    Ok(TaskResult { load, planned: timing.operations, failure })
}

/// A new journal and its engine.
fn open(
    plan: &EnginePlan,
    row: &Row,
    logged: &JournalTask,
    open_orders_max: usize,
) -> Result<(Appender, Engine), JournalError> {
    let limits = row::limits(row, plan.accounts, open_orders_max);
    let mode = match logged.mode {
        JournalMode::None => return Ok((Appender::none(), Engine::new(1, limits))),
        JournalMode::Async => Mode::Async,
        JournalMode::Sync => Mode::Sync,
    };
    let cores = logged.writer_core.into_iter().collect();
    let options = Options { mode, cores, ..Options::default() };
    let identity = Identity { instruments: 1, limits };
    let (appender, recovered) = journal::open(Path::new(logged.directory), identity, options)?;
    Ok((appender, recovered.engine))
}

fn storage(logged: &JournalTask) -> Option<Storage> {
    if logged.mode == JournalMode::None {
        return None;
    }
    let of = host::storage::of(&Root::system(), Path::new(logged.directory))?;
    Some(Storage {
        directory: logged.directory.to_owned(),
        mount_point: of.mount_point,
        file_system: of.file_system,
        device: of.device,
        mount_options: of.mount_options,
        is_rotational: of.is_rotational,
    })
}

impl<'a> Desk<'a> {
    fn new(
        bench: &'a Bench<'a>,
        timing: &Timing,
        seed: u64,
        (appender, engine): (Appender, Engine),
        recorder: Recorder,
    ) -> Desk<'a> {
        let start_ns = bench.clock.now_ns();
        Desk {
            bench,
            schedule: timing.schedule(seed),
            start_ns,
            deadline_ns: start_ns + (timing.seconds() * 1e9) as u64 + GRACE_NS,
            first_pending: appender.next_sequence(),
            appender,
            engine,
            outbound: Outbound::new(),
            pending: VecDeque::with_capacity(PENDING_MAX),
            recorder,
            is_measuring: false,
            held_back: 0,
            answered: 0,
            failure: None,
        }
    }

    /// Sends inputs before the schedule, as fast as the journal takes them.
    fn unhurried<'i>(&mut self, inputs: impl Iterator<Item = &'i Input>) {
        for input in inputs {
            let now_ns = self.bench.clock.now_ns();
            self.send(input, PendingOperation { due_ns: now_ns, sent_ns: now_ns });
        }
        self.answer_all();
    }

    /// Sends each of `inputs` when it is due, or at once if it is late. Returns how many were sent:
    /// all, unless it was told to stop or the journal failed.
    fn keep(&mut self, inputs: &[Input]) -> u64 {
        let clock = self.bench.clock;
        for (done, input) in inputs.iter().enumerate() {
            let due_ns = self.start_ns + self.schedule.offset_ns();
            let mut now_ns = clock.now_ns();
            while now_ns < due_ns && !self.is_over(now_ns) {
                self.answer(now_ns);
                now_ns = clock.now_ns();
            }
            if self.is_over(now_ns)
                || !self.send(input, PendingOperation { due_ns, sent_ns: now_ns })
            {
                return done as u64;
            }
            self.schedule.advance();
        }
        inputs.len() as u64
    }

    /// Logs and executes an operation; waits if the journal is full. Returns false if the journal
    /// failed.
    fn send(&mut self, input: &Input, pending: PendingOperation) -> bool {
        let mut has_waited = false;
        while self.pending.len() == PENDING_MAX || !self.append(input, &mut has_waited) {
            let now_ns = self.bench.clock.now_ns();
            if self.is_over(now_ns) {
                return false;
            }
            self.answer(now_ns);
        }
        self.held_back += u64::from(has_waited);
        let outbound = &mut self.outbound;
        self.engine.apply(input, &mut |report| outbound.push(report));
        self.pending.push_back(pending);
        self.answer(self.bench.clock.now_ns());
        true
    }

    fn append(&mut self, input: &Input, has_waited: &mut bool) -> bool {
        match self.appender.try_append(input) {
            Ok(_) => true,
            Err(AppendError::Full { .. }) => {
                *has_waited = true;
                false
            }
            Err(error) => {
                self.failure.get_or_insert_with(|| error.to_string());
                false
            }
        }
    }

    fn is_over(&self, now_ns: u64) -> bool {
        self.failure.is_some() || now_ns > self.deadline_ns || self.bench.is_stopped()
    }

    /// Answers the operations that may be answered.
    #[inline]
    fn answer(&mut self, now_ns: u64) {
        let acknowledged = self.appender.acknowledged();
        while self.first_pending < acknowledged
            && let Some(PendingOperation { due_ns, sent_ns }) = self.pending.pop_front()
        {
            self.first_pending += 1;
            if self.is_measuring {
                self.answered += 1;
                self.recorder.record(SCHEDULED_RESPONSE, now_ns - due_ns);
                self.recorder.record(SCHEDULED_SERVICE, now_ns - sent_ns);
            }
        }
        if self.is_measuring {
            self.recorder.roll(now_ns);
        }
    }

    fn answer_all(&mut self) {
        while !self.pending.is_empty() {
            let now_ns = self.bench.clock.now_ns();
            if now_ns > self.deadline_ns || self.failure.is_some() {
                return;
            }
            self.answer(now_ns);
        }
    }
}
