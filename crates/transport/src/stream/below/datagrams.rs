//! Flows of datagrams below the kernel as a set of streams: a read gives one datagram, a write
//! sends one. Over AF_XDP the kernel has no part in a datagram's way but the call that makes it
//! send; over DPDK it has none.
//!
//! It spins: there is no wait that sleeps.

use super::device::DeviceKind;
use super::{no_sockets, source_to, v4};
use crate::connection::Connection;
use crate::streams::{Ready, StreamId, StreamRead, Streams, Write};
use bypass::{AnyDevice, Arrival, Datagrams};
use clock::Clock;
use plan::tables::network::MESSAGE_BYTES_MAX;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};

pub(crate) fn open(kind: DeviceKind, clock: Clock) -> io::Result<Box<dyn Streams>> {
    let inbox = vec![0; MESSAGE_BYTES_MAX].into();
    Ok(Box::new(Flows { kind, clock, datagrams: None, flows: Vec::new(), inbox, staged: None }))
}

/// Datagrams of the interface that has `address`.
///
/// # Errors
/// If there is none, or the device can't run there: in words that say what to try.
pub(crate) fn datagrams_at(
    kind: DeviceKind,
    address: Ipv4Addr,
) -> io::Result<Datagrams<AnyDevice>> {
    Ok(Datagrams::on_port(kind.open_at(address)?, address))
}

/// One flow.
struct Flow {
    local_port: u16,
    peer: SocketAddrV4,
    readable: bool,
    writable: bool,
}

struct Flows {
    kind: DeviceKind,
    clock: Clock,
    /// Opened by the first flow, on the interface by which its peer is reached.
    datagrams: Option<Datagrams<AnyDevice>>,
    flows: Vec<Option<Flow>>,
    inbox: Box<[u8]>,
    /// The datagram in the inbox: its flow and its length.
    staged: Option<(usize, usize)>,
}

impl Flows {
    /// Takes the next datagram of a flow into the inbox, if there is none in it yet.
    #[inline]
    fn stage(&mut self) {
        while self.staged.is_none() {
            let Some(datagrams) = &mut self.datagrams else { return };
            let Some(Arrival { length, from, to_port }) = datagrams.receive(&mut self.inbox) else {
                return;
            };
            let is_its = |flow: &Option<Flow>| {
                flow.as_ref().is_some_and(|one| one.local_port == to_port && one.peer == from)
            };
            // Others' datagrams are dropped, as a connected socket does.
            self.staged = self.flows.iter().position(is_its).map(|flow| (flow, length));
        }
    }

    fn flow(&mut self, id: StreamId) -> io::Result<&mut Flow> {
        let removed = || io::Error::new(ErrorKind::NotConnected, "the flow was removed");
        self.flows.get_mut(id.index()).and_then(Option::as_mut).ok_or_else(removed)
    }
}

impl Streams for Flows {
    fn add(&mut self, _: Connection) -> io::Result<StreamId> {
        Err(no_sockets())
    }

    fn dial(&mut self, peer: SocketAddr) -> io::Result<StreamId> {
        let peer = v4(peer)?;
        let datagrams = match &mut self.datagrams {
            Some(datagrams) => datagrams,
            none => none.insert(datagrams_at(self.kind, source_to(peer)?)?),
        };
        datagrams.resolve(*peer.ip()).map_err(io::Error::other)?;
        let local_port = datagrams.bind(0).map_err(io::Error::other)?.port();
        self.flows.push(Some(Flow { local_port, peer, readable: true, writable: false }));
        Ok(StreamId(self.flows.len() as u32 - 1))
    }

    fn remove(&mut self, id: StreamId) {
        self.staged = self.staged.filter(|(flow, _)| *flow != id.index());
        if let Some(flow) = self.flows.get_mut(id.index()) {
            *flow = None;
        }
    }

    fn shutdown(&mut self, _: StreamId) {}

    fn listen(&mut self, _: TcpListener) -> io::Result<()> {
        Err(no_sockets())
    }

    fn accept(&mut self) -> io::Result<Option<StreamId>> {
        Err(no_sockets())
    }

    fn stack(&self) -> Option<String> {
        self.datagrams.as_ref().map(|datagrams| datagrams.frames().to_string())
    }

    fn peer(&self, id: StreamId) -> Option<SocketAddr> {
        Some(SocketAddr::V4(self.flows.get(id.index())?.as_ref()?.peer))
    }

    fn wait(&mut self, _: u64, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.stage();
        let flows = self.flows.iter().enumerate();
        let writable = flows.filter(|(_, flow)| flow.as_ref().is_some_and(|one| one.writable));
        ready.extend(writable.map(|(index, _)| Ready::Writable(StreamId(index as u32))));
        if let Some((flow, _)) = self.staged
            && self.flows[flow].as_ref().is_some_and(|one| one.readable)
        {
            ready.push(Ready::Readable(StreamId(flow as u32)));
        }
        Ok(())
    }

    #[inline]
    fn read(&mut self, id: StreamId, into: &mut [u8]) -> StreamRead {
        self.stage();
        let stamp_ns = self.clock.now_ns();
        let Some((_, length)) = self.staged.take_if(|(flow, _)| *flow == id.index()) else {
            return StreamRead::Empty;
        };
        if length == 0 {
            return StreamRead::Empty;
        }
        let n = length.min(into.len());
        into[..n].copy_from_slice(&self.inbox[..n]);
        StreamRead::Bytes { n, stamp_ns }
    }

    #[inline]
    fn write(&mut self, id: StreamId, from: &[u8]) -> Write {
        let clock = self.clock;
        let (local_port, peer) = match self.flow(id) {
            Ok(flow) => (flow.local_port, flow.peer),
            Err(error) => return Write::Failed(error),
        };
        let Some(datagrams) = &mut self.datagrams else { return Write::Failed(no_sockets()) };
        let stamp_ns = clock.now_ns();
        match datagrams.send(local_port, from, peer) {
            Ok(()) => Write::Bytes { n: from.len(), stamp_ns },
            Err(why) if why.kind() == ErrorKind::WouldBlock => Write::Bytes { n: 0, stamp_ns },
            Err(why) => Write::Failed(why),
        }
    }

    fn watch_writable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.flow(id).map(|flow| flow.writable = watch)
    }

    fn watch_readable(&mut self, id: StreamId, watch: bool) -> io::Result<()> {
        self.flow(id).map(|flow| flow.readable = watch)
    }
}
