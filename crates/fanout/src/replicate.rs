//! The replicator: receives a datagram, and sends a copy to each subscriber.
//!
//! One thread. Copies and registration leave by one socket, so that a subscriber's firewall that
//! let its registration out lets the copies in. Never waits for a subscriber: what the kernel does
//! not take at once is dropped for that subscriber, and counted.

mod counts;
mod frame;

pub use self::counts::{Counts, Rejects};
pub use self::frame::Tunnel;

use self::frame::Frame;
use crate::batch::Batch;
use crate::order::Orders;
use crate::register::cookie::{NoRandomNumbers, random_number};
use crate::register::member::{Answer, Member};
use crate::register::registrar::Registrar;
use crate::subscribers::{NotSubscribed, Subscribers};
use clock::Clock;
use plan::tables::fan_out::SendOrder;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use transport::datagram::{self, DatagramError, RECEIVE_BUFFER_BYTES_MAX};

/// Receive buffer to ask for, bytes; the socket gets what the system allows.
const RECEIVE_BUFFER_BYTES: usize = 16 << 20;
const _: () = assert!(RECEIVE_BUFFER_BYTES <= RECEIVE_BUFFER_BYTES_MAX);
/// How often leases, registration and the stop flag are looked at, ns.
const LOOK_EVERY_NS: u64 = 1_000_000;
/// How long a replicator that sleeps does so at most, ns.
const SLEEP_NS: i64 = 20_000_000;
/// Messages of registration that are read in one look.
const MESSAGES_PER_LOOK: usize = 64;

/// Settings of a replicator.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where datagrams arrive: an address of this host, or a multicast group.
    pub from: SocketAddrV4,
    /// Address of the interface on which a group is joined; `0.0.0.0`: the kernel chooses.
    pub interface: Ipv4Addr,
    /// The only host whose datagrams are copied; `None`: anybody's.
    pub source: Option<Ipv4Addr>,
    /// Subscribers that stay.
    pub to: Vec<SocketAddrV4>,
    /// Where subscribers register; `None`: there are only the named ones.
    pub listen: Option<SocketAddrV4>,
    /// Length of a lease, ms.
    pub lease_ms: u32,
    /// The replicator at which this one registers.
    pub parent: Option<SocketAddrV4>,
    /// Which subscriber gets a datagram first.
    pub order: SendOrder,
    /// Decides random orders.
    pub seed: u64,
    /// Treatment of the tunnel header.
    pub tunnel: Tunnel,
    /// Whether the thread polls its sockets instead of sleeping.
    pub spins: bool,
}

/// Why there is no replicator, or why it ended.
#[derive(Debug, thiserror::Error)]
pub enum FanOutError {
    /// A socket can't be made as asked.
    #[error(transparent)]
    Socket(#[from] DatagramError),
    /// The system lacks what cookies need.
    #[error(transparent)]
    Random(#[from] NoRandomNumbers),
    /// A named subscriber has no place.
    #[error("cannot send to {address}: {source}; take it out of the list")]
    Subscriber {
        /// As named.
        address: SocketAddrV4,
        /// The reason.
        source: NotSubscribed,
    },
    /// It would feed itself, and each datagram would go round for ever.
    #[error(
        "the replicators form a ring: {parent} is fed by this one; give one of them a source \
         instead of a parent"
    )]
    Ring {
        /// Where this one registered.
        parent: SocketAddrV4,
    },
    /// A header for a group needs one.
    #[error("cannot add a tunnel header: {from} is no multicast group; name one, or leave it out")]
    NoGroup {
        /// Where datagrams arrive.
        from: SocketAddrV4,
    },
    /// The socket broke.
    #[error("cannot receive datagrams any more: {0}; check that the interface is up")]
    Receive(io::Error),
}

/// A replicator that is ready.
pub struct Replicator {
    settings: Settings,
    clock: Clock,
    inbound: UdpSocket,
    outbound: UdpSocket,
    subscribers: Subscribers,
    registrar: Option<Registrar>,
    member: Option<Member>,
    /// This replicator, in a tree of them.
    id: u64,
    orders: Orders,
    batch: Batch,
    /// The state of the list that the batch has.
    batched: u64,
    frame: Frame,
    counts: Counts,
    look_ns: u64,
}

