//! The bare client of ticks: it receives a datagram, sends the order's bytes, and receives the
//! reply's. There are no stages, no session and no backend trait: the difference to the floor is
//! what our own loop costs. It spins.

use crate::load::error::TraderError;
use crate::tick::counts::TickCounts;
use crate::tick::followed_state::FollowedState;
use crate::tick::result::{ReceiverCounts, ThreadResult};
use crate::tick::samples::Samples;
use clock::Clock;
use plan::process::ticks::{RawPlan, TickPlan};
use record::tick::{POINTS, Point, Sample};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use transport::datagram::{DATAGRAM_BYTES_MAX, Datagram, DatagramReceiver};
use transport::echo::bare::{Bare, BareRead};
use transport::echo::ticker::{self, STAMPED_REPLY_BYTES};
use transport::echo::{EchoMessage, HEADER_BYTES, Inbound, MESSAGE_BYTES_MAX};

/// Time that the other end may be silent.
const SILENCE_NS_MAX: u64 = 5_000_000_000;
/// Empty polls between two checks of the clock and of `stop`.
const LOOKS_A_CHECK: u32 = 256;
const ORDER: u8 = b'O';

struct Client<'a> {
    bare: Bare,
    clock: Clock,
    stop: &'a AtomicBool,
    receiver: DatagramReceiver,
    inbound: Inbound,
    order: EchoMessage,
    out: Vec<u8>,
    samples: Samples,
    counts: TickCounts,
    every: u64,
    ticks: u64,
    unanswered: u64,
    measured_from_ns: u64,
    flow_ended: Option<u64>,
    heard_at_ns: u64,
}

/// From the first tick to the last reply.
pub(crate) fn run(
    plan: &TickPlan,
    raw: &RawPlan,
    clock: Clock,
    (stream, receiver): (TcpStream, DatagramReceiver),
    memory_locked: bool,
    stop: &AtomicBool,
) -> Result<ThreadResult, TraderError> {
    let failed = |source| TraderError::Connect { target: plan.target.clone(), lane: 0, source };
    let bare = Bare::new(stream, true).map_err(failed)?;
    let mut client = Client::new(plan, raw, clock, bare, receiver, stop);
    host::thread::set_scheduling(plan.scheduling)?;
    let ns = |seconds: f64| Duration::from_secs_f64(seconds).as_nanos() as u64;
    let usage = host::thread::usage();
    let failure = client.subscribe().and_then(|()| client.follow(ns(plan.warm_up_seconds))).err();
    let stopped = stop.load(Ordering::Relaxed);
    let failures: Vec<String> = failure
        .filter(|_| !stopped)
        .map(|error| format!("the bare connection ended in mid-run: {error}"))
        .into_iter()
        .collect();
    let mut receiver = client.receiver.into();
    Ok(ThreadResult {
        stamped: None,
        counts: client.counts,
        unanswered: client.unanswered,
        usage: host::thread::usage().since(usage),
        measured_from_ns: client.measured_from_ns,
        complete: failures.is_empty() && !stopped,
        failures,
        receiving: ReceiverCounts::of(&mut receiver),
        following: None,
        followed: FollowedState::Orders,
        market_making: None,
        description: None,
        processor_ns: [None; 2],
        stack: None,
        hold: None,
        outages: Vec::new(),
        memory_locked,
        samples: client.samples.into_all(),
    })
}

