//! Gateways: threads that own the sockets and make the system calls, which take most of a message's
//! time. The thread that has these [`Streams`] makes none. A pair of rings (`ipc::ring`) in
//! anonymous memory joins it to each gateway.
//!
//! ```text
//!   sockets ── gateway 0: read, STAMP ──ring──┐                    ┌── serve: the service,
//!   sockets ── gateway 1: read, STAMP ──ring──┴─> Streams::read ───┘   untouched
//!   sockets <── gateway 0: write <──────ring──┬── Streams::write <── its answers
//!   sockets <── gateway 1: write <──────ring──┘
//! ```
//!
//! Gateways pay off if each thread has a core and the sockets are the bottleneck; with fewer cores
//! than threads they only cost. The service and its loop are the same either way.
//!
//! **Stamps.** The gateway stamps a read when it returns. A write is stamped before its bytes enter
//! the ring; the gateway's system call follows one hop later.
//!
//! **Hold.** With a [`HoldOnEntry`] the exchange's thread releases messages one by one in the order
//! of their stamps, each a fixed time after its own. They wait in the rings.
//!
//! **Limits.** Each ring has [`RING_SLOTS`] messages. A gateway whose ring to the exchange is full
//! stops reading its sockets; a full ring to a gateway takes no more of a write, as a full socket
//! does. At most [`WINDOW_BYTES`] of answers to one client wait at its gateway; the writer keeps
//! the rest and cuts off a slow reader by its own limit. There are at most [`GATEWAYS_MAX`]
//! gateways.
//!
//! **Ends.** If a gateway fails or panics, [`Streams::wait`] fails with an error that names it.
//! Dropping the streams stops the gateways, which first write out what they were sent.
//!
//! See docs/decisions/011-exchange-layers-and-gateway-threads.md.

mod end;
mod hold;
mod link;
mod message;
mod state;
mod streams;
mod thread;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use clock::Clock;
use ipc::region::RegionBacking;
use ipc::ring::{Consumer, Producer, Producers, Ring, Shape};

use crate::backend::Backend;
use crate::gateway::end::GatewayEnd;
use crate::gateway::link::{GatewayEndGuard, GivenBy, GivenTo, Link, told};
use crate::gateway::message::MESSAGE_BYTES_MAX;
use crate::gateway::state::Gateways;
use crate::gateway::thread::{Gateway, GatewayParts};
use crate::streams::Streams;
use crate::tls::Acceptor;

pub use crate::gateway::hold::{HoldFigures, HoldOnEntry};
pub use crate::gateway::message::WINDOW_BYTES;
pub use plan::backend::GATEWAYS_MAX;

/// Messages that each ring holds, of some 1000 bytes at most.
pub const RING_SLOTS: u32 = 1024;

/// Why gateways can't be started.
#[derive(Debug, thiserror::Error)]
pub enum GatewaysError {
    /// None, or too many.
    #[error("{0} gateways can't be started: take 1 to {GATEWAYS_MAX}")]
    Count(usize),
    /// No memory for the rings.
    #[error("no rings for the gateways: {0}")]
    Ring(#[from] ipc::IpcError),
    /// One of them did not start.
    #[error("gateway {gateway} can't be started: {source}")]
    Start {
        /// Which, from 0.
        gateway: usize,
        /// Why.
        source: io::Error,
    },
}

/// Starts `count` gateways, each with its own streams of `backend`. The backend also decides
/// whether the calling thread sleeps or spins while it waits. Each gateway's thread first calls
/// `prepare` with its number from 0: the place to pin it. With `tls` the gateways make the
/// handshakes and encrypt.
///
/// # Errors
/// If `count` is out of its range, there is no room for rings, or a gateway fails to start.
pub fn open(
    count: usize,
    backend: &'static Backend,
    tls: Option<Arc<Acceptor>>,
    clock: Clock,
    prepare: impl Fn(usize) -> io::Result<()> + Send + Sync + 'static,
) -> Result<Box<dyn Streams>, GatewaysError> {
    open_with(count, backend, tls, clock, None, prepare)
}

/// As [`open`], and with a hold each message that clients send is released in the order of the
/// gateways' stamps, a fixed time after its own.
///
/// # Errors
/// As [`open`].
pub fn open_with(
    count: usize,
    backend: &'static Backend,
    tls: Option<Arc<Acceptor>>,
    clock: Clock,
    hold: Option<HoldOnEntry>,
    prepare: impl Fn(usize) -> io::Result<()> + Send + Sync + 'static,
) -> Result<Box<dyn Streams>, GatewaysError> {
    if !(1..=GATEWAYS_MAX).contains(&count) {
        return Err(GatewaysError::Count(count));
    }
    let prepare: Arc<Prepare> = Arc::new(prepare);
    let sleeps = !backend.row.spins;
    let mut links = Vec::with_capacity(count);
    for gateway in 0..count {
        let link = Link::new(sleeps).map_err(|source| GatewaysError::Start { gateway, source })?;
        links.push(Arc::new(link));
    }
    let (deals, given): (Vec<GivenTo>, Vec<GivenBy>) = (0..count).map(|_| channel()).unzip();
    let mut gateways = Gateways::new(clock, sleeps, links.clone(), hold);
    for (index, given) in given.into_iter().enumerate() {
        let (to_exchange, from_gateway) = ring()?;
        let (to_gateway, from_exchange) = ring()?;
        let (links, all) = (links.clone(), deals.clone());
        let parts =
            GatewayParts { clock, to_exchange, from_exchange, index, links, given, deals: all };
        let thread = start(parts, backend, tls.clone(), Arc::clone(&prepare))
            .map_err(|source| GatewaysError::Start { gateway: index, source })?;
        gateways.push(GatewayEnd::new(to_gateway, from_gateway, deals[index].clone(), thread));
    }
    Ok(Box::new(gateways))
}

type Prepare = dyn Fn(usize) -> io::Result<()> + Send + Sync;

/// Starts one, and waits until it is ready.
fn start(
    parts: GatewayParts,
    backend: &'static Backend,
    tls: Option<Arc<Acceptor>>,
    prepare: Arc<Prepare>,
) -> io::Result<JoinHandle<io::Result<()>>> {
    let index = parts.index;
    let ending = GatewayEndGuard(Arc::clone(&parts.links[index]));
    let (outcome, started) = channel();
    let work = move || {
        let _ending = ending;
        let made = prepare(index)
            .and_then(|()| backend.open_sockets(tls, parts.clock))
            .and_then(|sockets| Gateway::new(parts, sockets));
        let (gateway, made) = match made {
            Ok(gateway) => (Some(gateway), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // The thread that started us waits for it.
        let _ = outcome.send(made);
        gateway.map_or(Ok(()), Gateway::run)
    };
    let thread = std::thread::Builder::new().name(format!("gateway-{index}")).spawn(work)?;
    told(&started)?;
    Ok(thread)
}

fn ring() -> Result<(Producer, Consumer), ipc::IpcError> {
    let ring = Ring::create(
        RegionBacking::Memory,
        Shape {
            slots: RING_SLOTS,
            message_bytes_max: MESSAGE_BYTES_MAX,
            producers: Producers::One,
            // A thread that sleeps here waits for several rings, or for sockets too: see
            // `gateway::link`.
            may_sleep: false,
        },
    )?;
    Ok((ring.producer()?, ring.consumer()?))
}

#[cfg(test)]
mod tests;