impl Replicator {
    /// Opens the sockets.
    ///
    /// # Errors
    /// See [`FanOutError`].
    pub fn new(settings: Settings, clock: Clock) -> Result<Replicator, FanOutError> {
        let Settings { from, interface, .. } = settings;
        let group = from.ip().is_multicast().then_some((*from.ip(), interface));
        if settings.tunnel == Tunnel::Add && group.is_none() {
            return Err(FanOutError::NoGroup { from });
        }
        let (inbound, receive_buffer_bytes) =
            datagram::receiving(from.into(), group, RECEIVE_BUFFER_BYTES)?;
        let listen = settings.listen.unwrap_or(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
        let outbound = datagram::sending(listen.into())?;
        let mut subscribers = Subscribers::default();
        for &address in &settings.to {
            let named = subscribers.name(address);
            named.map_err(|source| FanOutError::Subscriber { address, source })?;
        }
        let id = random_number()?;
        let registrar =
            settings.listen.map(|_| Registrar::new(settings.lease_ms, id)).transpose()?;
        let member = settings.parent.map(Member::new).transpose()?;
        Ok(Replicator {
            clock,
            inbound,
            outbound,
            subscribers,
            registrar,
            member,
            id,
            orders: Orders::new(settings.order, settings.seed),
            batch: Batch::default(),
            batched: u64::MAX,
            frame: Frame::new(settings.tunnel, *from.ip()),
            counts: Counts::new(receive_buffer_bytes),
            look_ns: 0,
            settings,
        })
    }

    /// Where datagrams arrive.
    ///
    /// # Errors
    /// If the kernel doesn't say.
    pub fn from(&self) -> io::Result<SocketAddr> {
        self.inbound.local_addr()
    }

    /// Where subscribers register; `None` if they can't.
    ///
    /// # Errors
    /// If the kernel doesn't say.
    pub fn listening(&self) -> io::Result<Option<SocketAddr>> {
        self.registrar.as_ref().map(|_| self.outbound.local_addr()).transpose()
    }

    /// Copies until `stop` is set, or until that time of its clock.
    ///
    /// # Errors
    /// If a socket breaks, or replicators form a ring.
    pub fn run(mut self, stop: &AtomicBool, until_ns: Option<u64>) -> Result<Counts, FanOutError> {
        loop {
            let is_idle = !self.copy_next()?;
            let now_ns = self.clock.now_ns();
            if now_ns >= self.look_ns || is_idle && !self.settings.spins {
                self.look_ns = now_ns + LOOK_EVERY_NS;
                let is_over = until_ns.is_some_and(|until_ns| now_ns >= until_ns);
                if is_over || stop.load(Ordering::Relaxed) {
                    return Ok(self.finish());
                }
                self.look(now_ns)?;
                if is_idle && !self.settings.spins {
                    self.sleep();
                }
            }
        }
    }

    /// Receives one datagram and copies it. False if there is none.
    fn copy_next(&mut self) -> Result<bool, FanOutError> {
        let received = self.inbound.recv_from(self.frame.room());
        let read_ns = self.clock.now_ns();
        let (length, from) = match received {
            Ok(received) => received,
            Err(error) if is_none_now(&error) => return Ok(false),
            Err(error) => return Err(FanOutError::Receive(error)),
        };
        if let Some(member) = &mut self.member {
            match member.receive(self.frame.received(length), from, read_ns) {
                Answer::Other => {}
                Answer::Taken => return Ok(true),
                Answer::Reply(bytes) => {
                    // A lost one is sent again.
                    let _ = self.inbound.send_to(&bytes, member.parent());
                    return Ok(true);
                }
            }
        }
        self.counts.received += 1;
        self.counts.received_bytes += length as u64;
        if self.settings.source.is_some_and(|source| from.ip() != source) {
            self.counts.rejects.foreign += 1;
            return Ok(true);
        }
        self.send_copies(length, read_ns);
        Ok(true)
    }

    fn send_copies(&mut self, length: usize, read_ns: u64) {
        let Replicator { subscribers, batch, frame, counts, .. } = self;
        if self.batched != subscribers.changes() {
            self.batched = subscribers.changes();
            batch.set_addresses(subscribers.all().iter().map(|one| one.address));
        }
        let order = self.orders.next(subscribers.all().len());
        let bytes = match frame.copy(length, clock::wall_ns) {
            Ok(bytes) => bytes,
            Err(reject) => return counts.rejects.count(reject),
        };
        batch.send(&self.outbound, bytes, order, &mut |index, sent| {
            subscribers.count(index as usize, sent);
        });
        if order.is_empty() {
            counts.without_subscribers += 1;
        } else {
            counts.copying_ns.saturating_record(self.clock.now_ns() - read_ns);
        }
    }

    /// Leases, registration, and the parent.
    fn look(&mut self, now_ns: u64) -> Result<(), FanOutError> {
        self.subscribers.expire(now_ns);
        if let Some(member) = &mut self.member {
            if let Some(bytes) = member.due(now_ns) {
                // A lost one is sent again.
                let _ = self.inbound.send_to(&bytes, member.parent());
            }
            let root = member.root();
            if root == Some(self.id) {
                let parent = member.parent();
                let _ = self.inbound.send_to(&member.leave(), parent);
                return Err(FanOutError::Ring { parent });
            }
            if let (Some(registrar), Some(root)) = (&mut self.registrar, root) {
                registrar.root = root;
            }
        }
        let Some(registrar) = &mut self.registrar else { return Ok(()) };
        let mut bytes = [0; crate::register::message::MESSAGE_BYTES + 1];
        for _ in 0..MESSAGES_PER_LOOK {
            let Ok((length, SocketAddr::V4(from))) = self.outbound.recv_from(&mut bytes) else {
                break;
            };
            let heard = registrar.receive(&bytes[..length], from, now_ns, &mut self.subscribers);
            if let Some(answer) = heard {
                // A lost one is asked for again.
                let _ = self.outbound.send_to(&answer.encode(), from);
            }
        }
        Ok(())
    }

    /// Until something comes, or it is time to look again.
    fn sleep(&self) {
        let mut sockets =
            [&self.inbound, &self.outbound].map(|one| PollFd::new(one, PollFlags::IN));
        let count = if self.registrar.is_some() { 2 } else { 1 };
        let longest = Timespec { tv_sec: 0, tv_nsec: SLEEP_NS };
        // An interrupted sleep is a short one.
        let _ = poll(&mut sockets[..count], Some(&longest));
    }

    fn finish(mut self) -> Counts {
        if let Some(member) = &self.member {
            let _ = self.inbound.send_to(&member.leave(), member.parent());
            self.counts.parent_full = member.full();
        }
        self.counts.receive_dropped = datagram::dropped(&self.inbound);
        self.counts.registrar = self.registrar.as_ref().map(Registrar::counts);
        self.counts.subscribers = self.subscribers;
        self.counts
    }
}

/// An unconnected socket reports nothing of where its datagrams went, but a subscriber's end may
/// still show as an error of the next call on some kernels.
fn is_none_now(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, Interrupted, WouldBlock};
    matches!(error.kind(), WouldBlock | Interrupted | ConnectionRefused)
}
