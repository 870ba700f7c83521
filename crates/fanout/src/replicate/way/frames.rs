//! Copies by AF_XDP: datagrams come from the rings of one interface, and each copy is a frame.

use super::Ways;
use crate::replicate::Counts;
use crate::subscribers::Subscribers;
use bypass::broadcast::{Content, Prepared};
use bypass::{BypassError, Datagrams, Port, PortOptions, Protocol};
use std::fmt;
use std::io;
use std::net::{SocketAddr, SocketAddrV4};

/// Copies datagrams as frames.
pub(crate) struct FrameCopier {
    pub(super) ways: Ways,
    datagrams: Datagrams<Port>,
    /// By subscriber; `None`: it is not known where its host is.
    prepared: Vec<Option<Prepared>>,
}

impl FrameCopier {
    /// Takes the datagrams to `flow`, at which the caller has a socket.
    pub(super) fn open(ways: Ways, flow: SocketAddrV4) -> Result<FrameCopier, BypassError> {
        let options = PortOptions { queue: None, zero_copy: false };
        let mut port = Port::open(&ways.interface, options)?;
        port.take(Protocol::Udp, flow)?;
        let datagrams = Datagrams::on_port(port, *flow.ip());
        Ok(FrameCopier { ways, datagrams, prepared: Vec::new() })
    }

    pub(super) fn follow(&mut self, subscribers: &mut Subscribers) -> Result<(), BypassError> {
        self.ways.follow(subscribers)?;
        let header = |address| self.ways.paths.header(address);
        let all = subscribers.all().iter();
        self.prepared = all.map(|one| header(one.address).map(|it| Prepared::new(&it))).collect();
        Ok(())
    }

    /// The next datagram; `None` if there is none now.
    pub(crate) fn receive(&mut self, into: &mut [u8]) -> Option<(usize, SocketAddr)> {
        let arrival = self.datagrams.receive(into)?;
        Some((arrival.length, arrival.from.into()))
    }

    pub(super) fn send(
        &mut self,
        bytes: &[u8],
        order: &[u32],
        each: &mut dyn FnMut(u32, io::Result<()>),
    ) {
        let content = Content::new(bytes);
        for &index in order {
            let sent = match &self.prepared[index as usize] {
                Some(prepared) => self.datagrams.send_copy(prepared, content),
                None => Err(io::ErrorKind::HostUnreachable.into()),
            };
            each(index, sent);
        }
        // Frames that the interface does not take now stay in its ring until the next datagram.
        let _ = self.datagrams.flush();
    }

    pub(super) fn finish(&self, counts: &mut Counts) -> Result<(), BypassError> {
        let in_rings = self.datagrams.frames().dropped();
        counts.receive_dropped = counts.receive_dropped.zip(in_rings).map(|(a, b)| a + b);
        counts.receive_buffer_bytes = None;
        counts.interface_dropped = Some(self.ways.dropped()?);
        Ok(())
    }
}

impl fmt::Display for FrameCopier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.datagrams.frames())
    }
}
