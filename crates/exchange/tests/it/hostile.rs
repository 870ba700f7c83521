//! No client harms another: behind every backend over the kernel's sockets, at the exchange and at
//! a gateway in front of it, and over AF_XDP at the exchange; in plain text and over TLS. A new
//! backend over sockets is in the list by itself.

use crate::running::{Running, config, dial};
use clock::Clock;
use exchange::{Config, Limits};
use host::network::Networks;
use plan::trust::Trust;
use std::io::{Error, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use transport::forward::{self, Target, forward};
use transport::proxy;
use transport::tls::{self, Acceptor, CertificatePair, Connector};
use transport::{BACKENDS, Backend, Connection, Streams};
use wire::frame::{Opcode, write_frame};
use wire::http::{UpgradeKey, check_upgrade_response, upgrade_request};

const NAME: &str = "exchange.test";
const MASK: Option<[u8; 4]> = Some([1, 2, 3, 4]);
const PATIENCE: Duration = Duration::from_secs(30);
const HOSTILE: usize = 12;
/// How long a test floods.
const FLOODED_BYTES: u64 = 500_000_000;
/// The same below the kernel, where a test's unoptimised TCP is slower.
const FLOODED_BELOW_BYTES: u64 = 400_000_000;

/// Where the clients connect.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Door {
    Exchange,
    Gateway,
}

/// The way of a client to the server under test.
#[derive(Clone)]
struct Way {
    address: SocketAddr,
    networks: Option<Arc<Networks>>,
    connector: Option<Connector>,
}

/// A server under test.
struct Server {
    way: Way,
    stop: Arc<AtomicBool>,
    gateway: Option<JoinHandle<forward::Counts>>,
    running: Option<Running>,
}

/// Nobody authenticates here, and on a busy machine a flood takes longer than a client has for it.
fn unhurried() -> Config {
    let limits = Limits { authentication_seconds_max: 600.0, ..config().limits };
    Config { limits, ..config() }
}

impl Server {
    fn start(backend: &'static Backend, door: Door, is_secure: bool) -> Server {
        let pair = is_secure.then(|| CertificatePair::self_signed(&[NAME.to_owned()]).unwrap());
        let acceptor = pair.as_ref().map(|pair| Arc::new(Acceptor::of(pair).unwrap()));
        let connector = pair.map(|pair| {
            let ca_pem = Some(String::from_utf8(pair.certificate).unwrap());
            let trust = Trust { ca_pem, name: Some(NAME.to_owned()), ..Trust::default() };
            Connector::new(&trust, NAME).unwrap()
        });
        let open = move |clock: Clock| -> Box<dyn Streams> {
            tls::around(backend.open(clock).unwrap(), acceptor, clock)
        };
        let stop = Arc::new(AtomicBool::new(false));
        let is_below = plan::backend::is_below(backend.row.name);
        let (running, gateway, address) = match door {
            Door::Exchange => {
                let running = match is_below {
                    false => Running::start_over(open, unhurried()),
                    true => Running::start_below(Networks::create().unwrap(), open, unhurried()),
                };
                let address = running.address;
                (running, None, address)
            }
            Door::Gateway => {
                let running = Running::start(unhurried());
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let address = listener.local_addr().unwrap();
                let (exchange, stop) = ([running.address], stop.clone());
                let gateway = std::thread::spawn(move || {
                    let clock = Clock::calibrate();
                    let mut streams = open(clock);
                    streams.listen(listener).unwrap();
                    let limits = forward::Limits::default();
                    let exchange = Target { addresses: &exchange, greeting: proxy::UNKNOWN };
                    forward(&mut *streams, exchange, limits, clock, &stop, &mut |_| ()).unwrap()
                });
                (running, Some(gateway), address)
            }
        };
        let way = Way { address, networks: running.networks.clone(), connector };
        Server { way, stop, gateway, running: Some(running) }
    }

