//! A port over DPDK.

use super::arp::{self, ARP_BYTES, Arp};
use super::ffi::{self, Failure, Queue};
use super::flow::flow;
use super::swallow::swallow;
use crate::device::{Device, joined, reserve};
use crate::error::BypassError;
use crate::frame::{ETHERNET_BYTES, Mac};
use crate::frames::Frames;
use crate::protocol::Protocol;
use crate::routes::Interface;
use crate::steering::Steering;
use rustix::io::Errno;
use std::cell::Cell;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The driver if nobody names another.
pub const DRIVER_DEFAULT: &str = "net_af_xdp";
/// Limit on the flows of a port: each frame is compared with all of them.
const FLOWS_MAX: usize = 1024;
/// Looks for an answer to a question by ARP, [`LOOK_PAUSE`] apart, and those after which it is
/// asked again.
const LOOKS: u32 = 1_500;
const LOOKS_A_QUESTION: u32 = 500;
const LOOK_PAUSE: Duration = Duration::from_millis(1);
/// Limit on the MTU: that of jumbo frames, whose packets the memory has room for.
const MTU_MAX: u32 = 9_000;
/// Memory of DPDK, MiB, from ordinary pages.
const MEMORY: &str = "128";

/// The driver over AF_XDP. Its library attaches an XDP program without a link, which takes all
/// frames and outlives this process; one that a user names is the user's.
const OVER_AF_XDP: &str = "net_af_xdp";
const OWN_PROGRAM: &str = "xdp_prog=";
/// The argument with the number of its queue, by default 0.
const QUEUE: &str = "start_queue=";

/// This driver receives packets that the kernel has joined (TSO of a veth's peer, GRO of a card) as
/// one frame. It cuts frames that are longer than its slots, by default 2 KiB.
const JOINING: &str = "net_af_packet";
/// Slots for such frames, bytes: a multiple of 16 (packet_mmap), and whole in a block of pages.
const SLOT_BYTES: u32 = 65_408;
const SLOTS_A_BLOCK: u32 = 32;
const SLOTS: u32 = 256;
/// Bytes of the longest that DPDK has packets for: their length has 16 bits, and there is room of
/// 128 bytes before them.
const JOINED_BYTES_MAX: u16 = u16::MAX - 128;
const _: () = assert!((SLOT_BYTES * SLOTS_A_BLOCK).is_multiple_of(4096));

/// DPDK runs once a process and cannot be started again.
static STARTED: AtomicBool = AtomicBool::new(false);

/// A poll-mode driver on an interface. One a process.
pub struct DpdkPort {
    interface: Interface,
    driver: String,
    /// Over AF_XDP: our program in place of the library's. It goes before the queue: the driver
    /// takes the program off that it finds, and complains of one with a link.
    steering: Option<Steering>,
    queue: Queue,
    losses: Losses,
    flows: Vec<(u8, SocketAddrV4)>,
    claims: Vec<OwnedFd>,
}

/// Source of the number of frames that were dropped because this process had not read earlier ones.
enum Losses {
    /// The kernel's count for the driver's socket of AF_XDP. The driver's own leaves out a full
    /// ring.
    OverXdp(RawFd),
    /// The kernel's count for the driver's packet socket, which each reading resets, and the sum of
    /// earlier readings. A driver that reads it too (22.11 does not) adds it to its own count.
    OfPackets(RawFd, Cell<u64>),
    /// The driver's own count.
    OfDriver,
}

