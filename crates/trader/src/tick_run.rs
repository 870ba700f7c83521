//! One run of one [`TickPlan`]: connect, follow the feed, trade on it until the flow is over, compare, tell.

use crate::exchange_line::ExchangeLine;
use crate::feed_start::{self, Followed, receive_options};
use crate::line::Line;
use crate::mind::{Mind, NoMind};
use crate::raw_line::RawLine;
use crate::rehearsal::Rehearsal;
use crate::risk::Refusal;
use crate::run::{TraderError, dial};
use crate::samples::Samples;
use crate::stages::Stages;
use crate::tick_loop::{Parts, Phase, TickLoop};
use crate::tick_plan::{RawPlan, TickPlan};
use crate::tick_result::{Finished, Following, Receiving};
use crate::{clock_source, tick_result};
use audit::Auditor;
use host::Root;
use measure::clock::Clock;
use measure::progress::Second;
use measure::record::ClientResult;
use measure::record::Kind;
use measure::recorder::{Drain, Recorder, Series, recorder};
use measure::tick::MarketMaking;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use transport::datagrams::DatagramReceiver;
use transport::inject;

/// What is shown to who looks on.
const SHOWN: [Series; 1] = [Series::new("tick_to_gateway", Kind::Response)];

/// Carries the plan out. Returns as soon as `stop` is set, with what was measured until then.
///
/// The measuring thread is a thread of its own, pinned; the caller's thread writes the files after the run, starts the audit log's thread before
/// it, and calls `tell` for each second of it where the plan asks for progress: keep it off the measured cores.
///
/// # Errors
/// If there is no result at all. A run that broke off has a result that says so.
pub fn follow(
    plan: &TickPlan,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&Second),
) -> Result<ClientResult, TraderError> {
    plan.check()?;
    // What can't be written is said before anything is measured.
    let log = tick_result::open_log(plan)?;
    let source = clock_source::choose(plan)?;
    let (clock, is_shared) = (source.ours.clock, source.is_shared);
    let audit = plan.audit.as_ref().map(|audit| {
        let settings = audit::Settings {
            core: audit.core,
            scenario: plan.scenario.clone(),
            subject: plan.subject.clone(),
            tool: format!("tickpath {}", env!("CARGO_PKG_VERSION")),
            reasons: Refusal::ALL.map(|refusal| refusal.name().to_owned()).to_vec(),
            same_clock: is_shared,
            exchange_time: source.theirs.clone().filter(|_| !is_shared),
            utc: source.ours.utc.clone(),
            ..audit::Settings::new(PathBuf::from(&audit.file), clock)
        };
        audit::start(settings)
    });
    let (auditor, logger) = audit.transpose()?.unzip();
    let shown = plan.progress.then(|| recorder(&SHOWN, plan.seconds));
    let (shown, drain) = shown.unzip();
    let (started, start_ns) = (SystemTime::now(), clock.now_ns());
    let raw_at_start = clock.beside_raw();
    let finished = std::thread::scope(|scope| {
        let measuring =
            scope.spawn(move || measure(plan, stop, (clock, is_shared), auditor, shown));
        if let Some(drain) = drain {
            show(drain, tell);
        }
        measuring.join().map_err(|_| TraderError::Panic)?
    });
    let rate_off_ppm = Clock::rate_off_ppm(raw_at_start, clock.beside_raw());
    let logged = logger.map(audit::Logger::finish);
    if let (Err(_), Some(audit)) = (&finished, &plan.audit) {
        // There was no run to write down, and the next one's log may have the same name.
        let _ = std::fs::remove_file(&audit.file);
    }
    let started = (started, start_ns);
    Ok(tick_result::assemble(plan, finished?, (source, rate_off_ppm), logged, log, started))
}

