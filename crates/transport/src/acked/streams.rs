//! Acknowledged datagrams as a set of streams, beside the streams of another set.

use crate::acked::datagram::DATAGRAM_BYTES_MAX;
use crate::acked::dial::{Dial, DialStep};
use crate::acked::receive::ReceivedBytes;
use crate::acked::socket::Socket;
use crate::acked::table::{DatagramMeaning, PEERS_MAX, SharedCounts, Table};
use crate::connection::Connection;
use crate::cookie::random_number;
use crate::lanes::{Lane, Lanes};
use crate::stamps::KernelStamps;
use crate::streams::{Ready, StreamId, StreamRead, Streams, Write};
use clock::Clock;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};

/// Datagrams that a wait receives at most, if none of them brings bytes: a flood of them must not
/// keep the other streams waiting.
const RECEIVED_AT_ONCE: usize = 32;
/// How often a backend that spins looks while it rests, ns: nothing wakes it.
const REST_NS: u64 = 1_000_000;

pub(super) struct AckedStreams {
    inner: Box<dyn Streams>,
    socket: Socket,
    clock: Clock,
    spins: bool,
    table: Table,
    lanes: Lanes,
    /// Places of new peers.
    incoming: Vec<usize>,
    /// Places of peers that may have something to read.
    pending: Vec<usize>,
    /// When the table has something to do.
    due_ns: u64,
    inbox: Box<[u8]>,
    counts: SharedCounts,
}

impl AckedStreams {
    pub fn new(
        inner: Box<dyn Streams>,
        socket: Socket,
        table: Table,
        (clock, spins): (Clock, bool),
        counts: SharedCounts,
    ) -> AckedStreams {
        AckedStreams {
            inner,
            socket,
            clock,
            spins,
            table,
            lanes: Lanes::default(),
            incoming: Vec::with_capacity(PEERS_MAX),
            pending: Vec::with_capacity(PEERS_MAX),
            due_ns: 0,
            // One byte more: a longer datagram is not ours, and must not look as if it were.
            inbox: vec![0; DATAGRAM_BYTES_MAX + 1].into(),
            counts,
        }
    }

