//! The loop that joins the stages: one thread, each datagram to completion.
//!
//! ```text
//!   ① ingest      TickReceiver::receive                   one system call per datagram
//!   ② normalise   TradingLogic::normalise
//!   ③ signal      TradingLogic::decide
//!   ④ risk        TradingLogic::check
//!   ⑤ order       OrderSession::encode, Streams::write    one system call per tick with an order
//! ```
//!
//! The feed comes first. The loop polls the stream of replies if there is no datagram, and after
//! every [`DATAGRAMS_BETWEEN_LOOKS`] datagrams. An empty poll of a socket costs a system call, and
//! a tick that arrives meanwhile waits. So while no reply is owed, the loop polls the stream only
//! at every [`LOOKS_WITHOUT_DEBT`]th empty poll of the feed.

mod listening;
mod path;
pub(crate) mod state;
mod upkeep;

use crate::tick::event_loop::state::TickLoop;
use crate::tick::logic::TradingLogic;
use crate::tick::parts::LoopParts;
use crate::tick::releases::{HeldTick, Releases};
use crate::tick::session::{OrderSession, Request};
use transport::datagram::Datagram;

/// Datagrams in a row after which the stream is polled.
const DATAGRAMS_BETWEEN_LOOKS: u32 = 32;
/// Empty polls of the feed per poll of a stream that owes nothing.
const LOOKS_WITHOUT_DEBT: u32 = 64;
/// Empty polls of the feed per rehearsal.
const LOOKS_A_REHEARSAL: u32 = 16;
/// A tick whose release is so near is not delayed by a poll of the stream.
const RELEASE_NEAR_NS: u64 = 20_000;

/// One turn: the next datagram through the stages or, without one, everything else.
#[inline]
pub(crate) fn turn<M: TradingLogic, L: OrderSession>(ticks: &mut TickLoop<M, L>) {
    if let Some(held) = ticks.parts.releases.as_ref().and_then(Releases::held) {
        return release(ticks, held);
    }
    match ticks.parts.receiver.receive(&mut ticks.datagram) {
        Datagram::Bytes { n, read_ns } => {
            if ticks.parts.releases.is_none() || !hold(ticks, n) {
                hand_on(ticks, n, read_ns);
            }
        }
        Datagram::Empty => {
            ticks.looks = ticks.looks.wrapping_add(1);
            rehearse(ticks);
            let owed = ticks.stages.orders.unanswered() > 0 || ticks.course.awaits;
            if owed || !ticks.parts.spins || ticks.looks.is_multiple_of(LOOKS_WITHOUT_DEBT) {
                listening::listen(ticks, true);
            }
        }
        Datagram::Failed(error) => ticks.fail(format!("receiving the feed failed: {error}")),
    }
}

#[inline]
fn hand_on<M: TradingLogic, L: OrderSession>(ticks: &mut TickLoop<M, L>, n: usize, read_ns: u64) {
    path::tick(ticks, n, read_ns);
    ticks.datagrams += 1;
    if ticks.datagrams >= DATAGRAMS_BETWEEN_LOOKS {
        listening::listen(ticks, false);
    }
}

/// With a hold: whether the datagram has ticks, which then wait for their release.
fn hold<M: TradingLogic, L: OrderSession>(ticks: &mut TickLoop<M, L>, n: usize) -> bool {
    let published = ticks.stages.logic.publication(&ticks.datagram[..n]);
    let Some(published) = published else { return false };
    let is_measured = ticks.is_measured(published.intended_ns);
    let LoopParts { releases, receiver, .. } = &mut ticks.parts;
    if let Some(releases) = releases {
        releases.hold(n, published, receiver.kernel_ns(), is_measured);
    }
    true
}

/// Hands on the tick that waits, if it is due; if not, looks for replies.
fn release<M: TradingLogic, L: OrderSession>(ticks: &mut TickLoop<M, L>, held: HeldTick) {
    let now_ns = ticks.parts.clock.now_ns();
    if now_ns < held.due_ns {
        ticks.looks = ticks.looks.wrapping_add(1);
        let owed = ticks.stages.orders.unanswered() > 0 || ticks.course.awaits;
        let has_turn = owed || ticks.looks.is_multiple_of(LOOKS_WITHOUT_DEBT);
        if has_turn && held.due_ns - now_ns > RELEASE_NEAR_NS {
            listening::listen(ticks, false);
        }
        return;
    }
    if let Some(releases) = &mut ticks.parts.releases {
        releases.released(now_ns);
    }
    hand_on(ticks, held.n, now_ns);
}

/// Without a datagram, keeps what the next tick needs in the caches.
#[inline]
fn rehearse<M: TradingLogic, L: OrderSession>(ticks: &mut TickLoop<M, L>) {
    if let Some(rehearsal) = &mut ticks.rehearsal {
        ticks.stages.logic.keep_near();
        if ticks.looks.is_multiple_of(LOOKS_A_REHEARSAL) {
            rehearsal.turn();
        }
    }
}

/// Starts the flow: see [`crate::tick::phase::Course::start`].
pub(crate) fn start<M: TradingLogic, L: OrderSession>(
    ticks: &mut TickLoop<M, L>,
    warm_up_ns: u64,
    flow_ns: u64,
) {
    ticks.course.start(ticks.parts.clock.now_ns(), warm_up_ns, flow_ns);
    let measured_from_ns = ticks.course.measured_from_ns;
    ticks.intended_from_ns = ticks.parts.is_shared.then_some(measured_from_ns);
    if let Some(addresses) = &mut ticks.parts.addresses {
        addresses.ticked(ticks.parts.clock.now_ns());
    }
    if let Some(shown) = &mut ticks.parts.shown {
        shown.start(measured_from_ns);
    }
    ticks.ask(Request::StartFlow);
}

/// Ends the run now, with what was measured so far.
pub(crate) fn break_off<M: TradingLogic, L: OrderSession>(ticks: &mut TickLoop<M, L>) {
    let step = ticks.course.break_off(ticks.parts.clock.now_ns());
    upkeep::follow(ticks, step);
}

#[cfg(test)]
mod tests;
