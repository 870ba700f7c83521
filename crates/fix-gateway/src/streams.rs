//! FIX sessions as streams of the exchange, beside those of another set.

use crate::door::{Door, SharedCounts};
use clock::Clock;
use std::io;
use std::net::{SocketAddr, TcpListener};
use transport::lanes::{Lane, Lanes};
use transport::stamps::KernelStamps;
use transport::{Connection, Ready, StreamId, StreamRead, Streams, Write};

/// How often the set looks at its FIX clients while nothing wakes it for them, ns.
const LOOK_NS: u64 = 1_000_000;

pub(crate) struct FixStreams {
    inner: Box<dyn Streams>,
    door: Door,
    lanes: Lanes,
    clock: Clock,
    /// Whether a wait of the inner set that sleeps ends when a FIX client sends something.
    is_woken: bool,
    counts: SharedCounts,
}

impl FixStreams {
    pub fn new(
        inner: Box<dyn Streams>,
        door: Door,
        (clock, is_woken): (Clock, bool),
        counts: SharedCounts,
    ) -> FixStreams {
        FixStreams { inner, door, lanes: Lanes::default(), clock, is_woken, counts }
    }

    /// Adds what the exchange may accept, read and write to `ready`.
    #[inline]
    fn report(&mut self, ready: &mut Vec<Ready>) {
        let FixStreams { door, lanes, .. } = self;
        if door.links.has_incoming() {
            ready.push(Ready::Incoming);
        }
        let mut readable = door.links.take_readable();
        readable.retain(|place| {
            // One that is not accepted yet has no id, and is looked at again.
            let Some((id, lane)) = lanes.of_place(*place) else { return true };
            let is_readable = door.is_readable(*place);
            if is_readable && lane.readable {
                ready.push(Ready::Readable(id));
            }
            is_readable
        });
        door.links.put_readable(readable);
        lanes.each_writer(|id, lane| {
            if door.is_writable(lane.place) {
                ready.push(Ready::Writable(id));
            }
        });
    }

    #[inline]
    fn wait_as(&mut self, until_ns: u64, ready: &mut Vec<Ready>, rests: bool) -> io::Result<()> {
        let start = ready.len();
        let has_more = self.door.turn(rests)?;
        self.report(ready);
        let mut until_ns = match has_more || ready.len() > start {
            true => 0,
            false => until_ns,
        };
        if until_ns > 0 && !self.is_woken {
            until_ns = until_ns.min(self.clock.now_ns() + LOOK_NS);
        }
        let own = ready.len();
        match rests {
            true => self.inner.rest(until_ns, ready)?,
            false => self.inner.wait(until_ns, ready)?,
        }
        if self.lanes.translate(ready, own) && own == start {
            self.door.turn(rests)?;
            self.report(ready);
        }
        Ok(())
    }
}

impl Streams for FixStreams {
    fn add(&mut self, connection: Connection) -> io::Result<StreamId> {
        Ok(self.lanes.add_inner(self.inner.add(connection)?))
    }

    fn dial(&mut self, peer: SocketAddr) -> io::Result<StreamId> {
        Ok(self.lanes.add_inner(self.inner.dial(peer)?))
    }

    fn listen_at(&mut self, address: &str) -> io::Result<SocketAddr> {
        self.inner.listen_at(address)
    }

    fn stack(&self) -> Option<String> {
        self.inner.stack()
    }

    fn remove(&mut self, id: StreamId) {
        match self.lanes.remove(id) {
            Lane::Free => {}
            Lane::Inner(inner) => self.inner.remove(inner),
            Lane::Own(lane) => self.door.removed(lane.place),
        }
    }

    fn shutdown(&mut self, id: StreamId) {
        match self.lanes.of(id) {
            Lane::Free => {}
            Lane::Inner(inner) => self.inner.shutdown(inner),
            Lane::Own(lane) => self.door.ended(lane.place),
        }
    }

    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        self.inner.listen(listener)
    }

    fn accept(&mut self) -> io::Result<Option<StreamId>> {
        if let Some(place) = self.door.links.accept() {
            return Ok(Some(self.lanes.add_own(place)));
        }
        Ok(self.inner.accept()?.map(|inner| self.lanes.add_inner(inner)))
    }

    /// Unknown for a session: its connection to the exchange outlives the client's.
    fn peer(&self, id: StreamId) -> Option<SocketAddr> {
        match self.lanes.of(id) {
            Lane::Inner(inner) => self.inner.peer(inner),
            Lane::Free | Lane::Own(_) => None,
        }
    }

    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.wait_as(until_ns, ready, false)
    }

    fn rest(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.wait_as(until_ns, ready, true)
    }

    #[inline]
    fn read(&mut self, id: StreamId, into: &mut [u8]) -> StreamRead {
        match self.lanes.of(id) {
            Lane::Inner(inner) => self.inner.read(inner, into),
            Lane::Own(lane) => self.door.read(lane.place, into),
            Lane::Free => StreamRead::Failed(io::ErrorKind::NotConnected.into()),
        }
    }

    #[inline]
    fn write(&mut self, id: StreamId, from: &[u8]) -> Write {
        match self.lanes.of(id) {
            Lane::Inner(inner) => self.inner.write(inner, from),
            Lane::Own(lane) => self.door.write(lane.place, from),
            Lane::Free => Write::Failed(io::ErrorKind::NotConnected.into()),
        }
    }

    fn watch_writable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        match self.lanes.watch_writable(id, watch) {
            Some(inner) => self.inner.watch_writable(inner, watch),
            None => Ok(()),
        }
    }

    fn watch_readable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        match self.lanes.watch_readable(id, watch) {
            Some(inner) => self.inner.watch_readable(inner, watch),
            None => Ok(()),
        }
    }

    fn stamp_next_write(&mut self, id: StreamId) {
        if let Lane::Inner(inner) = self.lanes.of(id) {
            self.inner.stamp_next_write(inner);
        }
    }

    fn stamps(&mut self, id: StreamId) -> KernelStamps {
        match self.lanes.of(id) {
            Lane::Inner(inner) => self.inner.stamps(inner),
            Lane::Free | Lane::Own(_) => KernelStamps::default(),
        }
    }
}

impl Drop for FixStreams {
    /// The exchange ends: each client gets a Logout.
    fn drop(&mut self) {
        self.door.close();
        if let Ok(mut counts) = self.counts.lock() {
            *counts = self.door.counts();
        }
    }
}
