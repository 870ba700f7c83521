//! One run of one plan: a pinned measuring thread, while the caller's thread writes the log.

use crate::name::{self, Follower, NameError, Resolve};
use crate::route::{CONNECT, PING, Route, Tally, Tools};
use crate::target::{Target, TargetError};
use crate::timed::StepTimer;
use clock::Clock;
use clock::random::SplitMix64;
use clock::recorder::{self, SECONDS_IN_MEMORY_MAX, Series};
use host::measuring::{MeasuringError, MeasuringRun, Reporter};
use host::{HostError, Root};
use plan::process::endpoint::{DATAGRAMS, EndpointPlan, PROBES, SERIES, series_of};
use plan::segments::SEGMENTS;
use plan::tables::endpoint::Protocol;
use record::{self, ClientResult, Kind, Load};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use transport::stamps::Segments;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The plan can't be carried out.
    #[error(transparent)]
    Plan(#[from] plan::range::OutOfRange),
    /// The thread can't be placed as asked.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The target's name has no address.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The target can't be spoken to.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The first connections could not be opened, to any address.
    #[error("{target} could not be reached: {why}")]
    Unreachable {
        /// `HOST:PORT`.
        target: String,
        /// The step, and what was said; for each address, if there are several.
        why: String,
    },
    /// The thread can't be pinned, the log can't be written, or there is a bug.
    #[error(transparent)]
    Measuring(#[from] MeasuringError),
}

/// The result of a run.
#[derive(Debug)]
pub struct ProbeResult {
    /// Counts and failures; the times are in the log.
    pub result: ClientResult,
    /// Warnings for the reader of the record, a sentence each: addresses that are not probed, that
    /// appeared or vanished, and datagrams that were lost.
    pub notes: Vec<String>,
}

/// Carries the plan out. Returns soon after `stop` is set, with what was measured so far.
///
/// # Errors
/// If there is no result. A run that broke off has a result that says so.
pub fn run(plan: &EndpointPlan, stop: &AtomicBool) -> Result<ProbeResult, EndpointError> {
    run_with(plan, stop, name::system)
}

/// As [`run`], with another resolver.
pub(crate) fn run_with(
    plan: &EndpointPlan,
    stop: &AtomicBool,
    resolve: Resolve,
) -> Result<ProbeResult, EndpointError> {
    plan.probes.check()?;
    let mut addresses = name::look_up(&plan.target, resolve)?;
    let every = Duration::from_secs_f64(plan.probes.resolve_seconds);
    // Started here, it doesn't inherit the measuring thread's core.
    let follower = Follower::start(&plan.target, every, &addresses, resolve);
    let mut notes = Vec::from_iter(name::limit(&plan.target, &mut addresses));
    let measuring = MeasuringRun {
        subject: &plan.subject,
        hlog: &plan.hlog,
        core: plan.core,
        writes_meanwhile: true,
        progress: false,
        stop,
    };
    let of_name = Name { addresses, follower, notes: &mut notes };
    let measured = |reporter| measure(plan, stop, of_name, &reporter);
    let result = measuring.carry_out(measured, &mut |_| ())?;
    Ok(ProbeResult { result, notes })
}

/// The target's name: its addresses, their changes, and what is to be said about them.
struct Name<'a> {
    addresses: Vec<SocketAddr>,
    follower: Follower,
    notes: &'a mut Vec<String>,
}

