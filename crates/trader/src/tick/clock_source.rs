//! The clock of a trader's stamps: the exchange's if both are on one machine, so that all stamps of
//! a tick come from one counter. Between two machines, the conversion of the exchange's stamps
//! after the run.

use crate::load::dialler::Dialler;
use crate::load::error::TraderError;
use crate::tick::session::exchange::ExchangeSession;
use crate::tick::stamped_orders::StampedResult;
use between::ends::identity;
use between::offsets::Offsets;
use between::probes::Probes;
use clock::Clock;
use clock::time_base::{Bridge, TimeBase};
use clock::utc::Time;
use plan::process::ticks::TickPlan;
use record::between::HostClocks;
use record::tick::{AT_EXCHANGE, Point, Sample};
use std::io;
use sync::{NearerStamps, Probe, Reply};
use wire::administration::Description;

/// The clock of a run.
pub(crate) struct ClockSource {
    /// Clock readings of both ends before the run. The exchange's are `None` if they are not needed
    /// or not known.
    pub(crate) ours: TimeBase,
    pub(crate) theirs: Option<TimeBase>,
    /// Both ends read one counter with one calibration.
    pub(crate) is_shared: bool,
}

/// The plan's clock; the exchange's, if it runs on this boot of this machine; or a new one.
///
/// # Errors
/// If the exchange doesn't answer.
pub(crate) fn choose(plan: &TickPlan) -> Result<ClockSource, TraderError> {
    if let Some(clock) = plan.clock {
        let ours = host::utc::time_base(clock);
        return Ok(ClockSource { ours, theirs: None, is_shared: true });
    }
    // A raw ticker doesn't describe itself.
    let theirs = match plan.raw {
        Some(_) => None,
        None => ask(plan).map_err(|source| TraderError::Connect {
            target: plan.target.clone(),
            lane: 0,
            source,
        })?,
    };
    let shared = theirs.as_ref().and_then(shared);
    let ours = host::utc::time_base(shared.unwrap_or_else(Clock::calibrate));
    Ok(ClockSource { ours, theirs, is_shared: shared.is_some() })
}

/// On a connection of its own, which ends before anything is measured.
fn ask(plan: &TickPlan) -> io::Result<Option<TimeBase>> {
    let dialler = Dialler::new(&plan.target, plan.tls.as_ref()).map_err(io::Error::other)?;
    let mut stream = dialler.connect()?;
    let mut session = ExchangeSession::new(&plan.target, &plan.instrument);
    session.log_on(&mut stream, plan.first_token)?;
    Ok(time_base(&*session.describe(&mut stream)?))
}

/// The clock of an end on this boot of this machine.
fn shared(theirs: &TimeBase) -> Option<Clock> {
    let here = host::utc::boot_id(&host::Root::system());
    (theirs.is_of(&here) && theirs.clock.is_readable()).then_some(theirs.clock)
}

/// The clock of an exchange, if it runs on this boot of this machine.
pub(super) fn of_this_machine(description: &Description) -> Option<Clock> {
    shared(&time_base(description)?)
}

/// An exchange without a clock, or an older version, leaves these out.
fn time_base(description: &Description) -> Option<TimeBase> {
    serde_json::from_value(description.time_base.clone()).ok()
}

impl ClockSource {
    /// Determines after the run how accurate the time was. If the offset of both clocks is known,
    /// it converts the exchange's stamps to ours.
    pub(crate) fn settle(
        self,
        description: Option<&Description>,
        stamped: Option<&StampedResult>,
        samples: &mut [Sample],
    ) -> (Time, Option<HostClocks>) {
        let ClockSource { ours, theirs, is_shared } = self;
        let (boot_id, utc) = (ours.boot_id.clone(), ours.utc.clone());
        let known = Time { same_clock: is_shared, boot_id, utc, ..Time::default() };
        if is_shared {
            let bound_from = "same machine".to_owned();
            return (Time { exchange_bound_ns: Some(0), bound_from, ..known }, None);
        }
        let after = host::utc::time_base(ours.clock);
        let known = Time { utc: after.utc.clone(), ..known };
        let their_step_ns = theirs.as_ref().map_or(1, |theirs| theirs.clock.step_ns());
        let step_ns = ours.clock.step_ns().max(their_step_ns);
        let clocks = [identity(&ours), theirs.as_ref().map_or_else(String::new, identity)];
        let theirs = theirs.zip(description.and_then(time_base));
        let bridge = theirs.and_then(|(before, last)| Bridge::new([ours, after], [before, last]));
        let offsets = Offsets::of(&probes(samples, stamped), bridge, step_ns);
        let worst = convert(samples, &offsets);
        let between = HostClocks { clocks, ..offsets.into_record(worst) };
        let (exchange_bound_ns, bound_from) = (between.error_ns, between.error_from.clone());
        (Time { exchange_bound_ns, bound_from, ..known }, Some(between))
    }
}

