//! The raw ticker: the exchange's end of the floor of a tick's path. Ticks of a given length leave
//! on a schedule, as datagrams or over a stream, and orders come back as in [`crate::echo`], with
//! stamps. It has no codec, book or engine, and runs under the same loop and backend as the
//! exchange.
//!
//! On the stream messages have [`crate::echo`]'s form. Their kinds:
//!
//! | kind | from | sequence | |
//! |---|---|---|---|
//! | `S` | client | IPv4 address · 2^16 + port | datagrams shall go there: the client's own address, or one that the operator allows, or the multicast group; answered with `S` and 1, or 0: another connection has them already, or they may not go there |
//! | `T` | client | any | ticks shall come over this stream, one after the other, and nothing else; answered with `T` and the length of each in bytes, or 0: another connection has them already |
//! | `G` | client | any | begins the schedule: by the stream of the `S`, or by any other than that of the `T`; answered with `G` and the number of ticks that will come, 0: nobody asked for them, or a schedule runs |
//! | `E` | server | how many ticks left | the schedule is over; over the stream of the `G` |
//! | other | client | any | an order: comes back in the length that it asks for, with the stamps if there is room for them |
//!
//! From byte 16 on, behind its header, an order's reply has four stamps of 8 bytes in ns on the
//! server's clock: gateway in, engine in, engine out, gateway out. The last three are equal.
//!
//! | bytes of a tick | little endian |
//! |---|---|
//! | 0..8 | its number, from 1 |
//! | 8..16 | when the schedule wanted it to leave, ns on the server's clock |
//! | 16..24 | when it left: last thing before the system call, or before it joins the bytes that leave at the end of the turn |
//! | 24.. | zero |
//!
//! While the schedule runs the server does not sleep, whatever its backend.

use crate::datagram::{DatagramSender, Recipients, SendOutcome};
use crate::echo::{Connections, EchoMessage, HEADER_BYTES};
use crate::serve::{Full, Outbound, Service};
use crate::streams::StreamId;
use clock::Clock;
use clock::schedule::{Arrival, Schedule};
use serde::Serialize;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

/// Bytes of a tick before its padding: the shortest one.
pub const TICK_HEADER_BYTES: usize = 24;
/// The longest tick that is sent, bytes.
pub const TICK_BYTES_MAX: usize = crate::datagram::DATAGRAM_BYTES_MAX;
/// The shortest reply that holds the stamps.
pub const STAMPED_REPLY_BYTES: usize = HEADER_BYTES + 32;

/// Asks for the ticks as datagrams.
pub const SUBSCRIBE: u8 = b'S';
/// Asks for the ticks over this stream.
pub const SUBSCRIBE_STREAM: u8 = b'T';
/// Begins the schedule.
pub const START: u8 = b'G';
/// The schedule is over.
pub const ENDED: u8 = b'E';

/// The head of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tick {
    /// From 1.
    pub number: u64,
    /// When the schedule wanted it to leave, ns.
    pub intended_ns: u64,
    /// When it left, ns.
    pub published_ns: u64,
}

impl Tick {
    /// Writes it to the start of a datagram that has room for it.
    #[inline]
    fn encode(&self, datagram: &mut [u8]) {
        let words = [self.number, self.intended_ns, self.published_ns];
        for (place, word) in datagram.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
    }

    /// Reads the start of a datagram; `None` if it is too short.
    #[inline]
    pub fn decode(datagram: &[u8]) -> Option<Tick> {
        let [number, intended, published] = datagram.as_chunks::<8>().0.first_chunk::<3>()?;
        Some(Tick {
            number: u64::from_le_bytes(*number),
            intended_ns: u64::from_le_bytes(*intended),
            published_ns: u64::from_le_bytes(*published),
        })
    }
}

/// The sequence of a [`SUBSCRIBE`].
pub fn subscription(address: SocketAddrV4) -> u64 {
    u64::from(address.ip().to_bits()) << 16 | u64::from(address.port())
}

/// The stamps of an order's reply, from the bytes behind its header: gateway in, engine in, engine
/// out, gateway out, ns; `None` if it has no room for them.
#[inline]
pub fn stamps(body: &[u8]) -> Option<[u64; 4]> {
    Some(body.as_chunks::<8>().0.first_chunk::<4>()?.map(u64::from_le_bytes))
}

/// The schedule of the ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TickerSettings {
    /// Length of each, from [`TICK_HEADER_BYTES`] to [`TICK_BYTES_MAX`].
    pub datagram_bytes: usize,
    /// Ticks a second, in (0, 1e9].
    pub rate_per_second: f64,
    /// How they are spread.
    pub arrival: Arrival,
    /// Ticks of a burst, at least 1.
    pub burst: u64,
    /// How long.
    pub seconds: f64,
}

/// Settings of the ticker that are out of range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the ticker's {name} is {given}: take {allowed}")]
pub struct BadTicker {
    name: &'static str,
    given: f64,
    allowed: String,
}

