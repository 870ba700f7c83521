//! SBE over UDP at a real exchange: hostile datagrams, too many peers, and a peer that vanishes.

use crate::running::{Running, config};
use clock::{Clock, Deadline};
use exchange::{Config, Limits};
use plan::faults::DatagramHarm;
use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use transport::acked::{
    self, DatagramKind, HANDSHAKE_BYTES, HEADER_BYTES, Handshake, Header, SharedCounts, TableCounts,
};
use transport::cookie::{COOKIE_BYTES, Cookie};
use transport::{Dialogue, StreamId, Streams};
use wire::reply::Reply;
use wire::request::{CreateOrder, Side};
use wire::sbe::client::{Logon, encode_logon, encode_new_order};
use wire::sbe::exchange::{ExchangeMessage, Names, decode_exchange};
use wire::sbe::split;
use wire::{ClientId, Decimal};

const PATIENCE: Duration = Duration::from_secs(60);
/// Datagrams of each flood, at least.
const FLOODED: u64 = 6_000;

struct Server {
    running: Running,
    address: SocketAddr,
    counts: SharedCounts,
}

impl Server {
    fn start(config: Config) -> Server {
        let socket = acked::bind("127.0.0.1:0").unwrap();
        let (address, counts) = (socket.local_addr().unwrap(), SharedCounts::default());
        let shared = counts.clone();
        let open = move |clock: Clock| {
            let backend = transport::backend("block").unwrap();
            acked::beside(backend, socket, &[], clock, shared).unwrap()
        };
        Server { running: Running::start_over(open, config), address, counts }
    }

    fn stop(self) -> TableCounts {
        self.running.stop();
        *self.counts.lock().unwrap()
    }
}

/// A client that speaks SBE over UDP.
struct Client {
    streams: Box<dyn Streams>,
    id: StreamId,
    clock: Clock,
    bytes: Vec<u8>,
    sent: u64,
}

impl Client {
    fn dial(server: SocketAddr) -> std::io::Result<Client> {
        let clock = Clock::calibrate();
        let backend = transport::backend("block").unwrap();
        let mut streams = acked::dialling(backend, server, DatagramHarm::default(), clock)?;
        let id = streams.dial(server)?;
        Ok(Client { streams, id, clock, bytes: Vec::new(), sent: 0 })
    }

    /// Logs on. Tries again while the exchange still counts connections that have ended.
    fn log_on(server: SocketAddr, token: &str, cancel_on_disconnect: bool) -> Client {
        let mut out = Vec::new();
        let logon = Logon { session: 0, last_sequence: 0, cancel_on_disconnect, token };
        encode_logon(&mut out, &logon);
        let deadline = Deadline::after(PATIENCE);
        let mut client = loop {
            let mut client = Client::dial(server).unwrap();
            client.dialogue().write_all(&out).unwrap();
            client.read_more();
            if !client.bytes.starts_with(b"HTTP") {
                break client;
            }
            assert!(!deadline.left().is_zero(), "no place for a connection");
        };
        let mut instruments = None;
        let mut known = 0;
        while instruments != Some(known) {
            client.next(|message| match message {
                ExchangeMessage::LogonAccepted(accepted) => {
                    instruments = Some(accepted.instruments);
                }
                ExchangeMessage::Instrument(_) => known += 1,
                other => panic!("{other:?}"),
            });
        }
        client
    }

    fn read_more(&mut self) {
        let mut more = [0; 4096];
        let n = self.dialogue().read(&mut more).unwrap();
        assert!(n > 0, "the exchange ended the connection");
        self.bytes.extend_from_slice(&more[..n]);
    }

    fn dialogue(&mut self) -> Dialogue<'_, dyn Streams> {
        let Client { streams, id, clock, .. } = self;
        let (id, clock) = (*id, *clock);
        Dialogue { streams: &mut **streams, id, clock, patience: PATIENCE, is_secure: false }
    }

    fn next<T>(&mut self, take: impl FnOnce(ExchangeMessage<'_>) -> T) -> T {
        loop {
            if let Some((message, frame_bytes)) = split(&self.bytes).unwrap() {
                let codes = vec!["BTC_USDT".to_owned(); 4];
                let taken =
                    take(decode_exchange(message, Names { codes: &codes, account: "a" }).unwrap());
                self.bytes.drain(..frame_bytes);
                return taken;
            }
            self.read_more();
        }
    }

    /// Sends an order of one lot at the same price; what came of it.
    fn order(&mut self, client_id: &str, side: Side) -> &'static str {
        let (price, amount) = (Decimal::new(100, 0).unwrap(), Decimal::new(1, 0).unwrap());
        let client_id = ClientId::new(client_id).unwrap();
        let order = CreateOrder::limit("BTC_USDT", client_id, side, price, amount);
        let mut out = Vec::new();
        self.sent += 1;
        encode_new_order(&mut out, self.sent, 0, &order);
        self.dialogue().write_all(&out).unwrap();
        self.next(|message| match message {
            ExchangeMessage::Report { reply, .. } => match reply {
                Reply::Booked(_) => "booked",
                Reply::Fill(_) => "fill",
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        })
    }
}

