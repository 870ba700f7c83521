//! The raw echo over datagrams: one message a datagram, answered to its sender and to nobody else.
//!
//! Anybody can write somebody else's address into a datagram, so an echo may be made to send to a
//! third party. It therefore never sends more than it received: a reply is at most as long as its
//! request, there is at most one, and replies ask for none, so that two echoes can't keep each
//! other busy. docs/internals/wire.md describes the messages.

use crate::backend::Backend;
use crate::datagram::{DatagramError, set_receive_buffer};
use crate::echo::stamps::{KernelSide, asks_for_departure};
use crate::echo::{EchoMessage, HEADER_BYTES, MESSAGE_BYTES_MAX, is_nothing};
use crate::stream::below::address_of;
use crate::stream::below::datagrams::datagrams_at;
use bypass::{AnyDevice, Datagrams};
use clock::Clock;
use clock::wall::WallLine;
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
/// For this long the echo repeats what it said of its clock: finding it out takes some ms, and
/// anybody may ask.
const TIME_BASE_NS: u64 = 500_000_000;
/// Bytes of the shortest reply that carries them.
pub use plan::tables::network::STAMPED_BYTES;

pub use crate::echo::stamps::{EchoStamps, KERNEL_STAMPED_BYTES, ReplyLeft, ask_for_departure};
/// Limit on the senders of stamped messages that are counted at the same time.
const SENDERS_MAX: usize = 4096;
/// A sender that was silent for this long may be forgotten when there are too many.
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

/// Reads the echo's clock, and gives it as JSON of a [`clock::time_base::EchoClock`] with this line
/// of the kernel's stamps.
pub type Describe<'a> = &'a (dyn Fn(Option<WallLine>) -> String + Sync);

/// A sender of stamped messages.
struct Sender {
    received: u64,
    last_ns: u64,
    /// The latest of its replies whose departure the kernel stamped.
    left: Option<ReplyLeft>,
}

/// The state of an echo between datagrams.
struct DatagramEcho {
    counts: DatagramCounts,
    senders: HashMap<SocketAddr, Sender>,
    reply: Vec<u8>,
    /// The kernel's stamps, from the first question for the clock on: only clients that read
    /// another clock ask for it.
    kernel: Option<KernelSide>,
    /// The latest description of the clock, and when it was made.
    said: Option<(u64, String)>,
}

impl DatagramEcho {
    fn new() -> DatagramEcho {
        DatagramEcho {
            counts: DatagramCounts::default(),
            senders: HashMap::with_capacity(SENDERS_MAX),
            reply: Vec::with_capacity(MESSAGE_BYTES_MAX),
            kernel: None,
            said: None,
        }
    }