/// A week; the schedule's ticks are counted before it begins.
const SECONDS_MAX: f64 = 7.0 * 86_400.0;

impl TickerSettings {
    fn check(&self) -> Result<(), BadTicker> {
        let require = |holds: bool, name: &'static str, given: f64, allowed: String| {
            if holds { Ok(()) } else { Err(BadTicker { name, given, allowed }) }
        };
        let (bytes, rate) = (self.datagram_bytes, self.rate_per_second);
        let lengths = TICK_HEADER_BYTES..=TICK_BYTES_MAX;
        let allowed = format!("{TICK_HEADER_BYTES} to {TICK_BYTES_MAX} bytes");
        require(lengths.contains(&bytes), "datagram", bytes as f64, allowed)?;
        let is_rate = rate > 0.0 && rate <= clock::schedule::RATE_PER_SECOND_MAX;
        require(is_rate, "rate", rate, "more than 0 and at most 1e9 a second".to_owned())?;
        require(self.burst >= 1, "burst", self.burst as f64, "1 or more".to_owned())?;
        let is_time = self.seconds > 0.0 && self.seconds <= SECONDS_MAX;
        require(is_time, "length", self.seconds, format!("up to {SECONDS_MAX} seconds"))
    }

    fn datagrams(&self) -> u64 {
        (self.rate_per_second * self.seconds).round().max(1.0) as u64
    }
}

/// Counts of a ticker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TickerCounts {
    /// Datagrams that the kernel took, or ticks that left over a stream.
    pub datagrams: u64,
    /// Times the kernel had no room; it was asked again.
    pub full: u64,
    /// Datagrams that the kernel did not take.
    pub failed: u64,
}

/// A client that gets the ticks, and the stream by which it subscribed.
struct Subscriber {
    id: StreamId,
    /// `None`: over that stream.
    to: Option<SocketAddr>,
}

/// A schedule at work.
struct Running {
    /// The stream that began it.
    by: StreamId,
    schedule: Schedule,
    start_ns: u64,
    sent: u64,
}

/// The server.
pub struct TickerEcho {
    settings: TickerSettings,
    clock: Clock,
    sender: DatagramSender,
    datagram: Box<[u8]>,
    connections: Connections,
    recipients: Recipients,
    /// By stream, where its other end is.
    peers: Vec<Option<IpAddr>>,
    subscriber: Option<Subscriber>,
    running: Option<Running>,
    counts: TickerCounts,
}

