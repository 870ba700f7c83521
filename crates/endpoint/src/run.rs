//! One run of one plan: a pinned measuring thread, while the caller's thread writes the log.

use crate::line::Line;
use crate::target::{StepError, Target, TargetError};
use crate::timed::StepTimer;
use clock::Clock;
use clock::random::SplitMix64;
use clock::recorder::{self, Recorder, Series};
use host::HostError;
use host::measuring::{Measuring, MeasuringError, Reporter};
use plan::process::endpoint::{EndpointPlan, SERIES};
use plan::tables::endpoint::Protocol;
use record::{self, ClientResult, Kind, Load};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A ping over a connection that stays open, the main series; then the steps of a fresh connection,
/// in order.
const PING: usize = 0;
const CONNECT: usize = 1;
const HANDSHAKE: usize = 2;
const UPGRADE: usize = 3;
const FIRST_PING: usize = 4;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The plan can't be carried out.
    #[error(transparent)]
    Plan(#[from] plan::range::OutOfRange),
    /// The thread can't be placed as asked.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The target can't be found.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The first connections could not be opened.
    #[error("{target} could not be reached: {why}")]
    Unreachable {
        /// `HOST:PORT`.
        target: String,
        /// The step, and what was said.
        why: String,
    },
    /// The thread can't be pinned, the log can't be written, or there is a bug.
    #[error(transparent)]
    Measuring(#[from] MeasuringError),
}

/// Carries the plan out. Returns soon after `stop` is set, with what was measured so far.
///
/// # Errors
/// If there is no result. A run that broke off has a result that says so.
pub fn run(plan: &EndpointPlan, stop: &AtomicBool) -> Result<ClientResult, EndpointError> {
    plan.probes.check()?;
    let measuring = Measuring {
        subject: &plan.subject,
        hlog: &plan.hlog,
        core: plan.core,
        writes_meanwhile: true,
        progress: false,
        stop,
    };
    measuring.carry_out(|reporter| measure(plan, stop, &reporter), &mut |_| ())
}

/// The measuring thread.
fn measure(
    plan: &EndpointPlan,
    stop: &AtomicBool,
    reporter: &Reporter,
) -> Result<ClientResult, EndpointError> {
    let clock = Clock::calibrate();
    host::thread::set_scheduling(plan.scheduling)?;
    let patience = Duration::from_secs_f64(plan.probes.patience_seconds);
    let timed = StepTimer { clock, stop, spins: plan.spins, patience };
    let target = Target::find(plan)?;
    let mut probing = Probing::start(plan, target, timed)?;
    let longest = plan.warm_up_seconds + plan.seconds + plan.probes.patience_seconds;
    let (mut recorder, drain) =
        recorder::recorder(&SERIES.map(|name| Series::new(name, Kind::Service)), longest);
    let usage = host::thread::usage();
    let failure = probing.probe_for(plan.warm_up_seconds, None);
    let warm_up_sent = std::mem::take(&mut probing.sent);
    probing.received = 0;
    let start_ns = clock.now_ns();
    reporter.start(drain, start_ns);
    recorder.start(start_ns);
    let failure = failure.or_else(|| probing.probe_for(plan.seconds, Some(&mut recorder)));
    let end_ns = clock.now_ns();
    recorder.finish(end_ns);
    let usage = host::thread::usage().since(usage);
    let (sent, received) = (probing.sent, probing.received);
    let interrupted = probing.timed.is_stopped().then(|| "it was told to stop".to_owned());
    let failures: Vec<String> = failure.into_iter().chain(interrupted).collect();
    let load = Load {
        model: "probes".to_owned(),
        rate_per_second_achieved: sent as f64 / ((end_ns - start_ns).max(1) as f64 / 1e9),
        sent,
        received,
        lost: sent - received,
        warm_up_sent,
        context_switches_involuntary: usage.context_switches_involuntary,
        page_faults: usage.page_faults_minor + usage.page_faults_major,
        ..Load::default()
    };
    let clock = record::Clock::of(&clock);
    Ok(ClientResult { complete: failures.is_empty(), failures, load, clock, exchange: None })
}

/// The state of a run between probes.
struct Probing<'a> {
    plan: &'a EndpointPlan,
    target: Target<'a>,
    timed: StepTimer<'a>,
    random: SplitMix64,
    kept: Vec<Line>,
    /// Which of them was pinged last.
    turn: usize,
    /// Probes so far, warm-up included.
    number: u64,
    /// Steps that were begun, and those that were answered.
    sent: u64,
    received: u64,
    /// No probe begins before.
    next_ns: u64,
}

