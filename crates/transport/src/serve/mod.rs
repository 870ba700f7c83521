//! The loop of a server: one thread, everything to completion. Accept; read a connection once;
//! hand the bytes to the [`Service`]; write what it answered, to whomever; next connection.
//!
//! The exchange and the raw echo are both a `Service` under this loop, so the difference between
//! them is the exchange's own work.

mod limits;
mod outbound;

use crate::serve::outbound::{Bounds, State};
use crate::streams::{Ready, StreamId, StreamRead, Streams, Write};
use clock::Clock;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

pub use crate::serve::limits::{Full, Limits, Rejections};
pub use crate::serve::outbound::Outbound;

/// The work of a server on the bytes of its connections.
pub trait Service {
    /// A connection was accepted; `peer` is where its other end is, if that is known.
    fn opened(&mut self, id: StreamId, peer: Option<SocketAddr>, now_ns: u64);
    /// Where the next bytes of this connection go; not empty.
    fn space(&mut self, id: StreamId) -> &mut [u8];
    /// `n` bytes were put there; `stamp_ns` is when the read returned. Answers go to `outbound`.
    fn received(&mut self, id: StreamId, n: usize, stamp_ns: u64, outbound: &mut Outbound);
    /// The connection is gone, whichever end closed it. Its id may come again. What other clients
    /// are told about it goes to `outbound`.
    fn closed(&mut self, id: StreamId, outbound: &mut Outbound);
    /// Ten times a second: the moment for time-outs.
    fn sweep(&mut self, now_ns: u64, outbound: &mut Outbound);
    /// Why it can't go on: asked after each sweep, and the end of the server.
    fn failure(&self) -> Option<io::Error> {
        None
    }
    /// Whether nobody uses it: then a backend that spins may sleep. Asked after each sweep, and
    /// while it sleeps, after each event.
    fn is_idle(&self) -> bool {
        false
    }
    /// The answer to a connection past this limit, before it is closed.
    fn rejection(&self, full: Full) -> &[u8];
    /// Called once per turn of the loop: what has happened elsewhere, in another thread or on a
    /// disk. Returns whether there is more to do at once; then the loop does not sleep. Work that
    /// waits for the mark of [`Outbound::hold`] is not: the loop looks again while one is not
    /// released.
    fn elsewhere(&mut self, _outbound: &mut Outbound) -> bool {
        false
    }
}

/// How long a connection that we end may take to read the rest and to end its side.
const DRAIN_NS: u64 = 1_000_000_000;
/// How long more than `outbound_bytes_max` may wait without a decrease: twice the kernel's usual
/// time to retransmit.
const STUCK_NS: u64 = 500_000_000;
/// Connections past `connections_max` that are told so at the same time; the rest is just ended.
const REJECTIONS_MAX: usize = 64;
const SWEEP_NS: u64 = 100_000_000;
/// While a mark is not released, a backend that sleeps looks again after an eighth of the time for
/// which none was, and after this at most. So a held answer is late by an eighth of its wait at
/// most, and the wait leaves the core to the disk's thread and to other processes.
const HELD_LOOK_NS_MAX: u64 = 500_000;
/// After this many sweeps without a user a backend that spins sleeps: a second.
const IDLE_SWEEPS: u64 = 1_000_000_000 / SWEEP_NS;

/// Runs `service` over `streams` until `stop` is set.
///
/// # Errors
/// If the backend fails as a whole, or the service says that it has failed. A connection that fails
/// is just closed.
pub fn serve(
    streams: &mut dyn Streams,
    service: &mut impl Service,
    limits: Limits,
    clock: Clock,
    stop: &AtomicBool,
) -> io::Result<Rejections> {
    let mut outbound = Outbound::default();
    outbound.set_bounds(
        Bounds { free_bytes_max: limits.outbound_bytes_before_login_max, held_bytes_max: 0 },
        Bounds {
            free_bytes_max: limits.outbound_bytes_max.saturating_add(limits.answer_bytes_max),
            held_bytes_max: limits.held_bytes_max,
        },
    );
    let mut server = Server {
        streams,
        service,
        limits,
        clock,
        outbound,
        held: (0, None),
        open: 0,
        peers: HashMap::new(),
        accepts: true,
        rejections: Rejections::default(),
        discarded: vec![0; 4096],
    };
    let mut ready = Vec::with_capacity(limits.connections_max + REJECTIONS_MAX + 1);
    let mut sweep_at_ns = clock.now_ns() + SWEEP_NS;
    let mut idle_sweeps = if server.service.is_idle() { IDLE_SWEEPS } else { 0 };
    while !stop.load(Ordering::Relaxed) {
        let awaits = server.service.elsewhere(&mut server.outbound);
        server.flush_dirty();
        let until_ns = if awaits { 0 } else { sweep_at_ns.min(server.look_again_ns()) };
        match idle_sweeps < IDLE_SWEEPS {
            true => server.streams.wait(until_ns, &mut ready)?,
            false => server.streams.rest(until_ns, &mut ready)?,
        }
        for event in ready.drain(..) {
            match event {
                Ready::Readable(id) => server.read(id),
                Ready::Writable(id) => {
                    server.flush(id);
                    server.outbound.count(id);
                }
                Ready::Incoming => server.accept(),
            }
            server.flush_dirty();
        }
        if idle_sweeps >= IDLE_SWEEPS && !server.service.is_idle() {
            idle_sweeps = 0;
        }
        let now_ns = clock.now_ns();
        if now_ns >= sweep_at_ns {
            sweep_at_ns = now_ns + SWEEP_NS;
            server.sweep(now_ns);
            idle_sweeps = if server.service.is_idle() { idle_sweeps + 1 } else { 0 };
            if let Some(failure) = server.service.failure() {
                return Err(failure);
            }
        }
    }
    Ok(server.rejections)
}

