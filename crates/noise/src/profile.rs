//! A noise profile: the meter on several cores at once, joined with the kernel's events.

use crate::cause::{self, Causes};
use crate::meter::{self, GAPS_MAX, MeterResult, MeterSettings};
use crate::tally::{GapOwner, Tally};
use crate::trace::spans::CoreSpans;
use crate::trace::{EndSignal, Trace};
use clock::Clock;
use host::Scheduling;
use record::noise::{Attribution, Core, Cost, Noise, Stretch};
use stats::{is_supported, median};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Limit on a control stretch, s. There are [`CONTROL`] of them.
const CONTROL_SECONDS_MAX: f64 = 1.0;
/// A control stretch is at most this share of the measurement.
const CONTROL_SHARE: f64 = 0.05;
/// Whether tracing is on in each control stretch: drift affects both alike.
const CONTROL: [bool; 4] = [false, true, true, false];

/// Cores, duration and threshold of a profile.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One thread on each.
    pub cores: Vec<usize>,
    /// Scheduling class of the threads.
    pub scheduling: Scheduling,
    /// Threshold of a gap, ns; [`meter::THRESHOLD_NS`].
    pub threshold_ns: u64,
    /// Duration, at most [`meter::SECONDS_MAX`].
    pub seconds: f64,
    /// Whether the kernel gives other threads a share next to a real-time one (Linux 6.12 and
    /// later).
    pub has_fair_server: bool,
}

/// A noise profile.
#[derive(Clone, Debug)]
pub struct Profile {
    /// For the record.
    pub noise: Noise,
    /// The result of each core's thread, for the log.
    pub seen: Vec<MeterResult>,
    /// Whether it lasted as long as planned.
    pub complete: bool,
}

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// A thread can't be placed as asked.
    #[error(transparent)]
    Host(#[from] host::HostError),
    /// Waiting for the threads' end failed.
    #[error(
        "cannot wait for the measuring threads: {0}; raise the limit of open files (ulimit -n)"
    )]
    Wait(io::Error),
}

/// Measures. The calling thread sleeps in the meantime; it should not be on a measured core, if
/// there is another. Without permission for the kernel's events everything is `untraced`, and the
/// record gives the reason.
///
/// # Errors
/// If a thread can't be placed.
pub fn profile(plan: &Plan, clock: Clock, stop: &AtomicBool) -> Result<Profile, ProfileError> {
    let ended = EndSignal::new().map_err(ProfileError::Wait)?;
    let mut attribution = Attribution::default();
    let mut trace = match Trace::open(&plan.cores) {
        Ok(trace) => Some(trace),
        Err(error) => {
            attribution.missing.push(error.to_string());
            None
        }
    };
    let mut stretch = Stretches { plan, clock, stop, ended: &ended };
    if let Some(trace) = &mut trace {
        attribution.cost = Some(stretch.cost(trace)?);
    }
    let (seen, told, causes) = stretch.measure(plan.seconds, trace.as_mut())?;
    attribution.traced = trace.is_some();
    if let Some(trace) = &trace {
        attribution.missing.extend(missing_tracepoints(trace.missing()));
    }
    let noise = joined(&seen, &told, &causes, attribution);
    Ok(Profile { noise, seen, complete: !stop.load(Ordering::Relaxed) })
}

/// The consequence of missing tracepoints.
pub(crate) fn missing_tracepoints(missing: &[String]) -> Option<String> {
    (!missing.is_empty()).then(|| {
        format!(
            "the kernel does not allow reading {}: an interrupt without its exit is taken to last as long as \
             its gap",
            missing.join(", ")
        )
    })
}

struct Stretches<'a> {
    plan: &'a Plan,
    clock: Clock,
    stop: &'a AtomicBool,
    ended: &'a EndSignal,
}

