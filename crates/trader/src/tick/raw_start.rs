//! Asks the raw ticker for its ticks: as datagrams, or over a connection of their own, whichever
//! the trader above this floor has.

use crate::load::dialler::Dialler;
use crate::load::error::TraderError;
use crate::tick::frames::FrameReceiver;
use crate::tick::frames::raw::RawFrames;
use crate::tick::link::Link;
use crate::tick::receiver::TickReceiver;
use crate::tick::session::raw::RawSession;
use clock::Clock;
use plan::process::ticks::{RawPlan, TickPlan};

/// As datagrams.
///
/// # Errors
/// If no address for them can be had, or the ticker can't be reached or has another subscriber.
pub(crate) fn datagrams(
    plan: &TickPlan,
    raw: &RawPlan,
    link: &mut Link<'_>,
) -> Result<(TickReceiver, RawSession), TraderError> {
    let receiver = link.receive(plan, plan.feed.listen, None)?;
    let failed = |source| TraderError::connect(&plan.target, 0, source);
    let mut session = RawSession::new(raw);
    let address = receiver.local_addr().map_err(failed)?;
    link.talk(|stream| session.subscribe(stream, address)).map_err(failed)?;
    Ok((receiver.harmed_by(plan.feed.inject).into(), session))
}

/// Over a connection of their own.
///
/// # Errors
/// If the ticker can't be reached or has another subscriber.
pub(crate) fn stream(
    plan: &TickPlan,
    raw: &RawPlan,
    clock: Clock,
    dialler: &Dialler<'_>,
) -> Result<(TickReceiver, RawSession), TraderError> {
    let failed = |source| TraderError::connect(&plan.target, 1, source);
    let mut connection = dialler.connect().map_err(failed)?;
    // Its only answer. No tick comes before the orders' connection begins the schedule.
    let tick_bytes = RawSession::new(raw).subscribe_stream(&mut connection).map_err(failed)?;
    let frames = RawFrames::new(tick_bytes);
    let receiver = FrameReceiver::new(connection, frames, plan.feed.kernel_stamps, clock);
    let receiver = TickReceiver::Raw(Box::new(receiver.map_err(failed)?));
    Ok((receiver, RawSession::new(raw)))
}
