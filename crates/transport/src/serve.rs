//! The loop of a server: one thread, everything to completion. Accept; read a connection once;
//! hand the bytes to the [`Service`]; write what it answered, to whomever; next connection.
//!
//! The exchange and the raw echo are both a `Service` under this loop, so the difference between
//! them is the exchange's own work.

use crate::{Read, Ready, StreamId, Streams, Write};
use measure::clock::Clock;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a server does with the bytes of its connections.
pub trait Service {
    /// A connection was accepted.
    fn opened(&mut self, id: StreamId, now_ns: u64);
    /// Where the next bytes of this connection go; not empty.
    fn space(&mut self, id: StreamId) -> &mut [u8];
    /// `n` bytes were put there; `stamp_ns` is when the read returned. Answers go to `outbound`.
    fn received(&mut self, id: StreamId, n: usize, stamp_ns: u64, outbound: &mut Outbound);
    /// The connection is gone, whoever ended it. Its id may come again.
    fn closed(&mut self, id: StreamId);
    /// Ten times a second: the moment for time-outs.
    fn sweep(&mut self, now_ns: u64, outbound: &mut Outbound);
    /// What a connection past `connections_max` is told before it is ended.
    fn refusal(&self) -> &[u8];
}

/// Limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at the same time; one more is refused.
    pub connections_max: usize,
    /// Bytes that wait for a client that does not read; past that it is cut off.
    pub outbound_bytes_max: usize,
}

/// What the loop refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Connections past `connections_max`.
    pub connections: u64,
    /// Connections cut off at `outbound_bytes_max`.
    pub slow_readers: u64,
    /// Connections that could not be accepted, mostly for want of descriptors.
    pub accepts_failed: u64,
}

/// Answers on their way out, a buffer a connection.
#[derive(Default)]
pub struct Outbound {
    lanes: Vec<Lane>,
    /// Lanes with something to do since the last flush.
    dirty: Vec<StreamId>,
}

#[derive(Default)]
struct Lane {
    bytes: Vec<u8>,
    state: State,
    dirty: bool,
    watched: bool,
    /// The service was told of this connection; not so of one that is refused.
    served: bool,
    /// When the sweep gives up waiting for a connection that we end.
    ends_at_ns: Option<u64>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Vacant,
    Open,
    /// Ends as soon as its bytes are out.
    Closing,
    /// Our side has ended; what the peer still sends is thrown away until it ends too, so that it
    /// reads our last bytes and not a reset.
    Draining,
}

/// First capacity of a connection's buffer, enough for some two hundred acks.
const LANE_BYTES: usize = 64 * 1024;
/// How long a connection that we end may take to read the rest and to end its side.
const DRAIN_NS: u64 = 1_000_000_000;
/// Connections past `connections_max` that are told so at the same time; the rest is just ended.
const REFUSALS_MAX: usize = 64;
const SWEEP_NS: u64 = 100_000_000;

impl Outbound {
    /// The buffer to which answers for this connection are appended. What is appended for a
    /// connection that has been ended is thrown away.
    #[inline]
    pub fn to(&mut self, id: StreamId) -> &mut Vec<u8> {
        let lane = &mut self.lanes[id.index()];
        if !lane.dirty {
            lane.dirty = true;
            self.dirty.push(id);
        }
        &mut lane.bytes
    }

    /// Ends the connection when its answers are out. What it sends from now on is not read.
    pub fn close(&mut self, id: StreamId) {
        self.to(id);
        let lane = &mut self.lanes[id.index()];
        if lane.state == State::Open {
            lane.state = State::Closing;
        }
    }

    /// Whether the connection still takes answers.
    pub fn is_open(&self, id: StreamId) -> bool {
        self.lanes.get(id.index()).is_some_and(|lane| lane.state == State::Open)
    }

    /// Makes room for a connection. [`serve`] does it for those it accepts; a test that drives a
    /// [`Service`] without sockets does it itself.
    pub fn open(&mut self, id: StreamId) {
        while self.lanes.len() <= id.index() {
            let bytes = Vec::with_capacity(LANE_BYTES);
            self.lanes.push(Lane { bytes, ..Lane::default() });
        }
        self.lanes[id.index()].state = State::Open;
    }
}

/// Runs `service` over `streams` until `stop` is set.
///
/// # Errors
/// If the backend fails as a whole; a connection that fails is just ended.
pub fn serve(
    streams: &mut dyn Streams,
    service: &mut impl Service,
    limits: Limits,
    clock: Clock,
    stop: &AtomicBool,
) -> io::Result<Refused> {
    let mut server = Server {
        streams,
        service,
        limits,
        clock,
        outbound: Outbound::default(),
        open: 0,
        refused: Refused::default(),
        discarded: vec![0; 4096],
    };
    let mut ready = Vec::with_capacity(limits.connections_max + REFUSALS_MAX + 1);
    let mut sweep_at_ns = clock.now_ns() + SWEEP_NS;
    while !stop.load(Ordering::Relaxed) {
        server.streams.wait(sweep_at_ns, &mut ready)?;
        for event in ready.drain(..) {
            match event {
                Ready::Readable(id) => server.read(id),
                Ready::Writable(id) => server.flush(id),
                Ready::Incoming => server.accept(),
            }
        }
        let now_ns = clock.now_ns();
        if now_ns >= sweep_at_ns {
            sweep_at_ns = now_ns + SWEEP_NS;
            server.sweep(now_ns);
        }
    }
    Ok(server.refused)
}