/// Tells of each second as it ends.
fn show(drain: Drain, tell: &mut dyn FnMut(&Second)) {
    let mut teller = crate::progress::Seconds::default();
    let mut watch = |interval: &measure::recorder::Interval| {
        let values = &interval.histograms[0];
        if let Some(second) =
            teller.second(interval, values.len(), "tick_to_gateway.response", values)
        {
            tell(&second);
        }
    };
    let nowhere = &mut std::io::sink();
    // Into nothing: it can't fail.
    let _ = drain.run_watched("", nowhere, SystemTime::now(), 0, &|| (), &mut watch);
}

/// The measuring thread.
fn measure(
    plan: &TickPlan,
    stop: &AtomicBool,
    (clock, is_shared): (Clock, bool),
    audit: Option<Auditor>,
    shown: Option<Recorder>,
) -> Result<Finished, TraderError> {
    // First the core, so that memory comes from its NUMA node.
    if let Some(core) = plan.core {
        host::thread::pin(core)?;
    }
    let memory_locked = host::thread::lock_memory().is_ok();
    let connect_failed =
        |source| TraderError::Connect { target: plan.target.clone(), lane: 0, source };
    let mut stream = dial(&plan.target).map_err(connect_failed)?;
    let own = Own { plan, stop, clock, is_shared, audit, shown, memory_locked };
    match &plan.raw {
        Some(raw) => {
            let (receiver, line) = subscribe_raw(plan, raw, clock, &mut stream)?;
            let stages = Stages::new(clock, NoMind::new(plan.strategy.every), line);
            own.run(stream, receiver, stages, None, 0, |_| (None, None))
        }
        None => {
            let mut line = ExchangeLine::new(&plan.target, &plan.instrument);
            line.log_on(&mut stream, plan.first_token).map_err(connect_failed)?;
            let followed = feed_start::follow(plan, stop, clock, &mut line, &mut stream)?;
            let Followed { receiver, mind, instrument, rehearsal } = followed;
            let stages = Stages::new(clock, mind, line);
            own.run(
                stream,
                receiver,
                stages,
                rehearsal,
                instrument,
                |Stages { mind, orders, .. }| {
                    let follower = &mind.follower;
                    let following = Following {
                        counts: *follower.counts(),
                        before: mind.before,
                        book_hash: follower.book_hash(),
                        sequence: follower.sequence(),
                    };
                    let outcome = mind.outcome.as_ref();
                    (Some(following), outcome.map(|outcome| outcome.finish(orders)))
                },
            )
        }
    }
}

fn subscribe_raw(
    plan: &TickPlan,
    raw: &RawPlan,
    clock: Clock,
    stream: &mut TcpStream,
) -> Result<(DatagramReceiver, RawLine), TraderError> {
    let receiver = DatagramReceiver::bind(plan.feed.listen, &receive_options(plan, None), clock)?;
    let failed = |source| TraderError::Connect { target: plan.target.clone(), lane: 0, source };
    let mut line = RawLine::new(raw);
    let address = receiver.local_addr().map_err(failed)?;
    line.subscribe(stream, address).map_err(failed)?;
    Ok((receiver.harmed_by(plan.feed.inject), line))
}

/// What the measuring thread has of its own.
struct Own<'a> {
    plan: &'a TickPlan,
    stop: &'a AtomicBool,
    clock: Clock,
    is_shared: bool,
    audit: Option<Auditor>,
    shown: Option<Recorder>,
    memory_locked: bool,
}

impl Own<'_> {
    /// From the first tick to the last word.
    fn run<M: Mind, L: Line>(
        self,
        stream: TcpStream,
        receiver: DatagramReceiver,
        stages: Stages<M, L>,
        rehearsal: Option<Rehearsal<M, L>>,
        instrument: u16,
        told: impl FnOnce(&Stages<M, L>) -> (Option<Following>, Option<MarketMaking>),
    ) -> Result<Finished, TraderError> {
        let Own { plan, stop, clock, is_shared, audit, shown, memory_locked } = self;
        let backend = transport::backend(&plan.backend)?;
        let open_failed = |source| TraderError::Open { backend: plan.backend.clone(), source };
        let streams = backend.open_beside(clock, receiver.as_fd()).map_err(open_failed)?;
        let mut streams = inject::around(streams, &plan.inject, clock);
        let stream = streams.add(stream).map_err(open_failed)?;
        let samples = Samples::with_room(plan.samples_max);
        let spins = backend.spins;
        let parts = Parts {
            clock,
            is_shared,
            receiver,
            streams,
            stream,
            spins,
            samples,
            instrument,
            audit,
            shown,
        };
        let mut ticks = TickLoop::new(stages, rehearsal, parts);
        // The book and the samples are there, and hit at random.
        host::huge_pages::use_huge_pages(&Root::system());
        // Last, so that the set-up above does not run in a real-time class.
        host::thread::set_scheduling(plan.scheduling)?;
        let stopped = go_through(&mut ticks, plan, stop);
        let (following, market_making) = told(&ticks.stages);
        Ok(finish(ticks, stopped, following, market_making, memory_locked))
    }
}

