//! A port: the queues of one interface, and the XDP program that gives them our flows.

use crate::bpf::{self, Map, MapKind};
use crate::device::{Device, reserve};
use crate::error::BypassError;
use crate::frame::Mac;
use crate::frames::Frames;
use crate::program::{FLOWS_MAX, KEY_BYTES, capture, key};
use crate::queue::{Copying, FRAME_BYTES_MAX, Failure, Queue};
use crate::routes::Interface;
use rustix::io::Errno;
use rustix::net::SocketType;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Limit on the queues of a port.
pub const QUEUES_MAX: u32 = 16;
/// Attempts to have a queue that is taken, [`BUSY_PAUSE`] apart: the kernel gives up those of a
/// process that has ended a little later.
const BUSY_ATTEMPTS: u32 = 50;
const BUSY_PAUSE: Duration = Duration::from_millis(10);
/// `XDP_FLAGS_*` (linux/if_link.h).
const GENERIC: u32 = 1 << 1;
const NATIVE: u32 = 1 << 2;

/// Protocols whose flows a port takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Protocol {
    pub(crate) fn number(self) -> u8 {
        match self {
            Protocol::Tcp => 6,
            Protocol::Udp => 17,
        }
    }

    pub(crate) fn kind(self) -> SocketType {
        match self {
            Protocol::Tcp => SocketType::STREAM,
            Protocol::Udp => SocketType::DGRAM,
        }
    }
}

/// How a port is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortOptions {
    /// The one queue to use, to which the card must steer the flows; `None`: all of them.
    pub queue: Option<u32>,
    /// Without copies where the driver can. Never on a queue that carries an ssh session.
    pub zero_copy: bool,
}

/// Where the XDP program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// In the driver, before the kernel makes a packet of a frame.
    Native,
    /// After that, because the driver can't.
    Generic {
        /// The driver's reason.
        because: String,
    },
}

impl fmt::Display for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attachment::Native => f.write_str("native XDP"),
            Attachment::Generic { because } => write!(f, "generic XDP (native: {because})"),
        }
    }
}

/// AF_XDP on an interface. When it is dropped, or its process ends in any way, the program goes and
/// the kernel has all packets again.
pub struct Port {
    interface: Interface,
    queues: Vec<Queue>,
    /// The queue to look at first.
    next: usize,
    attachment: Attachment,
    flows: Map<KEY_BYTES, 1>,
    /// Sockets of the kernel that keep our addresses from other programs.
    claims: Vec<OwnedFd>,
    /// The program is attached while this is open.
    _link: OwnedFd,
    _sockets: Map<4, 4>,
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
        let numbers = match options.queue {
            Some(queue) => queue..queue + 1,
            None => 0..interface.receive_queues()?,
        };
        if numbers.len() > QUEUES_MAX as usize {
            let queues = numbers.end;
            return Err(BypassError::Queues { interface: name(), queues, max: QUEUES_MAX });
        }
        let flows = Map::create(MapKind::Hash, FLOWS_MAX).map_err(kernel("make a map of flows"))?;
        let sockets: Map<4, 4> =
            Map::create(MapKind::Sockets, numbers.end).map_err(kernel("make a map of sockets"))?;
        let program = capture(flows.descriptor.as_raw_fd(), sockets.descriptor.as_raw_fd());
        let program = bpf::load(&program).map_err(kernel("load the XDP program"))?;
        let attach_it = || {
            attach(program.as_fd(), interface.index)
                .map_err(|why| Failure("attach the XDP program", why))
        };
        let failed = |Failure(step, source)| kernel(step)(source);
        let (link, attachment) = while_busy(attach_it).map_err(failed)?;
        let mut queues = Vec::with_capacity(numbers.len());
        for number in numbers {
            let queue = while_busy(|| Queue::open(interface.index, number, options.zero_copy))
                .map_err(failed)?;
            sockets
                .update(&number.to_ne_bytes(), &queue.as_fd().as_raw_fd().to_ne_bytes())
                .map_err(kernel("enter a socket into the map"))?;
            queues.push(queue);
        }
        Ok(Port {
            interface: interface.clone(),
            queues,
            next: 0,
            attachment,
            flows,
            claims: Vec::new(),
            _link: link,
            _sockets: sockets,
        })
    }

    /// Where the XDP program runs.
    pub fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    /// How frames come into shared memory, by queue.
    pub fn copying(&self) -> impl Iterator<Item = &Copying> {
        self.queues.iter().map(Queue::copying)
    }
}

impl Device for Port {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Up to [`FLOWS_MAX`] addresses.
    fn claim(
        &mut self,
        protocol: Protocol,
        address: SocketAddrV4,
    ) -> Result<SocketAddrV4, BypassError> {
        let failed = |source| BypassError::Claim { address, source };
        let (socket, bound) = reserve(&self.interface, protocol, address).map_err(failed)?;
        self.flows.update(&key(protocol, bound), &[1]).map_err(failed)?;
        self.claims.push(socket);
        Ok(bound)
    }

    /// By the kernel's table of neighbours: ARP stays the kernel's.
    fn next_hop(&mut self, to: Ipv4Addr) -> Result<Mac, BypassError> {
        self.interface.neighbour(self.interface.route(to)?.next_hop)
    }
}

impl fmt::Display for Port {
    /// Such as "AF_XDP on eth1: native XDP, 1 queue, zero-copy".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, s) = (self.queues.len(), if self.queues.len() == 1 { "" } else { "s" });
        write!(f, "AF_XDP on {}: {}, {n} queue{s}", self.interface.name, self.attachment)?;
        let mut modes: Vec<&Copying> = self.copying().collect();
        modes.dedup();
        modes.into_iter().try_for_each(|mode| write!(f, ", {mode}"))
    }
}

/// Tries until nobody else has it, for half a second.
fn while_busy<T>(attempt: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
    for _ in 0..BUSY_ATTEMPTS {
        match attempt() {
            Err(Failure(_, why)) if Errno::from_io_error(&why) == Some(Errno::BUSY) => {
                std::thread::sleep(BUSY_PAUSE);
            }
            done => return done,
        }
    }
    attempt()
}

fn attach(program: BorrowedFd<'_>, interface: u32) -> io::Result<(OwnedFd, Attachment)> {
    match bpf::attach(program, interface, NATIVE) {
        Ok(link) => Ok((link, Attachment::Native)),
        Err(why) if Errno::from_io_error(&why) == Some(Errno::OPNOTSUPP) => {
            let because = why.to_string();
            let link = bpf::attach(program, interface, GENERIC)?;
            Ok((link, Attachment::Generic { because }))
        }
        Err(why) => Err(why),
    }
}

impl Frames for Port {
    #[inline]
    fn receive(&mut self, take: impl FnOnce(&[u8])) -> bool {
        let mut take = Some(take);
        for _ in 0..self.queues.len() {
            let queue = &mut self.queues[self.next];
            if queue.receive(|frame| take.take().into_iter().for_each(|take| take(frame))) {
                return true;
            }
            self.next = (self.next + 1) % self.queues.len();
        }
        false
    }

    /// Through the first queue.
    #[inline]
    fn send(&mut self, bytes: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.queues[0].send(bytes, fill)
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        self.queues[0].flush()
    }
}