impl<'a> Client<'a> {
    fn new(
        plan: &TickPlan,
        raw: &RawPlan,
        clock: Clock,
        bare: Bare,
        receiver: DatagramReceiver,
        stop: &'a AtomicBool,
    ) -> Client<'a> {
        let fit = |bytes: u64, min: usize| bytes.clamp(min as u64, MESSAGE_BYTES_MAX as u64) as u16;
        let length_bytes = fit(raw.order_bytes, HEADER_BYTES);
        let reply_bytes = fit(raw.reply_bytes, STAMPED_REPLY_BYTES);
        Client {
            bare,
            clock,
            stop,
            receiver,
            inbound: Inbound::default(),
            order: EchoMessage { length_bytes, reply_bytes, kind: ORDER, sequence: 0 },
            out: Vec::with_capacity(MESSAGE_BYTES_MAX),
            samples: Samples::with_room(plan.samples_max),
            counts: TickCounts::default(),
            every: plan.strategy.every,
            ticks: 0,
            unanswered: 0,
            measured_from_ns: 0,
            flow_ended: None,
            heard_at_ns: clock.now_ns(),
        }
    }

    /// Requests the datagrams and starts the schedule.
    fn subscribe(&mut self) -> io::Result<()> {
        let SocketAddr::V4(to) = self.receiver.local_addr()? else {
            return Err(io::Error::other("the raw ticker sends to IPv4 addresses alone"));
        };
        let least = HEADER_BYTES as u16;
        for (kind, sequence) in [(ticker::SUBSCRIBE, ticker::subscription(to)), (ticker::START, 0)]
        {
            self.out.clear();
            let (length_bytes, reply_bytes) = (least, least);
            EchoMessage { length_bytes, reply_bytes, kind, sequence }.encode(&mut self.out);
            self.send()?;
        }
        Ok(())
    }

    fn send(&mut self) -> io::Result<()> {
        let stop = self.stop;
        self.bare.send(&self.out, || !stop.load(Ordering::Relaxed))
    }

    /// Runs until the schedule is over and every order is answered.
    fn follow(&mut self, warm_up_ns: u64) -> io::Result<()> {
        self.measured_from_ns = self.clock.now_ns() + warm_up_ns;
        let mut datagram = vec![1; DATAGRAM_BYTES_MAX].into_boxed_slice();
        let mut looks = 0_u32;
        while self.flow_ended.is_none_or(|last| self.ticks < last) || self.unanswered > 0 {
            match self.receiver.receive(&mut datagram) {
                Datagram::Bytes { n, read_ns } => self.tick(&datagram[..n], read_ns)?,
                Datagram::Empty => self.replies()?,
                Datagram::Failed(error) => return Err(error),
            }
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(LOOKS_A_CHECK) {
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                if self.clock.now_ns() > self.heard_at_ns + SILENCE_NS_MAX {
                    let why = format!("it was silent for {} s", SILENCE_NS_MAX / 1_000_000_000);
                    return Err(io::Error::new(io::ErrorKind::TimedOut, why));
                }
            }
        }
        Ok(())
    }

    /// Answers a tick with an order's bytes; all bookkeeping follows the send.
    #[inline]
    fn tick(&mut self, datagram: &[u8], read_ns: u64) -> io::Result<()> {
        let Some(tick) = ticker::Tick::decode(datagram) else { return Ok(()) };
        self.ticks += 1;
        self.heard_at_ns = read_ns;
        let measured = tick.intended_ns >= self.measured_from_ns;
        if self.ticks.is_multiple_of(self.every) {
            let place = self.samples.next_place();
            self.out.clear();
            // A sequence of 0 belongs to the warm-up.
            let sequence = if measured { u64::from(place) + 1 } else { 0 };
            EchoMessage { sequence, ..self.order }.encode(&mut self.out);
            let sent_ns = self.clock.now_ns();
            self.send()?;
            self.unanswered += 1;
            self.counts.said += 1;
            self.counts.said_bytes += u64::from(self.order.length_bytes);
            self.counts.last_sent_ns = sent_ns;
            match measured {
                true => {
                    let kernel_ns = self.receiver.kernel_ns();
                    self.begin(&tick, [kernel_ns, read_ns, sent_ns]);
                    self.counts.sent += 1;
                }
                false => self.counts.warm_up_sent += 1,
            }
        }
        if measured {
            self.counts.datagrams += 1;
            self.counts.messages += 1;
            self.counts.datagram_bytes += datagram.len() as u64;
        }
        Ok(())
    }

    fn begin(&mut self, tick: &ticker::Tick, [kernel_ns, read_ns, sent_ns]: [u64; 3]) {
        let mut stamps = [0; POINTS];
        for (point, ns) in [
            (Point::Intended, tick.intended_ns),
            (Point::Published, tick.published_ns),
            (Point::KernelReceived, kernel_ns),
            (Point::Read, read_ns),
            (Point::Normalised, read_ns),
            (Point::Decided, read_ns),
            (Point::Checked, read_ns),
            (Point::Sent, sent_ns),
        ] {
            stamps[point as usize] = ns;
        }
        self.samples.begin(&Sample { number: tick.number, stamps });
    }

    /// Polls the stream once.
    #[inline]
    fn replies(&mut self) -> io::Result<()> {
        let BareRead::Bytes(n) = self.bare.receive(self.inbound.space())? else { return Ok(()) };
        let read_ns = self.clock.now_ns();
        self.heard_at_ns = read_ns;
        self.inbound.filled(n, read_ns);
        while let Some((message, first_byte_ns, body)) =
            self.inbound.take_with_body().map_err(io::Error::other)?
        {
            match (message.kind, message.sequence) {
                (ORDER, sequence) => {
                    self.unanswered = self.unanswered.saturating_sub(1);
                    self.counts.heard += 1;
                    self.counts.heard_bytes += u64::from(message.length_bytes);
                    if sequence > 0 {
                        self.counts.received += 1;
                        let place = (sequence - 1) as u32;
                        self.samples.replied(place, ticker::stamps(body), first_byte_ns);
                    }
                }
                (ticker::SUBSCRIBE, 0) | (ticker::START, 0) => {
                    return Err(io::Error::other("somebody else has the raw ticker's datagrams"));
                }
                (ticker::ENDED, last) => self.flow_ended = Some(last),
                _ => {}
            }
        }
        Ok(())
    }
}
