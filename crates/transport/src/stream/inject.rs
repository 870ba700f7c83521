//! Fault injection: a decorator around any [`Streams`], so that tickpath can prove that it sees
//! what it must see. Code above the streams knows nothing of it, and without faults there is no
//! decorator.
//!
//! It is deterministic: by count and by the clock, never at random.

use crate::connection::Connection;
use crate::stamps::KernelStamps;
use crate::streams::{Ready, StreamId, StreamRead, Streams, Write};
use clock::Clock;
use plan::faults::Inject;
use std::io;
use std::net::{SocketAddr, TcpListener};

pub use crate::stream::harmed::harmed;

/// `streams` with the faults of `inject`; `streams` itself if there are none. `clock` is the one
/// that `streams` was opened with.
pub fn around(streams: Box<dyn Streams>, inject: &Inject, clock: Clock) -> Box<dyn Streams> {
    if inject.is_none() {
        return streams;
    }
    let stall_every_ns = inject.stall_every_ms * 1_000_000;
    Box::new(InjectedStreams {
        streams,
        clock,
        delay_ns: inject.delay_us * 1_000,
        stall_ns: inject.stall_ms * 1_000_000,
        stall_every_ns,
        next_stall_ns: match inject.stall_ms {
            0 => u64::MAX,
            _ => clock.now_ns() + stall_every_ns,
        },
        drop_every: inject.drop_every,
        lanes: Vec::new(),
    })
}

struct InjectedStreams {
    streams: Box<dyn Streams>,
    clock: Clock,
    delay_ns: u64,
    stall_ns: u64,
    stall_every_ns: u64,
    /// `u64::MAX`: never.
    next_stall_ns: u64,
    drop_every: u64,
    lanes: Vec<InjectLane>,
}

/// Writes to one stream.
#[derive(Clone, Copy, Default)]
struct InjectLane {
    /// Writes that began with a message since the last one that vanished.
    writes: u64,
    /// The latest write was taken in part: the next one begins inside a message.
    inside: bool,
}

impl InjectedStreams {
    /// Does nothing for a while, if that is due.
    #[inline]
    fn stall(&mut self) {
        if self.next_stall_ns != u64::MAX {
            let now_ns = self.clock.now_ns();
            if now_ns >= self.next_stall_ns {
                self.spin_until(now_ns + self.stall_ns);
                while self.next_stall_ns <= now_ns {
                    self.next_stall_ns += self.stall_every_ns;
                }
            }
        }
    }

    fn spin_until(&self, until_ns: u64) {
        while self.clock.now_ns() < until_ns {
            // No pause instruction: a hypervisor may take the loop for a contended lock and take
            // the core away for some microseconds.
            core::hint::black_box(());
        }
    }

    fn begin(&mut self, id: StreamId) {
        if self.lanes.len() <= id.index() {
            self.lanes.resize(id.index() + 1, InjectLane::default());
        }
        self.lanes[id.index()] = InjectLane::default();
    }

    /// Whether the next write of this stream vanishes. Callers write everything they have, which
    /// ends with a whole message. So a write begins with one if the write before was taken whole.
    fn drops(&mut self, id: StreamId) -> bool {
        let Some(lane) = self.lanes.get_mut(id.index()) else { return false };
        if self.drop_every == 0 || lane.inside {
            return false;
        }
        lane.writes += 1;
        let drops = lane.writes == self.drop_every;
        if drops {
            lane.writes = 0;
        }
        drops
    }
}

impl Streams for InjectedStreams {
    fn add(&mut self, connection: Connection) -> io::Result<StreamId> {
        let id = self.streams.add(connection)?;
        self.begin(id);
        Ok(id)
    }

    fn dial(&mut self, peer: SocketAddr) -> io::Result<StreamId> {
        let id = self.streams.dial(peer)?;
        self.begin(id);
        Ok(id)
    }

    fn listen_at(&mut self, address: &str) -> io::Result<SocketAddr> {
        self.streams.listen_at(address)
    }

    fn stack(&self) -> Option<String> {
        self.streams.stack()
    }

    fn remove(&mut self, id: StreamId) {
        self.streams.remove(id);
    }

    fn shutdown(&mut self, id: StreamId) {
        self.streams.shutdown(id);
    }

    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        self.streams.listen(listener)
    }

    fn accept(&mut self) -> io::Result<Option<StreamId>> {
        let accepted = self.streams.accept()?;
        accepted.into_iter().for_each(|id| self.begin(id));
        Ok(accepted)
    }

    fn peer(&self, id: StreamId) -> Option<SocketAddr> {
        self.streams.peer(id)
    }

    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.stall();
        // A backend that sleeps wakes for the next stall.
        self.streams.wait(until_ns.min(self.next_stall_ns), ready)
    }

    fn rest(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.stall();
        self.streams.rest(until_ns.min(self.next_stall_ns), ready)
    }

    fn read(&mut self, id: StreamId, into: &mut [u8]) -> StreamRead {
        self.streams.read(id, into)
    }

    fn write(&mut self, id: StreamId, from: &[u8]) -> Write {
        if self.delay_ns > 0 {
            self.spin_until(self.clock.now_ns() + self.delay_ns);
        }
        if self.drops(id) {
            return Write::Bytes { n: from.len(), stamp_ns: self.clock.now_ns() };
        }
        let written = self.streams.write(id, from);
        if let (Write::Bytes { n, .. }, Some(lane)) = (&written, self.lanes.get_mut(id.index())) {
            // Nothing taken changes nothing: the next write begins where this one did.
            if *n > 0 {
                lane.inside = *n < from.len();
            } else if !lane.inside {
                lane.writes = lane.writes.saturating_sub(1);
            }
        }
        written
    }

    fn watch_writable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.streams.watch_writable(id, watch)
    }

    fn watch_readable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.streams.watch_readable(id, watch)
    }

    fn stamp_next_write(&mut self, id: StreamId) {
        self.streams.stamp_next_write(id);
    }

    fn stamps(&mut self, id: StreamId) -> KernelStamps {
        self.streams.stamps(id)
    }
}

#[cfg(test)]
#[path = "inject_tests.rs"]
mod tests;