impl TickerEcho {
    /// A ticker that sends from `sender` and stamps on `clock`.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(
        settings: TickerSettings,
        sender: DatagramSender,
        clock: Clock,
    ) -> Result<TickerEcho, BadTicker> {
        settings.check()?;
        Ok(TickerEcho {
            settings,
            clock,
            sender,
            datagram: vec![0; settings.datagram_bytes].into_boxed_slice(),
            connections: Connections::default(),
            recipients: Recipients::default(),
            peers: Vec::new(),
            subscriber: None,
            running: None,
            counts: TickerCounts::default(),
        })
    }

    /// Lets clients name other addresses than their own.
    #[must_use]
    pub fn with_recipients(self, recipients: Recipients) -> TickerEcho {
        TickerEcho { recipients, ..self }
    }

    /// The counts so far.
    pub fn counts(&self) -> TickerCounts {
        self.counts
    }

    /// One message of a stream, and its answer.
    pub(crate) fn answer(
        &mut self,
        id: StreamId,
        message: EchoMessage,
        stamp_ns: u64,
        out: &mut Vec<u8>,
    ) {
        let answer = |sequence| EchoMessage {
            length_bytes: HEADER_BYTES as u16,
            reply_bytes: 0,
            kind: message.kind,
            sequence,
        };
        match message.kind {
            SUBSCRIBE => {
                let taken = self.subscribe(id, message.sequence);
                answer(u64::from(taken)).encode(out);
            }
            SUBSCRIBE_STREAM => {
                let is_free = self.is_free(id);
                if is_free {
                    self.subscriber = Some(Subscriber { id, to: None });
                }
                let bytes = if is_free { self.datagram.len() as u64 } else { 0 };
                answer(bytes).encode(out);
            }
            START => answer(self.begin(id)).encode(out),
            _ => {
                let Some(reply) = message.reply() else { return };
                let start = out.len();
                reply.encode(out);
                if out.len() - start >= STAMPED_REPLY_BYTES {
                    let out_ns = self.clock.now_ns();
                    let places = out[start + HEADER_BYTES..].as_chunks_mut::<8>().0;
                    for (place, ns) in places.iter_mut().zip([stamp_ns, out_ns, out_ns, out_ns]) {
                        *place = ns.to_le_bytes();
                    }
                }
            }
        }
    }

    /// Whether no other connection has the ticks.
    fn is_free(&self, id: StreamId) -> bool {
        self.running.is_none() && self.subscriber.as_ref().is_none_or(|other| other.id == id)
    }

    fn subscribe(&mut self, id: StreamId, sequence: u64) -> bool {
        if !self.is_free(id) {
            return false;
        }
        let ip = Ipv4Addr::from_bits((sequence >> 16) as u32);
        let to = SocketAddr::from((ip, sequence as u16));
        let peer = self.peers.get(id.index()).copied().flatten();
        if self.recipients.check(to, peer).is_err() || self.sender.reach(to).is_err() {
            return false;
        }
        self.subscriber = Some(Subscriber { id, to: Some(to) });
        true
    }

    fn begin(&mut self, id: StreamId) -> u64 {
        // A stream of ticks has no answers among them.
        let asked = self.subscriber.as_ref().is_some_and(|one| (one.id == id) == one.to.is_some());
        if !asked || self.running.is_some() {
            return 0;
        }
        let TickerSettings { rate_per_second, arrival, burst, .. } = self.settings;
        let schedule = Schedule::new(rate_per_second, arrival, burst, 1);
        let start_ns = self.clock.now_ns();
        self.running = Some(Running { by: id, schedule, start_ns, sent: 0 });
        self.settings.datagrams()
    }

    /// Sends the tick that is due, if there is one. Returns the message that ends the schedule, and
    /// the stream that gets it. Without `outbound` a tick over a stream counts as failed.
    #[inline]
    pub(crate) fn tick(
        &mut self,
        outbound: Option<&mut Outbound>,
    ) -> Option<(StreamId, EchoMessage)> {
        let (Some(running), Some(subscriber)) = (&mut self.running, &self.subscriber) else {
            return None;
        };
        let intended_ns = running.start_ns + running.schedule.offset_ns();
        let published_ns = self.clock.now_ns();
        if published_ns < intended_ns {
            return None;
        }
        let number = running.schedule.index() + 1;
        Tick { number, intended_ns, published_ns }.encode(&mut self.datagram);
        let outcome = match (subscriber.to, outbound) {
            (Some(to), _) => self.sender.send(to, &self.datagram),
            (None, Some(outbound)) => {
                outbound.to(subscriber.id).extend_from_slice(&self.datagram);
                SendOutcome::Whole
            }
            (None, None) => SendOutcome::Failed(io::ErrorKind::Unsupported.into()),
        };
        match outcome {
            SendOutcome::Whole => {
                running.sent += 1;
                self.counts.datagrams += 1;
            }
            // It stays due.
            SendOutcome::Full => {
                self.counts.full += 1;
                return None;
            }
            SendOutcome::Failed(_) => self.counts.failed += 1,
        }
        running.schedule.advance();
        if number < self.settings.datagrams() {
            return None;
        }
        let (length_bytes, sequence, by) = (HEADER_BYTES as u16, running.sent, running.by);
        self.running = None;
        Some((by, EchoMessage { length_bytes, reply_bytes: 0, kind: ENDED, sequence }))
    }

    /// The stream has ended: its ticks end, too.
    pub(crate) fn closed_by(&mut self, id: StreamId) {
        if self.subscriber.as_ref().is_some_and(|subscriber| subscriber.id == id) {
            (self.subscriber, self.running) = (None, None);
        }
        self.running = self.running.take().filter(|running| running.by != id);
    }

    /// Notes from where a connection comes: datagrams may go there.
    pub(crate) fn opened_by(&mut self, id: StreamId, peer: Option<SocketAddr>) {
        if self.peers.len() <= id.index() {
            self.peers.resize(id.index() + 1, None);
        }
        self.peers[id.index()] = peer.map(|peer| peer.ip());
    }

    /// On the clock that it stamps by.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }
}

impl Service for TickerEcho {
    fn opened(&mut self, id: StreamId, peer: Option<SocketAddr>, _: u64) {
        self.connections.opened(id);
        self.opened_by(id, peer);
    }

    fn space(&mut self, id: StreamId) -> &mut [u8] {
        self.connections.space(id)
    }

    fn received(&mut self, id: StreamId, n: usize, stamp_ns: u64, outbound: &mut Outbound) {
        self.connections.filled(id, n, stamp_ns);
        while let Some(message) = self.connections.next(id, outbound) {
            self.answer(id, message, stamp_ns, outbound.to(id));
        }
    }

    fn closed(&mut self, id: StreamId, _: &mut Outbound) {
        self.closed_by(id);
    }

    fn sweep(&mut self, _: u64, _: &mut Outbound) {}

    fn rejection(&self, _: Full) -> &[u8] {
        &[]
    }

    #[inline]
    fn elsewhere(&mut self, outbound: &mut Outbound) -> bool {
        if let Some((id, ended)) = self.tick(Some(outbound)) {
            ended.encode(outbound.to(id));
        }
        self.running.is_some()
    }
}

#[cfg(test)]
#[path = "ticker_tests.rs"]
mod tests;
