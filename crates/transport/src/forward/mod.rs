//! The loop of a gateway process: one thread that accepts clients, connects each of them to the
//! exchange, and carries bytes both ways. It decodes nothing.
//!
//! ```text
//!   client ── read, STAMP ──> buffer of the loop ── STAMP, write ──> exchange, and back
//!                                    └── what is not taken at once waits in the pair
//! ```
//!
//! - **Backpressure**: a side is not read while [`Limits::buffered_bytes_max`] wait for the other.
//!   A client is not read either while that many bytes of its own replies wait. It is cut off if
//!   it takes none of them for [`Limits::stuck_ns_max`].
//! - **Ends are passed on**: when one side has ended, the other one gets the bytes that wait, then
//!   the end. Its own bytes still go back, unless the first side broke. A pair that is not over
//!   after [`Limits::linger_ns_max`] is cut.
//! - **Residence** is the time from a read's stamp to the stamp of the write that took all of it at
//!   once. A read whose bytes had to wait is counted, not timed: the other end's pace decided.
//!
//! The exchange's gateway threads are another thing: [`gateway`](crate::gateway).
//!
//! See docs/decisions/020-gateway-process.md.

mod dial;
mod forwarder;
mod pair;

use crate::forward::forwarder::Forwarder;
use crate::streams::{Ready, Streams};
use clock::{Clock, recorder};
use hdrhistogram::Histogram;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often limits of time are looked at.
const SWEEP_NS: u64 = 100_000_000;

/// The exchange behind a gateway process.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Its addresses. They are tried in turn, the one that worked last first.
    pub addresses: &'a [SocketAddr],
    /// The first bytes of each connection to it: [`proxy::UNKNOWN`](crate::proxy::UNKNOWN), or
    /// nothing.
    pub greeting: &'a [u8],
}

/// Limits of a gateway process.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Clients at the same time; one more is closed at once.
    pub connections_max: usize,
    /// Bytes that wait for one side of a pair before the other side is no longer read, and the
    /// client if they wait for it. One read (64 KiB) may come on top, and what the backend has
    /// received ahead ([`RECEIVED_AHEAD_BYTES_MAX`](crate::RECEIVED_AHEAD_BYTES_MAX)).
    pub buffered_bytes_max: usize,
    /// How long a client may take none of the bytes that wait for it once it is no longer read.
    /// Sweeps find it, so it may last 0.2 s longer.
    pub stuck_ns_max: u64,
    /// How long a connection to the exchange may take, over all its addresses.
    pub connect_ns_max: u64,
    /// How long a pair may take to end after its first side has ended.
    pub linger_ns_max: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections_max: 1024,
            buffered_bytes_max: 64 * 1024,
            stuck_ns_max: 10_000_000_000,
            connect_ns_max: 1_000_000_000,
            linger_ns_max: 1_000_000_000,
        }
    }
}

/// The bytes carried in one direction.
pub struct CarriedBytes {
    /// Bytes that the kernel took.
    pub bytes: u64,
    /// Reads whose bytes it did not all take at once.
    pub deferred: u64,
    /// Every other read, from its stamp to its write's stamp, ns.
    pub residence_ns: Histogram<u64>,
}

/// Counts of the loop.
pub struct Counts {
    /// Clients that were connected to the exchange, or were to be.
    pub connections: u64,
    /// Clients closed at once because of `connections_max`.
    pub rejected_connections: u64,
    /// How often no connection could be accepted any more, mostly for want of descriptors.
    pub accepts_failed: u64,
    /// Clients closed because the exchange could not be reached.
    pub exchange_unreachable: u64,
    /// Pairs cut at `linger_ns_max`.
    pub cut: u64,
    /// Clients cut off at `stuck_ns_max`.
    pub slow_readers: u64,
    /// From clients to the exchange.
    pub to_exchange: CarriedBytes,
    /// From the exchange to clients.
    pub to_client: CarriedBytes,
}

/// No connection to the exchange could be made, so a client was closed.
#[derive(Debug)]
pub struct UnreachableExchange {
    /// The exchange's address that was tried last.
    pub address: SocketAddr,
    /// Why it could not be reached.
    pub error: io::Error,
    /// How many clients were closed for that reason so far.
    pub count: u64,
}

/// Forwards between the clients that `streams` accepts and the exchange, until `stop` is set.
/// `report` is called from the loop and must not block.
///
/// # Errors
/// If there is no address, or the backend fails as a whole. A pair that fails is just ended.
pub fn forward(
    streams: &mut dyn Streams,
    exchange: Target<'_>,
    limits: Limits,
    clock: Clock,
    stop: &AtomicBool,
    report: &mut dyn FnMut(UnreachableExchange),
) -> io::Result<Counts> {
    if exchange.addresses.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the exchange has no address"));
    }
    let mut forwarder = Forwarder::new(streams, exchange, limits, clock, report);
    // Each stream may be reported twice.
    let mut ready = Vec::with_capacity(4 * limits.connections_max + 1);
    let mut sweep_at_ns = clock.now_ns() + SWEEP_NS;
    while !stop.load(Ordering::Relaxed) {
        forwarder.streams.wait(sweep_at_ns, &mut ready)?;
        for event in ready.drain(..) {
            match event {
                Ready::Readable(id) => forwarder.read(id),
                Ready::Writable(id) => forwarder.writable(id),
                Ready::Incoming => forwarder.accept(),
            }
        }
        let now_ns = clock.now_ns();
        if now_ns >= sweep_at_ns {
            sweep_at_ns = now_ns + SWEEP_NS;
            forwarder.sweep(now_ns);
        }
    }
    forwarder.close_all();
    Ok(forwarder.counts)
}

impl Counts {
    fn new() -> Counts {
        let carried =
            || CarriedBytes { bytes: 0, deferred: 0, residence_ns: recorder::histogram() };
        Counts {
            connections: 0,
            rejected_connections: 0,
            accepts_failed: 0,
            exchange_unreachable: 0,
            cut: 0,
            slow_readers: 0,
            to_exchange: carried(),
            to_client: carried(),
        }
    }
}

#[cfg(test)]
mod tests;
