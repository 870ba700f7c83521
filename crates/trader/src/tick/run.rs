//! One run of one [`TickPlan`]: connect, follow the feed, trade until the flow is over, compare,
//! report.

use crate::load::addresses::first_of;
use crate::load::dialler::{Dialler, dial};
use crate::load::error::TraderError;
use crate::risk::Rejection;
use crate::tick::addresses::Addresses;
use crate::tick::audit_trail::AuditTrail;
use crate::tick::event_loop::{self, state::TickLoop};
use crate::tick::finish::finish;
use crate::tick::followed::FollowedBook;
use crate::tick::followed::json::JsonBook;
use crate::tick::followed::json_top::TopBook;
use crate::tick::followed_state::FollowedState;
use crate::tick::going_on::go_on;
use crate::tick::json_start::ChannelBook;
use crate::tick::link::{Link, receive_options};
use crate::tick::logic::{FloorLogic, TradingLogic};
use crate::tick::order_stream::OrderStream;
use crate::tick::parts::LoopParts;
use crate::tick::prepare::FollowedFeed;
use crate::tick::receiver::TickReceiver;
use crate::tick::rehearsal::Rehearsal;
use crate::tick::releases::Releases;
use crate::tick::result::{BookCounts, ThreadResult};
use crate::tick::samples::Samples;
use crate::tick::session::OrderSession;
use crate::tick::session::exchange::ExchangeSession;
use crate::tick::stages::Stages;
use crate::tick::stamped_orders::StampedOrders;
use crate::tick::{bare, clock_source, feed_start, fix_start, json_start, raw_start, result};
use audit::{Auditor, Record};
use clock::recorder::{Drain, Recorder, Series, recorder};
use clock::{Clock, wall_now};
use host::Root;
use host::measuring::MeasuringError;
use host::processor::ProcessorMeter;
use plan::process::ticks::TickPlan;
use plan::tables::ticks::FeedDialect;
use record::ClientResult;
use record::Kind;
use record::progress::Second;
use record::tick::MarketMaking;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use transport::datagram::DatagramReceiver;

/// The series of the live view.
const SHOWN: [Series; 1] = [Series::new("tick_to_gateway", Kind::Response)];

