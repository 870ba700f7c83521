//! Kernel stamps of chosen messages: a decorator around the backends with sockets of their own,
//! `spin` and `block`. Without stamps there is no decorator.
//!
//! A message that is not chosen costs a comparison. A chosen one costs two system calls around its
//! write, a read with control messages, and the reading of the error queue after its answer.

use crate::connection::Connection;
use crate::datagram::control::Control;
use crate::stamps::{self, KernelStamps};
use crate::stream::socket::would_block;
use crate::streams::{Ready, StreamId, StreamRead, Streams, Write};
use clock::Clock;
use nix::sys::socket::MsgFlags;
use rustix::net::{SocketType, sockopt};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};

/// `streams`, whose writes the kernel stamps where it is asked to. `clock` is the one that
/// `streams` was opened with; `spins` says whether its waits keep the core busy.
pub fn around(streams: Box<dyn Streams>, clock: Clock, spins: bool) -> Box<dyn Streams> {
    Box::new(StampedStreams { streams, clock, spins, lanes: Vec::new() })
}

struct StampedStreams {
    streams: Box<dyn Streams>,
    clock: Clock,
    spins: bool,
    lanes: Vec<Option<StampedLane>>,
}

/// One stream, and its chosen message.
struct StampedLane {
    /// The same socket as in the set.
    socket: TcpStream,
    is_datagrams: bool,
    /// As the kernel counts: bytes written to a stream, stamped datagrams.
    sent: u32,
    chosen: bool,
    /// A chosen message was written, and nobody has asked for its stamps.
    awaited: bool,
    /// Its number in the error queue.
    number: u32,
    stamps: KernelStamps,
    /// Beside the latest read.
    control: Control,
}

impl StampedLane {
    fn new(socket: TcpStream) -> io::Result<StampedLane> {
        stamps::ask(&socket, false).map_err(|why| {
            let text = format!(
                "the kernel does not stamp here (SO_TIMESTAMPING: {why}); a sandbox may forbid it: \
                 set load.stamp_every = 0"
            );
            io::Error::new(why.kind(), text)
        })?;
        Ok(StampedLane {
            is_datagrams: sockopt::socket_type(&socket)? == SocketType::DGRAM,
            socket,
            sent: 0,
            chosen: false,
            awaited: false,
            number: 0,
            stamps: KernelStamps::default(),
            control: Control::none(),
        })
    }

    /// Counts `n` bytes that the kernel took; `stamped` if it was asked to stamp them.
    fn wrote(&mut self, n: usize, stamped: bool) {
        self.sent = match self.is_datagrams {
            true => self.sent.wrapping_add(u32::from(stamped)),
            false => self.sent.wrapping_add(n as u32),
        };
        if stamped {
            // A stream's stamp has the number of its last byte.
            self.number = self.sent.wrapping_sub(1);
            self.awaited = true;
            self.stamps = KernelStamps::default();
            self.control.clear();
        }
    }
}

impl StampedStreams {
    fn keep(&mut self, id: StreamId, lane: Option<StampedLane>) {
        while self.lanes.len() <= id.index() {
            self.lanes.push(None);
        }
        self.lanes[id.index()] = lane;
    }

    fn lane(&mut self, id: StreamId) -> Option<&mut StampedLane> {
        self.lanes.get_mut(id.index())?.as_mut()
    }
}

impl Streams for StampedStreams {
    fn add(&mut self, connection: Connection) -> io::Result<StreamId> {
        // Before anything is written: the kernel counts a stream's bytes from here.
        let lane = StampedLane::new(connection.socket.try_clone()?)?;
        let id = self.streams.add(connection)?;
        self.keep(id, Some(lane));
        Ok(id)
    }

    fn remove(&mut self, id: StreamId) {
        self.streams.remove(id);
        self.keep(id, None);
    }

    fn shutdown(&mut self, id: StreamId) {
        self.streams.shutdown(id);
    }

    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        self.streams.listen(listener)
    }

    /// Accepted streams are not stamped.
    fn accept(&mut self) -> io::Result<Option<StreamId>> {
        self.streams.accept()
    }

    fn peer(&self, id: StreamId) -> Option<SocketAddr> {
        self.streams.peer(id)
    }

    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.streams.wait(until_ns, ready)
    }

    fn rest(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.streams.rest(until_ns, ready)
    }

    #[inline]
    fn read(&mut self, id: StreamId, into: &mut [u8]) -> StreamRead {
        let StampedStreams { streams, lanes, clock, spins } = self;
        let Some(lane) = lanes.get_mut(id.index()).and_then(Option::as_mut) else {
            return streams.read(id, into);
        };
        let read = if lane.awaited {
            let result = stamps::receive(&lane.socket, into, &mut lane.control, MsgFlags::empty());
            let stamp_ns = clock.now_ns();
            match result {
                Ok(0) => StreamRead::Closed,
                Ok(n) => StreamRead::Bytes { n, stamp_ns },
                Err(error) if would_block(&error) => StreamRead::Empty,
                Err(error) => StreamRead::Failed(error),
            }
        } else {
            streams.read(id, into)
        };
        // A stamp in the error queue wakes a sleeper again and again until it is taken.
        if !*spins && matches!(read, StreamRead::Empty) {
            lane.stamps.sent(&lane.socket, lane.number);
        }
        read
    }

    #[inline]
    fn write(&mut self, id: StreamId, from: &[u8]) -> Write {
        let StampedStreams { streams, lanes, .. } = self;
        let Some(lane) = lanes.get_mut(id.index()).and_then(Option::as_mut) else {
            return streams.write(id, from);
        };
        let stamped = std::mem::take(&mut lane.chosen) && stamps::ask(&lane.socket, true).is_ok();
        let written = streams.write(id, from);
        if stamped {
            // A socket that broke meanwhile is found by the next read.
            let _ = stamps::ask(&lane.socket, false);
        }
        if let Write::Bytes { n, .. } = written
            && n > 0
        {
            lane.wrote(n, stamped);
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
        if let Some(lane) = self.lane(id) {
            lane.chosen = true;
        }
    }

    fn stamps(&mut self, id: StreamId) -> KernelStamps {
        let Some(lane) = self.lane(id) else { return KernelStamps::default() };
        lane.awaited = false;
        lane.stamps.sent(&lane.socket, lane.number);
        lane.stamps.answered(&lane.control);
        std::mem::take(&mut lane.stamps)
    }
}

#[cfg(test)]
#[path = "stamped_tests.rs"]
mod tests;
