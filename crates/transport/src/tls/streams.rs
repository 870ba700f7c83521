//! The layer: a set of streams of which some or all are secure.

use super::accept::Acceptor;
use super::connect::Connector;
use super::policy::HANDSHAKE_PATIENCE;
use super::record::{INPUT_BYTES, RecordError};
use super::session::Session;
use super::stepping::PendingHandshake;
use crate::connection::Connection;
use crate::dialogue::Dialogue;
use crate::stamps::KernelStamps;
use crate::streams::{Ready, Sockets, StreamId, StreamRead, Streams, Write};
use clock::Clock;
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// `streams`, with TLS for the connections that were made by a [`Connector`](super::Connector), and
/// for those that are accepted where there is an `acceptor`. `clock` is the one that `streams` was
/// opened with.
pub fn around(
    streams: Box<dyn Streams>,
    acceptor: Option<Arc<Acceptor>>,
    clock: Clock,
) -> Box<dyn Streams> {
    Box::new(TlsStreams::new(streams, acceptor, clock))
}

/// `streams`, with TLS for the connections that were made by a [`Connector`], and by `connector`
/// for those that the streams dial by themselves. `clock` is the one that `streams` was opened
/// with.
pub fn dialling(streams: Box<dyn Streams>, connector: Connector, clock: Clock) -> Box<dyn Streams> {
    let plain = TlsStreams::new(streams, None, clock);
    Box::new(TlsStreams { connector: Some(connector), ..plain })
}

pub(super) enum TlsLane {
    Vacant,
    Plain,
    Handshake(Box<PendingHandshake>),
    Secure(Box<Session>),
}

/// `S` with TLS around it.
pub(crate) struct TlsStreams<S: ?Sized> {
    pub(super) acceptor: Option<Arc<Acceptor>>,
    /// For the connections that the set dials by itself.
    connector: Option<Connector>,
    pub(super) clock: Clock,
    pub(super) lanes: Vec<TlsLane>,
    /// Handshakes that go on with the next reads, one a wait.
    pub(super) steps: VecDeque<StreamId>,
    /// All handshakes with their deadlines, the earliest first. Those that are over stay until
    /// then.
    pub(super) deadlines: VecDeque<(StreamId, u64)>,
    /// Secure streams of which something is decrypted or whole here, of which the kernel knows
    /// nothing.
    readable: Vec<StreamId>,
    /// Bytes that a handshake has received.
    pub(super) buffer: Box<[u8]>,
    pub(super) inner: Box<S>,
}

impl<S: Streams + ?Sized> TlsStreams<S> {
    pub(crate) fn new(inner: Box<S>, acceptor: Option<Arc<Acceptor>>, clock: Clock) -> Self {
        TlsStreams {
            acceptor,
            connector: None,
            clock,
            lanes: Vec::new(),
            steps: VecDeque::new(),
            deadlines: VecDeque::new(),
            readable: Vec::with_capacity(64),
            buffer: vec![0; INPUT_BYTES].into_boxed_slice(),
            inner,
        }
    }

    pub(super) fn set(&mut self, id: StreamId, lane: TlsLane) {
        while self.lanes.len() <= id.index() {
            self.lanes.push(TlsLane::Vacant);
        }
        self.lanes[id.index()] = lane;
    }

    /// A connection whose handshake is over, or that has none.
    fn connected(&mut self, id: StreamId, session: Option<Box<Session>>) {
        let Some(session) = session else { return self.set(id, TlsLane::Plain) };
        let has_more = session.has_more();
        self.set(id, TlsLane::Secure(session));
        if has_more {
            self.list(id, true);
        }
    }

    /// Whether a wait has to look after more than the inner streams do.
    #[inline]
    fn is_busy(&self) -> bool {
        !self.deadlines.is_empty() || !self.readable.is_empty()
    }

    /// When the next of that is due; at once where something is here.
    fn next_ns(&self) -> u64 {
        match self.readable.is_empty() && self.steps.is_empty() {
            true => self.deadlines.front().map_or(u64::MAX, |(_, deadline_ns)| *deadline_ns),
            false => 0,
        }
    }

