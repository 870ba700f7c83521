//! By which clock a trader stamps: the exchange's where both are on one machine, so that all stamps of a tick's way are of one counter. Between
//! two machines, how the exchange's stamps are laid on the trader's clock after the run.

use crate::exchange_line::ExchangeLine;
use crate::run::{TraderError, dial};
use crate::tick_plan::TickPlan;
use measure::clock::Clock;
use measure::tick::{AT_EXCHANGE, Sample};
use measure::time_base::{Bridge, TimeBase};
use measure::utc::Time;
use std::io;
use wire::administration::Description;

/// What a run is stamped by.
pub(crate) struct ClockSource {
    /// By what both ends stamped before the run. The exchange's is `None` where it need not be known, or is not told.
    pub(crate) ours: TimeBase,
    pub(crate) theirs: Option<TimeBase>,
    /// Both ends read one counter with one calibration.
    pub(crate) is_shared: bool,
}

/// The plan's clock; or that of the exchange, if it says that it runs on this boot of this machine; or one of our own.
///
/// # Errors
/// If the exchange can't be asked.
pub(crate) fn choose(plan: &TickPlan) -> Result<ClockSource, TraderError> {
    if let Some(clock) = plan.clock {
        let ours = host::utc::time_base(clock);
        return Ok(ClockSource { ours, theirs: None, is_shared: true });
    }
    // The floor's end says nothing of itself.
    let theirs = match plan.raw {
        Some(_) => None,
        None => ask(plan).map_err(|source| TraderError::Connect {
            target: plan.target.clone(),
            lane: 0,
            source,
        })?,
    };
    let here = host::utc::boot_id(&host::Root::system());
    let is_ours = |theirs: &&TimeBase| theirs.is_of(&here) && theirs.clock.is_readable();
    let shared = theirs.as_ref().filter(is_ours).map(|theirs| theirs.clock);
    let ours = host::utc::time_base(shared.unwrap_or_else(Clock::calibrate));
    Ok(ClockSource { ours, theirs, is_shared: shared.is_some() })
}

/// On a connection of its own, which ends before anything is measured.
fn ask(plan: &TickPlan) -> io::Result<Option<TimeBase>> {
    let mut stream = dial(&plan.target)?;
    let mut line = ExchangeLine::new(&plan.target, &plan.instrument);
    line.log_on(&mut stream, plan.first_token)?;
    Ok(time_base(&*line.describe(&mut stream)?))
}

/// What an exchange without a clock, or an older one, does not say.
fn time_base(description: &Description) -> Option<TimeBase> {
    serde_json::from_value(description.time_base.clone()).ok()
}

impl ClockSource {
    /// After the run: how good the time was. Where both clocks can be laid beside each other the stamps that the exchange took are on our clock then.
    pub(crate) fn settle(self, description: Option<&Description>, samples: &mut [Sample]) -> Time {
        let ClockSource { ours, theirs, is_shared } = self;
        let (boot_id, utc) = (ours.boot_id.clone(), ours.utc.clone());
        let known = Time { same_clock: is_shared, boot_id, utc, ..Time::default() };
        if is_shared {
            let bound_from = "same machine".to_owned();
            return Time { exchange_bound_ns: Some(0), bound_from, ..known };
        }
        let after = host::utc::time_base(ours.clock);
        let known = Time { utc: after.utc.clone(), ..known };
        let theirs = theirs.zip(description.and_then(time_base));
        let bridge = theirs.and_then(|(before, last)| Bridge::new([ours, after], [before, last]));
        let Some(bridge) = bridge else { return known };
        let (exchange_bound_ns, bound_from) = bridge.bound();
        if exchange_bound_ns.is_some() {
            for sample in samples {
                for point in AT_EXCHANGE {
                    let stamp = &mut sample.stamps[point as usize];
                    // 0 is no stamp.
                    *stamp = if *stamp > 0 { bridge.ours_ns(*stamp) } else { 0 };
                }
            }
        }
        Time { exchange_bound_ns, bound_from, ..known }
    }
}
