//! A port: the queues of one interface, and the XDP program that gives them our flows.

use crate::busy_poll::BusyPoll;
use crate::device::{Device, joined, reserve};
use crate::error::BypassError;
use crate::frame::Mac;
use crate::frames::Frames;
use crate::install::{Attachment, while_busy};
use crate::protocol::Protocol;
use crate::queue::{CopyMode, FRAME_BYTES_MAX, Failure, Queue, ReceivedFrame};
use crate::routes::Interface;
use crate::steering::Steering;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Limit on the queues of a port.
pub const QUEUES_MAX: u32 = 16;

/// How a port is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortOptions {
    /// The one queue to use, to which the card must steer the flows; `None`: all of them.
    pub queue: Option<u32>,
    /// Whether frames may come without copies.
    pub zero_copy: ZeroCopy,
}

/// Whether frames may come without copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroCopy {
    /// No, and nobody asked for it.
    No,
    /// Where the driver can: never on a queue that carries an ssh session.
    WhereItCan,
    /// Where the driver can, unless the default route leaves by this interface: an ssh session may
    /// be on any of its queues.
    UnlessDefaultRoute,
}

/// AF_XDP on an interface. When it is dropped, or its process ends in any way, the program goes and
/// the kernel has all packets again.
pub struct Port {
    interface: Interface,
    queues: Vec<Queue>,
    /// The number of the one queue that was chosen.
    chosen: Option<u32>,
    /// The queue to look at first.
    next: usize,
    steering: Steering,
    /// Sockets of the kernel that keep our addresses from other programs.
    claims: Vec<OwnedFd>,
}

impl Port {
    /// Opens a port on an interface, with no flow yet.
    ///
    /// # Errors
    /// If the kernel, the driver, our rights or another program do not allow it.
    pub fn open(interface: &Interface, options: PortOptions) -> Result<Port, BypassError> {
        let name = || interface.name.clone();
        let kernel = |step| move |source| BypassError::Kernel { interface: name(), step, source };
        let max = (FRAME_BYTES_MAX - crate::frame::ETHERNET_BYTES) as u32;
        if interface.mtu > max {
            return Err(BypassError::Mtu { interface: name(), mtu: interface.mtu, max });
        }
        let has = interface.receive_queues()?;
        let numbers = match options.queue {
            Some(queue) if queue >= has => {
                return Err(BypassError::NoQueue { interface: name(), queue, last: has - 1 });
            }
            Some(queue) => queue..queue + 1,
            None => 0..has,
        };
        if numbers.len() > QUEUES_MAX as usize {
            let queues = numbers.end;
            return Err(BypassError::Queues { interface: name(), queues, max: QUEUES_MAX });
        }
        let steering = Steering::install(interface, numbers.end)?;
        let failed = |Failure(step, source)| kernel(step)(source);
        let copying = wanted_copying(interface, options.zero_copy)?;
        let mut queues = Vec::with_capacity(numbers.len());
        for number in numbers {
            let queue = while_busy(|| Queue::open(interface, number, &copying)).map_err(failed)?;
            steering.enter(interface, number, queue.as_fd().as_raw_fd())?;
            queues.push(queue);
        }
        let (interface, chosen) = (interface.clone(), options.queue);
        Ok(Port { interface, queues, chosen, next: 0, steering, claims: Vec::new() })
    }

    /// Where the XDP program runs.
    pub fn attachment(&self) -> &Attachment {
        self.steering.attachment()
    }

    /// Takes all packets to `address` from now on. Unlike with [`Device::claim`], the caller has a
    /// socket of the kernel at that address, which gets nothing more from this interface.
    ///
    /// # Errors
    /// If there are [`crate::FLOWS_MAX`] already.
    pub fn take(&mut self, protocol: Protocol, address: SocketAddrV4) -> Result<(), BypassError> {
        self.steering.take(protocol, address)
    }

