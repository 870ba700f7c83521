//! Stages 2 to 5 of a datagram, and what follows them.

use crate::tick::event_loop::state::TickLoop;
use crate::tick::followed::MarketDataKind;
use crate::tick::logic::TradingLogic;
use crate::tick::session::OrderSession;
use crate::tick::stages::{DecidedTick, Stages};

/// Stages 2 to 5 of a datagram. Everything that can wait follows the write.
#[inline]
pub(super) fn tick<M: TradingLogic, L: OrderSession>(
    ticks: &mut TickLoop<M, L>,
    n: usize,
    read_ns: u64,
) {
    let Some(passed) = ticks.stages.pass(&ticks.datagram[..n], read_ns) else { return };
    let stamped = if passed.encoded > 0 { ticks.parts.choose_stamped() } else { None };
    let written_ns = if passed.encoded > 0 { ticks.write() } else { 0 };
    let kernel_ns = ticks.parts.receiver.kernel_ns();
    if ticks.intended_from_ns.is_none() && passed.tick.kind == MarketDataKind::Live {
        ticks.find_exchanges_clock(passed.tick.published_ns, read_ns);
    }
    if passed.encoded > 0 {
        let measured = ticks.is_measured(passed.tick.intended_ns);
        let samples = measured.then_some(&mut ticks.parts.samples);
        ticks.stages.ordered(&passed, [kernel_ns, read_ns], written_ns, samples);
        let is_whole = written_ns > 0 && ticks.stages.outbox.bytes.is_empty();
        ticks.parts.expect_stamps(stamped, is_whole);
    }
    after(ticks, n, &passed, [kernel_ns, read_ns], written_ns);
}

/// Off the path: the work after a datagram.
fn after<M: TradingLogic, L: OrderSession>(
    ticks: &mut TickLoop<M, L>,
    n: usize,
    passed: &DecidedTick,
    came: [u64; 2],
    written_ns: u64,
) {
    let tick = &passed.tick;
    ticks.course.heard_at_ns = came[1];
    if tick.kind == MarketDataKind::Live && ticks.is_measured(tick.intended_ns) {
        let counts = &mut ticks.stages.counts;
        counts.datagrams += 1;
        counts.messages += u64::from(tick.messages);
        counts.datagram_bytes += tick.bytes as u64;
    }
    if tick.kind == MarketDataKind::Live
        && let Some(addresses) = &mut ticks.parts.addresses
    {
        addresses.ticked(came[1]);
    }
    let Stages { logic, orders, .. } = &mut ticks.stages;
    let [_, read_ns] = came;
    logic.after(&ticks.datagram[..n], tick, orders, read_ns);
    if let Some(trail) = &mut ticks.parts.trail {
        let Stages { decisions, orders, outbox, .. } = &ticks.stages;
        trail.tick(passed, came, written_ns, decisions, orders, outbox.messages.len());
    }
    ticks.stages.decisions.clear();
    if !ticks.stages.logic.is_in_sync() {
        ticks.recover(read_ns);
    }
}
