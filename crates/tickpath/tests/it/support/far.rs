//! A way between a trader and the exchange that takes planted times: a relay for the trader's
//! connection and for the datagrams of its feed, so that `tickpath trade` runs over it as it is.
//!
//! One client of an exchange starts its flow, and learns when it ends. Here several traders follow
//! one flow: each way keeps its trader's request to start it, so that the test starts the flow when
//! all of them wait for it.

use std::cell::OnceCell;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};
use wire::frame::{Opcode, decode_header, mask_in_place, write_frame};

const ADDRESS: &str = r#""address":""#;
const START_FLOW: &str = r#""type":"FLOW""#;

/// How long what goes over a way takes.
#[derive(Clone, Copy, Default)]
pub struct Takes {
    pub ticks: Duration,
    pub orders: Duration,
}

/// Bytes for the trader, and when they are there.
type ToTrader = Sender<(Instant, Vec<u8>)>;

/// One trader's way.
pub struct Way {
    /// Where the trader connects.
    pub address: String,
    waiting: Receiver<ToTrader>,
    /// The connection that waits for the flow.
    to_trader: OnceCell<ToTrader>,
}

impl Way {
    /// A way to the exchange at `exchange`, for one trader. Answers to orders take no time.
    pub fn open(exchange: &str, takes: Takes) -> Way {
        let (exchange, listener) = (exchange.to_owned(), TcpListener::bind("127.0.0.1:0").unwrap());
        let address = listener.local_addr().unwrap().to_string();
        let (waits, waiting) = channel();
        spawn(move || {
            // It asks for the exchange's clock on a connection of its own.
            for trader in listener.incoming().flatten() {
                let Ok(exchange) = TcpStream::connect(&exchange) else { return };
                let waits = waits.clone();
                spawn(move || carry(trader, exchange, takes, &waits));
            }
        });
        Way { address, waiting, to_trader: OnceCell::new() }
    }

    /// Waits until the trader has its book, and asks for the flow.
    pub fn wait_for_trader(&self) {
        let waits = self.waiting.recv_timeout(Duration::from_secs(30));
        self.to_trader.set(waits.expect("the trader has its book in 30 s")).unwrap();
    }

    /// Tells the trader what the exchange said of the flow's end.
    pub fn end_flow(&self, ended: &str) {
        let _ = self.to_trader.get().unwrap().send((Instant::now(), text(ended)));
    }
}

/// Carries one connection until the trader ends it.
fn carry(trader: TcpStream, exchange: TcpStream, takes: Takes, waits: &Sender<ToTrader>) {
    [&trader, &exchange].iter().for_each(|stream| stream.set_nodelay(true).unwrap());
    let (to_trader, from_exchange) = channel();
    let (to_exchange, from_trader) = channel();
    for (mut to, from) in
        [(trader.try_clone().unwrap(), from_exchange), (exchange.try_clone().unwrap(), from_trader)]
    {
        spawn(move || late(from, |bytes: Vec<u8>| to.write_all(&bytes).is_ok()));
    }
    let (read, replies) = (exchange.try_clone().unwrap(), to_trader.clone());
    spawn(move || chunks(read, |bytes| replies.send((Instant::now(), bytes)).is_ok()));
    let feed = Arc::new(Feed::open(takes.ticks));
    let mut words = Words { unread: Vec::new(), is_upgraded: false, feed };
    chunks(trader, |bytes| {
        let (pass, starts) = words.next(&bytes);
        if starts {
            let _ = to_trader.send((Instant::now(), text(r#"{"type":"FLOW_STARTED"}"#)));
            let _ = waits.send(to_trader.clone());
        }
        to_exchange.send((Instant::now() + takes.orders, pass)).is_ok()
    });
    let _ = exchange.shutdown(Shutdown::Both);
}

/// The datagrams of a feed. They come here instead of to the trader.
struct Feed {
    socket: UdpSocket,
    trader: OnceLock<SocketAddr>,
    takes: Duration,
}

impl Feed {
    fn open(takes: Duration) -> Feed {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        Feed { socket, trader: OnceLock::new(), takes }
    }

    /// The trader receives at that address. Returns the one that the exchange is to send to.
    fn leads_to(self: &Arc<Feed>, trader: SocketAddr) -> SocketAddr {
        self.trader.set(trader).expect("one subscription");
        let (sender, receiver) = channel();
        let feed = self.clone();
        spawn(move || {
            let mut bytes = [0; 65_536];
            while let Ok(n) = feed.socket.recv(&mut bytes)
                && sender.send((Instant::now() + feed.takes, bytes[..n].to_vec())).is_ok()
            {
            }
        });
        let feed = self.clone();
        spawn(move || {
            // A trader that ended is no longer there.
            late(receiver, |bytes: Vec<u8>| feed.socket.send_to(&bytes, trader).is_ok());
        });
        self.socket.local_addr().unwrap()
    }
}

/// The trader's words to the exchange.
struct Words {
    unread: Vec<u8>,
    is_upgraded: bool,
    feed: Arc<Feed>,
}

impl Words {
    /// The bytes that go on to the exchange after these came, and whether the trader asked for the
    /// flow.
    fn next(&mut self, bytes: &[u8]) -> (Vec<u8>, bool) {
        self.unread.extend_from_slice(bytes);
        let (mut pass, mut starts) = (Vec::new(), false);
        if !self.is_upgraded {
            let Some(end) = self.unread.windows(4).position(|four| four == b"\r\n\r\n") else {
                return (pass, starts);
            };
            pass.extend(self.unread.drain(..end + 4));
            self.is_upgraded = true;
        }
        while let Some(header) = decode_header(&self.unread).unwrap() {
            let whole = header.header_bytes + header.payload_bytes as usize;
            if self.unread.len() < whole {
                break;
            }
            let mut frame: Vec<u8> = self.unread.drain(..whole).collect();
            let mut payload = frame.split_off(header.header_bytes);
            mask_in_place(&mut payload, header.mask.unwrap());
            let said = String::from_utf8_lossy(&payload);
            if said.contains(START_FLOW) {
                starts = true;
                continue;
            }
            let said = match said.split_once(ADDRESS) {
                None => said.into_owned(),
                Some((before, rest)) => {
                    let (address, rest) = rest.split_once('"').unwrap();
                    let address = self.feed.leads_to(address.parse().unwrap());
                    format!("{before}{ADDRESS}{address}\"{rest}")
                }
            };
            write_frame(&mut pass, header.fin, header.opcode, header.mask, said.as_bytes());
        }
        (pass, starts)
    }
}

/// A server's frame with a text.
fn text(words: &str) -> Vec<u8> {
    let mut frame = Vec::new();
    write_frame(&mut frame, true, Opcode::Text, None, words.as_bytes());
    frame
}

/// Takes what comes over a connection until it ends, or nobody takes it any more.
fn chunks(mut from: TcpStream, mut take: impl FnMut(Vec<u8>) -> bool) {
    let mut bytes = [0; 65_536];
    while let Ok(n @ 1..) = from.read(&mut bytes)
        && take(bytes[..n].to_vec())
    {}
    let _ = from.shutdown(Shutdown::Both);
}

/// Hands on each at its time, in the order in which they came.
fn late<T>(from: Receiver<(Instant, T)>, mut hand_on: impl FnMut(T) -> bool) {
    for (due, one) in from {
        sleep(due.saturating_duration_since(Instant::now()));
        if !hand_on(one) {
            return;
        }
    }
}