/// The measuring thread.
fn measure(
    plan: &EndpointPlan,
    stop: &AtomicBool,
    name: Name<'_>,
    reporter: &Reporter,
) -> Result<ClientResult, EndpointError> {
    let clock = Clock::calibrate();
    host::thread::set_scheduling(plan.scheduling)?;
    let patience = Duration::from_secs_f64(plan.probes.patience_seconds);
    let timed = StepTimer { clock, stop, spins: plan.spins, patience };
    let random = SplitMix64::new(clock::wall_ns() ^ u64::from(std::process::id()) << 32);
    let (target, probes) = (Target::new(plan)?, &plan.probes);
    let segments = (probes.stamp_every > 0).then(|| Segments::new(clock));
    let tools = Tools { target, probes, timed, random, segments };
    let mut probing = ProbeRun::start(plan, tools, name)?;
    let longest = plan.warm_up_seconds + plan.seconds + plan.probes.patience_seconds;
    // The log is written meanwhile, so few sets are enough, however many addresses there are.
    let (mut recorder, drain) =
        recorder::recorder(&probing.series(), longest.max(SECONDS_IN_MEMORY_MAX + 1.0));
    let usage = host::thread::usage();
    let mut warm_up = Tally::default();
    let failure = probing.probe_for(plan.warm_up_seconds, &mut warm_up);
    let start_ns = clock.now_ns();
    reporter.start(drain, start_ns);
    recorder.start(start_ns);
    let mut tally = Tally::into_recorder(&mut recorder);
    let failure = failure.or_else(|| probing.probe_for(plan.seconds, &mut tally));
    let Tally { sent, received, strange, segments, .. } = tally;
    probing.notes.extend(segments.notes());
    let end_ns = clock.now_ns();
    recorder.finish(end_ns);
    let usage = host::thread::usage().since(usage);
    let is_stopped = probing.tools.timed.is_stopped();
    let interrupted = is_stopped.then(|| "it was told to stop".to_owned());
    let failures: Vec<String> = failure.into_iter().chain(interrupted).collect();
    let is_udp = plan.probes.protocol == Protocol::Udp;
    if is_udp && sent > received {
        let (target, seconds) = (&plan.target, plan.probes.patience_seconds);
        probing.notes.push(format!(
            "{} of {sent} datagrams to {target} got no echo within {seconds} s: the figures hold \
             each as {seconds} s, the least that it took",
            sent - received
        ));
    }
    let load = Load {
        model: if is_udp { DATAGRAMS } else { PROBES }.to_owned(),
        rate_per_second_achieved: sent as f64 / ((end_ns - start_ns).max(1) as f64 / 1e9),
        sent,
        received,
        lost: sent - received,
        duplicated: strange,
        warm_up_sent: warm_up.sent,
        context_switches_involuntary: usage.context_switches_involuntary,
        page_faults: usage.page_faults_minor + usage.page_faults_major,
        ..Load::default()
    };
    let clock = record::Clock::of(&clock);
    Ok(ClientResult { complete: failures.is_empty(), failures, load, clock, exchange: None })
}

/// The state of a run between probes.
struct ProbeRun<'a> {
    plan: &'a EndpointPlan,
    tools: Tools<'a>,
    /// The addresses that could be reached.
    routes: Vec<Route>,
    /// Which of them was probed last.
    turn: usize,
    /// Addresses of the name, as of the last look-up.
    named: Vec<SocketAddr>,
    follower: Follower,
    notes: &'a mut Vec<String>,
    /// Probes so far, warm-up included.
    number: u64,
    pace: Pace,
}