    /// Encodes the reply to `bytes` into `self.reply`; false if there is none. The stamp of a
    /// stamped reply's send is still missing.
    fn answer(&mut self, bytes: &[u8], from: SocketAddr, received_ns: u64) -> bool {
        self.counts.received += 1;
        self.reply.clear();
        let Ok(Some(message)) = EchoMessage::decode(bytes) else {
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
        let mut stamps = EchoStamps { received_ns, ..EchoStamps::default() };
        if is_stamped {
            let Some(sender) = self.count(from, received_ns) else {
                self.counts.uncounted += 1;
                return false;
            };
            (stamps.received, stamps.left) = (sender.received, sender.left);
            stamps.kernel_received_ns = self.kernel.as_ref().and_then(KernelSide::received_ns);
        }
        let Some(reply) = message.reply() else { return false };
        reply.encode(&mut self.reply);
        if is_stamped {
            stamps.encode(&mut self.reply[HEADER_BYTES..]);
        }
        true
    }

    /// Counts a stamped message of that sender; `None` if there are too many senders.
    fn count(&mut self, from: SocketAddr, now_ns: u64) -> Option<&mut Sender> {
        if self.senders.len() >= SENDERS_MAX && !self.senders.contains_key(&from) {
            self.senders.retain(|_, sender| now_ns.saturating_sub(sender.last_ns) < SILENT_NS);
            if self.senders.len() >= SENDERS_MAX {
                return None;
            }
        }
        let new = Sender { received: 0, last_ns: now_ns, left: None };
        let sender = self.senders.entry(from).or_insert(new);
        sender.received += 1;
        sender.last_ns = now_ns;
        Some(sender)
    }

    /// Writes into the reply what is to be said of the clock; false if it has no room.
    fn say_clock(
        &mut self,
        socket: &EchoSocket,
        (clock, describe): (Clock, Describe<'_>),
        now_ns: u64,
    ) -> bool {
        let fresh = self.said.take().filter(|(at_ns, _)| now_ns - at_ns < TIME_BASE_NS);
        let said = fresh.unwrap_or_else(|| {
            if let (None, EchoSocket::Kernel(socket)) = (&self.kernel, socket) {
                self.kernel = KernelSide::start(socket, clock);
            }
            (now_ns, describe(self.kernel.as_mut().map(KernelSide::check)))
        });
        let (_, text) = self.said.insert(said);
        let place = HEADER_BYTES..HEADER_BYTES + text.len();
        let Some(body) = self.reply.get_mut(place) else {
            self.counts.rejected += 1;
            return false;
        };
        body.copy_from_slice(text.as_bytes());
        true
    }

    /// Sends the reply, which the kernel stamps if `request` asks for it and it can.
    fn send(&mut self, socket: &mut EchoSocket, request: &[u8], to: SocketAddr) {
        let sent = match (&mut self.kernel, &*socket) {
            (Some(kernel), EchoSocket::Kernel(socket))
                if request[4] == STAMPED && asks_for_departure(request) =>
            {
                kernel.send(socket, &self.reply, to)
            }
            _ => socket.send(&self.reply, to).map(|()| None),
        };
        // A sender that can't be reached loses its reply, as it would on the way.
        match sent {
            Ok(driver_ns) => {
                self.counts.replied += 1;
                let sequence = EchoMessage::decode(&self.reply).ok().flatten();
                let left = sequence.zip(driver_ns);
                if let (Some((reply, driver_ns)), Some(sender)) = (left, self.senders.get_mut(&to))
                {
                    sender.left = Some(ReplyLeft { sequence: reply.sequence, driver_ns });
                }
            }
            Err(_) => self.counts.unsent += 1,
        }
    }
}

/// Where an echo receives datagrams: a socket of the kernel, or a stack below it.
pub enum EchoSocket {
    /// A socket of the kernel.
    Kernel(UdpSocket),
    /// A device on the address's interface.
    Below(Box<Datagrams<AnyDevice>>, SocketAddrV4),
}

impl EchoSocket {
    /// Receives what is sent to `address`, a `HOST:PORT`, over that backend.
    ///
    /// # Errors
    /// If the address is taken or not of this machine, or the backend can't run here.
    pub fn bind(address: &str, backend: &Backend) -> io::Result<EchoSocket> {
        let Some(kind) = backend.device() else {
            return Ok(EchoSocket::Kernel(UdpSocket::bind(address)?));
        };
        let address = address_of(address)?;
        let mut datagrams = datagrams_at(kind, *address.ip())?;
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
    fn receive(
        &mut self,
        kernel: Option<&mut KernelSide>,
        into: &mut [u8],
    ) -> io::Result<(usize, SocketAddr)> {
        match (self, kernel) {
            (EchoSocket::Kernel(socket), None) => socket.recv_from(into),
            (EchoSocket::Kernel(socket), Some(kernel)) => kernel.receive(socket, into),
            (EchoSocket::Below(datagrams, _), _) => match datagrams.receive(into) {
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
    let mut echo = DatagramEcho::new();
    // One more than the longest message, so that a longer one is seen to be cut.
    let mut bytes = vec![0; MESSAGE_BYTES_MAX + 1];
    while !stop.load(Ordering::Relaxed) {
        let (n, from) = match socket.receive(echo.kernel.as_mut(), &mut bytes) {
            Ok(received) => received,
            Err(error) if is_nothing(&error) => {
                echo.kernel.iter_mut().for_each(|kernel| kernel.refresh(clock.now_ns()));
                continue;
            }
            Err(error) => return Err(error),
        };
        let received_ns = clock.now_ns();
        let request = &bytes[..n];
        if !echo.answer(request, from, received_ns)
            || request[4] == TIME_BASE && !echo.say_clock(&socket, (clock, describe), received_ns)
        {
            continue;
        }
        if request[4] == STAMPED {
            let place = STAMPED_BYTES - 8..STAMPED_BYTES;
            echo.reply[place].copy_from_slice(&clock.now_ns().to_le_bytes());
        }
        echo.send(&mut socket, request, from);
        // Without an idle turn it is read here.
        echo.kernel.iter_mut().for_each(|kernel| kernel.refresh(received_ns));
    }
    Ok(echo.counts)
}

#[cfg(test)]
#[path = "datagrams_tests.rs"]
mod tests;