struct Server<'a, S: Service> {
    streams: &'a mut dyn Streams,
    service: &'a mut S,
    limits: Limits,
    clock: Clock,
    outbound: Outbound,
    /// The mark that was released last, and since when a higher one is awaited; `None` while none
    /// is.
    held: (u64, Option<u64>),
    /// Connections that the service knows of.
    open: usize,
    /// How many of them come from each address that is limited.
    peers: HashMap<IpAddr, usize>,
    /// Whether the last connection that came could be accepted.
    accepts: bool,
    rejections: Rejections,
    discarded: Vec<u8>,
}

impl<S: Service> Server<'_, S> {
    /// When to look whether a mark was released. No event says it.
    #[inline]
    fn look_again_ns(&mut self) -> u64 {
        if !self.outbound.awaits_release() {
            self.held.1 = None;
            return u64::MAX;
        }
        let (now_ns, mark) = (self.clock.now_ns(), self.outbound.released());
        let since_ns = match self.held {
            (before, Some(since_ns)) if before == mark => since_ns,
            _ => now_ns,
        };
        self.held = (mark, Some(since_ns));
        now_ns + ((now_ns - since_ns) / 8).min(HELD_LOOK_NS_MAX)
    }

    fn read(&mut self, id: StreamId) {
        let state = self.outbound.lanes.get(id.index()).map_or(State::Vacant, |lane| lane.state);
        match state {
            State::Vacant => {}
            State::Open => match self.streams.read(id, self.service.space(id)) {
                StreamRead::Bytes { n, stamp_ns } => {
                    self.service.received(id, n, stamp_ns, &mut self.outbound);
                }
                StreamRead::Empty => {}
                StreamRead::Closed | StreamRead::Failed(_) => self.end(id),
            },
            State::Closing | State::Draining => match self.streams.read(id, &mut self.discarded) {
                StreamRead::Bytes { .. } | StreamRead::Empty => {}
                StreamRead::Closed | StreamRead::Failed(_) => self.end(id),
            },
        }
    }

    fn accept(&mut self) {
        loop {
            let id = match self.streams.accept() {
                Ok(Some(id)) => id,
                Ok(None) => return,
                Err(_) => {
                    // It is tried again and again, for the same connection.
                    self.rejections.accepts_failed += u64::from(self.accepts);
                    self.accepts = false;
                    return;
                }
            };
            self.accepts = true;
            let peer = self.streams.peer(id);
            match self.admit(peer) {
                Ok(counted) => {
                    self.open += 1;
                    self.outbound.open(id);
                    let lane = &mut self.outbound.lanes[id.index()];
                    lane.served = true;
                    lane.peer = counted;
                    self.service.opened(id, peer, self.clock.now_ns());
                }
                Err(full) => self.reject(id, full),
            }
        }
    }

    /// Whether there is room for one more connection from there. Returns the address by which it is
    /// counted, if it is.
    fn admit(&mut self, peer: Option<SocketAddr>) -> Result<Option<IpAddr>, Full> {
        if self.open >= self.limits.connections_max {
            return Err(Full::Connections);
        }
        let Some(ip) = peer.map(|peer| peer.ip().to_canonical()) else { return Ok(None) };
        if ip.is_loopback() && !self.limits.limits_loopback {
            return Ok(None);
        }
        let counted = network_of(ip);
        let open = self.peers.entry(counted).or_default();
        if *open >= self.limits.connections_per_address_max {
            return Err(Full::ConnectionsPerAddress);
        }
        *open += 1;
        Ok(Some(counted))
    }

    fn reject(&mut self, id: StreamId, full: Full) {
        match full {
            Full::Connections => self.rejections.connections += 1,
            Full::ConnectionsPerAddress => self.rejections.connections_per_address += 1,
        }
        if id.index() >= self.limits.connections_max + REJECTIONS_MAX {
            self.streams.remove(id);
            return;
        }
        self.outbound.open(id);
        self.outbound.to(id).extend_from_slice(self.service.rejection(full));
        self.outbound.close(id);
    }

    /// Writes the answers. A connection that fails here ends, and what others are told about that
    /// is written too: the list may grow during the loop.
    fn flush_dirty(&mut self) {
        let mut index = 0;
        while let Some(&id) = self.outbound.dirty.get(index) {
            self.outbound.settle(id);
            self.flush(id);
            self.outbound.count(id);
            if self.outbound.total_bytes() > self.limits.outbound_bytes_total_max {
                self.cut_fullest();
            }
            index += 1;
        }
        self.outbound.dirty.clear();
    }

    /// Cuts off the connection for which most waits.
    #[cold]
    fn cut_fullest(&mut self) {
        if let Some(id) = self.outbound.fullest() {
            self.rejections.total += 1;
            self.end(id);
        }
    }

    /// Cuts off a connection for which more waited than may.
    #[cold]
    fn cut(&mut self, id: StreamId) {
        match self.outbound.lanes[id.index()].is_admitted() {
            true => self.rejections.slow_readers += 1,
            false => self.rejections.before_login += 1,
        }
        self.end(id);
    }

    fn flush(&mut self, id: StreamId) {
        let lane = &mut self.outbound.lanes[id.index()];
        if matches!(lane.state, State::Vacant | State::Draining) {
            lane.clear();
            return;
        }
        if lane.is_over {
            return self.cut(id);
        }
        let free = lane.free();
        let free_bytes = free.len();
        let written = match free_bytes {
            0 => 0,
            _ => match self.streams.write(id, free) {
                Write::Bytes { n, .. } => n,
                Write::Failed(_) => return self.end(id),
            },
        };
        lane.written(written);
        if written == free_bytes {
            self.flushed(id);
        } else if !lane.watched {
            lane.watched = true;
            if self.streams.watch_writable(id, true).is_err() {
                self.end(id);
            }
        }
    }

    fn flushed(&mut self, id: StreamId) {
        let lane = &mut self.outbound.lanes[id.index()];
        if lane.watched {
            lane.watched = false;
            // A stream that can't be unwatched is reported writable once more, to no effect.
            let _ = self.streams.watch_writable(id, false);
        }
        if lane.state == State::Closing && lane.waiting_bytes() == 0 {
            lane.state = State::Draining;
            self.streams.shutdown(id);
        }
    }

    fn end(&mut self, id: StreamId) {
        self.streams.remove(id);
        let lane = &mut self.outbound.lanes[id.index()];
        // The buffer stays with the lane; the next connection of this id finds it warm.
        lane.clear();
        lane.watched = false;
        lane.ends_at_ns = None;
        lane.is_over = false;
        lane.state = State::Vacant;
        if let Some(peer) = lane.peer.take()
            && let Some(open) = self.peers.get_mut(&peer)
        {
            *open -= 1;
            if *open == 0 {
                self.peers.remove(&peer);
            }
        }
        self.outbound.count(id);
        let lane = &mut self.outbound.lanes[id.index()];
        if std::mem::take(&mut lane.served) {
            self.open -= 1;
            self.service.closed(id, &mut self.outbound);
        }
    }

    fn sweep(&mut self, now_ns: u64) {
        self.service.sweep(now_ns, &mut self.outbound);
        for index in 0..self.outbound.lanes.len() {
            let lane = &mut self.outbound.lanes[index];
            if lane.is_stuck(self.limits.outbound_bytes_max, STUCK_NS, now_ns) {
                self.rejections.slow_readers += 1;
                self.end(StreamId(index as u32));
            } else if lane.held_bytes() > self.limits.held_bytes_max {
                self.rejections.held += 1;
                self.end(StreamId(index as u32));
            } else if matches!(lane.state, State::Closing | State::Draining)
                && now_ns >= *lane.ends_at_ns.get_or_insert(now_ns + DRAIN_NS)
            {
                self.end(StreamId(index as u32));
            }
        }
        self.flush_dirty();
    }
}

/// The addresses that are counted together: one IPv4 address, or one IPv6 /64 network, which is
/// what one site has.
fn network_of(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
    }
}