    /// Handshakes' events are kept for later; what is readable here and one step of a handshake
    /// come behind everything else.
    fn sort(&mut self, start: usize, ready: &mut Vec<Ready>) {
        let mut kept = start;
        for at in start..ready.len() {
            let event = ready[at];
            let id = match event {
                Ready::Readable(id) | Ready::Writable(id) => id,
                Ready::Incoming => StreamId(u32::MAX),
            };
            match self.lanes.get_mut(id.index()) {
                Some(TlsLane::Handshake(shaking)) => {
                    if !std::mem::replace(&mut shaking.queued, true) {
                        self.steps.push_back(id);
                    }
                }
                _ => {
                    ready[kept] = event;
                    kept += 1;
                }
            }
        }
        ready.truncate(kept);
        // Both stay listed until they are read: a gateway without room reads later.
        ready.extend(self.readable.iter().copied().map(Ready::Readable));
        let now_ns = self.clock.now_ns();
        while let Some(&(id, deadline_ns)) = self.deadlines.front() {
            let shaking = self.shaking(id).filter(|shaking| shaking.deadline_ns == deadline_ns);
            if shaking.is_some() {
                if deadline_ns <= now_ns {
                    ready.push(Ready::Readable(id));
                }
                break;
            }
            self.deadlines.pop_front();
        }
        while let Some(&id) = self.steps.front() {
            if self.shaking(id).is_some_and(|shaking| shaking.queued) {
                ready.push(Ready::Readable(id));
                break;
            }
            self.steps.pop_front();
        }
    }

    #[inline]
    pub(super) fn read_secure(&mut self, id: StreamId, into: &mut [u8]) -> StreamRead {
        let Some(TlsLane::Secure(session)) = self.lanes.get_mut(id.index()) else {
            return StreamRead::Empty;
        };
        match session.read_through(into, |space| self.inner.read(id, space)) {
            Ok(StreamRead::Bytes { n, stamp_ns }) => {
                let has_more = session.has_more();
                if has_more != session.listed {
                    self.list(id, has_more);
                }
                StreamRead::Bytes { n, stamp_ns }
            }
            Ok(other) => other,
            Err(error) => StreamRead::Failed(self.broken(id, error)),
        }
    }

    /// Puts a secure stream on the list of those with more here, or takes it off.
    fn list(&mut self, id: StreamId, has_more: bool) {
        if let Some(TlsLane::Secure(session)) = self.lanes.get_mut(id.index()) {
            session.listed = has_more;
        }
        match has_more {
            true => self.readable.push(id),
            false => self.readable.retain(|listed| *listed != id),
        }
    }

    #[inline]
    fn write_secure(&mut self, id: StreamId, from: &[u8]) -> Write {
        let Some(TlsLane::Secure(session)) = self.lanes.get_mut(id.index()) else {
            return Write::Failed(io::ErrorKind::NotConnected.into());
        };
        let is_chosen = std::mem::take(&mut session.stamps_next);
        let mut taken = 0;
        loop {
            if session.out().is_empty()
                && let Err(error) = session.seal(&from[taken..])
            {
                return Write::Failed(self.broken(id, error));
            }
            // Bytes that are sealed already are the caller's first: it was told that they were not
            // taken, and offers them again.
            let bytes = session.out().len();
            if is_chosen {
                // The last of these writes takes the last byte, and its stamp replaces the others.
                self.inner.stamp_next_write(id);
            }
            let (n, stamp_ns) = match self.inner.write(id, session.out()) {
                Write::Bytes { n, stamp_ns } => (n, stamp_ns),
                failed => return failed,
            };
            taken += session.written(n);
            if n < bytes || taken >= from.len() {
                return Write::Bytes { n: taken, stamp_ns };
            }
        }
    }

    /// A session that can't go on: the peer is told why, if it may be.
    #[cold]
    fn broken(&mut self, id: StreamId, error: RecordError) -> io::Error {
        if let Some(TlsLane::Secure(session)) = self.lanes.get_mut(id.index()) {
            session.complain(&error);
            self.send_last(id);
        }
        io::Error::new(io::ErrorKind::InvalidData, error)
    }

    /// Sends the rest, as far as the kernel takes it now.
    fn send_last(&mut self, id: StreamId) {
        if let Some(TlsLane::Secure(session)) = self.lanes.get_mut(id.index())
            && !session.out().is_empty()
            && let Write::Bytes { n, .. } = self.inner.write(id, session.out())
        {
            session.written(n);
        }
    }
}

impl<S: Streams + ?Sized> Streams for TlsStreams<S> {
    fn add(&mut self, connection: Connection) -> io::Result<StreamId> {
        let Connection { socket, session } = connection;
        let id = self.inner.add(socket.into())?;
        self.connected(id, session);
        Ok(id)
    }

