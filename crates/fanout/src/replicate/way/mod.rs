//! How a replicator makes copies, by the name of its backend.
//!
//! - `spin`, `block`: sockets of the kernel. One `sendmmsg` sends all copies of a datagram.
//! - `af_xdp`: one receive ring, and one frame for each copy. Past the kernel's stack.
//! - `af_xdp_in_place`: the same, and the received frame becomes the last copy.
//! - `dpdk`: as `af_xdp`, by a driver of DPDK. Only in a build with it.
//! - `xdp`: programs in the kernel copy. No datagram reaches this process.
//!
//! Registration uses sockets of the kernel in all of them.

#[allow(unsafe_code)]
mod batch;
mod frames;
mod in_kernel;

use self::batch::Batch;
use self::frames::FrameCopier;
use self::in_kernel::InKernel;
use crate::replicate::{Counts, FanOutError, Settings, Tunnel};
use crate::subscribers::{SUBSCRIBERS_MAX, Subscribers};
use bypass::BypassError;
use bypass::broadcast::{Paths, RECEIVERS_MAX};
use bypass::routes::Interface;
use plan::backend::{self, AF_XDP, AF_XDP_IN_PLACE, XDP};
use plan::tables::fan_out::SendOrder;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::time::Duration;

/// How often the kernel's neighbours are read while some subscriber's host is unknown, ns.
const UNKNOWN_EVERY_NS: u64 = 100_000_000;
/// How often they are read otherwise, ns: a subscriber may get another card.
const KNOWN_EVERY_NS: u64 = 5_000_000_000;
/// Looks at the neighbours before the first datagram, [`BEGIN_PAUSE`] apart.
const BEGIN_LOOKS: u32 = 100;
const BEGIN_PAUSE: Duration = Duration::from_millis(10);

/// The way of a replicator.
pub(crate) enum Way {
    Sockets(Batch),
    Frames(Box<FrameCopier>),
    InKernel(Box<InKernel>),
}

/// Whether a way works below the kernel's stack.
fn is_below(settings: &Settings) -> bool {
    backend::needs_net_admin(settings.backend.name)
}

/// Checks that the backend can do what is asked.
pub(crate) fn check(settings: &Settings) -> Result<(), FanOutError> {
    let Settings { backend, from, order, tunnel, queue, .. } = settings;
    let not = |what: String, why| Err(FanOutError::NotWith { backend: backend.name, what, why });
    if !queue.is_all() && !backend::has_queues(backend.name) {
        let why = "it uses no queues of an interface: leave --queue out, or use --backend af_xdp";
        return not(format!("use queue {queue}"), why);
    }
    if !is_below(settings) {
        return Ok(());
    }
    if settings.gre.is_some() {
        return not(
            "receive GRE".to_owned(),
            "its packets come from the kernel: use spin or block",
        );
    }
    let ip = from.ip();
    if ip.is_multicast() || ip.is_unspecified() || ip.is_loopback() {
        let why = "it takes datagrams to the address of one network interface: name that, or use \
                   --backend spin";
        return not(format!("receive at {ip}"), why);
    }
    if *backend == AF_XDP_IN_PLACE && !matches!(tunnel, Tunnel::None | Tunnel::Keep) {
        let why = "a copy keeps the length of the received frame: use --backend af_xdp";
        return not("add or remove a tunnel header".to_owned(), why);
    }
    if *backend != XDP {
        return Ok(());
    }
    let why = "no process sees the datagrams: use --backend af_xdp or spin";
    if settings.parent.is_some() {
        return not("register at a --parent".to_owned(), why);
    }
    if *tunnel != Tunnel::None {
        return not("treat a tunnel header".to_owned(), why);
    }
    if *order != SendOrder::Fixed {
        return not(format!("send in --order {}", order.name()), why);
    }
    Ok(())
}

/// Where copies leave from, and subscribers register.
pub(crate) fn leaving_from(settings: &Settings) -> SocketAddrV4 {
    let ip = if is_below(settings) { *settings.from.ip() } else { Ipv4Addr::UNSPECIFIED };
    match settings.listen {
        Some(listen) if is_below(settings) && listen.ip().is_unspecified() => {
            SocketAddrV4::new(ip, listen.port())
        }
        Some(listen) => listen,
        None => SocketAddrV4::new(ip, 0),
    }
}