/// Carries the plan out. Returns soon after `stop` is set, with what was measured so far.
///
/// Measures on a pinned thread of its own. The caller's thread starts the audit log's thread first,
/// and writes the files after the run. If the plan asks for progress it calls `tell` as each second
/// ends: keep it off the measured cores.
///
/// # Errors
/// If there is no result. A run that broke off has a result that says so.
pub fn follow(
    plan: &TickPlan,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&Second),
) -> Result<ClientResult, TraderError> {
    plan.check()?;
    let targets = plan.targets();
    let current = first_of(&targets)?;
    let addresses = Addresses::new(plan, current);
    let plan = &TickPlan { target: targets[current].to_owned(), ..plan.clone() };
    // Open the files first: an error must not come after the measurement.
    let log = result::open_log(plan)?;
    let source = clock_source::choose(plan)?;
    let (clock, is_shared) = (source.ours.clock, source.is_shared);
    check_hold(plan, is_shared)?;
    let audit = plan.audit.as_ref().map(|audit| {
        let settings = audit::Settings {
            core: audit.core,
            scenario: plan.scenario.clone(),
            subject: plan.subject.clone(),
            tool: format!("tickpath {}", env!("CARGO_PKG_VERSION")),
            reasons: Rejection::ALL.map(|rejection| rejection.name().to_owned()).to_vec(),
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
    let (started, start_ns) = (wall_now(), clock.now_ns());
    let raw_at_start = clock.beside_raw();
    let finished = std::thread::scope(|scope| {
        let measuring =
            scope.spawn(move || measure(plan, addresses, stop, (clock, is_shared), auditor, shown));
        if let Some(drain) = drain {
            show(drain, tell);
        }
        measuring.join().map_err(|_| MeasuringError::Panicked)?
    });
    let rate_off_ppm = Clock::rate_off_ppm(raw_at_start, clock.beside_raw());
    let logged = logger.map(audit::Logger::finish);
    if let (Err(_), Some(audit)) = (&finished, &plan.audit) {
        // There was no run to log, and the next run's log may have the same name.
        let _ = std::fs::remove_file(&audit.file);
    }
    let started = (started, start_ns);
    Ok(result::assemble(plan, finished?, (source, rate_off_ppm), logged, log, started))
}

/// Reports each second as it ends.
fn show(drain: Drain, tell: &mut dyn FnMut(&Second)) {
    let mut teller = crate::load::progress::Seconds::default();
    let mut watch = |interval: &clock::recorder::Interval| {
        let values = &interval.histograms[0];
        if let Some(second) =
            teller.second(interval, values.len(), "tick_to_gateway.response", values)
        {
            tell(&second);
        }
    };
    let nowhere = &mut std::io::sink();
    // It writes to nowhere, so it can't fail.
    let _ = drain.run_watched("", nowhere, wall_now(), 0, &|| (), &mut watch);
}

/// A release is a time of the exchange's clock, which must be ours.
fn check_hold(plan: &TickPlan, is_shared: bool) -> Result<(), TraderError> {
    if plan.feed.hold_ns == 0 || is_shared {
        return Ok(());
    }
    let why = "feed.hold_us holds ticks until a time of the exchange's clock, and this machine does \
               not have that clock: run the trader on the exchange's machine, or leave the hold out";
    Err(TraderError::Feed { target: plan.target.clone(), why: why.to_owned() })
}

/// The measuring thread.
fn measure(
    plan: &TickPlan,
    addresses: Option<Box<Addresses>>,
    stop: &AtomicBool,
    (clock, is_shared): (Clock, bool),
    audit: Option<Auditor>,
    shown: Option<Recorder>,
) -> Result<ThreadResult, TraderError> {
    // Pin first, so that memory comes from the core's NUMA node.
    if let Some(core) = plan.core {
        host::thread::pin(core)?;
    }
    let memory_locked = host::thread::lock_memory().is_ok();
    let connect_failed = |source| TraderError::connect(&plan.target, 0, source);
    if let Some(raw) = plan.raw.as_ref().filter(|raw| raw.bare) {
        let stream = dial(&plan.target).map_err(connect_failed)?;
        let options = receive_options(plan, None);
        let receiver = DatagramReceiver::bind(plan.feed.listen, &options, clock)?;
        return bare::run(plan, raw, clock, (stream, receiver), memory_locked, stop);
    }
    let dialler = Dialler::new(&plan.target, plan.tls.as_ref())?;
    let mut link = Link::dial(plan, &dialler, clock)?;
    if addresses.is_some() && link.is_below() {
        let why = "several addresses need a backend over the kernel's sockets".to_owned();
        return Err(TraderError::Feed { target: plan.target.clone(), why });
    }
    let mut own = MeasuringThread {
        plan,
        addresses,
        stop,
        clock,
        is_shared,
        followed: FollowedState::default(),
        audit,
        shown,
        memory_locked,
    };
    match &plan.raw {
        Some(raw) => {
            let (receiver, session) = match plan.feed.dialect {
                FeedDialect::Sbe => raw_start::datagrams(plan, raw, &mut link)?,
                _ => raw_start::stream(plan, raw, clock, &dialler)?,
            };
            let stages = Stages::new(clock, FloorLogic::new(plan.strategy.every), session);
            own.run(link, receiver, stages, None, 0, |_| (None, None))
        }
        None => {
            let mut session = ExchangeSession::new(&plan.target, &plan.instrument);
            let logged_on = link.talk(|stream| session.log_on(stream, plan.first_token));
            logged_on.map_err(connect_failed)?;
            match plan.feed.dialect {
                FeedDialect::Sbe => {
                    let followed = feed_start::follow(plan, stop, clock, &mut session, &mut link)?;
                    let feed = followed.logic.follower.session();
                    if let (Some(auditor), Some(feed)) = (&mut own.audit, feed) {
                        auditor.tell(&Record::Session { feed, run: session.run().into() });
                    }
                    own.trade(link, followed, session)
                }
                FeedDialect::Json => own.trade_json::<JsonBook>(&dialler, link, session),
                FeedDialect::JsonTop => own.trade_json::<TopBook>(&dialler, link, session),
                FeedDialect::Fix => {
                    let followed = fix_start::follow(plan, clock, &mut session, &mut link)?;
                    own.trade(link, followed, session)
                }
            }
        }
    }
}

/// The measuring thread's own state.
struct MeasuringThread<'a> {
    plan: &'a TickPlan,
    addresses: Option<Box<Addresses>>,
    stop: &'a AtomicBool,
    clock: Clock,
    is_shared: bool,
    /// The exchange's state that the book must agree with.
    followed: FollowedState,
    audit: Option<Auditor>,
    shown: Option<Recorder>,
    memory_locked: bool,
}

impl MeasuringThread<'_> {
    /// Follows a channel of JSON and trades on it.
    fn trade_json<F: ChannelBook>(
        self,
        dialler: &Dialler<'_>,
        mut link: Link<'_>,
        mut session: ExchangeSession,
    ) -> Result<ThreadResult, TraderError> {
        let (plan, clock) = (self.plan, self.clock);
        let followed = json_start::follow::<F>(plan, clock, &mut session, &mut link, dialler)?;
        self.trade(link, followed, session)
    }

    /// Trades on a feed that is followed.
    fn trade<F: FollowedBook>(
        mut self,
        link: Link<'_>,
        followed: FollowedFeed<F>,
        session: ExchangeSession,
    ) -> Result<ThreadResult, TraderError> {
        let FollowedFeed { receiver, logic, instrument, rehearsal } = followed;
        self.followed = logic.follower.state(&self.plan.instrument);
        let stages = Stages::new(self.clock, logic, session);
        self.run(
            link,
            receiver,
            stages,
            rehearsal,
            instrument,
            |Stages { logic, orders, .. }| {
                let follower = &logic.follower;
                let following = BookCounts {
                    counts: follower.counts(),
                    before: logic.before,
                    book_hash: follower.hash(),
                    sequence: follower.sequence(),
                };
                let outcome = logic.outcome.as_ref();
                (Some(following), outcome.map(|outcome| outcome.finish(orders)))
            },
        )
    }

    /// From the first tick to the last reply.
    fn run<M: TradingLogic, L: OrderSession>(
        self,
        link: Link<'_>,
        receiver: TickReceiver,
        stages: Stages<M, L>,
        rehearsal: Option<Rehearsal<M, L>>,
        instrument: u16,
        told: impl FnOnce(&Stages<M, L>) -> (Option<BookCounts>, Option<MarketMaking>),
    ) -> Result<ThreadResult, TraderError> {
        let MeasuringThread {
            plan,
            addresses,
            stop,
            clock,
            is_shared,
            followed,
            audit,
            shown,
            memory_locked,
        } = self;
        let (streams, stream) = link.into_streams(plan, &receiver)?;
        let stack = streams.stack();
        let samples = Samples::with_room(plan.samples_max);
        let spins = transport::backend(&plan.backend)?.row.spins;
        let parts = LoopParts {
            clock,
            is_shared,
            receiver,
            followed,
            connection: OrderStream::new(streams, stream),
            spins,
            samples,
            releases: (plan.feed.hold_ns > 0).then(|| Releases::new(plan.feed.hold_ns)),
            trail: audit.map(|auditor| AuditTrail::new(auditor, instrument)),
            stamped: (plan.stamp_every > 0)
                .then(|| StampedOrders::new(plan.stamp_every, plan.samples_max, clock)),
            processor: ProcessorMeter::new(plan.exchange_process),
            shown,
            addresses,
        };
        let mut ticks = TickLoop::new(stages, rehearsal, parts);
        // Book and samples exist now, and are accessed at random.
        host::huge_pages::use_huge_pages(&Root::system());
        // Last, so that the set-up above does not run in a real-time class.
        host::thread::set_scheduling(plan.scheduling)?;
        let stopped = go_through(&mut ticks, plan, stop);
        let (following, market_making) = told(&ticks.stages);
        let finished = finish(ticks, stopped, following, market_making, memory_locked);
        Ok(ThreadResult { stack, ..finished })
    }
}

/// Runs the loop to its end; returns whether it was stopped.
fn go_through<M: TradingLogic, L: OrderSession>(
    ticks: &mut TickLoop<M, L>,
    plan: &TickPlan,
    stop: &AtomicBool,
) -> bool {
    let ns = |seconds: f64| Duration::from_secs_f64(seconds).as_nanos() as u64;
    let warm_up_ns = ns(plan.warm_up_seconds);
    // Before this, parts of snapshots may have found no room while the memory above was made.
    ticks.parts.receiver.count_drops();
    event_loop::start(ticks, warm_up_ns, warm_up_ns + ns(plan.seconds));
    let mut stopped = false;
    loop {
        while !ticks.course.is_over() && ticks.failure.is_none() {
            event_loop::turn(ticks);
            if stop.load(Ordering::Relaxed) && !stopped {
                stopped = true;
                event_loop::break_off(ticks);
            }
        }
        if stopped || !go_on(ticks, stop) {
            return stopped;
        }
    }
}
