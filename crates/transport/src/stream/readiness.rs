//! The backends that ask the kernel which socket is ready (epoll) and then read it: `spin` and
//! `block`. They differ in [`Streams::wait`] alone.

use crate::connection::Connection;
use crate::stream::socket::{ACCEPT_AGAIN_NS, prepare, wake_on_time, would_block};
use crate::streams::{BELL, Ready, Sockets, StreamId, StreamRead, Streams, Write};
use clock::Clock;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{BorrowedFd, OwnedFd};

/// Up to this many streams, spinning reads each in turn: an empty `recv` costs less than asking
/// epoll first and then reading. With more, epoll says which one.
const STREAMS_READ_IN_TURN_MAX: usize = 4;
/// While streams are read in turn, epoll is asked once in this many turns, for new connections and
/// for streams that take bytes again.
const TURNS_BETWEEN_EPOLL: u32 = 64;
/// Events that one call of epoll returns.
const EVENTS_MAX: usize = 256;
/// The listener's token in epoll; streams have their index.
const LISTENER: u64 = u64::MAX;

pub(crate) fn spin(clock: Clock) -> io::Result<Box<dyn Sockets>> {
    Ok(Box::new(Readiness::new(clock, true)?))
}

pub(crate) fn block(clock: Clock) -> io::Result<Box<dyn Sockets>> {
    wake_on_time()?;
    Ok(Box::new(Readiness::new(clock, false)?))
}

/// A set with a descriptor that has an event whenever one of its sockets has one.
pub(crate) fn with_bell(clock: Clock, spins: bool) -> io::Result<(Box<dyn Streams>, OwnedFd)> {
    let sockets = Readiness::new(clock, spins)?;
    let bell = sockets.epoll.try_clone()?;
    Ok((Box::new(sockets), bell))
}

/// A stream and what it is watched for.
struct WatchedStream {
    stream: TcpStream,
    readable: bool,
    writable: bool,
}

struct Readiness {
    clock: Clock,
    spins: bool,
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    streams: Vec<Option<WatchedStream>>,
    open: usize,
    listener: Option<TcpListener>,
    /// When it is to be in epoll again, if it is out of it.
    accept_again_ns: Option<u64>,
    turn: u32,
}

impl Readiness {
    fn new(clock: Clock, spins: bool) -> io::Result<Readiness> {
        Ok(Readiness {
            clock,
            spins,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(EVENTS_MAX),
            streams: Vec::new(),
            open: 0,
            listener: None,
            accept_again_ns: None,
            turn: 0,
        })
    }

