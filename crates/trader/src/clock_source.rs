//! By which clock a trader stamps: the exchange's where both are on one machine, so that all stamps of a tick's way are of one counter.

use crate::exchange_line::ExchangeLine;
use crate::run::{TraderError, dial};
use crate::tick_plan::TickPlan;
use measure::clock::Clock;
use measure::utc::Time;
use measure::utc::TimeBase;
use std::io;

/// The plan's clock; or that of the exchange, if it says that it runs on this boot of this machine; or one of our own.
///
/// # Errors
/// If the exchange can't be asked.
pub(crate) fn choose(plan: &TickPlan) -> Result<(Clock, Time), TraderError> {
    if let Some(clock) = plan.clock {
        return Ok((clock, time(clock, true)));
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
    Ok(match theirs {
        Some(clock) => (clock, time(clock, true)),
        None => {
            let clock = Clock::calibrate();
            (clock, time(clock, false))
        }
    })
}

/// How good the time is, as far as it is known before the run.
fn time(clock: Clock, same_clock: bool) -> Time {
    let TimeBase { boot_id, utc, .. } = host::utc::time_base(clock);
    let known = Time { boot_id, utc, same_clock, ..Time::default() };
    match same_clock {
        true => Time { exchange_bound_ns: Some(0), bound_from: "same machine".to_owned(), ..known },
        // An exchange elsewhere does not say how far its clock is off UTC.
        false => known,
    }
}

/// On a connection of its own, which ends before anything is measured.
fn ask(plan: &TickPlan) -> io::Result<Option<Clock>> {
    let mut stream = dial(&plan.target)?;
    let mut line = ExchangeLine::new(&plan.target, &plan.instrument);
    line.log_on(&mut stream, plan.first_token)?;
    let theirs = line.describe(&mut stream)?;
    let boot_id = host::utc::boot_id(&host::Root::system());
    if boot_id.trim().is_empty() || theirs.boot_id.trim() != boot_id.trim() {
        return Ok(None);
    }
    let clock = serde_json::from_value::<Clock>(theirs.clock).ok();
    Ok(clock.filter(Clock::is_readable))
}