    /// Passes the next frame to `take`, which may send it in place, through the queue that it came
    /// by; false if there is none now.
    #[inline]
    pub(crate) fn forward(&mut self, take: impl FnOnce(&mut ReceivedFrame<'_>)) -> bool {
        let mut take = Some(take);
        for _ in 0..self.queues.len() {
            let queue = &mut self.queues[self.next];
            if queue.forward(|frame| take.take().into_iter().for_each(|take| take(frame))) {
                return true;
            }
            self.next = (self.next + 1) % self.queues.len();
        }
        false
    }

    /// The first queue.
    #[cfg(test)]
    pub(crate) fn first(&self) -> &Queue {
        &self.queues[0]
    }

    /// How frames come into shared memory, by queue.
    pub fn copying(&self) -> impl Iterator<Item = &CopyMode> {
        self.queues.iter().map(Queue::copying)
    }
}

/// The first mode to try.
fn wanted_copying(interface: &Interface, zero_copy: ZeroCopy) -> Result<CopyMode, BypassError> {
    let because = |why: &str| CopyMode::Copy { because: Some(why.to_owned()) };
    Ok(match zero_copy {
        ZeroCopy::No => CopyMode::Copy { because: None },
        ZeroCopy::UnlessDefaultRoute if interface.has_default_route()? => {
            because("an ssh session may be here, by the default route")
        }
        // A kernel that doesn't say what drivers can is asked by trying.
        _ if interface.has_zero_copy() == Some(false) => because("the driver has none"),
        ZeroCopy::WhereItCan | ZeroCopy::UnlessDefaultRoute => CopyMode::ZeroCopy,
    })
}

impl Device for Port {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Up to [`crate::FLOWS_MAX`] addresses.
    fn claim(
        &mut self,
        protocol: Protocol,
        address: SocketAddrV4,
    ) -> Result<SocketAddrV4, BypassError> {
        let failed = |source| BypassError::Claim { address, source };
        let (socket, bound) = reserve(&self.interface, protocol, address).map_err(failed)?;
        self.take(protocol, bound)?;
        self.claims.push(socket);
        Ok(bound)
    }

    fn join(&mut self, group: SocketAddrV4, own: Ipv4Addr) -> Result<(), BypassError> {
        let failed = |source| BypassError::Claim { address: group, source };
        let socket = joined(&self.interface, group, own).map_err(failed)?;
        self.take(Protocol::Udp, group)?;
        self.claims.push(socket);
        Ok(())
    }

    /// As the kernel counts: every one that has AF_XDP does.
    fn dropped(&self) -> Option<u64> {
        self.queues.iter().map(Queue::dropped).sum()
    }

    /// By the kernel's table of neighbours: ARP stays the kernel's.
    fn next_hop(&mut self, to: Ipv4Addr) -> Result<Mac, BypassError> {
        self.interface.neighbour(self.interface.route(to)?.next_hop)
    }
}

impl fmt::Display for Port {
    /// Such as "AF_XDP on eth1: native XDP, 1 queue, zero-copy", or with "queue 3" in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, s) = (self.queues.len(), if self.queues.len() == 1 { "" } else { "s" });
        write!(f, "AF_XDP on {}: {}, ", self.interface.name, self.attachment())?;
        match self.chosen {
            Some(number) => write!(f, "queue {number}")?,
            None => write!(f, "{n} queue{s}")?,
        }
        let mut modes: Vec<&CopyMode> = self.copying().collect();
        modes.dedup();
        modes.into_iter().try_for_each(|mode| write!(f, ", {mode}"))?;
        let mut polls: Vec<&BusyPoll> = self.queues.iter().map(Queue::busy_poll).collect();
        polls.dedup();
        let asked = polls.into_iter().filter(|poll| **poll != BusyPoll::Off);
        asked.into_iter().try_for_each(|poll| write!(f, ", {poll}"))
    }
}

impl Frames for Port {
    #[inline]
    fn receive(&mut self, take: impl FnOnce(&[u8])) -> bool {
        self.forward(|received| take(received.bytes()))
    }

    /// Through the first queue.
    #[inline]
    fn send(&mut self, bytes: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.queues[0].send(bytes, fill)
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        self.queues.iter_mut().try_for_each(Queue::flush)
    }
}
