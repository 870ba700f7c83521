//! A server's handshake on a socket that does not block: one step at a time.

use super::accept::{Acceptor, answer_in_plain_text};
use super::error::{HandshakeError, Reason};
use super::handshake::{Handshake, Progress};
use super::streams::{TlsLane, TlsStreams};
use crate::streams::{StreamId, StreamRead, Streams, Write};
use std::net::SocketAddr;

pub(super) struct PendingHandshake {
    pub(super) handshake: Handshake,
    pub(super) deadline_ns: u64,
    /// As it was when the connection came: a socket whose peer has reset it no longer knows.
    pub(super) peer: Option<SocketAddr>,
    /// In the list of those that go on.
    pub(super) queued: bool,
    /// The code above wants to write.
    pub(super) watched: bool,
    /// Our flight did not go out whole.
    flight_waits: bool,
    /// The last flight is in [`Handshake::out`].
    is_done: bool,
}

impl PendingHandshake {
    pub(super) fn new(
        handshake: Handshake,
        deadline_ns: u64,
        peer: Option<SocketAddr>,
    ) -> PendingHandshake {
        let (queued, watched, flight_waits, is_done) = (false, false, false, false);
        PendingHandshake { handshake, deadline_ns, peer, queued, watched, flight_waits, is_done }
    }

    /// Reads once, goes on, and sends our flight. Returns whether the handshake is done and all is
    /// out.
    pub(super) fn step<S: Streams + ?Sized>(
        &mut self,
        inner: &mut S,
        id: StreamId,
        buffer: &mut [u8],
    ) -> Result<bool, HandshakeError> {
        if !self.is_done {
            let end = self.receive(inner, id, buffer);
            match self.handshake.advance() {
                Ok(Progress::Done) => self.is_done = true,
                Ok(Progress::Waits) => end?,
                Err(error) => {
                    self.tell(inner, id, &error);
                    return Err(error);
                }
            }
        }
        Ok(self.send_flight(inner, id)? && self.is_done)
    }

    /// Reads the next bytes of the handshake. An error means that the stream ended; earlier bytes
    /// may still be unprocessed.
    fn receive<S: Streams + ?Sized>(
        &mut self,
        inner: &mut S,
        id: StreamId,
        buffer: &mut [u8],
    ) -> Result<(), HandshakeError> {
        match inner.read(id, buffer) {
            StreamRead::Bytes { n, .. } => self.handshake.received(&buffer[..n]),
            StreamRead::Empty => {}
            StreamRead::Closed => return Err(HandshakeError::ended()),
            StreamRead::Failed(error) => return Err(broke(&error)),
        }
        Ok(())
    }

    /// Tells the peer why there is no connection.
    fn tell<S: Streams + ?Sized>(&self, inner: &mut S, id: StreamId, error: &HandshakeError) {
        for told in [self.handshake.out(), &answer_in_plain_text(error)] {
            if !told.is_empty() {
                // The peer may be gone; our own log has the error either way.
                let _ = inner.write(id, told);
            }
        }
        inner.shutdown(id);
    }

    /// Sends our flight. Returns whether it is out.
    fn send_flight<S: Streams + ?Sized>(
        &mut self,
        inner: &mut S,
        id: StreamId,
    ) -> Result<bool, HandshakeError> {
        while !self.handshake.out().is_empty() {
            match inner.write(id, self.handshake.out()) {
                Write::Bytes { n: 0, .. } => {
                    if !std::mem::replace(&mut self.flight_waits, true) {
                        watch(inner, id, true)?;
                    }
                    return Ok(false);
                }
                Write::Bytes { n, .. } => self.handshake.written(n),
                Write::Failed(error) => return Err(broke(&error)),
            }
        }
        if std::mem::take(&mut self.flight_waits) {
            watch(inner, id, false)?;
        }
        Ok(true)
    }
}

impl<S: Streams + ?Sized> TlsStreams<S> {
    /// A connection that came by the listener.
    pub(super) fn begin(&mut self, id: StreamId) {
        let Some(acceptor) = &self.acceptor else { return self.set(id, TlsLane::Plain) };
        let deadline_ns = self.clock.now_ns() + acceptor.patience_ns();
        let peer = self.inner.peer(id);
        match acceptor.begin() {
            Ok(handshake) => {
                let shaking = PendingHandshake::new(handshake, deadline_ns, peer);
                self.set(id, TlsLane::Handshake(Box::new(shaking)));
                self.deadlines.push_back((id, deadline_ns));
            }
            Err(error) => {
                acceptor.failed(peer, &error);
                // It is vacant: its first read fails.
                self.set(id, TlsLane::Vacant);
            }
        }
    }

    pub(super) fn shaking(&mut self, id: StreamId) -> Option<&mut PendingHandshake> {
        match self.lanes.get_mut(id.index()) {
            Some(TlsLane::Handshake(shaking)) => Some(shaking),
            _ => None,
        }
    }

    /// One step of a handshake; behind the last one, the first bytes.
    #[cold]
    pub(super) fn step(&mut self, id: StreamId, into: &mut [u8]) -> StreamRead {
        let Some(acceptor) = self.acceptor.clone() else { return StreamRead::Empty };
        let peer = self.shaking(id).and_then(|shaking| shaking.peer);
        match self.try_step(id, &acceptor) {
            Ok(false) => StreamRead::Empty,
            Ok(true) => {
                acceptor.done();
                self.read_secure(id, into)
            }
            Err(error) => {
                acceptor.failed(peer, &error);
                // The code above ends it: a second failure of the same stream is not counted.
                self.set(id, TlsLane::Vacant);
                StreamRead::Failed(error.into())
            }
        }
    }

    /// Whether the handshake is done.
    fn try_step(&mut self, id: StreamId, acceptor: &Acceptor) -> Result<bool, HandshakeError> {
        let TlsStreams { inner, lanes, buffer, clock, steps, .. } = self;
        let Some(lane @ TlsLane::Handshake(_)) = lanes.get_mut(id.index()) else {
            return Ok(false);
        };
        let TlsLane::Handshake(shaking) = lane else { return Ok(false) };
        if std::mem::take(&mut shaking.queued) {
            steps.retain(|queued| *queued != id);
        }
        if !shaking.step(&mut **inner, id, buffer)? {
            return match clock.now_ns() >= shaking.deadline_ns {
                true => Err(acceptor.timed_out()),
                false => Ok(false),
            };
        }
        if let TlsLane::Handshake(shaking) = std::mem::replace(lane, TlsLane::Vacant) {
            let watched = shaking.watched;
            let mut session = shaking.handshake.finish()?;
            // The read that brought the last of it may have brought the first request, too.
            session.stamp_ns = clock.now_ns();
            *lane = TlsLane::Secure(Box::new(session));
            if watched {
                watch(&mut **inner, id, true)?;
            }
        }
        Ok(true)
    }
}

fn broke(error: &std::io::Error) -> HandshakeError {
    HandshakeError::new(Reason::Ended, format!("the connection broke: {error}"))
}

pub(super) fn watch<S: Streams + ?Sized>(
    inner: &mut S,
    id: StreamId,
    watch: bool,
) -> Result<(), HandshakeError> {
    inner.watch_writable(id, watch).map_err(|error| {
        HandshakeError::new(Reason::Broken, format!("the kernel cannot watch it: {error}"))
    })
}
