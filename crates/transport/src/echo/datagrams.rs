//! The raw echo over datagrams: one message a datagram, answered to its sender and to nobody else.
//!
//! Anybody can write somebody else's address into a datagram, so an echo may be made to send to a
//! third party. It therefore never sends more than it received: a reply is at most as long as its
//! request, there is at most one, and replies ask for none, so that two echoes can't keep each
//! other busy. docs/internals/wire.md describes the messages.

use crate::datagram::{DatagramError, set_receive_buffer};
use crate::echo::{HEADER_BYTES, MESSAGE_BYTES_MAX, Message, is_nothing};
use crate::stream::below::address_of;
use crate::stream::below::datagrams::datagrams_at;
use bypass::{Datagrams, Port};
use clock::Clock;
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Kind of a message whose reply carries a count and two stamps.
pub const STAMPED: u8 = b'S';
/// Kind of a message whose reply says, as JSON, what the echo's clock is.
pub const TIME_BASE: u8 = b'T';
/// Bytes of such a message, and the limit on its reply.
pub const TIME_BASE_BYTES: usize = 4096;
/// For so long the echo repeats what it said of its clock: finding it out takes some ms, and
/// anybody may ask.
const TIME_BASE_NS: u64 = 500_000_000;
/// Bytes of the shortest reply that carries them.
pub use plan::tables::network::STAMPED_BYTES;
/// Limit on the senders of stamped messages that are counted at the same time.
const SENDERS_MAX: usize = 4096;
/// A sender that was silent for so long may be forgotten when there are too many.
const SILENT_NS: u64 = 60_000_000_000;
/// Receive buffer to ask for.
const RECEIVE_BUFFER_BYTES: usize = 8 << 20;
/// How often an echo that sleeps looks whether it is to stop.
const SLEEP_MAX: Duration = Duration::from_millis(50);

/// Counts of the datagrams that an echo received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramCounts {
    /// Datagrams received.
    pub received: u64,
    /// Replies sent.
    pub replied: u64,
    /// Datagrams that are no message, or ask for a reply longer than they are.
    pub rejected: u64,
    /// Stamped messages past the limit on senders; they get no reply.
    pub uncounted: u64,
    /// Replies that the kernel did not take.
    pub unsent: u64,
}

/// The count and the stamps in the body of a stamped reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EchoStamps {
    /// Stamped messages received from this sender so far, this one included.
    pub received: u64,
    /// When the receive call returned, ns on the echo's clock.
    pub received_ns: u64,
    /// Just before the send call, ns on the echo's clock.
    pub sent_ns: u64,
}

impl EchoStamps {
    /// Reads the body of a stamped reply; `None` if it is too short to have one.
    pub fn decode(body: &[u8]) -> Option<EchoStamps> {
        let word = |at: usize| Some(u64::from_le_bytes(*body.get(at..at + 8)?.first_chunk::<8>()?));
        Some(EchoStamps { received: word(0)?, received_ns: word(8)?, sent_ns: word(16)? })
    }

    fn encode(&self, reply: &mut [u8]) {
        let words = [self.received, self.received_ns, self.sent_ns];
        for (place, word) in reply[HEADER_BYTES..].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }
}

/// Reads the echo's clock, and gives it as JSON of a [`clock::time_base::TimeBase`].
pub type Describe<'a> = &'a (dyn Fn() -> String + Sync);

/// A sender of stamped messages.
struct Sender {
    received: u64,
    last_ns: u64,
}

/// The state of an echo between datagrams.
struct DatagramEcho {
    counts: DatagramCounts,
    senders: HashMap<SocketAddr, Sender>,
    reply: Vec<u8>,
}