    fn watched(&mut self, id: StreamId) -> io::Result<&mut WatchedStream> {
        self.streams
            .get_mut(id.index())
            .and_then(Option::as_mut)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotConnected, "the stream was removed"))
    }

    fn stream(&mut self, id: StreamId) -> io::Result<&mut TcpStream> {
        self.watched(id).map(|watched| &mut watched.stream)
    }

    /// Changes what a stream is watched for.
    fn watch(&mut self, id: StreamId, change: impl FnOnce(&mut WatchedStream)) -> io::Result<()> {
        change(self.watched(id)?);
        let Some(Some(watched)) = self.streams.get(id.index()) else { return Ok(()) };
        let mut flags = epoll::EventFlags::empty();
        flags.set(epoll::EventFlags::IN, watched.readable);
        flags.set(epoll::EventFlags::OUT, watched.writable);
        let token = epoll::EventData::new_u64(u64::from(id.0));
        Ok(epoll::modify(&self.epoll, &watched.stream, token, flags)?)
    }

    fn watch_listener(&self) -> io::Result<()> {
        let Some(listener) = &self.listener else { return Ok(()) };
        let token = epoll::EventData::new_u64(LISTENER);
        Ok(epoll::add(&self.epoll, listener, token, epoll::EventFlags::IN)?)
    }

    /// Puts the listener into epoll again when it is time. Gives how long to wait at most.
    #[cold]
    fn accept_again(&mut self, again_ns: u64, timeout_ns: u64) -> io::Result<u64> {
        let left_ns = again_ns.saturating_sub(self.clock.now_ns());
        if left_ns == 0 {
            self.accept_again_ns = None;
            self.watch_listener()?;
            return Ok(timeout_ns);
        }
        Ok(timeout_ns.min(left_ns))
    }

    fn ask_epoll(&mut self, mut timeout_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        if let Some(again_ns) = self.accept_again_ns {
            timeout_ns = self.accept_again(again_ns, timeout_ns)?;
        }
        // epoll waits whole milliseconds (nanoseconds only since Linux 5.11, and not under an
        // emulator), so ppoll waits for the fraction at the end.
        let fraction = Timespec { tv_sec: 0, tv_nsec: (timeout_ns % 1_000_000) as _ };
        let whole_ms = timeout_ns / 1_000_000;
        if whole_ms == 0 && timeout_ns > 0 {
            let asked = &mut [PollFd::new(&self.epoll, PollFlags::IN)];
            match poll(asked, Some(&fraction)) {
                Ok(0) | Err(Errno::INTR) => return Ok(()),
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let timeout = Timespec {
            tv_sec: (whole_ms / 1_000) as i64,
            tv_nsec: (whole_ms % 1_000 * 1_000_000) as _,
        };
        self.events.clear();
        let spare = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, spare, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &self.events {
            let token = event.data.u64();
            if token == LISTENER {
                ready.push(Ready::Incoming);
                continue;
            }
            let id = StreamId(token as u32);
            let flags = event.flags;
            // An error or a hang-up is found by reading.
            if flags.intersects(!epoll::EventFlags::OUT) {
                ready.push(Ready::Readable(id));
            }
            if flags.contains(epoll::EventFlags::OUT) {
                ready.push(Ready::Writable(id));
            }
        }
        Ok(())
    }
}

impl Streams for Readiness {
    fn add(&mut self, connection: Connection) -> io::Result<StreamId> {
        let stream = connection.into_plain()?;
        prepare(&stream)?;
        stream.set_nonblocking(true)?;
        let index = match self.streams.iter().position(Option::is_none) {
            Some(index) => index,
            None => {
                self.streams.push(None);
                self.streams.len() - 1
            }
        };
        let token = epoll::EventData::new_u64(index as u64);
        epoll::add(&self.epoll, &stream, token, epoll::EventFlags::IN)?;
        self.streams[index] = Some(WatchedStream { stream, readable: true, writable: false });
        self.open += 1;
        Ok(StreamId(index as u32))
    }

    fn remove(&mut self, id: StreamId) {
        // Closing the descriptor takes it out of epoll too.
        if self.streams.get_mut(id.index()).and_then(Option::take).is_some() {
            self.open -= 1;
        }
    }

    fn shutdown(&mut self, id: StreamId) {
        if let Ok(stream) = self.stream(id) {
            // A stream that is already broken is found by the next read.
            let _ = stream.shutdown(Shutdown::Write);
        }
    }

    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        self.listener = Some(listener);
        self.watch_listener()
    }

    fn accept(&mut self) -> io::Result<Option<StreamId>> {
        self.accept_socket()?.map(|stream| self.add(stream.into())).transpose()
    }

    fn peer(&self, id: StreamId) -> Option<SocketAddr> {
        self.streams.get(id.index())?.as_ref()?.stream.peer_addr().ok()
    }

    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        if !self.spins {
            return self.rest(until_ns, ready);
        }
        self.turn = self.turn.wrapping_add(1);
        if self.open > STREAMS_READ_IN_TURN_MAX || self.turn.is_multiple_of(TURNS_BETWEEN_EPOLL) {
            return self.ask_epoll(0, ready);
        }
        for (index, stream) in self.streams.iter().enumerate() {
            if stream.as_ref().is_some_and(|watched| watched.readable) {
                ready.push(Ready::Readable(StreamId(index as u32)));
            }
        }
        Ok(())
    }

    fn rest(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        let timeout_ns = until_ns.saturating_sub(self.clock.now_ns());
        self.ask_epoll(timeout_ns, ready)
    }

    #[inline]
    fn read(&mut self, id: StreamId, into: &mut [u8]) -> StreamRead {
        debug_assert!(!into.is_empty());
        let result = self.stream(id).and_then(|stream| stream.read(into));
        let stamp_ns = self.clock.now_ns();
        match result {
            Ok(0) => StreamRead::Closed,
            Ok(n) => StreamRead::Bytes { n, stamp_ns },
            Err(error) if would_block(&error) => StreamRead::Empty,
            Err(error) => StreamRead::Failed(error),
        }
    }

    #[inline]
    fn write(&mut self, id: StreamId, from: &[u8]) -> Write {
        debug_assert!(!from.is_empty());
        let clock = self.clock;
        let stream = match self.stream(id) {
            Ok(stream) => stream,
            Err(error) => return Write::Failed(error),
        };
        let stamp_ns = clock.now_ns();
        match stream.write(from) {
            Ok(n) => Write::Bytes { n, stamp_ns },
            Err(error) if would_block(&error) => Write::Bytes { n: 0, stamp_ns },
            Err(error) => Write::Failed(error),
        }
    }

    fn watch_writable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.watch(id, |watched| watched.writable = watch)
    }

    fn watch_readable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.watch(id, |watched| watched.readable = watch)
    }
}

