//! Copies by AF_XDP or DPDK: datagrams come from the rings of one interface, and each copy is a
//! frame. In place, the received frame becomes the last copy.

use super::Ways;
use crate::replicate::Counts;
use crate::subscribers::Subscribers;
use bypass::broadcast::{Content, ReceiverHeaders};
use bypass::{
    BypassError, DatagramFrame, Datagrams, Device, PortOptions, Protocol, RealDevice, ZeroCopy,
};
use plan::backend::{AF_XDP_IN_PLACE, Backend, DPDK, Queue};
use std::fmt;
use std::io;
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::AsFd;

/// Copies datagrams as frames.
pub(crate) struct FrameCopier {
    pub(super) ways: Ways,
    pub(super) backend: Backend,
    datagrams: Datagrams<RealDevice>,
    /// Whether datagrams that frames don't bring reach the kernel's socket.
    pub(crate) leaves_rest: bool,
    /// By subscriber; `None`: it is not known where its host is.
    prepared: Vec<Option<ReceiverHeaders>>,
}

/// A received datagram that is sent on in its frame.
pub(crate) struct InPlace<'a, 'b, 'c> {
    datagram: &'a mut DatagramFrame<'b, 'c>,
    prepared: &'a [Option<ReceiverHeaders>],
}

impl InPlace<'_, '_, '_> {
    pub(crate) fn from(&self) -> SocketAddr {
        self.datagram.from().into()
    }

    /// Its content, which may be changed.
    pub(crate) fn content(&mut self) -> &mut [u8] {
        self.datagram.content()
    }

    /// As [`FrameCopier::send`], but the received frame itself becomes the last copy.
    pub(crate) fn send(mut self, order: &[u32], each: &mut dyn FnMut(u32, io::Result<()>)) {
        let Some((&last, others)) = order.split_last() else { return };
        let sum = self.datagram.sum();
        for &index in others {
            let sent = self.to(index, |datagram, to| datagram.send_copy(to, sum));
            each(index, sent);
        }
        let sent = self.to(last, |datagram, to| datagram.send(to, sum));
        each(last, sent);
    }

    fn to<'a>(
        &'a mut self,
        index: u32,
        send: impl FnOnce(&mut DatagramFrame<'_, '_>, &'a ReceiverHeaders) -> io::Result<()>,
    ) -> io::Result<()> {
        match &self.prepared[index as usize] {
            Some(prepared) => send(self.datagram, prepared),
            None => Err(io::ErrorKind::HostUnreachable.into()),
        }
    }
}

impl FrameCopier {
    /// Takes the datagrams to `flow`, at which the caller has that socket.
    pub(super) fn open(
        ways: Ways,
        (backend, queue): (Backend, Queue),
        (flow, socket): (SocketAddrV4, &UdpSocket),
    ) -> Result<FrameCopier, BypassError> {
        let mut device = if backend == DPDK {
            RealDevice::dpdk(&ways.interface)?
        } else {
            let queue = match queue {
                Queue::All => None,
                Queue::One(number) => Some(number),
            };
            let options = PortOptions { queue, zero_copy: ZeroCopy::No };
            RealDevice::af_xdp(&ways.interface, options)?
        };
        let leaves_rest = device.take(Protocol::Udp, flow, socket.as_fd())?;
        let datagrams = Datagrams::on_port(device, *flow.ip());
        Ok(FrameCopier { ways, backend, datagrams, leaves_rest, prepared: Vec::new() })
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.backend == AF_XDP_IN_PLACE
    }

    pub(super) fn follow(&mut self, subscribers: &mut Subscribers) -> Result<(), BypassError> {
        self.ways.follow(subscribers)?;
        let header = |address| self.ways.paths.header(address);
        let all = subscribers.all().iter();
        self.prepared =
            all.map(|one| header(one.address).map(|it| ReceiverHeaders::new(&it))).collect();
        Ok(())
    }

    /// The next datagram; `None` if there is none now. Then copies that the interface did not take
    /// leave, if it has room again.
    pub(crate) fn receive(&mut self, into: &mut [u8]) -> Option<(usize, SocketAddr)> {
        let Some(arrival) = self.datagrams.receive(into) else {
            let _ = self.datagrams.flush();
            return None;
        };
        Some((arrival.length, arrival.from.into()))
    }

    /// Passes the next datagram to `take`, in its frame, and sends what that sent; false if there
    /// is none now.
    pub(crate) fn forward(&mut self, take: impl FnOnce(InPlace<'_, '_, '_>)) -> bool {
        let FrameCopier { datagrams, prepared, .. } = self;
        let is_there = datagrams.forward(|datagram| take(InPlace { datagram, prepared }));
        // As after copies, and if there is none.
        let _ = datagrams.flush();
        is_there
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
        // Frames that the interface does not take now wait for the next call.
        let _ = self.datagrams.flush();
    }

    pub(super) fn finish(&self, counts: &mut Counts) -> Result<(), BypassError> {
        let in_rings = self.datagrams.frames().dropped();
        counts.receive_dropped = match self.leaves_rest {
            true => counts.receive_dropped.zip(in_rings).map(|(a, b)| a + b),
            // All datagrams come by frames too, so the socket dropped none of its own.
            false => in_rings,
        };
        counts.receive_buffer_bytes = None;
        counts.interface_dropped = Some(self.ways.dropped()?);
        Ok(())
    }
}

impl fmt::Display for FrameCopier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_place = if self.is_in_place() { ", in place" } else { "" };
        write!(f, "{}{in_place}", self.datagrams.frames())
    }
}