impl DatagramEcho {
    /// Encodes the reply to `bytes` into `self.reply`; false if there is none. The stamp of a
    /// stamped reply's send is still missing.
    fn answer(&mut self, bytes: &[u8], from: SocketAddr, received_ns: u64) -> bool {
        self.counts.received += 1;
        self.reply.clear();
        let Ok(Some(message)) = Message::decode(bytes) else {
            self.counts.rejected += 1;
            return false;
        };
        let is_whole = usize::from(message.length_bytes) == bytes.len();
        let is_stamped = message.kind == STAMPED;
        let is_short = message.reply_bytes != 0 && usize::from(message.reply_bytes) < STAMPED_BYTES;
        if !is_whole || message.reply_bytes > message.length_bytes || is_stamped && is_short {
            self.counts.rejected += 1;
            return false;
        }
        let received = match is_stamped {
            false => 0,
            true => match self.count(from, received_ns) {
                Some(received) => received,
                None => {
                    self.counts.uncounted += 1;
                    return false;
                }
            },
        };
        let Some(reply) = message.reply() else { return false };
        reply.encode(&mut self.reply);
        if is_stamped {
            EchoStamps { received, received_ns, sent_ns: 0 }.encode(&mut self.reply);
        }
        true
    }

    /// Stamped messages of that sender so far; `None` if there are too many senders.
    fn count(&mut self, from: SocketAddr, now_ns: u64) -> Option<u64> {
        if self.senders.len() >= SENDERS_MAX && !self.senders.contains_key(&from) {
            self.senders.retain(|_, sender| now_ns.saturating_sub(sender.last_ns) < SILENT_NS);
            if self.senders.len() >= SENDERS_MAX {
                return None;
            }
        }
        let sender = self.senders.entry(from).or_insert(Sender { received: 0, last_ns: now_ns });
        sender.received += 1;
        sender.last_ns = now_ns;
        Some(sender.received)
    }
}

/// Where an echo receives datagrams: a socket of the kernel, or a stack below it.
pub enum EchoSocket {
    /// A socket of the kernel.
    Kernel(UdpSocket),
    /// AF_XDP on the address's interface.
    Below(Box<Datagrams<Port>>, SocketAddrV4),
}

impl EchoSocket {
    /// Receives what is sent to `address`, a `HOST:PORT`, over that backend.
    ///
    /// # Errors
    /// If the address is taken or not of this machine, or the backend can't run here.
    pub fn bind(address: &str, backend: plan::backend::Backend) -> io::Result<EchoSocket> {
        if backend != plan::backend::AF_XDP {
            return Ok(EchoSocket::Kernel(UdpSocket::bind(address)?));
        }
        let address = address_of(address)?;
        let mut datagrams = datagrams_at(*address.ip()).map_err(io::Error::other)?;
        let bound = datagrams.bind(address.port()).map_err(io::Error::other)?;
        Ok(EchoSocket::Below(Box::new(datagrams), bound))
    }