    fn end(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(gateway) = self.gateway.take() {
            gateway.join().unwrap();
        }
        if let Some(running) = self.running.take() {
            running.stop();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Way {
    /// A WebSocket.
    fn connect(&self) -> std::io::Result<Connection> {
        let socket = dial(self.address, self.networks.as_deref())?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(Duration::from_millis(200)))?;
        socket.set_nodelay(true)?;
        let mut connection = match &self.connector {
            None => socket.into(),
            Some(connector) => connector.connect(socket)?,
        };
        let (key, mut request) = (UpgradeKey::from_nonce([7; 16]), Vec::new());
        upgrade_request(&mut request, NAME, "/", &key, &[]);
        connection.write_all(&request)?;
        let (mut answer, mut byte) = (Vec::new(), [0]);
        // On a busy machine writes time out, and floods that come again fill the exchange's places.
        while check_upgrade_response(&answer, &key, &[]).map_err(Error::other)?.is_none() {
            connection.read_exact(&mut byte)?;
            answer.push(byte[0]);
        }
        Ok(connection)
    }
}

/// Sends pings and reads nothing, over one connection after the other. `sent` counts the bytes.
fn flood(way: &Way, stop: &AtomicBool, sent: &AtomicU64) {
    let mut pings = Vec::new();
    while pings.len() < 8_000 {
        write_frame(&mut pings, true, Opcode::Ping, MASK, &[0x2a; 100]);
    }
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut connection) = way.connect() else { continue };
        while !stop.load(Ordering::Relaxed) && connection.write_all(&pings).is_ok() {
            sent.fetch_add(pings.len() as u64, Ordering::Relaxed);
        }
    }
}

/// How a well-behaved client was served, in bytes that the hostile ones sent meanwhile: unlike a
/// time, that does not depend on how busy the machine is.
#[derive(Debug)]
struct Served {
    round_trips: u64,
    /// During all round trips.
    flooded: u64,
    /// During the one in which most were sent.
    flooded_in_one: u64,
}

/// Pings one after the other while others flood.
fn serve_while_flooded(
    backend: &'static Backend,
    door: Door,
    is_secure: bool,
    flooded_bytes: u64,
) -> Served {
    let server = Server::start(backend, door, is_secure);
    let mut modest = server.way.connect().unwrap();
    let (stop, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let floods: Vec<_> = (0..HOSTILE)
        .map(|_| {
            let (way, stop, sent) = (server.way.clone(), stop.clone(), sent.clone());
            std::thread::spawn(move || flood(&way, &stop, &sent))
        })
        .collect();
    let mut ping = Vec::new();
    write_frame(&mut ping, true, Opcode::Ping, MASK, b"modest");
    let mut served = Served { round_trips: 0, flooded: 0, flooded_in_one: 0 };
    while served.flooded < flooded_bytes {
        let before = sent.load(Ordering::Relaxed);
        modest.write_all(&ping).unwrap();
        modest.read_exact(&mut [0; 8]).unwrap();
        let flooded = sent.load(Ordering::Relaxed) - before;
        served.round_trips += 1;
        served.flooded += flooded;
        served.flooded_in_one = served.flooded_in_one.max(flooded);
    }
    stop.store(true, Ordering::Relaxed);
    server.end();
    floods.into_iter().for_each(|flood| flood.join().unwrap());
    served
}

/// Twelve clients send pings as fast as they can and read no answer. With the backends over
/// io_uring they once took all memory that a thread receives into, and at a gateway with TLS
/// another client waited a second for each answer. It made 40 round trips while they sent 2.6 GB;
/// now it makes hundreds.
#[test]
fn clients_that_read_nothing_do_not_stall_another() {
    let is_here = |backend: &&'static Backend| {
        testing::opens(backend.row.name, || backend.open(Clock::calibrate()).map(drop))
    };
    for door in [Door::Exchange, Door::Gateway] {
        for is_secure in [false, true] {
            for backend in BACKENDS.iter().filter(is_here) {
                is_served_while_flooded(backend, door, is_secure, FLOODED_BYTES);
            }
        }
    }
}

/// The same over AF_XDP, where TCP is in the exchange's process. Needs root.
#[test]
fn clients_that_read_nothing_do_not_stall_another_below_the_kernel() {
    if crate::below::networks().is_none() {
        return;
    }
    let backend = transport::backend("af_xdp").unwrap();
    for is_secure in [false, true] {
        is_served_while_flooded(backend, Door::Exchange, is_secure, FLOODED_BELOW_BYTES);
    }
}

fn is_served_while_flooded(
    backend: &'static Backend,
    door: Door,
    is_secure: bool,
    flooded_bytes: u64,
) {
    let served = serve_while_flooded(backend, door, is_secure, flooded_bytes);
    let name = backend.row.name;
    let case = format!("{name}, {door:?}, TLS {is_secure}: {served:?}");
    assert!(served.flooded / served.round_trips < 16_000_000, "{case}");
    assert!(served.flooded_in_one < served.flooded / 4, "{case}");
}