impl<'a> ProbeRun<'a> {
    /// Opens the connections that stay open, no faster than probes come.
    fn start(
        plan: &'a EndpointPlan,
        mut tools: Tools<'a>,
        name: Name<'a>,
    ) -> Result<ProbeRun<'a>, EndpointError> {
        let Name { addresses: named, follower, notes } = name;
        let mut pace = Pace::new(plan.probes.probes_per_second, &tools.timed);
        let (mut routes, mut failed) = (Vec::new(), Vec::new());
        for address in &named {
            let mut route = Route::new(*address);
            match route.open(&mut tools, &mut |timed| pace.pause(timed)) {
                Ok(()) => routes.push(route),
                Err(why) => failed.push((address, why.to_string())),
            }
        }
        if routes.is_empty() {
            let with_address = |(address, why): &(_, String)| format!("{address}: {why}");
            let why = match &failed[..] {
                [(_, why)] => why.clone(),
                all => all.iter().map(with_address).collect::<Vec<_>>().join("; "),
            };
            return Err(EndpointError::Unreachable { target: plan.target.clone(), why });
        }
        let unreached = |(address, why)| {
            format!("{address} of {} could not be reached and is not probed: {why}", plan.target)
        };
        notes.extend(failed.into_iter().map(unreached));
        let hint = |route: &Route| {
            let hint = host::instance::zone_hint(&Root::system(), route.address.ip())?;
            Some(format!("{} {hint}", route.address))
        };
        notes.extend(routes.iter().filter_map(hint));
        if routes.len() > 1 {
            let segments = if tools.segments.is_some() { SEGMENTS.len() } else { 0 };
            for (at, route) in routes.iter_mut().enumerate() {
                route.rows = Some(SERIES.len() + segments + 2 * at);
            }
        }
        let (turn, number) = (routes.len() - 1, 0);
        Ok(ProbeRun { plan, tools, routes, turn, named, follower, notes, number, pace })
    }

    /// Series of all addresses together, segments of stamped pings, then two series of each
    /// address, if there are several.
    fn series(&self) -> Vec<Series> {
        let own = |route: &Route| {
            let name = |series: usize| series_of(SERIES[series], route.address.ip()).into();
            [PING, CONNECT].map(|series| Series { name: name(series), kind: Kind::Service })
        };
        let several = self.routes.iter().filter(|route| route.rows.is_some());
        let segments = self.tools.segments.iter().flat_map(|_| &SEGMENTS);
        let all = SERIES.iter().chain(segments).map(|name| Series::new(name, Kind::Service));
        all.chain(several.flat_map(own)).collect()
    }

    /// Probes for `seconds`. Returns why it ended before that.
    fn probe_for(&mut self, seconds: f64, tally: &mut Tally<'_>) -> Option<String> {
        let end_ns = self.tools.timed.clock.now_ns() + (seconds * 1e9) as u64;
        while self.pace.next_ns < end_ns && !self.tools.timed.is_stopped() {
            if let Some(segments) = &mut self.tools.segments {
                segments.refresh(self.tools.timed.clock.now_ns());
            }
            let probed = self.follow().and_then(|()| {
                self.pace.pause(&self.tools.timed);
                if self.tools.timed.is_stopped() { Ok(()) } else { self.probe(tally) }
            });
            if let Err(why) = probed {
                return (!self.tools.timed.is_stopped()).then_some(why);
            }
            if let Some(recorder) = &mut tally.recorder {
                recorder.roll(self.tools.timed.clock.now_ns());
            }
        }
        self.tools.timed.wait(end_ns);
        None
    }

    /// Probes the address whose turn it is.
    fn probe(&mut self, tally: &mut Tally<'_>) -> Result<(), String> {
        let count = self.routes.len();
        let in_turn = (1..=count).map(|step| (self.turn + step) % count);
        let Some(turn) = in_turn.into_iter().find(|at| self.routes[*at].is_named) else {
            let target = &self.plan.target;
            return Err(format!(
                "{target} has none of the addresses left with which this run began: run it again"
            ));
        };
        self.turn = turn;
        self.number += 1;
        let route = &mut self.routes[turn];
        let probed = route.probe(&mut self.tools, tally);
        probed.map_err(|why| format!("probe {} to {} failed: {why}", self.number, route.address))
    }

    /// Says which addresses appeared and vanished, and stops probing those that vanished.
    fn follow(&mut self) -> Result<(), String> {
        let Some(found) = self.follower.change() else { return Ok(()) };
        let target = &self.plan.target;
        let now = match found {
            Ok(now) => now,
            Err(why) => {
                self.notes.push(format!(
                    "the name could not be looked up again during a run, so its known addresses \
                     were probed on: {why}"
                ));
                return Ok(());
            }
        };
        for address in now.iter().filter(|one| !self.named.contains(one)) {
            let is_probed = self.routes.iter().any(|route| route.address == *address);
            let then = if is_probed { "is probed again" } else { "is probed from the next run on" };
            self.notes.push(format!("{address} appeared behind {target} during a run and {then}"));
        }
        for address in self.named.iter().filter(|one| !now.contains(one)) {
            let text = format!("{address} vanished from {target} during a run and is not probed");
            self.notes.push(text);
        }
        self.named = now;
        for route in &mut self.routes {
            let was_named =
                std::mem::replace(&mut route.is_named, self.named.contains(&route.address));
            match (was_named, route.is_named) {
                (true, false) => route.close(),
                (false, true) => {
                    route
                        .open(&mut self.tools, &mut |timed| self.pace.pause(timed))
                        .map_err(|why| format!("{} came back, but {why}", route.address))?
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The limit on the rate of probes.
struct Pace {
    gap_ns: u64,
    /// No probe begins before.
    next_ns: u64,
}

impl Pace {
    fn new(probes_per_second: f64, timed: &StepTimer<'_>) -> Pace {
        Pace { gap_ns: (1e9 / probes_per_second) as u64, next_ns: timed.clock.now_ns() }
    }

    /// Waits until the next probe may begin.
    fn pause(&mut self, timed: &StepTimer<'_>) {
        timed.wait(self.next_ns);
        // A probe that took longer than the gap doesn't lead to a faster one.
        self.next_ns = timed.clock.now_ns() + self.gap_ns;
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