/// Runs the loop to its end; says whether it was stopped.
fn go_through<M: Mind, L: Line>(
    ticks: &mut TickLoop<M, L>,
    plan: &TickPlan,
    stop: &AtomicBool,
) -> bool {
    let ns = |seconds: f64| Duration::from_secs_f64(seconds).as_nanos() as u64;
    let warm_up_ns = ns(plan.warm_up_seconds);
    ticks.start(warm_up_ns, warm_up_ns + ns(plan.seconds));
    let mut stopped = false;
    while ticks.phase != Phase::Over && ticks.failure.is_none() {
        ticks.turn();
        if stop.load(Ordering::Relaxed) && !stopped {
            stopped = true;
            ticks.break_off(ticks.parts.clock.now_ns());
        }
    }
    stopped
}

fn finish<M: Mind, L: Line>(
    ticks: TickLoop<M, L>,
    stopped: bool,
    following: Option<Following>,
    market_making: Option<MarketMaking>,
    memory_locked: bool,
) -> Finished {
    let TickLoop { stages, parts, failure, description, usage, .. } = ticks;
    let Stages { mind, line, orders, mut counts, .. } = stages;
    let ended_ns = parts.clock.now_ns();
    if let Some(shown) = parts.shown {
        shown.finish(ended_ns);
    }
    let has_all = ticks.flow_ended.is_some_and(|last| mind.sequence() >= last);
    let mut failures: Vec<String> = failure.into_iter().collect();
    if failures.is_empty() && !stopped && !has_all {
        failures.push("the flow is over, and its last datagrams did not come".to_owned());
    }
    let lost = parts.samples.lost;
    if lost > 0 {
        failures.push(format!("{lost} ticks found no room for their stamps; raise samples_max"));
    }
    let complete = failures.is_empty() && !stopped;
    // A market maker's quote that would have traded is refused: that is its life.
    let traded = orders.orders_filled();
    if traded > 0 && market_making.is_none() {
        counts.unexpected += traded;
        failures.push(format!(
            "{traded} orders traded that were not to; raise strategy.distance_ticks"
        ));
    }
    let is_odd = counts.unexpected > 0 || (counts.rejected > 0 && market_making.is_none());
    let complaint = line.first_complaint().filter(|_| is_odd);
    failures.extend(complaint.map(|what| format!("first complaint: {what}")));
    // So that the stamps since the latest reading are within the bound, too.
    let mut receiver = parts.receiver;
    receiver.refresh_wall();
    Finished {
        counts,
        unanswered: orders.unanswered().into(),
        usage: host::thread::usage().since(usage),
        measured_from_ns: ticks.measured_from_ns,
        ended_ns,
        complete,
        failures,
        receiving: Receiving {
            dropped: receiver.dropped(),
            cut: receiver.cut(),
            buffer_bytes: receiver.receive_buffer_bytes() as u64,
            kernel_stamps: receiver.kernel_stamps().to_owned(),
            kernel_bound_ns: receiver.wall().map_or(0, |wall| wall.bound_ns()),
            wall_steps: receiver.wall().map_or(0, |wall| wall.steps()),
        },
        following,
        market_making,
        description,
        memory_locked,
        samples: parts.samples.into_all(),
    }
}
