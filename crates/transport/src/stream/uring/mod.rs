//! The backends over io_uring: `io_uring` sleeps until a request completes, `io_uring_spin` reads a
//! flag in shared memory. They differ in [`Streams::wait`] alone.
//!
//! - **Receiving**: one multishot request a stream, into registered pieces of memory. Bytes arrive
//!   while this thread is in the kernel, and [`Streams::read`] copies them out of the pieces. All
//!   that one call brought has one stamp, taken first thing after it returned.
//! - **Writing**: from a registered buffer, completed within its own call (`RWF_NOWAIT`), so that
//!   its stamp and a partial write mean what they mean with the other backends.
//! - **Everything else** (new connections, streams that take bytes again, bells) is polled.
//!
//! A request that has ended and is still wanted is made again by the next wait, in the order in
//! which they ended. A stream that takes more than its share of the pieces gets them one at a time,
//! since a multishot request takes as many as its peer can fill, and other streams then get none.
//!
//! See docs/decisions/019-backends-over-io-uring.md.

mod lane;
mod request;
#[allow(unsafe_code)]
mod ring;
mod state;
mod unavailable;

use crate::connection::Connection;
use crate::stream::socket::{ACCEPT_AGAIN_NS, prepare, wake_on_time, would_block};
use crate::streams::{Ready, Sockets, StreamId, StreamRead, Streams, Write};
use clock::Clock;
use lane::{Request, UringLane};
use request::UringRequest;
use rustix::io::Errno;
use state::{CALLS_MAX, Uring};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

pub(crate) fn spin(clock: Clock) -> io::Result<Box<dyn Sockets>> {
    Ok(Box::new(Uring::new(clock, true)?))
}

pub(crate) fn sleep(clock: Clock) -> io::Result<Box<dyn Sockets>> {
    let uring = Uring::new(clock, false)?;
    wake_on_time()?;
    Ok(Box::new(uring))
}

impl Streams for Uring {
    fn add(&mut self, connection: Connection) -> io::Result<StreamId> {
        let stream = connection.into_plain()?;
        prepare(&stream)?;
        // io_uring waits by itself; on a socket that does not block its requests give up at once.
        stream.set_nonblocking(false)?;
        let index = match self.lanes.iter().position(UringLane::is_vacant) {
            Some(index) => index,
            None => {
                self.lanes.push(UringLane::default());
                // Each stream has at most two requests and is found at most once for each.
                self.queued.reserve(2 * self.lanes.len());
                self.unread.reserve(self.lanes.len());
                self.found.reserve(self.lanes.len());
                self.lanes.len() - 1
            }
        };
        let lane = &mut self.lanes[index];
        lane.open(stream);
        if lane.receive == Request::Off {
            lane.receive = Request::Queued;
            self.queued.push(UringRequest::Receive(index as u32));
        }
        Ok(StreamId(index as u32))
    }

    fn remove(&mut self, id: StreamId) {
        let Some(lane) = self.lanes.get_mut(id.index()) else { return };
        let Some(socket) = lane.socket.take() else { return };
        lane.clear(&mut self.ring);
        if self.cancel(id.0).is_err() {
            // The kernel still has it; its peer is told nevertheless.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn shutdown(&mut self, id: StreamId) {
        if let Ok(socket) = self.socket(id) {
            // A stream that is already broken is found by the next read.
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        self.listener = Some(listener);
        self.queued.push(UringRequest::Listener);
        Ok(())
    }

    fn accept(&mut self) -> io::Result<Option<StreamId>> {
        self.accept_socket()?.map(|stream| self.add(stream.into())).transpose()
    }

    fn peer(&self, id: StreamId) -> Option<SocketAddr> {
        self.socket(id).ok()?.peer_addr().ok()
    }

    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.look(until_ns, !self.spins, ready)
    }

    fn rest(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.look(until_ns, true, ready)
    }

    #[inline]
    fn read(&mut self, id: StreamId, into: &mut [u8]) -> StreamRead {
        debug_assert!(!into.is_empty());
        match self.lanes.get_mut(id.index()) {
            Some(lane) if lane.socket.is_some() => lane.read(into, &mut self.ring),
            _ => StreamRead::Failed(io::ErrorKind::NotConnected.into()),
        }
    }

    #[inline]
    fn write(&mut self, id: StreamId, from: &[u8]) -> Write {
        debug_assert!(!from.is_empty());
        let Uring { ring, lanes, .. } = self;
        let Some(socket) = lanes.get(id.index()).and_then(|lane| lane.socket.as_ref()) else {
            return Write::Failed(io::ErrorKind::NotConnected.into());
        };
        if let Err(error) = ring.write(socket.as_fd(), from, UringRequest::Write.tag()) {
            return Write::Failed(error);
        }
        self.written = None;
        let stamp_ns = self.clock.now_ns();
        for _ in 0..CALLS_MAX {
            if let Err(error) = self.enter() {
                return Write::Failed(error);
            }
            if let Some(result) = self.written {
                return outcome(result, stamp_ns);
            }
        }
        Write::Failed(Errno::TIMEDOUT.into())
    }

    fn watch_writable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.socket(id)?;
        let lane = &mut self.lanes[id.index()];
        lane.watched = watch;
        if watch && lane.poll == Request::Off {
            lane.poll = Request::Queued;
            self.queued.push(UringRequest::Writable(id.0));
        }
        Ok(())
    }

    fn watch_readable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.socket(id)?;
        let lane = &mut self.lanes[id.index()];
        lane.paused = !watch;
        match lane.receive {
            Request::Off if watch => {
                lane.receive = Request::Queued;
                self.queued.push(UringRequest::Receive(id.0));
            }
            // Its last completion comes with a later call, and makes no new request while paused.
            Request::Armed if !watch => {
                self.ring
                    .cancel(UringRequest::Receive(id.0).tag(), UringRequest::Cancel(id.0).tag())?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn outcome(result: i32, stamp_ns: u64) -> Write {
    if let Ok(n) = usize::try_from(result) {
        return Write::Bytes { n, stamp_ns };
    }
    let error = io::Error::from_raw_os_error(-result);
    match would_block(&error) {
        true => Write::Bytes { n: 0, stamp_ns },
        false => Write::Failed(error),
    }
}

impl Sockets for Uring {
    fn accept_socket(&mut self) -> io::Result<Option<TcpStream>> {
        let Some(listener) = &self.listener else { return Ok(None) };
        match listener.accept() {
            Ok((stream, _)) => Ok(Some(stream)),
            Err(error) if would_block(&error) => Ok(None),
            // The peer was gone before we came to it.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => Ok(None),
            Err(error) => {
                self.accept_again_ns = Some(self.clock.now_ns() + ACCEPT_AGAIN_NS);
                Err(error)
            }
        }
    }

    fn wake_by(&mut self, bell: BorrowedFd<'_>) -> io::Result<()> {
        if !self.spins {
            self.queued.push(UringRequest::Bell(self.bells.len() as u32));
            self.bells.push(bell.try_clone_to_owned()?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