    fn dial(&mut self, peer: SocketAddr) -> io::Result<StreamId> {
        let id = self.inner.dial(peer)?;
        let Some(connector) = &self.connector else {
            self.set(id, TlsLane::Plain);
            return Ok(id);
        };
        let (streams, clock) = (&mut *self.inner, self.clock);
        let patience = HANDSHAKE_PATIENCE;
        let mut dialogue = Dialogue { streams, id, clock, patience, is_secure: false };
        match connector.shake_hands(&mut dialogue) {
            Ok(session) => self.connected(id, Some(Box::new(session))),
            Err(error) => {
                self.inner.remove(id);
                return Err(error);
            }
        }
        Ok(id)
    }

    fn listen_at(&mut self, address: &str) -> io::Result<SocketAddr> {
        self.inner.listen_at(address)
    }

    fn stack(&self) -> Option<String> {
        self.inner.stack()
    }

    fn remove(&mut self, id: StreamId) {
        if let Some(lane) = self.lanes.get_mut(id.index()) {
            if let TlsLane::Secure(session) = lane {
                session.close();
                self.send_last(id);
            }
            self.lanes[id.index()] = TlsLane::Vacant;
        }
        self.readable.retain(|readable| *readable != id);
        self.inner.remove(id);
    }

    fn shutdown(&mut self, id: StreamId) {
        if let Some(TlsLane::Secure(session)) = self.lanes.get_mut(id.index()) {
            session.close();
            self.send_last(id);
        }
        self.inner.shutdown(id);
    }

    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        self.inner.listen(listener)
    }

    fn accept(&mut self) -> io::Result<Option<StreamId>> {
        let accepted = self.inner.accept()?;
        accepted.into_iter().for_each(|id| self.begin(id));
        Ok(accepted)
    }

    fn peer(&self, id: StreamId) -> Option<SocketAddr> {
        self.inner.peer(id)
    }

    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        if !self.is_busy() {
            return self.inner.wait(until_ns, ready);
        }
        let start = ready.len();
        self.inner.wait(self.next_ns().min(until_ns), ready)?;
        self.sort(start, ready);
        Ok(())
    }

    fn rest(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        let start = ready.len();
        self.inner.rest(self.next_ns().min(until_ns), ready)?;
        self.sort(start, ready);
        Ok(())
    }

    #[inline]
    fn read(&mut self, id: StreamId, into: &mut [u8]) -> StreamRead {
        debug_assert!(!into.is_empty());
        match self.lanes.get(id.index()) {
            Some(TlsLane::Secure(_)) => self.read_secure(id, into),
            Some(TlsLane::Plain) => self.inner.read(id, into),
            Some(TlsLane::Handshake(_)) => self.step(id, into),
            Some(TlsLane::Vacant) | None => StreamRead::Failed(io::ErrorKind::NotConnected.into()),
        }
    }

    #[inline]
    fn write(&mut self, id: StreamId, from: &[u8]) -> Write {
        debug_assert!(!from.is_empty());
        match self.lanes.get(id.index()) {
            Some(TlsLane::Secure(_)) => self.write_secure(id, from),
            Some(TlsLane::Plain) => self.inner.write(id, from),
            // Nothing is taken yet.
            Some(TlsLane::Handshake(_)) => Write::Bytes { n: 0, stamp_ns: self.clock.now_ns() },
            Some(TlsLane::Vacant) | None => Write::Failed(io::ErrorKind::NotConnected.into()),
        }
    }

    fn watch_writable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        if let Some(shaking) = self.shaking(id) {
            // Its socket takes bytes all the time; it is watched when the handshake is done.
            shaking.watched = watch;
            return Ok(());
        }
        self.inner.watch_writable(id, watch)
    }

    fn watch_readable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.inner.watch_readable(id, watch)
    }

    fn stamp_next_write(&mut self, id: StreamId) {
        match self.lanes.get_mut(id.index()) {
            Some(TlsLane::Secure(session)) => session.stamps_next = true,
            _ => self.inner.stamp_next_write(id),
        }
    }

    /// The kernel stamps the read, whose last byte may belong to a record behind the answer's.
    fn stamps(&mut self, id: StreamId) -> KernelStamps {
        let stamps = self.inner.stamps(id);
        match self.lanes.get(id.index()) {
            Some(TlsLane::Secure(session)) if !session.ends_read() => stamps.without_answer(),
            _ => stamps,
        }
    }
}

impl<S: Sockets + ?Sized> Sockets for TlsStreams<S> {
    fn add_accepted(&mut self, socket: TcpStream) -> io::Result<StreamId> {
        let id = self.inner.add_accepted(socket)?;
        self.begin(id);
        Ok(id)
    }

    fn accept_socket(&mut self) -> io::Result<Option<TcpStream>> {
        self.inner.accept_socket()
    }

    fn wake_by(&mut self, bell: BorrowedFd<'_>) -> io::Result<()> {
        self.inner.wake_by(bell)
    }
}
