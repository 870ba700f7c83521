//! The loop of a server: one thread, everything to completion. Accept; read a connection once;
//! hand the bytes to the [`Service`]; write what it answered, to whomever; next connection.
//!
//! The exchange and the raw echo are both a `Service` under this loop, so the difference between
//! them is the exchange's own work.

use crate::outbound::State;
use crate::{Read, Ready, StreamId, Streams, Write};
use measure::clock::Clock;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

pub use crate::outbound::Outbound;

/// What a server does with the bytes of its connections.
pub trait Service {
    /// A connection was accepted.
    fn opened(&mut self, id: StreamId, now_ns: u64);
    /// Where the next bytes of this connection go; not empty.
    fn space(&mut self, id: StreamId) -> &mut [u8];
    /// `n` bytes were put there; `stamp_ns` is when the read returned. Answers go to `outbound`.
    fn received(&mut self, id: StreamId, n: usize, stamp_ns: u64, outbound: &mut Outbound);
    /// The connection is gone, whoever ended it. Its id may come again. What the others are told of it goes to `outbound`.
    fn closed(&mut self, id: StreamId, outbound: &mut Outbound);
    /// Ten times a second: the moment for time-outs.
    fn sweep(&mut self, now_ns: u64, outbound: &mut Outbound);
    /// Why it can't go on: asked after each sweep, and the end of the server.
    fn failure(&self) -> Option<io::Error> {
        None
    }
    /// What a connection past `connections_max` is told before it is ended.
    fn refusal(&self) -> &[u8];
    /// Once in every turn of the loop: what has happened elsewhere, in another thread or on a disk. Says whether something is still awaited from
    /// there; then the loop does not sleep.
    fn elsewhere(&mut self, _outbound: &mut Outbound) -> bool {
        false
    }
}

/// Limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at the same time; one more is refused.
    pub connections_max: usize,
    /// Bytes that wait for a client that does not read. While more wait they must become less each half second, or it is cut off. One message may lead to
    /// more (a mass cancel reports every order), so what bounds the memory is this, the most that one message can lead to, and what is made in half a second.
    pub outbound_bytes_max: usize,
    /// Bytes that wait for one client until what they acknowledge is safe (see [`Outbound::hold`]): looked at ten times a second, and past that it is cut off.
    pub held_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connections_max: 1024, outbound_bytes_max: 1 << 20, held_bytes_max: 64 << 20 }
    }
}

/// What the loop refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Connections past `connections_max`.
    pub connections: u64,
    /// Connections cut off at `outbound_bytes_max`.
    pub slow_readers: u64,
    /// Connections cut off at `held_bytes_max`.
    pub held: u64,
    /// How often no connection could be accepted any more, mostly for want of descriptors.
    pub accepts_failed: u64,
}

/// How long a connection that we end may take to read the rest and to end its side.
const DRAIN_NS: u64 = 1_000_000_000;
/// How long more than `outbound_bytes_max` may wait without becoming less: twice what the kernel takes to send again what got lost.
const STUCK_NS: u64 = 500_000_000;
/// Connections past `connections_max` that are told so at the same time; the rest is just ended.
const REFUSALS_MAX: usize = 64;
const SWEEP_NS: u64 = 100_000_000;

/// Runs `service` over `streams` until `stop` is set.
///
/// # Errors
/// If the backend fails as a whole, or the service says that it has failed; a connection that fails is just ended.
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
        accepts: true,
        refused: Refused::default(),
        discarded: vec![0; 4096],
    };
    let mut ready = Vec::with_capacity(limits.connections_max + REFUSALS_MAX + 1);
    let mut sweep_at_ns = clock.now_ns() + SWEEP_NS;
    while !stop.load(Ordering::Relaxed) {
        let awaits = server.service.elsewhere(&mut server.outbound);
        server.flush_dirty();
        server.streams.wait(if awaits { 0 } else { sweep_at_ns }, &mut ready)?;
        for event in ready.drain(..) {
            match event {
                Ready::Readable(id) => server.read(id),
                Ready::Writable(id) => server.flush(id),
                Ready::Incoming => server.accept(),
            }
            server.flush_dirty();
        }
        let now_ns = clock.now_ns();
        if now_ns >= sweep_at_ns {
            sweep_at_ns = now_ns + SWEEP_NS;
            server.sweep(now_ns);
            if let Some(failure) = server.service.failure() {
                return Err(failure);
            }
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
    /// Whether the last connection that came could be accepted.
    accepts: bool,
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
                    // It is tried again and again, for the same connection.
                    self.refused.accepts_failed += u64::from(self.accepts);
                    self.accepts = false;
                    return;
                }
            };
            self.accepts = true;
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
    }

    /// Writes what was answered. A connection that fails here ends, and what the others are told of that is written, too: the list
    /// may grow while it is gone through.
    fn flush_dirty(&mut self) {
        let mut index = 0;
        while let Some(&id) = self.outbound.dirty.get(index) {
            self.outbound.settle(id);
            self.flush(id);
            index += 1;
        }
        self.outbound.dirty.clear();
    }

    fn flush(&mut self, id: StreamId) {
        let lane = &mut self.outbound.lanes[id.index()];
        if matches!(lane.state, State::Vacant | State::Draining) {
            lane.clear();
            return;
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
        lane.state = State::Vacant;
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
                self.refused.slow_readers += 1;
                self.end(StreamId(index as u32));
            } else if lane.held_bytes() > self.limits.held_bytes_max {
                self.refused.held += 1;
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