impl DpdkPort {
    /// Opens a port on an interface. `driver`: a virtual driver that takes `iface=`, with further
    /// arguments behind commas, such as `net_af_xdp,start_queue=1`.
    ///
    /// # Errors
    /// If this process has a port already, or DPDK, the driver, the kernel or our rights do not
    /// allow it.
    pub fn open(interface: &Interface, driver: &str) -> Result<DpdkPort, BypassError> {
        let failed = |Failure(step, source)| BypassError::Dpdk {
            interface: interface.name.clone(),
            driver: driver.to_owned(),
            step,
            source,
        };
        if interface.mtu > MTU_MAX {
            let (name, mtu) = (interface.name.clone(), interface.mtu);
            return Err(BypassError::Mtu { interface: name, mtu, max: MTU_MAX });
        }
        if STARTED.swap(true, Ordering::Relaxed) {
            let why = io::Error::new(io::ErrorKind::AlreadyExists, "this process has a port");
            return Err(failed(Failure("start DPDK".to_owned(), why)));
        }
        let (name, more) = driver.split_once(',').unwrap_or((driver, ""));
        let device = format!("{name}0");
        let joins = name == JOINING && more.is_empty();
        let block_bytes = SLOT_BYTES * SLOTS_A_BLOCK;
        let more = match (joins, more) {
            (true, _) => format!(",framesz={SLOT_BYTES},blocksz={block_bytes},framecnt={SLOTS}"),
            (false, "") => String::new(),
            (false, more) => format!(",{more}"),
        };
        let words = [
            "tickpath".to_owned(),
            "--no-huge".to_owned(),
            // 22.11 takes no --in-memory beside --no-huge. So processes share nothing.
            "--no-shconf".to_owned(),
            "--file-prefix=tickpath".to_owned(),
            "--no-pci".to_owned(),
            "--no-telemetry".to_owned(),
            "--log-level=error".to_owned(),
            "-m".to_owned(),
            MEMORY.to_owned(),
            format!("--vdev={device},iface={}{more}", interface.name),
        ];
        // It moves the thread that starts it to a core of its own choice.
        let started = std::thread::scope(|scope| scope.spawn(|| ffi::start(&words)).join());
        let panicked = |_| Failure("start DPDK".to_owned(), io::Error::other("it panicked"));
        started.map_err(panicked).and_then(|started| started).map_err(failed)?;
        // At most `MTU_MAX`.
        let longest = joins.then_some(JOINED_BYTES_MAX);
        let queue = Queue::open(&device, interface.mtu as u16, longest).map_err(failed)?;
        let losses = match name {
            OVER_AF_XDP => Losses::OverXdp(ffi::socket(libc::AF_XDP).map_err(failed)?),
            JOINING => {
                let socket = ffi::socket(libc::AF_PACKET).map_err(failed)?;
                Losses::OfPackets(socket, Cell::new(0))
            }
            _ => Losses::OfDriver,
        };
        let steering = match (steered_queue(driver), &losses) {
            (Some(number), Losses::OverXdp(socket)) => {
                Some(Steering::replace(interface, (number, *socket))?)
            }
            _ => None,
        };
        Ok(DpdkPort {
            interface: interface.clone(),
            driver: driver.to_owned(),
            steering,
            queue,
            losses,
            flows: Vec::new(),
            claims: Vec::new(),
        })
    }

    /// Takes all packets to `address` from now on. Unlike with [`Device::claim`], the caller has
    /// `socket` at that address. Returns whether it still gets what our program leaves to the
    /// kernel; without the program it would get copies, and gets nothing.
    pub(crate) fn take(
        &mut self,
        protocol: Protocol,
        address: SocketAddrV4,
        socket: BorrowedFd<'_>,
    ) -> Result<bool, BypassError> {
        let is_steered = self.steering.is_some();
        if !is_steered {
            swallow(socket, protocol).map_err(|source| BypassError::Claim { address, source })?;
        }
        self.enter(protocol, address)?;
        Ok(is_steered)
    }

    /// Takes all packets to `address` from now on; `socket`, of the port's own, swallows them.
    fn keep(
        &mut self,
        protocol: Protocol,
        address: SocketAddrV4,
        socket: OwnedFd,
    ) -> Result<(), BypassError> {
        let failed = |source| BypassError::Claim { address, source };
        swallow(socket.as_fd(), protocol).map_err(failed)?;
        self.enter(protocol, address)?;
        self.claims.push(socket);
        Ok(())
    }

    fn enter(&mut self, protocol: Protocol, address: SocketAddrV4) -> Result<(), BypassError> {
        if self.flows.len() >= FLOWS_MAX {
            return Err(BypassError::Claim { address, source: Errno::NOSPC.into() });
        }
        if let Some(steering) = &self.steering {
            steering.take(protocol, address)?;
        }
        self.flows.push((protocol.number(), address));
        Ok(())
    }

    /// Takes the next frame: ARP is dealt with and returned, what belongs to a claimed flow goes to
    /// `take`, all else is dropped. `None` if none is there.
    #[inline]
    fn next(&mut self, take: &mut dyn FnMut(&[u8])) -> Option<Next> {
        let DpdkPort { queue, flows, .. } = self;
        let mut next = Next::Dropped;
        let is_there = queue.receive(|frame| {
            if flow(frame).is_some_and(|of| flows.contains(&of)) {
                take(frame);
                next = Next::Taken;
            } else if let Some(arp) = arp::read(frame) {
                next = Next::Arp(arp);
            }
        });
        if let Next::Arp(arp) = next {
            self.answer(arp);
        }
        is_there.then_some(next)
    }