/// Limit on the subscribers.
pub(crate) fn subscribers_max(settings: &Settings) -> usize {
    if settings.backend == XDP { RECEIVERS_MAX } else { SUBSCRIBERS_MAX }
}

impl Way {
    /// Opens it, for datagrams that otherwise reach `inbound`; copies leave from the address of
    /// `outbound`.
    pub(crate) fn open(
        settings: &Settings,
        inbound: &UdpSocket,
        outbound: &UdpSocket,
    ) -> Result<Way, FanOutError> {
        let backend = settings.backend;
        if !is_below(settings) {
            return Ok(Way::Sockets(Batch::default()));
        }
        let below = |source| FanOutError::Below { backend: backend.name, source };
        let flow = address_of(inbound)?;
        let interface = Interface::with_address(*flow.ip()).map_err(below)?;
        let from = address_of(outbound)?;
        if !interface.addresses.contains(from.ip()) {
            let why = "copies leave by the interface of --from: name an address of it";
            let what = format!("send copies from {}", from.ip());
            return Err(FanOutError::NotWith { backend: backend.name, what, why });
        }
        let ways = Ways::new(interface, from).map_err(below)?;
        if backend == XDP {
            let opened = InKernel::open(ways, flow, settings.source).map_err(below)?;
            return Ok(Way::InKernel(Box::new(opened)));
        }
        let opened =
            FrameCopier::open(ways, (backend, settings.queue), (flow, inbound)).map_err(below)?;
        Ok(Way::Frames(Box::new(opened)))
    }

    /// Why copies would not arrive now, as far as the kernel says.
    pub(crate) fn obstacle(&self) -> Option<String> {
        match self {
            Way::InKernel(programs) => programs.obstacle(),
            Way::Sockets(_) | Way::Frames(_) => None,
        }
    }

    /// Takes the subscribers that were named.
    pub(crate) fn begin(&mut self, subscribers: &mut Subscribers) -> Result<(), FanOutError> {
        let below = self.below();
        let ways = match self {
            Way::Sockets(_) => None,
            Way::Frames(frames) => Some(&mut frames.ways),
            Way::InKernel(kernel) => Some(&mut kernel.ways),
        };
        if let Some(ways) = ways {
            for one in subscribers.all() {
                ways.paths.add(*one.address.ip()).map_err(&below)?;
            }
            ways.wait().map_err(&below)?;
        }
        self.follow(subscribers)
    }

    /// Takes a list of subscribers that has changed.
    pub(crate) fn follow(&mut self, subscribers: &mut Subscribers) -> Result<(), FanOutError> {
        let below = self.below();
        match self {
            Way::Sockets(batch) => {
                batch.set_addresses(subscribers.all().iter().map(|one| one.address));
                Ok(())
            }
            Way::Frames(frames) => frames.follow(subscribers).map_err(below),
            Way::InKernel(kernel) => kernel.follow(subscribers).map_err(below),
        }
    }

    /// Looks from time to time where the subscribers' hosts are.
    pub(crate) fn look(
        &mut self,
        now_ns: u64,
        subscribers: &mut Subscribers,
    ) -> Result<(), FanOutError> {
        let below = self.below();
        let has_changed = match self {
            Way::Sockets(_) => return Ok(()),
            Way::Frames(frames) => frames.ways.look(now_ns).map_err(below)?,
            Way::InKernel(kernel) => kernel.ways.look(now_ns).map_err(below)?,
        };
        if has_changed { self.follow(subscribers) } else { Ok(()) }
    }

    /// Sends copies to the subscribers with these indices, in this order, without waiting. Calls
    /// `each` with an index and what became of its copy.
    pub(crate) fn send(
        &mut self,
        socket: &UdpSocket,
        bytes: &[u8],
        order: &[u32],
        each: &mut dyn FnMut(u32, io::Result<()>),
    ) {
        match self {
            Way::Sockets(batch) => batch.send(socket, bytes, order, each),
            Way::Frames(frames) => frames.send(bytes, order, each),
            // No datagram comes here to be sent.
            Way::InKernel(_) => {}
        }
    }

