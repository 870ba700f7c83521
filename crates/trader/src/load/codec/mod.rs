//! The cost of a dialect's codec on this machine, which a round trip does not contain: orders are
//! encoded and their acknowledgements decoded by the code of the run itself, before it. The other
//! end is in memory, so nothing else is in the figures.

mod answer;
mod fix;
mod json;
mod sbe;

use self::answer::{Answer, InMemory};
use super::session::fix::Fix;
use super::session::sbe::Sbe;
use super::session::websocket::WebSocket;
use super::session::{LoadMessage, OrderProtocol, Reply};
use clock::Clock;
use plan::process::orders::{OrdersPlan, Wire};
use plan::tables::load::Load;
use record::codec::CodecRun;
use std::hint::black_box;
use std::io;

/// Orders between two readings of the clock.
const BATCH: u64 = 64;
/// Batches, of which the median counts.
const BATCHES_MAX: usize = 101;
const BATCHES_MIN: usize = 5;
/// After this time no further batch begins.
const BUDGET_NS: u64 = 30_000_000;

/// Measures the codec of a plan; `None` if its wire has none.
///
/// # Errors
/// An order of ours is not understood, or its acknowledgement.
pub(crate) fn measure(plan: &OrdersPlan, clock: Clock) -> Option<io::Result<CodecRun>> {
    // The exchange in memory asks for no signature.
    let keys = String::new();
    let load = Load { accounts: 1, connections: 1, keys, ..plan.load.clone() };
    let plan = OrdersPlan { load, ..plan.clone() };
    match plan.wire {
        Wire::WebsocketJson => Some(cost(WebSocket::new(&plan), json::peer(), clock)),
        Wire::Sbe | Wire::SbeUdp(_) => Some(cost(Sbe::new(&plan), sbe::peer(&plan.load), clock)),
        Wire::Fix => {
            let fix = Fix::new(&plan, clock).map_err(io::Error::other);
            let ends = fix.and_then(|fix| Ok((fix, fix::peer(&plan.load, clock)?)));
            Some(ends.and_then(|(fix, peer)| cost(fix, peer, clock)))
        }
        _ => None,
    }
}

fn cost<E: OrderProtocol>(
    mut entry: E,
    mut peer: InMemory<impl Answer>,
    clock: Clock,
) -> io::Result<CodecRun> {
    entry.log_on(0, &mut peer, &[0])?;
    let (mut orders, mut aside) = (Vec::new(), Vec::new());
    let (mut encode_ps, mut decode_ps) = (Vec::new(), Vec::new());
    let until_ns = clock.now_ns() + BUDGET_NS;
    while encode_ps.len() < BATCHES_MAX {
        if encode_ps.len() >= BATCHES_MIN && clock.now_ns() >= until_ns {
            break;
        }
        let first = encode_ps.len() as u64 * BATCH;
        orders.clear();
        encode_ps.push(encode(&mut entry, first, &mut orders, clock));
        io::Write::write_all(&mut peer, &orders)?;
        decode_ps.push(decode(&mut entry, &mut peer, &mut aside, clock)?);
    }
    let orders = encode_ps.len() as u64 * BATCH;
    let median = |batches: &[u64]| stats::median(batches).unwrap_or(0) * 1_000 / BATCH;
    Ok(CodecRun { orders, encode_ps: median(&encode_ps), decode_ps: median(&decode_ps) })
}

/// Encodes a batch of orders; how long that took, ns.
fn encode(entry: &mut impl OrderProtocol, first: u64, out: &mut Vec<u8>, clock: Clock) -> u64 {
    let begin_ns = clock.now_ns();
    for number in first..first + BATCH {
        entry.encode(LoadMessage::Order, number, 0, out);
    }
    let took_ns = clock.now_ns() - begin_ns;
    black_box(out);
    took_ns
}

/// Decodes the acknowledgements of a batch; how long that took without copying them, ns.
fn decode(
    entry: &mut impl OrderProtocol,
    peer: &mut InMemory<impl Answer>,
    aside: &mut Vec<u8>,
    clock: Clock,
) -> io::Result<u64> {
    let (mut decoded, mut took_ns) = (0, 0);
    while decoded < BATCH {
        let n = io::Read::read(peer, entry.space(0))?;
        if n == 0 {
            return Err(io::Error::other(format!("{decoded} of {BATCH} orders were answered")));
        }
        let begin_ns = clock.now_ns();
        entry.filled(0, n, begin_ns);
        while let Some(received) = entry.next(0, aside).map_err(io::Error::other)? {
            match black_box(received.reply) {
                Reply::Ack(LoadMessage::Order, _) => decoded += 1,
                reply => return Err(io::Error::other(format!("{reply:?} answers an order"))),
            }
        }
        took_ns += clock.now_ns() - begin_ns;
    }
    Ok(took_ns)
}

#[cfg(test)]
mod tests;
