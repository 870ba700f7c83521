//! Fixtures of the gateways' tests: a backend that does something before each wait, and streams
//! with their peers.

use super::super::{GatewaysError, HoldOnEntry, open_with};
use crate::backend::Backend;
use crate::connection::Connection;
use crate::streams::{Ready, Sockets, StreamId, StreamRead, Streams, Write};
use clock::Clock;
use std::cell::Cell;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

thread_local! {
    /// In a gateway's thread its number.
    pub static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// A backend that does something else before each wait, and between a read and its hand-over.
pub struct Before {
    pub sockets: Box<dyn Sockets>,
    pub act: fn() -> io::Result<()>,
    pub after_read: fn(),
}

impl Streams for Before {
    fn add(&mut self, connection: Connection) -> io::Result<StreamId> {
        self.sockets.add(connection)
    }
    fn remove(&mut self, id: StreamId) {
        self.sockets.remove(id);
    }
    fn shutdown(&mut self, id: StreamId) {
        self.sockets.shutdown(id);
    }
    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        self.sockets.listen(listener)
    }
    fn accept(&mut self) -> io::Result<Option<StreamId>> {
        self.sockets.accept()
    }
    fn peer(&self, id: StreamId) -> Option<std::net::SocketAddr> {
        self.sockets.peer(id)
    }

    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        (self.act)()?;
        self.sockets.wait(until_ns, ready)
    }
    fn read(&mut self, id: StreamId, into: &mut [u8]) -> StreamRead {
        let read = self.sockets.read(id, into);
        if let StreamRead::Bytes { .. } = read {
            (self.after_read)();
        }
        read
    }
    fn write(&mut self, id: StreamId, from: &[u8]) -> Write {
        self.sockets.write(id, from)
    }
    fn watch_writable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.sockets.watch_writable(id, watch)
    }
}

impl Sockets for Before {
    fn accept_socket(&mut self) -> io::Result<Option<TcpStream>> {
        self.sockets.accept_socket()
    }
    fn wake_by(&mut self, bell: BorrowedFd<'_>) -> io::Result<()> {
        self.sockets.wake_by(bell)
    }
}

/// The gateways with their streams' peers.
pub struct Pairs {
    pub streams: Box<dyn Streams>,
    pub ids: Vec<StreamId>,
    pub peers: Vec<TcpStream>,
    pub clock: Clock,
}

/// `None` where there are no rings, which is said.
pub fn pairs(gateways: usize, backend: &'static Backend, count: usize) -> Option<Pairs> {
    holding_pairs(gateways, backend, count, None)
}

/// The same with a hold on entry.
pub fn holding_pairs(
    gateways: usize,
    backend: &'static Backend,
    count: usize,
    hold: Option<HoldOnEntry>,
) -> Option<Pairs> {
    let clock = Clock::calibrate();
    let number = |gateway| {
        NUMBER.set(gateway);
        Ok(())
    };
    let mut streams = match open_with(gateways, backend, None, clock, hold, number) {
        Ok(streams) => streams,
        Err(GatewaysError::Ring(error)) => {
            testing::skipped(testing::Need::Kernel, format_args!("no gateways here: {error}"));
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut ids, mut peers) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        ids.push(streams.add(listener.accept().unwrap().0.into()).unwrap());
        peers.push(peer);
    }
    Some(Pairs { streams, ids, peers, clock })
}

impl Pairs {
    pub fn wait(&mut self) -> io::Result<Vec<Ready>> {
        let mut ready = Vec::new();
        self.streams.wait(self.clock.now_ns() + 10_000_000, &mut ready)?;
        Ok(ready)
    }

    pub fn write(&mut self, id: StreamId, bytes: &[u8]) -> usize {
        match self.streams.write(id, bytes) {
            Write::Bytes { n, .. } => n,
            Write::Failed(error) => panic!("{error}"),
        }
    }

    /// The bytes on `id` until `until` holds, an element per read of at most this many bytes.
    pub fn read_until(
        &mut self,
        id: StreamId,
        most: usize,
        until: impl Fn(&[StreamRead]) -> bool,
    ) -> Vec<u8> {
        let deadline = Instant::now() + Duration::from_secs(20);
        let (mut bytes, mut reads) = (Vec::new(), Vec::new());
        let mut buffer = vec![0; most];
        while !until(&reads) {
            assert!(Instant::now() < deadline, "{} reads, {} bytes", reads.len(), bytes.len());
            for event in self.wait().unwrap() {
                if event == Ready::Readable(id) {
                    let read = self.streams.read(id, &mut buffer);
                    if let StreamRead::Bytes { n, .. } = read {
                        bytes.extend_from_slice(&buffer[..n]);
                    }
                    reads.push(read);
                }
            }
        }
        bytes
    }
}

pub fn pattern(seed: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 31 + at / 251 + seed * 7) as u8).collect()
}

pub fn is_over(reads: &[StreamRead]) -> bool {
    matches!(reads.last(), Some(StreamRead::Closed | StreamRead::Failed(_)))
}