    /// The copies of frames, if they are made in place.
    pub(crate) fn in_place(&mut self) -> Option<&mut FrameCopier> {
        match self {
            Way::Frames(frames) if frames.is_in_place() => Some(frames),
            _ => None,
        }
    }

    /// Adds its counts.
    pub(crate) fn finish(
        &mut self,
        counts: &mut Counts,
        subscribers: &mut Subscribers,
    ) -> Result<(), FanOutError> {
        let below = self.below();
        match self {
            Way::Sockets(_) => Ok(()),
            Way::Frames(frames) => frames.finish(counts).map_err(below),
            Way::InKernel(kernel) => kernel.finish(counts, subscribers).map_err(below),
        }
    }

    fn below(&self) -> impl Fn(BypassError) -> FanOutError + use<> {
        let backend = match self {
            Way::InKernel(_) => XDP.name,
            Way::Frames(frames) => frames.backend.name,
            Way::Sockets(_) => AF_XDP.name,
        };
        move |source| FanOutError::Below { backend, source }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Sockets(_) => f.write_str("sockets of the kernel"),
            Way::Frames(frames) => write!(f, "{frames}"),
            Way::InKernel(kernel) => write!(f, "{kernel}"),
        }
    }
}

/// The interface of a way below the kernel, and the paths from it.
pub(crate) struct Ways {
    interface: Interface,
    paths: Paths,
    /// Frames that the interface had dropped before.
    dropped: u64,
    look_ns: u64,
}

impl Ways {
    fn new(interface: Interface, from: SocketAddrV4) -> Result<Ways, BypassError> {
        let dropped = interface.dropped_on_leaving()?;
        let paths = Paths::new(interface.clone(), from);
        Ok(Ways { interface, paths, dropped, look_ns: 0 })
    }

    /// Finds the paths to these subscribers.
    fn follow(&mut self, subscribers: &mut Subscribers) -> Result<(), BypassError> {
        for at in 0..subscribers.all().len() {
            let host = *subscribers.all()[at].address.ip();
            if let Err(why) = self.paths.add(host) {
                subscribers.note(at, || why.to_string());
            }
        }
        let all = subscribers.all();
        self.paths.keep(|host| all.iter().any(|one| *one.address.ip() == host));
        if self.paths.is_incomplete() {
            self.paths.refresh()?;
        }
        Ok(())
    }

    /// Waits for the hosts to answer ARP, but not for long: one of them may be down.
    fn wait(&mut self) -> Result<(), BypassError> {
        for _ in 0..BEGIN_LOOKS {
            self.paths.refresh()?;
            if !self.paths.is_incomplete() {
                break;
            }
            std::thread::sleep(BEGIN_PAUSE);
        }
        Ok(())
    }

    /// Returns whether a path changed.
    fn look(&mut self, now_ns: u64) -> Result<bool, BypassError> {
        if now_ns < self.look_ns {
            return Ok(false);
        }
        let is_incomplete = self.paths.is_incomplete();
        self.look_ns = now_ns + if is_incomplete { UNKNOWN_EVERY_NS } else { KNOWN_EVERY_NS };
        self.paths.refresh()
    }

    /// Frames that the interface dropped on their way out since it was opened.
    fn dropped(&self) -> Result<u64, BypassError> {
        Ok(self.interface.dropped_on_leaving()?.saturating_sub(self.dropped))
    }
}

/// The address of a socket.
fn address_of(socket: &UdpSocket) -> Result<SocketAddrV4, FanOutError> {
    match socket.local_addr() {
        Ok(SocketAddr::V4(address)) => Ok(address),
        Ok(SocketAddr::V6(_)) => Err(FanOutError::Receive(io::ErrorKind::AddrNotAvailable.into())),
        Err(error) => Err(FanOutError::Receive(error)),
    }
}