impl Sockets for Readiness {
    fn accept_socket(&mut self) -> io::Result<Option<TcpStream>> {
        let Some(listener) = &self.listener else { return Ok(None) };
        match listener.accept() {
            Ok((stream, _)) => Ok(Some(stream)),
            Err(error) if would_block(&error) => Ok(None),
            // The peer was gone before we came to it.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => Ok(None),
            Err(error) => {
                if self.accept_again_ns.is_none() && epoll::delete(&self.epoll, listener).is_ok() {
                    self.accept_again_ns = Some(self.clock.now_ns() + ACCEPT_AGAIN_NS);
                }
                Err(error)
            }
        }
    }

    fn wake_by(&mut self, bell: BorrowedFd<'_>) -> io::Result<()> {
        if self.spins {
            return Ok(());
        }
        let token = epoll::EventData::new_u64(u64::from(BELL.0));
        // By edge: each write is told once, and nobody has to read it.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        Ok(epoll::add(&self.epoll, bell, token, flags)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As for want of descriptors: the listener is ready all the time, and nothing can be accepted.
    #[test]
    fn a_listener_that_can_not_accept_is_left_alone_for_a_while() {
        for backend in crate::present::backends().into_iter().filter(|backend| !backend.row.spins) {
            can_not_accept(backend);
        }
    }

    fn can_not_accept(backend: &crate::Backend) {
        let clock = Clock::calibrate();
        let mut streams = backend.open(clock).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let broken = TcpStream::from(OwnedFd::from(listener.try_clone().unwrap()));
        streams.listen(listener).unwrap();
        broken.shutdown(Shutdown::Read).unwrap();
        let (mut turns, mut failed) = (0, 0);
        let (mut ready, begin_ns) = (Vec::new(), clock.now_ns());
        let deadline_ns = begin_ns + 30_000_000_000;
        while failed < 5 && clock.now_ns() < deadline_ns {
            turns += 1;
            streams.wait(deadline_ns, &mut ready).unwrap();
            for event in ready.drain(..) {
                assert_eq!(event, Ready::Incoming);
                failed += u32::from(streams.accept().is_err());
            }
        }
        assert!(failed == 5 && turns < 100, "{failed} in {turns} turns");
        assert!(clock.now_ns() - begin_ns >= 4 * ACCEPT_AGAIN_NS);
    }
}