    /// Where to send what shall come here.
    ///
    /// # Errors
    /// If the kernel doesn't say.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            EchoSocket::Kernel(socket) => socket.local_addr(),
            EchoSocket::Below(_, address) => Ok(SocketAddr::V4(*address)),
        }
    }

    /// In words the stack below it; `None`: the kernel's.
    pub fn stack(&self) -> Option<String> {
        match self {
            EchoSocket::Kernel(_) => None,
            EchoSocket::Below(datagrams, _) => Some(datagrams.frames().to_string()),
        }
    }

    /// Sets its buffers and how it waits.
    fn prepare(&self, spins: bool) -> io::Result<()> {
        let EchoSocket::Kernel(socket) = self else { return Ok(()) };
        set_receive_buffer(socket, RECEIVE_BUFFER_BYTES).map_err(DatagramError::into_io)?;
        socket.set_nonblocking(spins)?;
        socket.set_read_timeout(Some(SLEEP_MAX))?;
        socket.set_write_timeout(Some(SLEEP_MAX))
    }

    /// The next datagram and its sender; an error that [`is_nothing`] if there is none.
    #[inline]
    fn receive(&mut self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        match self {
            EchoSocket::Kernel(socket) => socket.recv_from(into),
            EchoSocket::Below(datagrams, _) => match datagrams.receive(into) {
                Some(arrival) => Ok((arrival.length, SocketAddr::V4(arrival.from))),
                None => Err(io::ErrorKind::WouldBlock.into()),
            },
        }
    }

    #[inline]
    fn send(&mut self, bytes: &[u8], to: SocketAddr) -> io::Result<()> {
        match (self, to) {
            (EchoSocket::Kernel(socket), to) => socket.send_to(bytes, to).map(|_| ()),
            (EchoSocket::Below(datagrams, from), SocketAddr::V4(to)) => {
                datagrams.send(from.port(), bytes, to)
            }
            (EchoSocket::Below(..), SocketAddr::V6(_)) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// Answers datagrams until `stop` is set: spinning, or sleeping in the receive call.
///
/// # Errors
/// If the socket can't be prepared, or is broken.
pub fn serve(
    mut socket: EchoSocket,
    spins: bool,
    (clock, describe): (Clock, Describe<'_>),
    stop: &AtomicBool,
) -> io::Result<DatagramCounts> {
    socket.prepare(spins)?;
    let mut echo = DatagramEcho {
        counts: DatagramCounts::default(),
        senders: HashMap::with_capacity(SENDERS_MAX),
        reply: Vec::with_capacity(MESSAGE_BYTES_MAX),
    };
    let mut said: Option<(u64, String)> = None;
    // One more than the longest message, so that a longer one is seen to be cut.
    let mut bytes = vec![0; MESSAGE_BYTES_MAX + 1];
    while !stop.load(Ordering::Relaxed) {
        let (n, from) = match socket.receive(&mut bytes) {
            Ok(received) => received,
            Err(error) if is_nothing(&error) => continue,
            Err(error) => return Err(error),
        };
        let received_ns = clock.now_ns();
        if !echo.answer(&bytes[..n], from, received_ns) {
            continue;
        }
        if bytes[4] == TIME_BASE {
            let fresh = said.take().filter(|(at_ns, _)| received_ns - at_ns < TIME_BASE_NS);
            let (_, text) = said.insert(fresh.unwrap_or_else(|| (received_ns, describe())));
            let place = HEADER_BYTES..HEADER_BYTES + text.len();
            let Some(body) = echo.reply.get_mut(place) else {
                echo.counts.rejected += 1;
                continue;
            };
            body.copy_from_slice(text.as_bytes());
        }
        if bytes[4] == STAMPED {
            let place = STAMPED_BYTES - 8..STAMPED_BYTES;
            echo.reply[place].copy_from_slice(&clock.now_ns().to_le_bytes());
        }
        // A sender that can't be reached loses its reply, as it would on the way.
        match socket.send(&echo.reply, from) {
            Ok(()) => echo.counts.replied += 1,
            Err(_) => echo.counts.unsent += 1,
        }
    }
    Ok(echo.counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(spins: bool, client: impl FnOnce(&UdpSocket)) -> DatagramCounts {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let serve = || {
                let socket = EchoSocket::Kernel(socket);
                serve(socket, spins, (Clock::calibrate(), &|| "{}".to_owned()), &stop)
            };
            let server = scope.spawn(serve);
            let ours = UdpSocket::bind("127.0.0.1:0").unwrap();
            ours.connect(address).unwrap();
            ours.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            client(&ours);
            stop.store(true, Ordering::Relaxed);
            server.join().unwrap().unwrap()
        })
    }

    fn message(length_bytes: u16, reply_bytes: u16, kind: u8, sequence: u64) -> Vec<u8> {
        let mut out = Vec::new();
        Message { length_bytes, reply_bytes, kind, sequence }.encode(&mut out);
        out
    }

    /// Datagrams that must get no reply, then one that gets one: that reply comes first.
    #[test]
    fn no_reply_is_longer_than_its_request() {
        for spins in [true, false] {
            let counts = served(spins, |socket| {
                let mut cut = message(64, 64, b'O', 2);
                cut.truncate(50);
                let mut padded = message(64, 64, b'O', 3);
                padded.push(0);
                for bytes in [
                    message(16, 17, b'O', 1),
                    cut,
                    padded,
                    message(64, 0, b'O', 4),
                    message(64, 39, STAMPED, 5),
                    vec![0; 16],
                    vec![7; 3],
                    Vec::new(),
                    vec![0; MESSAGE_BYTES_MAX + 100],
                    message(64, 64, b'O', 6),
                ] {
                    socket.send(&bytes).unwrap();
                }
                let mut into = [0; 100];
                assert_eq!(socket.recv(&mut into).unwrap(), 64);
                let reply = Message::decode(&into[..64]).unwrap().unwrap();
                assert_eq!((reply.sequence, reply.kind, reply.reply_bytes), (6, b'O', 0));
                // A reply that comes back to an echo ends there.
                socket.send(&into[..64]).unwrap();
                socket.send(&message(16, 16, b'O', 7)).unwrap();
                assert_eq!(socket.recv(&mut into).unwrap(), 16);
            });
            assert_eq!((counts.received, counts.replied, counts.rejected), (12, 2, 8));
            assert_eq!((counts.unsent, counts.uncounted), (0, 0));
        }
    }

    #[test]
    fn a_stamped_reply_counts_what_arrived_and_when() {
        served(false, |socket| {
            // Two that ask for no reply are counted too.
            for sequence in 0..2 {
                socket.send(&message(64, 0, STAMPED, sequence)).unwrap();
            }
            let mut last_ns = 0;
            for count in 3..6 {
                socket.send(&message(64, 40, STAMPED, count)).unwrap();
                let mut into = [0; 100];
                assert_eq!(socket.recv(&mut into).unwrap(), STAMPED_BYTES);
                let stamps = EchoStamps::decode(&into[HEADER_BYTES..STAMPED_BYTES]).unwrap();
                assert_eq!(stamps.received, count);
                assert!(last_ns < stamps.received_ns && stamps.received_ns <= stamps.sent_ns);
                last_ns = stamps.sent_ns;
            }
        });
    }

    /// The reply is as long as its request, padded with zeros, and there is none where the text
    /// doesn't fit.
    #[test]
    fn the_echo_says_its_clock_to_whoever_asks() {
        let counts = served(false, |socket| {
            socket.send(&message(16, 16, TIME_BASE, 1)).unwrap();
            for sequence in [2, 3] {
                socket.send(&message(64, 64, TIME_BASE, sequence)).unwrap();
                let mut into = [7; 100];
                assert_eq!(socket.recv(&mut into).unwrap(), 64);
                assert_eq!(into[HEADER_BYTES..64], *[b"{}".as_slice(), &[0; 46]].concat());
            }
        });
        assert_eq!((counts.received, counts.replied, counts.rejected), (3, 2, 1));
    }

    #[test]
    fn senders_past_the_limit_are_not_counted_until_others_are_silent() {
        let mut echo = DatagramEcho {
            counts: DatagramCounts::default(),
            senders: HashMap::new(),
            reply: Vec::new(),
        };
        let address = |port: usize| SocketAddr::from(([127, 0, 0, 1], port as u16 + 1));
        for port in 0..SENDERS_MAX {
            assert_eq!(echo.count(address(port), 1), Some(1));
        }
        assert_eq!(echo.count(address(SENDERS_MAX), 2), None);
        assert_eq!(echo.count(address(0), 3), Some(2), "those that are known still are");
        assert!(!echo.answer(&message(64, 40, STAMPED, 1), address(SENDERS_MAX), 4));
        assert_eq!(echo.counts.uncounted, 1);
        assert_eq!(echo.count(address(SENDERS_MAX), SILENT_NS + 2), Some(1));
        assert_eq!(echo.count(address(0), SILENT_NS + 3), Some(3), "it was heard of later");
    }
}