/// Each order and its reply is a probe of the exchange's clock. Our kernel stamped some of them.
fn probes(samples: &[Sample], stamped: Option<&StampedResult>) -> Probes {
    let probe = |sample: &Sample| {
        let at = |point: Point| {
            let ns = sample.stamps[point as usize];
            i64::try_from(ns).ok().filter(|ns| *ns > 0)
        };
        let reply = Reply { sent_ns: at(Point::GatewayOut)?, received_ns: at(Point::Replied)? };
        let (sent_ns, received_ns) = (at(Point::Sent)?, at(Point::GatewayIn)?);
        Some(Probe { sent_ns, received_ns, reply: Some(reply) })
    };
    // A stamp from around a step of the wall clock is wrong by the step.
    let steady = stamped.filter(|stamped| stamped.counts.clock_steps == 0);
    let nearer = |sample: &Sample| {
        let Some(stamped) = steady else { return NearerStamps::default() };
        let times_ns = stamped.orders.get(&sample.number).map_or([None; 2], |one| one.times_ns);
        let [sent_ns, returned_ns] = times_ns.map(|ns| ns.and_then(|ns| i64::try_from(ns).ok()));
        let error_ns = [i64::try_from(stamped.counts.bound_ns).unwrap_or(i64::MAX), 0];
        NearerStamps { sent_ns, returned_ns, error_ns, ..NearerStamps::default() }
    };
    let mut probes = Probes::default();
    for sample in samples {
        let none = NearerStamps::default();
        probe(sample).into_iter().for_each(|own| probes.add(own, &nearer(sample), &none));
    }
    probes
}

/// Converts the exchange's stamps to our clock, all of a sample by the offset at its order's
/// sending, so that lengths at the exchange stay exact. Returns the largest error and its instant.
/// Leaves all as they are and returns `None` if the offset is unknown at any of them.
fn convert(samples: &mut [Sample], offsets: &Offsets) -> Option<(u64, u64)> {
    let sent_ns = |sample: &Sample| match sample.stamps[Point::Sent as usize] {
        0 => sample.stamps[Point::Read as usize],
        sent_ns => sent_ns,
    };
    let ours_ns = |theirs_ns: u64, middle_ns: i64| theirs_ns.saturating_add_signed(-middle_ns);
    let mut worst = None;
    for sample in samples.iter() {
        let middle_ns = offsets.at(sent_ns(sample))?.middle_ns;
        for point in AT_EXCHANGE {
            let theirs_ns = sample.stamps[point as usize];
            if theirs_ns > 0 {
                let at_ns = ours_ns(theirs_ns, middle_ns);
                let error_ns = offsets.error_ns(middle_ns, at_ns)?;
                worst = worst.max(Some((error_ns, at_ns)));
            }
        }
    }
    for sample in samples.iter_mut().filter(|_| worst.is_some()) {
        let middle_ns = offsets.at(sent_ns(sample))?.middle_ns;
        for point in AT_EXCHANGE {
            let stamp = &mut sample.stamps[point as usize];
            // 0 is no stamp.
            *stamp = if *stamp > 0 { ours_ns(*stamp, middle_ns) } else { 0 };
        }
    }
    worst.map(|(error_ns, at_ns)| (at_ns, error_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tick::stamped_orders::StampedOrder;
    use record::KernelStamped;

    /// Our kernel had the order 2 us after we stamped it, and its reply 5 us before, give or take
    /// 50 ns. If the wall clock was set, nobody knows.
    #[test]
    fn our_kernels_stamps_narrow_the_probe_of_their_order() {
        let mut sample = Sample { number: 7, ..Sample::default() };
        for (point, ns) in [
            (Point::Sent, 100_000),
            (Point::GatewayIn, 900_000),
            (Point::GatewayOut, 905_000),
            (Point::Replied, 140_000),
        ] {
            sample.stamps[point as usize] = ns;
        }
        let order = StampedOrder { lengths: [None; 4], times_ns: [Some(102_000), Some(135_000)] };
        let of = |number, clock_steps| {
            let counts = KernelStamped { bound_ns: 50, clock_steps, ..KernelStamped::default() };
            let stamped = StampedResult { orders: [(number, order)].into(), counts };
            probes(&[sample], Some(&stamped))
        };
        let narrowed = of(7, 0);
        let round_trip_ns = |all: &[Probe]| all[0].round_trip_ns();
        assert_eq!(round_trip_ns(&narrowed.narrowed), Some(28_100));
        assert_eq!(round_trip_ns(&narrowed.own), Some(35_000));
        assert_eq!((narrowed.kernel, narrowed.whole.len()), ([1, 0, 0, 1], 0));
        for other in [of(8, 0), of(7, 1), probes(&[sample], None)] {
            assert_eq!((other.kernel, &other.narrowed), ([0; 4], &other.own));
        }
    }
}
