//! A replicator between real sockets on loopback.

mod below;
mod copies;
mod gre;
mod many;
mod registration;
mod tree;

use clock::Clock;
use fanout::replicate::{Counts, FanOutError, Replicator, Settings, Tunnel};
use plan::tables::fan_out::SendOrder;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a datagram may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long nothing must come where nothing is expected.
const SILENCE: Duration = Duration::from_millis(150);
/// The longest that a replicator of a test runs, ns.
const LONGEST_NS: u64 = 60_000_000_000;

/// A replicator's work, which may have to be done in another namespace.
type Work<'a> = &'a mut dyn FnMut() -> Result<Counts, FanOutError>;

/// Any port of this host.
const ANY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);

/// A replicator that copies to these.
fn settings(to: &[SocketAddrV4]) -> Settings {
    Settings {
        from: ANY,
        interface: Ipv4Addr::LOCALHOST,
        source: None,
        to: to.to_vec(),
        listen: Some(ANY),
        lease_ms: 5_000,
        parent: None,
        order: SendOrder::Fixed,
        seed: 0,
        gre: None,
        tunnel: Tunnel::None,
        backend: plan::backend::BLOCK,
    }
}

/// A replicator on a thread of its own.
struct Running {
    from: SocketAddrV4,
    listening: SocketAddrV4,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Counts, FanOutError>>,
}

impl Running {
    fn start(settings: Settings) -> Running {
        Running::start_in(settings, |work| work())
    }

    /// `within` runs a closure where the replicator is to be.
    fn start_in(
        settings: Settings,
        within: impl FnOnce(Work<'_>) -> Result<Counts, FanOutError> + Send + 'static,
    ) -> Running {
        Running::start_for(LONGEST_NS, settings, within)
    }

    /// The same, for so long at most.
    fn start_for(
        longest_ns: u64,
        settings: Settings,
        within: impl FnOnce(Work<'_>) -> Result<Counts, FanOutError> + Send + 'static,
    ) -> Running {
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, when_ready) = mpsc::channel();
        let its_stop = stop.clone();
        let mut work = move || {
            let clock = Clock::calibrate();
            let replicator = Replicator::new(settings.clone(), clock)?;
            let listening = replicator.listening().unwrap().unwrap_or(ANY.into());
            ready.send((v4(replicator.from().unwrap()), v4(listening))).unwrap();
            replicator.run(&its_stop, Some(clock.now_ns() + longest_ns))
        };
        let thread = std::thread::spawn(move || within(&mut work));
        let (from, listening) = when_ready.recv().unwrap();
        Running { from, listening, stop, thread }
    }

    fn end(self) -> Counts {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap().unwrap()
    }
}

fn v4(address: SocketAddr) -> SocketAddrV4 {
    match address {
        SocketAddr::V4(address) => address,
        SocketAddr::V6(_) => panic!("{address}"),
    }
}

fn socket() -> (UdpSocket, SocketAddrV4) {
    socket_at(ANY)
}

fn socket_at(any: SocketAddrV4) -> (UdpSocket, SocketAddrV4) {
    let socket = UdpSocket::bind(any).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let address = v4(socket.local_addr().unwrap());
    (socket, address)
}

/// Stopping a process interrupts its waits with a timeout, and some machines stop all of theirs.
fn receive(socket: &UdpSocket) -> Vec<u8> {
    let mut bytes = [0; 2048];
    loop {
        match socket.recv(&mut bytes) {
            Ok(length) => return bytes[..length].to_vec(),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[track_caller]
fn gets_nothing(socket: &UdpSocket) {
    socket.set_read_timeout(Some(SILENCE)).unwrap();
    let got = socket.recv(&mut [0; 2048]);
    assert!(got.is_err(), "{got:?} bytes came");
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
}