/// A datagram that names an unknown connection.
fn forged(kind: DatagramKind, connection: u64) -> Vec<u8> {
    let mut datagram = vec![0; HEADER_BYTES + usize::from(kind == DatagramKind::Data)];
    let header = Header { kind, ends: false, gap: true, room: 64, connection, sequence: 0, ack: 0 };
    header.seal(&mut datagram);
    datagram
}

/// Everything that a stranger may send, again and again.
fn flood(server: SocketAddr, stop: &AtomicBool, flooded: &AtomicU64) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let handshake =
        |kind, cookie| -> [u8; HANDSHAKE_BYTES] { Handshake::new(kind, 1, cookie).encode() };
    let mut sent = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        let number = (sent << 16) | (sent % 300);
        for datagram in [
            handshake(DatagramKind::Hello, Cookie::default()).to_vec(),
            handshake(DatagramKind::Connect, Cookie([sent as u8; COOKIE_BYTES])).to_vec(),
            handshake(DatagramKind::Accepted, Cookie::default()).to_vec(),
            forged(DatagramKind::Reset, number),
            forged(DatagramKind::Data, number),
            vec![sent as u8; sent as usize % 2_000],
        ] {
            // The kernel may have no room.
            let _ = socket.send_to(&datagram, server);
            sent += 1;
        }
        flooded.store(sent, Ordering::Relaxed);
        if sent.is_multiple_of(60) {
            // A flood that fills the socket's buffer is a matter of the network in front of it.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn a_flood_of_junk_harms_no_session() {
    let server = Server::start(config());
    let (address, stop, flooded) = (server.address, AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let mut client = Client::log_on(address, "a", false);
        for _ in 0..2 {
            scope.spawn(|| flood(address, &stop, &flooded));
        }
        let mut orders = 0;
        while flooded.load(Ordering::Relaxed) < FLOODED || orders < 10 {
            orders += 1;
            assert_eq!(client.order(&format!("o{orders}"), Side::Buy), "booked");
            std::thread::sleep(Duration::from_millis(20));
        }
        // JSON over TCP beside it is served, too.
        let mut json = server.running.login("b");
        json.nothing_more();
        stop.store(true, Ordering::Relaxed);
    });
    let counts = server.stop();
    assert_eq!((counts.accepted, counts.full), (1, 0));
    assert!(counts.challenged > 0 && counts.strangers > 0 && counts.malformed > 0, "{counts:?}");
    assert!(counts.bad_cookies > 0, "{counts:?}");
}

/// The exchange's limit of connections holds for peers, and each ends when its time for a logon is
/// over.
#[test]
fn peers_count_as_connections() {
    let limits = Limits { connections_max: 3, authentication_seconds_max: 5.0, ..config().limits };
    let server = Server::start(Config { limits, ..config() });
    let mut open: Vec<Client> = (0..3).map(|_| Client::dial(server.address).unwrap()).collect();
    let mut fourth = Client::dial(server.address).unwrap();
    // As over TCP: the exchange says why, and ends the connection.
    let mut said = Vec::new();
    fourth.dialogue().read_to_end(&mut said).unwrap();
    assert!(!said.is_empty());
    for client in &mut open {
        let mut said = Vec::new();
        client.dialogue().read_to_end(&mut said).unwrap();
    }
    drop((open, fourth));
    let mut client = Client::log_on(server.address, "a", false);
    assert_eq!(client.order("o", Side::Buy), "booked");
    server.stop();
}

/// A client that is killed says nothing: its orders go when it has been silent for too long.
#[test]
fn the_orders_of_a_peer_that_vanished_are_cancelled() {
    let server = Server::start(config());
    let mut maker = Client::log_on(server.address, "maker", true);
    assert_eq!(maker.order("m", Side::Buy), "booked");
    // Nothing sends its keep-alives any more, and it sends no reset.
    std::mem::forget(maker);
    let silence = Duration::from_nanos(acked::SILENCE_NS);
    std::thread::sleep(silence + Duration::from_secs(1));
    let mut taker = Client::log_on(server.address, "taker", false);
    assert_eq!(taker.order("t", Side::Sell), "booked");
    server.stop();
}
