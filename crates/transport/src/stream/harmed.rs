//! Faults of the datagrams that arrive over flows: a decorator, as [`inject`](super::inject) is one
//! for what is written.

use crate::connection::Connection;
use crate::datagram::harm::HarmState;
use crate::datagram::{Control, Datagram};
use crate::streams::{Ready, StreamId, StreamRead, Streams, Write};
use plan::faults::DatagramHarm;
use std::io;
use std::net::{SocketAddr, TcpListener};

/// `flows`, whose every flow receives datagrams with the faults of `harm`.
pub fn harmed(flows: Box<dyn Streams>, harm: DatagramHarm) -> Box<dyn Streams> {
    Box::new(HarmedFlows { flows, harm, lanes: Vec::new() })
}

struct HarmedFlows {
    flows: Box<dyn Streams>,
    harm: DatagramHarm,
    lanes: Vec<HarmState>,
}

impl HarmedFlows {
    fn begin(&mut self, id: StreamId) -> StreamId {
        while self.lanes.len() <= id.index() {
            self.lanes.push(HarmState::new(self.harm));
        }
        self.lanes[id.index()] = HarmState::new(self.harm);
        id
    }
}

impl Streams for HarmedFlows {
    fn add(&mut self, connection: Connection) -> io::Result<StreamId> {
        let id = self.flows.add(connection)?;
        Ok(self.begin(id))
    }

    fn dial(&mut self, peer: SocketAddr) -> io::Result<StreamId> {
        let id = self.flows.dial(peer)?;
        Ok(self.begin(id))
    }

    fn stack(&self) -> Option<String> {
        self.flows.stack()
    }

    fn remove(&mut self, id: StreamId) {
        self.flows.remove(id);
    }

    fn shutdown(&mut self, id: StreamId) {
        self.flows.shutdown(id);
    }

    fn listen(&mut self, listener: TcpListener) -> io::Result<()> {
        self.flows.listen(listener)
    }

    fn accept(&mut self) -> io::Result<Option<StreamId>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn peer(&self, id: StreamId) -> Option<SocketAddr> {
        self.flows.peer(id)
    }

    fn wait(&mut self, until_ns: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        // The kernel does not know of a datagram that was held back or comes again.
        let lanes = self.lanes.iter().enumerate().filter(|(_, lane)| lane.has_more());
        let kept = ready.len();
        ready.extend(lanes.map(|(index, _)| Ready::Readable(StreamId(index as u32))));
        let until_ns = if ready.len() > kept { 0 } else { until_ns };
        self.flows.wait(until_ns, ready)
    }

    fn read(&mut self, id: StreamId, into: &mut [u8]) -> StreamRead {
        let HarmedFlows { flows, lanes, .. } = self;
        let mut other = StreamRead::Empty;
        let (datagram, _) = lanes[id.index()].receive(into, |into| {
            let datagram = match flows.read(id, into) {
                StreamRead::Bytes { n, stamp_ns } => Datagram::Bytes { n, read_ns: stamp_ns },
                end => {
                    other = end;
                    Datagram::Empty
                }
            };
            (datagram, Control::none())
        });
        match datagram {
            Datagram::Bytes { n, read_ns } => StreamRead::Bytes { n, stamp_ns: read_ns },
            _ => other,
        }
    }

    fn write(&mut self, id: StreamId, from: &[u8]) -> Write {
        self.flows.write(id, from)
    }

    fn watch_writable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.flows.watch_writable(id, watch)
    }

    fn watch_readable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.flows.watch_readable(id, watch)
    }
}
