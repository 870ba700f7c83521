//! How a replicator is to copy, and why it can't.

use crate::gre::Tunnel as Tunnelled;
use crate::replicate::Tunnel;
use crate::subscribers::NotSubscribed;
use bypass::BypassError;
use plan::backend::{Backend, Queue};
use plan::tables::fan_out::SendOrder;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use transport::cookie::NoRandomNumbers;
use transport::datagram::DatagramError;

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
    /// Datagrams arrive in GRE packets; `from` is then the inner destination.
    pub gre: Option<Gre>,
    /// Treatment of the tunnel header.
    pub tunnel: Tunnel,
    /// The way to copy: one of [`plan::backend::REPLICATORS`].
    pub backend: Backend,
    /// The queue of its interface, for a way that [has queues](plan::backend::has_queues).
    pub queue: Queue,
}

/// A GRE tunnel, whose other end sends to this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gre {
    /// The address of this host to which the tunnel leads; `0.0.0.0`: any.
    pub at: Ipv4Addr,
    /// The key that packets must have; `None`: any, or none.
    pub key: Option<u32>,
}

impl Gre {
    /// The tunnel of which that is the receiver inside.
    pub(crate) fn of(self, to: SocketAddrV4) -> Tunnelled {
        Tunnelled { to, key: self.key }
    }
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
    /// A backend can't do it.
    #[error("--backend {backend} cannot {what}: {why}")]
    NotWith {
        /// The backend.
        backend: &'static str,
        /// As asked.
        what: String,
        /// The reason, and what to try.
        why: &'static str,
    },
    /// A backend below the kernel fails.
    #[error("--backend {backend}: {source}")]
    Below {
        /// The backend.
        backend: &'static str,
        /// The reason.
        source: BypassError,
    },
    /// There is no socket for GRE.
    #[error("cannot receive GRE at {at}: {source}; it takes CAP_NET_RAW: run as root")]
    Gre {
        /// As asked.
        at: Ipv4Addr,
        /// The system's reason.
        source: io::Error,
    },
    /// The socket broke.
    #[error("cannot receive datagrams any more: {0}; check that the interface is up")]
    Receive(io::Error),
}