struct Server<'a, S: Service> {
    streams: &'a mut dyn Streams,
    service: &'a mut S,
    limits: Limits,
    clock: Clock,
    outbound: Outbound,
    /// Connections that the service knows of.
    open: usize,
    refused: Refused,
    discarded: Vec<u8>,
}

impl<S: Service> Server<'_, S> {
    fn read(&mut self, id: StreamId) {
        let state = self.outbound.lanes.get(id.index()).map_or(State::Vacant, |lane| lane.state);
        match state {
            State::Vacant => {}
            State::Open => match self.streams.read(id, self.service.space(id)) {
                Read::Bytes { n, stamp_ns } => {
                    self.service.received(id, n, stamp_ns, &mut self.outbound);
                    self.flush_dirty();
                }
                Read::Empty => {}
                Read::Closed | Read::Failed(_) => self.end(id),
            },
            State::Closing | State::Draining => match self.streams.read(id, &mut self.discarded) {
                Read::Bytes { .. } | Read::Empty => {}
                Read::Closed | Read::Failed(_) => self.end(id),
            },
        }
    }

    fn accept(&mut self) {
        loop {
            let id = match self.streams.accept() {
                Ok(Some(id)) => id,
                Ok(None) => return,
                Err(_) => {
                    self.refused.accepts_failed += 1;
                    return;
                }
            };
            if self.open < self.limits.connections_max {
                self.open += 1;
                self.outbound.open(id);
                self.outbound.lanes[id.index()].served = true;
                self.service.opened(id, self.clock.now_ns());
            } else {
                self.refuse(id);
            }
        }
    }

    fn refuse(&mut self, id: StreamId) {
        self.refused.connections += 1;
        if id.index() >= self.limits.connections_max + REFUSALS_MAX {
            self.streams.remove(id);
            return;
        }
        self.outbound.open(id);
        self.outbound.to(id).extend_from_slice(self.service.refusal());
        self.outbound.close(id);
        self.flush_dirty();
    }

    fn flush_dirty(&mut self) {
        for index in 0..self.outbound.dirty.len() {
            let id = self.outbound.dirty[index];
            self.outbound.lanes[id.index()].dirty = false;
            self.flush(id);
        }
        self.outbound.dirty.clear();
    }

    fn flush(&mut self, id: StreamId) {
        let lane = &mut self.outbound.lanes[id.index()];
        if matches!(lane.state, State::Vacant | State::Draining) {
            lane.bytes.clear();
            return;
        }
        let written = match lane.bytes.is_empty() {
            true => 0,
            false => match self.streams.write(id, &lane.bytes) {
                Write::Bytes { n, .. } => n,
                Write::Failed(_) => return self.end(id),
            },
        };
        // The common case is that the kernel takes everything, and nothing is moved.
        lane.bytes.drain(..written);
        if lane.bytes.is_empty() {
            self.flushed(id);
        } else {
            self.flushed_in_part(id);
        }
    }

    fn flushed(&mut self, id: StreamId) {
        let lane = &mut self.outbound.lanes[id.index()];
        if lane.watched {
            lane.watched = false;
            // A stream that can't be unwatched is reported writable once more, to no effect.
            let _ = self.streams.watch_writable(id, false);
        }
        if lane.state == State::Closing {
            lane.state = State::Draining;
            self.streams.shutdown(id);
        }
    }

    fn flushed_in_part(&mut self, id: StreamId) {
        let lane = &mut self.outbound.lanes[id.index()];
        if lane.bytes.len() > self.limits.outbound_bytes_max {
            self.refused.slow_readers += 1;
            self.end(id);
        } else if !lane.watched {
            lane.watched = true;
            if self.streams.watch_writable(id, true).is_err() {
                self.end(id);
            }
        }
    }

    fn end(&mut self, id: StreamId) {
        self.streams.remove(id);
        let lane = &mut self.outbound.lanes[id.index()];
        // The buffer stays with the lane; the next connection of this id finds it warm.
        lane.bytes.clear();
        lane.watched = false;
        lane.ends_at_ns = None;
        lane.state = State::Vacant;
        if std::mem::take(&mut lane.served) {
            self.open -= 1;
            self.service.closed(id);
        }
    }

    fn sweep(&mut self, now_ns: u64) {
        self.service.sweep(now_ns, &mut self.outbound);
        self.flush_dirty();
        for index in 0..self.outbound.lanes.len() {
            let lane = &mut self.outbound.lanes[index];
            if matches!(lane.state, State::Closing | State::Draining)
                && now_ns >= *lane.ends_at_ns.get_or_insert(now_ns + DRAIN_NS)
            {
                self.end(StreamId(index as u32));
            }
        }
    }
}