    /// Answers a question for an address of this interface.
    fn answer(&mut self, asked: Arp) {
        if !asked.asks || !self.interface.addresses.contains(&asked.to) {
            return;
        }
        let from = (self.interface.mac, asked.to);
        // Without room the peer asks again.
        self.queue.send(ARP_BYTES, |frame| arp::answer(frame, from, asked.from));
        self.queue.flush();
    }
}

/// The queue to whose socket our program steers flows; `None`: not ours.
fn steered_queue(driver: &str) -> Option<u32> {
    let (name, arguments) = driver.split_once(',').unwrap_or((driver, ""));
    let mut arguments = arguments.split(',');
    if name != OVER_AF_XDP || arguments.clone().any(|one| one.starts_with(OWN_PROGRAM)) {
        return None;
    }
    let queue = arguments.find_map(|one| one.strip_prefix(QUEUE)?.parse().ok());
    Some(queue.unwrap_or(0))
}

/// One frame.
enum Next {
    Taken,
    Arp(Arp),
    Dropped,
}

impl Frames for DpdkPort {
    #[inline]
    fn receive(&mut self, take: impl FnOnce(&[u8])) -> bool {
        let mut take = Some(take);
        loop {
            match self.next(&mut |frame| take.take().into_iter().for_each(|take| take(frame))) {
                None => return false,
                Some(Next::Taken) => return true,
                Some(Next::Arp(_) | Next::Dropped) => {}
            }
        }
    }

    #[inline]
    fn send(&mut self, bytes: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.queue.send(bytes, fill)
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        self.queue.flush();
        Ok(())
    }
}

impl Device for DpdkPort {
    fn interface(&self) -> &Interface {
        &self.interface
    }

    fn claim(
        &mut self,
        protocol: Protocol,
        address: SocketAddrV4,
    ) -> Result<SocketAddrV4, BypassError> {
        let failed = |source| BypassError::Claim { address, source };
        let (socket, bound) = reserve(&self.interface, protocol, address).map_err(failed)?;
        self.keep(protocol, bound, socket)?;
        Ok(bound)
    }

    fn join(&mut self, group: SocketAddrV4, own: Ipv4Addr) -> Result<(), BypassError> {
        let failed = |source| BypassError::Claim { address: group, source };
        let socket = joined(&self.interface, group, own).map_err(failed)?;
        self.keep(Protocol::Udp, group, socket)
    }

    /// Over `net_af_packet` also frames of others.
    fn dropped(&self) -> Option<u64> {
        match &self.losses {
            Losses::OverXdp(socket) => crate::queue::dropped(*socket),
            Losses::OfPackets(socket, before) => {
                before.set(before.get() + ffi::packet_drops(*socket));
                Some(before.get() + self.queue.missed())
            }
            Losses::OfDriver => Some(self.queue.missed()),
        }
    }

    /// By the kernel's table of neighbours where ARP stays the kernel's, otherwise by ARP. Then
    /// frames that arrive meanwhile are dropped, as on any wire.
    fn next_hop(&mut self, to: Ipv4Addr) -> Result<Mac, BypassError> {
        let route = self.interface.route(to)?;
        if self.steering.is_some() {
            return self.interface.neighbour(route.next_hop);
        }
        let (from, hop) = ((self.interface.mac, route.source), route.next_hop);
        for look in 0..LOOKS {
            if look.is_multiple_of(LOOKS_A_QUESTION) {
                self.queue.send(ARP_BYTES, |frame| arp::ask(frame, from, hop));
                self.queue.flush();
            }
            while let Some(next) = self.next(&mut |_| {}) {
                if let Next::Arp(Arp { from: (mac, address), .. }) = next
                    && address == hop
                {
                    return Ok(mac);
                }
            }
            std::thread::sleep(LOOK_PAUSE);
        }
        let interface = self.interface.name.clone();
        Err(BypassError::NoNeighbour { address: hop, interface })
    }
}

impl fmt::Display for DpdkPort {
    /// Such as "DPDK 22.11.5 on eth1: net_af_xdp, 1 queue".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (version, name) = (ffi::version(), &self.interface.name);
        write!(
            f,
            "{version} on {name}: {}, 1 queue, frames up to {} bytes",
            self.driver,
            self.interface.mtu as usize + ETHERNET_BYTES
        )?;
        self.steering.iter().try_for_each(|steering| write!(f, ", {}", steering.attachment()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_program_that_no_user_named_is_replaced() {
        assert_eq!(steered_queue("net_af_packet"), None);
        assert_eq!(steered_queue("net_af_xdp"), Some(0));
        assert_eq!(steered_queue("net_af_xdp,queue_count=1,start_queue=3"), Some(3));
        assert_eq!(steered_queue("net_af_xdp,xdp_prog=own.o,start_queue=3"), None);
    }
}