impl Stretches<'_> {
    /// One stretch on all cores, with the kernel's events if there is a trace.
    fn measure(
        &mut self,
        seconds: f64,
        mut trace: Option<&mut Trace>,
    ) -> Result<(Vec<MeterResult>, Vec<CoreSpans>, Causes), ProfileError> {
        let Plan { scheduling, threshold_ns, .. } = *self.plan;
        let look = |&core: &usize| MeterSettings {
            core,
            scheduling,
            threshold_ns,
            seconds,
            gaps_max: GAPS_MAX,
        };
        let looks: Vec<MeterSettings> = self.plan.cores.iter().map(look).collect();
        let (_, start_ns) = self.clock.beside_raw();
        if let Some(trace) = &trace {
            trace.start().map_err(ProfileError::Wait)?;
        }
        let traced = trace.is_some();
        let meanwhile = || {
            if let Some(trace) = &mut trace {
                trace.take_until(self.ended, looks.len());
            }
        };
        let tell = || self.ended.tell();
        let idle = || ();
        let ended: &(dyn Fn() + Sync) = if traced { &tell } else { &idle };
        let seen = meter::look_on_each(&looks, self.clock, self.stop, ended, meanwhile)?;
        let mut causes = Causes::default();
        let told = match trace {
            None => Vec::new(),
            Some(trace) => {
                trace.stop();
                let own: Vec<i32> = seen.iter().map(|seen| seen.thread).collect();
                trace.told(start_ns, &own, self.plan.has_fair_server, &mut causes)
            }
        };
        Ok((seen, told, causes))
    }

    /// The cost of tracing: short stretches with and without it, interleaved.
    fn cost(&mut self, trace: &mut Trace) -> Result<Cost, ProfileError> {
        let seconds = (self.plan.seconds * CONTROL_SHARE).min(CONTROL_SECONDS_MAX);
        let mut seen = [Vec::new(), Vec::new()];
        for on in CONTROL {
            let stretch = self.measure(seconds, if on { Some(&mut *trace) } else { None })?;
            seen[usize::from(on)].extend(stretch.0);
        }
        let [off, on] = seen.map(|seen| summary(&seen));
        Ok(Cost { off, on })
    }
}

fn summary(seen: &[MeterResult]) -> Stretch {
    let lengths: Vec<u64> =
        seen.iter().flat_map(|seen| &seen.gaps).map(|gap| gap.length_ns()).collect();
    Stretch {
        seconds: seen.iter().map(seconds).sum(),
        gaps: seen.iter().map(|seen| seen.totals.count).sum(),
        lost_ns: seen.iter().map(MeterResult::lost_ns).sum(),
        p50_ns: median(&lengths).filter(|_| is_supported(lengths.len() as u64, 0.5)),
    }
}

fn seconds(seen: &MeterResult) -> f64 {
    (seen.end_ns - seen.start_ns) as f64 / 1e9
}

/// Joins the meter's gaps with the kernel's events of each core; `told` is empty without a trace.
fn joined(
    seen: &[MeterResult],
    told: &[CoreSpans],
    causes: &Causes,
    mut attribution: Attribution,
) -> Noise {
    let mut tally = Tally::default();
    let mut aligned = Vec::new();
    for (number, seen) in seen.iter().enumerate() {
        let told = told.get(number);
        aligned.extend(tally.add(seen, told, &GapOwner::default()));
        attribution.events += told.map_or(0, |told| told.records);
        attribution.events_lost += told.map_or(0, |told| told.lost);
    }
    attribution.aligned_share = aligned.into_iter().reduce(f64::min);
    let ids = named(causes, &mut attribution);
    Noise {
        cores: seen.iter().map(core).collect(),
        causes: tally.causes(&ids),
        under_load: Vec::new(),
        attribution,
        longest: tally.longest(&ids),
    }
}

/// The ids of the causes; notes why names are missing.
pub(crate) fn named(causes: &Causes, attribution: &mut Attribution) -> Vec<String> {
    let kallsyms = if causes.has_functions() { cause::kallsyms() } else { String::new() };
    let ids = causes.ids(&kallsyms);
    if ids.iter().any(|id| id.ends_with(".unknown")) {
        attribution.missing.push(
            "some functions have no name: /proc/kallsyms hides addresses; run as root, with \
             kernel.kptr_restrict at 0 or 1"
                .to_owned(),
        );
    }
    if attribution.events_lost > 0 {
        attribution.missing.push(format!(
            "{} of the kernel's records were lost: the time around them is untraced",
            attribution.events_lost
        ));
    }
    ids
}

pub(crate) fn core(seen: &MeterResult) -> Core {
    let [gaps_1us, gaps_10us, gaps_100us, gaps_1ms] = seen.totals.at_least;
    Core {
        core: seen.core,
        seconds: seconds(seen),
        looks: seen.looks,
        look_ns: seen.look_ns,
        gap_from_ns: seen.limit_ns,
        gaps: seen.totals.count,
        gaps_not_kept: seen.gaps_not_kept(),
        gaps_1us,
        gaps_10us,
        gaps_100us,
        gaps_1ms,
        max_ns: seen.totals.max_ns,
        lost_ns: seen.lost_ns(),
        unaccounted_ns: seen.unaccounted_ns(),
    }
}