    /// Receives until a peer has something to read, or there is nothing more. Gives whether there
    /// may be more.
    #[inline]
    fn receive(&mut self) -> io::Result<bool> {
        for _ in 0..RECEIVED_AT_ONCE {
            let received = self.socket.receive(&mut self.inbox);
            let now_ns = self.clock.now_ns();
            if now_ns >= self.due_ns {
                self.poll(now_ns);
            }
            match received {
                Ok(Some((n, from))) => {
                    if self.take(n, from, now_ns) {
                        return Ok(true);
                    }
                }
                Ok(None) => return Ok(false),
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    self.table.refused(now_ns);
                    self.due_ns = now_ns;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Hands a datagram to the table. Gives whether there is news for the caller.
    #[inline]
    fn take(&mut self, n: usize, from: SocketAddr, now_ns: u64) -> bool {
        let AckedStreams { socket, table, inbox, .. } = self;
        let heard = table.receive(&inbox[..n], from, now_ns, &mut |out, to| socket.send(out, to));
        match heard {
            DatagramMeaning::Nothing => false,
            DatagramMeaning::New(place) => {
                self.incoming.push(place);
                self.due_ns = now_ns;
                true
            }
            DatagramMeaning::Peer(place) => {
                let Some((peer, _)) = self.table.peer(place) else { return false };
                self.due_ns = self.due_ns.min(peer.due_ns());
                let has_news = peer.is_readable() || peer.end().is_some();
                if has_news && !self.pending.contains(&place) {
                    self.pending.push(place);
                }
                has_news
            }
        }
    }

    #[cold]
    fn poll(&mut self, now_ns: u64) {
        let AckedStreams { socket, table, pending, .. } = self;
        let lost = |place| {
            if !pending.contains(&place) {
                pending.push(place);
            }
        };
        self.due_ns = table.poll(now_ns, &mut |out, to| socket.send(out, to), lost);
    }

    /// Adds what may be read, written and accepted to `ready`.
    #[inline]
    fn report(&mut self, ready: &mut Vec<Ready>) {
        let AckedStreams { table, lanes, pending, .. } = self;
        pending.retain(|place| {
            let Some((peer, _)) = table.peer(*place) else { return false };
            let has_news = peer.is_readable() || peer.end().is_some();
            if has_news
                && let Some((id, lane)) = lanes.of_place(*place)
                && lane.readable
            {
                ready.push(Ready::Readable(id));
            }
            has_news
        });
        lanes.each_writer(|id, lane| {
            let takes = |(peer, _): (&mut crate::acked::Peer, _)| peer.is_writable();
            if table.peer(lane.place).is_some_and(takes) {
                ready.push(Ready::Writable(id));
            }
        });
        if !self.incoming.is_empty() {
            ready.push(Ready::Incoming);
        }
    }

    fn wait_as(&mut self, until_ns: u64, ready: &mut Vec<Ready>, rests: bool) -> io::Result<()> {
        let start = ready.len();
        let has_more = self.receive()?;
        self.report(ready);
        let until_ns = match has_more || ready.len() > start {
            true => 0,
            false => until_ns.min(self.due_ns),
        };
        let own = ready.len();
        match rests {
            true if self.spins => {
                self.inner.rest(until_ns.min(self.clock.now_ns() + REST_NS), ready)?;
            }
            true => self.inner.rest(until_ns, ready)?,
            false => self.inner.wait(until_ns, ready)?,
        }
        if self.lanes.translate(ready, own) && own == start {
            self.receive()?;
            self.report(ready);
        }
        Ok(())
    }

    /// Ends the handshake with a place, or fails.
    fn connect(&mut self, server: SocketAddr) -> io::Result<usize> {
        let token = random_number().map_err(io::Error::other)?;
        let mut dial = Dial::new(token, self.clock.now_ns());
        loop {
            let now_ns = self.clock.now_ns();
            if let Some(question) = dial.poll(now_ns) {
                self.socket.send(&question, server);
            }
            let received = self.socket.receive(&mut self.inbox)?.map(|(n, _)| n);
            let step = dial.receive(received.map(|n| &self.inbox[..n]), now_ns);
            match step {
                DialStep::Waiting => {}
                DialStep::Connected(connection) => {
                    let place = self.table.dialled(connection, server, now_ns);
                    return place.ok_or_else(|| full(&format!("this end has {PEERS_MAX} already")));
                }
                DialStep::Full => return Err(full("the other end has no place for more")),
                DialStep::TimedOut => {
                    let why = format!("nothing answers at {server} over UDP");
                    return Err(io::Error::new(ErrorKind::TimedOut, why));
                }
            }
            match received {
                // It belongs to another connection.
                Some(n) => {
                    self.take(n, server, now_ns);
                }
                None => self.socket.wait(dial.due_ns().saturating_sub(now_ns))?,
            }
        }
    }
}

fn full(who: &str) -> io::Error {
    io::Error::new(ErrorKind::QuotaExceeded, format!("too many peers over UDP: {who}"))
}

impl Streams for AckedStreams {
    fn add(&mut self, connection: Connection) -> io::Result<StreamId> {
        Ok(self.lanes.add_inner(self.inner.add(connection)?))
    }

    fn dial(&mut self, peer: SocketAddr) -> io::Result<StreamId> {
        if self.socket.server() != Some(peer) {
            let why = format!("this set dials another address than {peer}");
            return Err(io::Error::new(ErrorKind::AddrNotAvailable, why));
        }
        let place = self.connect(peer)?;
        self.due_ns = 0;
        Ok(self.lanes.add_own(place))
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
            Lane::Own(lane) => {
                let AckedStreams { socket, table, clock, .. } = self;
                let send = &mut |out: &[u8], to| socket.send(out, to);
                table.remove(lane.place, clock.now_ns(), send);
                self.pending.retain(|place| *place != lane.place);
                self.due_ns = 0;
            }
        }
    }

    fn shutdown(&mut self, id: StreamId) {
        match self.lanes.of(id) {
            Lane::Free => {}
            Lane::Inner(inner) => self.inner.shutdown(inner),
            Lane::Own(lane) => {
                let AckedStreams { socket, table, clock, .. } = self;
                if let Some((peer, to)) = table.peer(lane.place) {
                    peer.finish(clock.now_ns(), &mut |out| socket.send(out, to));
                    self.due_ns = self.due_ns.min(peer.due_ns());
                }
            }
        }
    }

    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        self.inner.listen(listener)
    }

    fn accept(&mut self) -> io::Result<Option<StreamId>> {
        if !self.incoming.is_empty() {
            return Ok(Some(self.lanes.add_own(self.incoming.remove(0))));
        }
        Ok(self.inner.accept()?.map(|inner| self.lanes.add_inner(inner)))
    }

    fn peer(&self, id: StreamId) -> Option<SocketAddr> {
        match self.lanes.of(id) {
            Lane::Free => None,
            Lane::Inner(inner) => self.inner.peer(inner),
            Lane::Own(lane) => self.table.address(lane.place),
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
        let lane = match self.lanes.of(id) {
            Lane::Inner(inner) => return self.inner.read(inner, into),
            Lane::Own(lane) => lane,
            Lane::Free => return StreamRead::Failed(ErrorKind::NotConnected.into()),
        };
        let AckedStreams { socket, table, clock, .. } = self;
        let Some((peer, to)) = table.peer(lane.place) else {
            return StreamRead::Failed(ErrorKind::NotConnected.into());
        };
        // The time matters only to an acknowledgement that it may send.
        let now_ns = if peer.is_readable() { clock.now_ns() } else { 0 };
        match peer.read(into, now_ns, &mut |out| socket.send(out, to)) {
            ReceivedBytes::Bytes { n, stamp_ns } => StreamRead::Bytes { n, stamp_ns },
            ReceivedBytes::End => StreamRead::Closed,
            ReceivedBytes::Nothing => match peer.end() {
                Some(end) => StreamRead::Failed(io::Error::new(ErrorKind::ConnectionReset, end)),
                None => StreamRead::Empty,
            },
        }
    }

    #[inline]
    fn write(&mut self, id: StreamId, from: &[u8]) -> Write {
        let lane = match self.lanes.of(id) {
            Lane::Inner(inner) => return self.inner.write(inner, from),
            Lane::Own(lane) => lane,
            Lane::Free => return Write::Failed(ErrorKind::NotConnected.into()),
        };
        let AckedStreams { socket, table, clock, .. } = self;
        let Some((peer, to)) = table.peer(lane.place) else {
            return Write::Failed(ErrorKind::NotConnected.into());
        };
        let mut stamp_ns = clock.now_ns();
        let written = peer.write(from, stamp_ns, &mut |out| {
            stamp_ns = clock.now_ns();
            socket.send(out, to);
        });
        self.due_ns = self.due_ns.min(peer.due_ns());
        match written {
            Ok(n) => Write::Bytes { n, stamp_ns },
            Err(end) => Write::Failed(io::Error::new(ErrorKind::ConnectionReset, end)),
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
            _ => KernelStamps::default(),
        }
    }
}

impl Drop for AckedStreams {
    /// Ends what is open, as the kernel does with a process's sockets.
    fn drop(&mut self) {
        let AckedStreams { socket, table, clock, .. } = self;
        table.reset_all(clock.now_ns(), &mut |out, to| socket.send(out, to));
        if let Ok(mut counts) = self.counts.lock() {
            *counts = table.counts();
        }
    }
}
