//! Where `tickpath exchange` listens, as an exchange or as the raw echo, and on which threads.

use crate::cli::ExchangeArguments;
use crate::entry_hold;
use crate::fix::FixDoor;
use crate::process::{self, FirstLine, bind, raise_descriptors, say_ready};
use crate::sbe_udp::SbeUdp;
use crate::secure::Secure;
use anyhow::{Context, bail};
use clock::Clock;
use host::{Cores, HostError, Scheduling};
use plan::backend as rows;
use plan::faults::Inject;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicBool;
use transport::datagram::SharedDevice;
use transport::gateway::{self, HoldOnEntry};
use transport::inject;
use transport::serve::{self, Rejections, Service, serve};
use transport::tls;
use transport::{Backend, Streams};

/// Where the exchange's own thread and its gateways run.
pub(crate) struct Threads {
    /// The exchange thread's core, then the gateways'; the kernel places threads without one.
    pub(crate) cores: Vec<usize>,
    /// The cores that the process was started with.
    allowed: Vec<usize>,
    /// The cores of the journal's threads, which would inherit that of the exchange thread.
    pub(crate) journal: Vec<usize>,
    pub(crate) scheduling: Scheduling,
}

impl Threads {
    pub(crate) fn new(arguments: &ExchangeArguments) -> anyhow::Result<Threads> {
        let cores = match &arguments.cores {
            Cores::Auto => Vec::new(),
            Cores::List(cores) => cores.clone(),
        };
        let threads = 1 + arguments.gateways;
        if cores.len() > threads {
            bail!(
                "{} cores for {threads} threads: name the exchange's, then one for each of --gateways",
                cores.len()
            );
        }
        let allowed = host::thread::allowed()?;
        let spare: Vec<usize> =
            allowed.iter().copied().filter(|core| !cores.contains(core)).collect();
        let journal = match arguments.journal_core {
            Some(core) => vec![core],
            // The threads on the named cores may spin.
            None if !spare.is_empty() => spare,
            None => allowed.clone(),
        };
        Ok(Threads { cores, allowed, journal, scheduling: arguments.scheduling })
    }

    /// Called in a gateway's thread, which would inherit the core of the pinned thread.
    fn place_gateway(&self, gateway: usize) -> Result<(), HostError> {
        match self.cores.get(1 + gateway) {
            Some(&core) => host::thread::pin(core)?,
            None => host::thread::run_on(&self.allowed)?,
        }
        host::thread::set_scheduling(self.scheduling)
    }
}

/// Where and how a server listens.
pub(crate) struct Entrance {
    address: SocketAddr,
    /// For streams that don't listen by themselves.
    listener: Option<TcpListener>,
    streams: Box<dyn Streams>,
    /// Holds what gateways receive.
    pub(crate) hold: Option<HoldOnEntry>,
    scheduling: Scheduling,
    limits: serve::Limits,
    clock: Clock,
    /// Where it takes FIX.
    fix: Option<SocketAddr>,
    /// Where it takes SBE over UDP.
    pub(crate) udp: Option<SbeUdp>,
}

