//! Streams for tests with scripted reads and writes: numbers of bytes, contents and times.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use transport::{Connection, Ready, StreamId, StreamRead, Streams, Write};

#[derive(Default)]
pub(crate) struct Script {
    pub(crate) writes: VecDeque<(usize, u64)>,
    pub(crate) reads: VecDeque<(Vec<u8>, u64)>,
    pub(crate) written: Vec<u8>,
    /// Whether the stream is watched for being writable.
    pub(crate) watched: bool,
    /// Number of waits.
    pub(crate) waits: u32,
}

#[derive(Clone, Default)]
pub(crate) struct ScriptedStreams(pub(crate) Rc<RefCell<Script>>);

impl Streams for ScriptedStreams {
    fn add(&mut self, _: Connection) -> io::Result<StreamId> {
        Ok(StreamId(0))
    }
    fn remove(&mut self, _: StreamId) {}
    fn shutdown(&mut self, _: StreamId) {}
    fn listen(&mut self, _: TcpListener) -> io::Result<()> {
        Ok(())
    }
    fn accept(&mut self) -> io::Result<Option<StreamId>> {
        Ok(None)
    }
    fn peer(&self, _: StreamId) -> Option<std::net::SocketAddr> {
        None
    }
    fn wait(&mut self, _: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        let mut script = self.0.borrow_mut();
        script.waits += 1;
        if script.watched && !script.writes.is_empty() {
            ready.push(Ready::Writable(StreamId(0)));
        }
        if !script.reads.is_empty() {
            ready.push(Ready::Readable(StreamId(0)));
        }
        Ok(())
    }
    fn read(&mut self, _: StreamId, into: &mut [u8]) -> StreamRead {
        match self.0.borrow_mut().reads.pop_front() {
            None => StreamRead::Empty,
            Some((bytes, stamp_ns)) => {
                into[..bytes.len()].copy_from_slice(&bytes);
                StreamRead::Bytes { n: bytes.len(), stamp_ns }
            }
        }
    }
    fn write(&mut self, _: StreamId, from: &[u8]) -> Write {
        let mut script = self.0.borrow_mut();
        let (n, stamp_ns) = script.writes.pop_front().expect("no write was expected");
        let n = n.min(from.len());
        script.written.extend_from_slice(&from[..n]);
        Write::Bytes { n, stamp_ns }
    }
    fn watch_writable(&mut self, _: StreamId, watch: bool) -> io::Result<()> {
        self.0.borrow_mut().watched = watch;
        Ok(())
    }
}
