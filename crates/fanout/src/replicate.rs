//! The replicator: receives a datagram, and sends a copy to each subscriber.
//!
//! One thread. Copies and registration leave from one address, so that a subscriber's firewall that
//! let its registration out lets the copies in. Never waits for a subscriber: a copy that is not
//! taken at once is dropped for that subscriber, and counted. How copies are made: [`way`].

mod counts;
mod frame;
mod in_place;
mod settings;
mod way;

pub use self::counts::{Counts, Rejects};
pub use self::frame::Tunnel;
pub use self::settings::{FanOutError, Gre, Settings};

use self::frame::Frame;
use self::way::Way;
use crate::gre::PROTOCOL;
use crate::order::Orders;
use crate::register::member::{Answer, Member};
use crate::register::registrar::Registrar;
use crate::subscribers::Subscribers;
use clock::Clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{self, AddressFamily, Protocol, SocketType, sockopt};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use transport::cookie::random_number;
use transport::datagram::{self, RECEIVE_BUFFER_BYTES_MAX};

/// Receive buffer to ask for, bytes; the socket gets what the system allows.
const RECEIVE_BUFFER_BYTES: usize = 16 << 20;
const _: () = assert!(RECEIVE_BUFFER_BYTES <= RECEIVE_BUFFER_BYTES_MAX);
/// How often leases, registration and the stop flag are looked at, ns.
const LOOK_EVERY_NS: u64 = 1_000_000;
/// How long a replicator that sleeps does so at most, ns.
const SLEEP_NS: i64 = 20_000_000;
/// Messages of registration that are read in one look.
const MESSAGES_PER_LOOK: usize = 64;

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
    way: Way,
    /// The state of the list that the way has.
    followed: u64,
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
        way::check(&settings)?;
        let (inbound, receive_buffer_bytes) = match settings.gre {
            Some(gre) => tunnelled(gre)?,
            None => datagram::receiving(from.into(), group, RECEIVE_BUFFER_BYTES)?,
        };
        let outbound = datagram::sending(way::leaving_from(&settings).into())?;
        let mut subscribers = Subscribers::up_to(way::subscribers_max(&settings));
        for &address in &settings.to {
            let named = subscribers.name(address);
            named.map_err(|source| FanOutError::Subscriber { address, source })?;
        }
        let mut way = Way::open(&settings, &inbound, &outbound)?;
        way.begin(&mut subscribers)?;
        let id = random_number()?;
        let registrar =
            settings.listen.map(|_| Registrar::new(settings.lease_ms, id)).transpose()?;
        let member = settings.parent.map(Member::new).transpose()?;
        Ok(Replicator {
            clock,
            inbound,
            outbound,
            registrar,
            member,
            id,
            orders: Orders::new(settings.order, settings.seed),
            followed: subscribers.changes(),
            subscribers,
            way,
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
        match self.settings.gre {
            Some(_) => Ok(self.settings.from.into()),
            None => self.inbound.local_addr(),
        }
    }

    /// Where subscribers register; `None` if they can't.
    ///
    /// # Errors
    /// If the kernel doesn't say.
    pub fn listening(&self) -> io::Result<Option<SocketAddr>> {
        self.registrar.as_ref().map(|_| self.outbound.local_addr()).transpose()
    }

    /// Where copies are made, such as "AF_XDP on eth1: native XDP, 1 queue, copy mode".
    pub fn way(&self) -> String {
        self.way.to_string()
    }

    /// Why copies would not arrive now, as far as the kernel says; for a warning at the start.
    pub fn obstacle(&self) -> Option<String> {
        self.way.obstacle()
    }

    /// Copies until `stop` is set, or until that time of its clock.
    ///
    /// # Errors
    /// If a socket breaks, or replicators form a ring.
    pub fn run(mut self, stop: &AtomicBool, until_ns: Option<u64>) -> Result<Counts, FanOutError> {
        loop {
            let is_idle = !self.copy_next()?;
            let now_ns = self.clock.now_ns();
            if now_ns >= self.look_ns || is_idle && !self.settings.backend.spins {
                self.look_ns = now_ns + LOOK_EVERY_NS;
                let is_over = until_ns.is_some_and(|until_ns| now_ns >= until_ns);
                if is_over || stop.load(Ordering::Relaxed) {
                    return self.finish();
                }
                self.look(now_ns)?;
                if is_idle && !self.settings.backend.spins {
                    self.sleep();
                }
            }
        }
    }

    /// Receives one datagram and copies it. False if there is none.
    fn copy_next(&mut self) -> Result<bool, FanOutError> {
        if self.way.in_place().is_some() {
            return Ok(self.forward_next());
        }
        let received = match &mut self.way {
            Way::Sockets(_) => receive(&self.inbound, self.frame.room())?,
            Way::Frames(frames) => frames.receive(self.frame.room()),
            Way::InKernel(_) => return self.count_left(),
        };
        let read_ns = self.clock.now_ns();
        let is_there = received.is_some();
        if let Some((length, from)) = received {
            self.take(length, from, read_ns);
        }
        Ok(is_there)
    }

    /// Counts a datagram that the programs in the kernel did not take.
    fn count_left(&mut self) -> Result<bool, FanOutError> {
        let Some((_, from)) = receive(&self.inbound, self.frame.room())? else { return Ok(false) };
        let is_foreign = self.settings.source.is_some_and(|source| from.ip() != source);
        let rejects = &mut self.counts.rejects;
        *if is_foreign { &mut rejects.foreign } else { &mut rejects.left_to_kernel } += 1;
        Ok(true)
    }

    fn take(&mut self, length: usize, from: SocketAddr, read_ns: u64) {
        let datagram = self.frame.received(length);
        if is_of_parent(&mut self.member, &self.inbound, (datagram, from), read_ns) {
            return;
        }
        let length = match self.settings.gre {
            Some(gre) => match self.frame.unwrap(length, gre.of(self.settings.from)) {
                Ok(length) => length,
                Err(_) => {
                    self.counts.rejects.gre += 1;
                    return;
                }
            },
            None => length,
        };
        self.counts.received += 1;
        self.counts.received_bytes += length as u64;
        if self.settings.source.is_some_and(|source| from.ip() != source) {
            self.counts.rejects.foreign += 1;
            return;
        }
        self.send_copies(length, read_ns);
    }

    fn send_copies(&mut self, length: usize, read_ns: u64) {
        let Replicator { subscribers, way, frame, counts, outbound, .. } = self;
        let order = self.orders.next(subscribers.all().len());
        let bytes = match frame.copy(length, clock::wall_ns) {
            Ok(bytes) => bytes,
            Err(reject) => return counts.rejects.count(reject),
        };
        way.send(outbound, bytes, order, &mut |index, sent| {
            subscribers.count(index as usize, sent);
        });
        if order.is_empty() {
            counts.without_subscribers += 1;
        } else {
            counts.copying_ns.saturating_record(self.clock.now_ns() - read_ns);
        }
    }

    /// Tells the way of subscribers that came or went.
    fn follow(&mut self) -> Result<(), FanOutError> {
        if self.followed != self.subscribers.changes() {
            self.followed = self.subscribers.changes();
            self.way.follow(&mut self.subscribers)?;
        }
        Ok(())
    }

    /// Leases, registration, and the parent.
    fn look(&mut self, now_ns: u64) -> Result<(), FanOutError> {
        self.subscribers.expire(now_ns);
        self.follow()?;
        self.way.look(now_ns, &mut self.subscribers)?;
        self.take_left(now_ns)?;
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
        let mut bytes = [0; crate::register::message::MESSAGE_BYTES + 1];
        for _ in 0..MESSAGES_PER_LOOK {
            let Some(registrar) = &mut self.registrar else { break };
            let Ok((length, SocketAddr::V4(from))) = self.outbound.recv_from(&mut bytes) else {
                break;
            };
            let answer = registrar.receive(&bytes[..length], from, now_ns, &mut self.subscribers);
            // A subscriber that hears it is accepted gets the next datagram.
            self.follow()?;
            if let Some(answer) = answer {
                // A lost one is asked for again.
                let _ = self.outbound.send_to(&answer.encode(), from);
            }
        }
        Ok(())
    }

    /// Copies datagrams that frames don't bring: those in fragments, and those by other interfaces.
    fn take_left(&mut self, now_ns: u64) -> Result<(), FanOutError> {
        for _ in 0..MESSAGES_PER_LOOK {
            if !matches!(&self.way, Way::Frames(frames) if frames.leaves_rest) {
                break;
            }
            let received = receive(&self.inbound, self.frame.room())?;
            let Some((length, from)) = received else { break };
            self.take(length, from, now_ns);
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

    fn finish(mut self) -> Result<Counts, FanOutError> {
        if let Some(member) = &self.member {
            let _ = self.inbound.send_to(&member.leave(), member.parent());
            self.counts.parent_full = member.full();
        }
        self.counts.receive_dropped = datagram::dropped(&self.inbound);
        self.way.finish(&mut self.counts, &mut self.subscribers)?;
        self.counts.registrar = self.registrar.as_ref().map(Registrar::counts);
        self.counts.subscribers = self.subscribers;
        Ok(self.counts)
    }
}

/// Whether a datagram is of the registration at the parent; if so, it is answered.
fn is_of_parent(
    member: &mut Option<Member>,
    inbound: &UdpSocket,
    (datagram, from): (&[u8], SocketAddr),
    read_ns: u64,
) -> bool {
    let Some(member) = member else { return false };
    match member.receive(datagram, from, read_ns) {
        Answer::Other => false,
        Answer::Taken => true,
        Answer::Reply(bytes) => {
            // A lost one is sent again.
            let _ = inbound.send_to(&bytes, member.parent());
            true
        }
    }
}

/// A socket that receives GRE's packets whole, and its receive buffer.
fn tunnelled(gre: Gre) -> Result<(UdpSocket, usize), FanOutError> {
    let failed = |source: io::Error| FanOutError::Gre { at: gre.at, source };
    let opened = || -> io::Result<(UdpSocket, usize)> {
        let protocol = NonZeroU32::new(PROTOCOL.into()).map(Protocol::from_raw);
        let socket = net::socket(AddressFamily::INET, SocketType::RAW, protocol)?;
        net::bind(&socket, &SocketAddr::from((gre.at, 0)))?;
        // Not of `UDP`, but what is called on it is the same for all sockets.
        let socket = UdpSocket::from(socket);
        socket.set_nonblocking(true)?;
        sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER_BYTES)?;
        let granted = sockopt::socket_recv_buffer_size(&socket)?;
        Ok((socket, granted))
    };
    opened().map_err(failed)
}

/// The next datagram; `None` if there is none now.
fn receive(
    socket: &UdpSocket,
    into: &mut [u8],
) -> Result<Option<(usize, SocketAddr)>, FanOutError> {
    match socket.recv_from(into) {
        Ok(received) => Ok(Some(received)),
        Err(error) if is_none_now(&error) => Ok(None),
        Err(error) => Err(FanOutError::Receive(error)),
    }
}

/// An unconnected socket reports nothing of where its datagrams went, but a subscriber's end may
/// still show as an error of the next call on some kernels.
fn is_none_now(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, Interrupted, WouldBlock};
    matches!(error.kind(), WouldBlock | Interrupted | ConnectionRefused)
}