impl Entrance {
    /// Binds last: a start that fails for another reason takes no address from anybody. A standby
    /// has reserved its address; with a feed and no sockets of the kernel both share a device.
    pub(crate) fn new(
        arguments: &ExchangeArguments,
        threads: Threads,
        secure: Option<&Secure>,
        (limits, clock): (serve::Limits, Clock),
        (reserved, device): (Option<OwnedFd>, Option<SharedDevice>),
        door: Option<FixDoor>,
    ) -> anyhow::Result<Entrance> {
        let inject = Inject::from_words(&arguments.inject)?;
        raise_descriptors(limits.connections_max as u64);
        let scheduling = threads.scheduling;
        let hold = entry_hold::of(arguments)?;
        let udp = arguments.sbe_udp.as_deref().map(SbeUdp::bind).transpose()?;
        let bells: Vec<BorrowedFd<'_>> = door.iter().filter_map(FixDoor::bell).collect();
        let streams = match &udp {
            None => open(arguments, threads, (secure, device), (clock, &bells), hold.clone()),
            Some(udp) => udp.open(&arguments.backend, &bells, clock),
        };
        let mut streams =
            streams.with_context(|| format!("cannot open backend {}", arguments.backend))?;
        let fix = door.as_ref().map(|door| door.address);
        if let Some(door) = door {
            streams = door.beside(streams, secure, clock)?;
        }
        let mut streams = inject::around(streams, &inject, clock);
        let (address, listener) = match rows::is_below(&arguments.backend) {
            true => (listen_below(&mut *streams, &arguments.listen)?, None),
            false => {
                let listener = match reserved {
                    Some(reserved) => process::listen(reserved)?,
                    None => bind(&arguments.listen)?,
                };
                (listener.local_addr()?, Some(listener))
            }
        };
        Ok(Entrance { address, listener, streams, hold, scheduling, limits, clock, fix, udp })
    }
}

/// Serves until `stop` is set.
pub(crate) fn listen(
    entrance: Entrance,
    service: &mut impl Service,
    secure: Option<&Secure>,
    stop: &AtomicBool,
) -> anyhow::Result<Rejections> {
    let Entrance { address, listener, mut streams, scheduling, limits, clock, fix, udp, .. } =
        entrance;
    if let Some(listener) = listener {
        streams.listen(listener)?;
    }
    host::thread::set_scheduling(scheduling)?;
    let (certificate, stack) = (secure.and_then(Secure::certificate), streams.stack());
    let sbe_udp = udp.map(|udp| udp.address);
    say_ready(address, &FirstLine { clock, certificate, fix, sbe_udp, stack })?;
    Ok(serve(&mut *streams, service, limits, clock, stop)?)
}

/// Makes streams without sockets of the kernel listen.
fn listen_below(streams: &mut dyn Streams, address: &str) -> anyhow::Result<SocketAddr> {
    streams.listen_at(address).with_context(|| {
        format!("cannot listen on {address}; port 0 lets the system choose a free one")
    })
}

/// The backend, on the queue that was chosen.
pub(crate) fn backend_of(arguments: &ExchangeArguments) -> anyhow::Result<Backend> {
    let ExchangeArguments { backend, queue, .. } = arguments;
    if !queue.is_all() && !rows::has_queues(backend) {
        bail!("--queue {queue}: {backend} uses no queues of an interface: leave it out");
    }
    Ok(transport::backend(backend)?.on(*queue))
}

/// The streams of one thread, or of gateways.
fn open(
    arguments: &ExchangeArguments,
    threads: Threads,
    (secure, device): (Option<&Secure>, Option<SharedDevice>),
    (clock, bells): (Clock, &[BorrowedFd<'_>]),
    hold: Option<HoldOnEntry>,
) -> anyhow::Result<Box<dyn Streams>> {
    let backend = transport::backend(&arguments.backend)?;
    let chosen = backend_of(arguments)?;
    if arguments.gateways > 0 && rows::is_below(backend.row.name) {
        bail!(
            "--gateways {}: gateway threads need sockets of the kernel, which {} lacks: use 0",
            arguments.gateways,
            backend.row.name
        );
    }
    let acceptor = secure.map(Secure::acceptor);
    if arguments.gateways == 0 {
        let streams = match device {
            None => chosen.open_beside(clock, bells)?,
            Some(device) => device.streams(clock),
        };
        return Ok(match acceptor {
            None => streams,
            acceptor => tls::around(streams, acceptor, clock),
        });
    }
    let place = move |gateway| threads.place_gateway(gateway).map_err(io::Error::other);
    Ok(gateway::open_with(arguments.gateways, backend, acceptor, clock, hold, place)?)
}