impl<'a> Probing<'a> {
    /// Opens the connections that stay open, no faster than probes come.
    fn start(
        plan: &'a EndpointPlan,
        target: Target<'a>,
        timed: StepTimer<'a>,
    ) -> Result<Probing<'a>, EndpointError> {
        let random = SplitMix64::new(clock::wall_ns() ^ u64::from(std::process::id()) << 32);
        let next_ns = timed.clock.now_ns();
        let mut probing = Probing {
            plan,
            target,
            timed,
            random,
            kept: Vec::new(),
            turn: 0,
            number: 0,
            sent: 0,
            received: 0,
            next_ns,
        };
        let keeps = if plan.probes.fresh_every == 1 { 0 } else { plan.probes.connections_kept };
        while probing.kept.len() < keeps && !probing.timed.is_stopped() {
            probing.pause();
            let opened = probing.target.open(&probing.timed).and_then(|opened| {
                probing.target.upgrade(opened.connection, &probing.timed, &mut probing.random)
            });
            let unreachable = |failed: StepError| EndpointError::Unreachable {
                target: plan.target.clone(),
                why: failed.to_string(),
            };
            probing.kept.extend(Some(opened.map_err(unreachable)?.0));
        }
        Ok(probing)
    }

    /// Waits until the next probe may begin.
    fn pause(&mut self) {
        self.timed.wait(self.next_ns);
        let gap_ns = (1e9 / self.plan.probes.probes_per_second) as u64;
        // A probe that took longer than the gap doesn't lead to a faster one.
        self.next_ns = self.timed.clock.now_ns() + gap_ns;
    }

    /// Probes for so long. Returns why it ended before that.
    fn probe_for(&mut self, seconds: f64, mut recorder: Option<&mut Recorder>) -> Option<String> {
        let end_ns = self.timed.clock.now_ns() + (seconds * 1e9) as u64;
        while self.next_ns < end_ns && !self.timed.is_stopped() {
            self.pause();
            if self.timed.is_stopped() {
                break;
            }
            self.number += 1;
            let is_fresh = self.number.is_multiple_of(u64::from(self.plan.probes.fresh_every));
            let mut record = |series: usize, ns: u64| {
                if let Some(recorder) = &mut recorder {
                    recorder.record(series, ns);
                }
            };
            let probed = if is_fresh { self.fresh(&mut record) } else { self.again(&mut record) };
            if let Err(failed) = probed {
                let stopped = self.timed.is_stopped();
                return (!stopped).then(|| format!("probe {} failed: {failed}", self.number));
            }
            if let Some(recorder) = &mut recorder {
                recorder.roll(self.timed.clock.now_ns());
            }
        }
        self.timed.wait(end_ns);
        None
    }

    /// Opens a connection, pings once, closes it.
    fn fresh(&mut self, record: &mut impl FnMut(usize, u64)) -> Result<(), StepError> {
        self.sent += 1;
        let opened = self.target.open(&self.timed)?;
        self.answered(CONNECT, opened.connect_ns, record);
        if let Some(handshake_ns) = opened.handshake_ns {
            self.sent += 1;
            self.answered(HANDSHAKE, handshake_ns, record);
        }
        if self.plan.probes.protocol == Protocol::Tcp {
            return Ok(());
        }
        self.sent += 1;
        let (mut line, upgrade_ns) =
            self.target.upgrade(opened.connection, &self.timed, &mut self.random)?;
        self.answered(UPGRADE, upgrade_ns, record);
        self.sent += 1;
        let ping_ns =
            line.ping(&self.timed).map_err(StepError::at("ping over a fresh connection"))?;
        self.answered(FIRST_PING, ping_ns, record);
        line.close();
        Ok(())
    }

    /// Pings over the connection whose turn it is.
    fn again(&mut self, record: &mut impl FnMut(usize, u64)) -> Result<(), StepError> {
        self.sent += 1;
        // The plan's check keeps it from being empty.
        self.turn = (self.turn + 1) % self.kept.len();
        let ping_ns = self.kept[self.turn].ping(&self.timed).map_err(StepError::at("ping"))?;
        self.answered(PING, ping_ns, record);
        Ok(())
    }

    fn answered(&mut self, series: usize, ns: u64, record: &mut impl FnMut(usize, u64)) {
        self.received += 1;
        record(series, ns);
    }
}
