//! Requests one way: which clock stamps them, and what to do where the other end has another one.

use crate::load::desk::patience::Directions;
use crate::load::rows::{SERIES, SERIES_OF_REQUESTS};
use between::ends::{ClocksAfter, ClocksBefore};
use between::offsets::Offsets;
use between::ways::KernelTimes;
use between::ways::Ways;
use clock::Clock;
use clock::phc::PhcCourse;
use clock::recorder::{Drain, Recorder, Series, recorder};
use plan::process::orders::{DatagramPlan, OneWayPlan, OrdersPlan, Wire};
use plan::tables::load::Model;
use plan::tables::network::TWO_CLOCKS_MESSAGES_MAX;
use plan::tables::one_way::OneWay;
use record::KernelStamped;
use record::between::HostClocks;
use std::io;
use std::net::UdpSocket;

/// The other end of a run that reads another clock.
pub(crate) struct TwoClocks {
    /// On which its clock is asked for.
    flow: UdpSocket,
    ends: ClocksBefore,
    shown: OneWay,
    recorder: Recorder,
    room: u64,
    stamp_every: u64,
}

/// Such an end, and the drain of its series.
pub(crate) type Other = (TwoClocks, Drain);

/// The series of both directions.
fn series() -> &'static [Series] {
    &SERIES_OF_REQUESTS[SERIES.len()..]
}

/// The clock that a plan names.
pub(crate) fn planned_clock(plan: &OrdersPlan) -> Option<Clock> {
    match plan.wire {
        Wire::Datagrams(DatagramPlan { one_way: Some(one_way), .. }) => Some(one_way.clock),
        _ => None,
    }
}

/// The clock that the plan's requests need, if any, and the other end with the drain of its series,
/// if that reads another one.
///
/// # Errors
/// If the other end doesn't say its clock.
pub(crate) fn clocks(plan: &OrdersPlan) -> io::Result<(Option<Clock>, Option<Other>)> {
    let Wire::Datagrams(DatagramPlan { one_way: Some(one_way), .. }) = plan.wire else {
        return Ok((None, None));
    };
    let OneWayPlan { clock, is_shared, shown } = one_way;
    if is_shared {
        return Ok((Some(clock), None));
    }
    let flow = super::dialler::dial_datagrams(&plan.target)?;
    let ends = ClocksBefore::ask(&flow, clock)?;
    if let Some(shared) = ends.shared() {
        return Ok((Some(shared), None));
    }
    let room = match plan.load.model {
        Model::Open => plan.load.messages(plan.seconds).min(TWO_CLOCKS_MESSAGES_MAX),
        Model::PingPong => TWO_CLOCKS_MESSAGES_MAX,
    };
    let (recorder, drain) = recorder(series(), plan.seconds);
    let stamp_every = plan.load.stamp_every;
    let other = TwoClocks { flow, ends, shown, recorder, room, stamp_every };
    Ok((Some(clock), Some((other, drain))))
}

/// How the desk splits round trips.
pub(crate) fn directions(wire: Wire, two_clocks: Option<&TwoClocks>) -> Directions {
    match (wire, two_clocks) {
        (_, Some(TwoClocks { room, stamp_every, .. })) => {
            Directions::Kept(Ways::with_room(*room, *stamp_every))
        }
        (Wire::Datagrams(DatagramPlan { one_way: Some(_), .. }), None) => Directions::Recorded,
        _ => Directions::None,
    }
}

impl TwoClocks {
    /// Finds the offset of the clocks after the run, in which our kernel `stamped` some messages,
    /// and our card, too; and records both directions from `from_to_ns` on. Returns why that is
    /// incomplete.
    pub(crate) fn record(
        self,
        ways: &Ways,
        (stamped, times): (Option<&KernelStamped>, &[KernelTimes]),
        card: Option<&PhcCourse>,
        from_to_ns: (u64, u64),
    ) -> (HostClocks, Option<String>) {
        let TwoClocks { flow, ends, shown, recorder, room, .. } = self;
        let (step_ns, clocks) = (ends.step_ns(), ends.clocks());
        let ClocksAfter { bridge, kernel_error_ns } = ends.after(&flow, ways.last_echo_ns());
        // A stamp from around a step of the wall clock is wrong by the step.
        let steady = stamped.filter(|stamped| stamped.clock_steps == 0);
        let errors_ns = [steady.map(|stamped| stamped.bound_ns), kernel_error_ns];
        let offsets = Offsets::of(&ways.probes(errors_ns, times, card), bridge, step_ns);
        let tags = [0, 1, 2].map(|index| series()[index].own_tag());
        let between = ways.record(offsets, shown, tags, recorder, from_to_ns);
        let between = HostClocks { clocks, ..between };
        let failure = (ways.unkept > 0).then(|| {
            format!(
                "{} requests found no room for their stamps: between two hosts a run keeps those \
                 of {room}; shorten it",
                ways.unkept
            )
        });
        (between, failure)
    }
}
