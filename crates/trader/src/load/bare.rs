//! The bare client: ping-pong of the same bytes over one connection, with only send, receive and
//! the two stamps. There is no desk and no backend trait: the difference to the floor is what our
//! own client costs.

use crate::load::rows::{CANCEL_SERVICE, CYCLE_SERVICE, ORDER_SERVICE};
use clock::Clock;
use clock::recorder::Recorder;
use record::{Load, MessageBytes};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use transport::echo::bare::{Bare, BareRead};
use transport::echo::{EchoMessage, HEADER_BYTES, MESSAGE_BYTES_MAX};

/// Time that the other end may be silent while it owes a reply.
const SILENCE_NS_MAX: u64 = 5_000_000_000;
/// Empty polls between two checks of the clock and of `stop`.
const LOOKS_A_CHECK: u32 = 256;

/// The result of one run.
pub(crate) struct BareResult {
    pub(crate) load: Load,
    pub(crate) complete: bool,
    pub(crate) failure: Option<String>,
}

/// One connection, with what a round trip needs.
struct Client<'a> {
    bare: Bare,
    spins: bool,
    clock: Clock,
    stop: &'a AtomicBool,
    order: Vec<u8>,
    cancel: Vec<u8>,
    replies: [usize; 2],
    into: Box<[u8]>,
}

/// Repeats order, ack, cancel, ack; ends after a complete cycle.
pub(crate) fn run(
    (bare, spins, has_cycle): (Bare, bool, bool),
    clock: Clock,
    bytes: MessageBytes,
    (warm_up_seconds, seconds): (f64, f64),
    mut recorder: Recorder,
    stop: &AtomicBool,
) -> BareResult {
    let mut client = Client::new(bare, spins, clock, bytes, stop);
    let start_ns = clock.now_ns();
    let measure_at_ns = start_ns + (warm_up_seconds * 1e9) as u64;
    let end_ns = measure_at_ns + (seconds * 1e9) as u64;
    let mut load = Load { message_bytes: bytes, ..Load::default() };
    let (mut usage, mut measured_from_ns) = (host::thread::usage(), None);
    let (mut now_ns, mut failure) = (start_ns, None);
    while now_ns < end_ns && !stop.load(Ordering::Relaxed) {
        if measured_from_ns.is_none() && now_ns >= measure_at_ns {
            measured_from_ns = Some(now_ns);
            usage = host::thread::usage();
            recorder.start(now_ns);
        }
        let cycle = match client.cycle() {
            Ok(cycle) => cycle,
            // Interrupted while a reply was due: nothing measured is lost.
            Err(_) if stop.load(Ordering::Relaxed) => break,
            Err(error) => {
                failure = Some(format!("the bare connection ended in mid-run: {error}"));
                break;
            }
        };
        let [order_sent_ns, order_acked_ns, cancel_sent_ns, cancel_acked_ns] = cycle;
        now_ns = cancel_acked_ns;
        if measured_from_ns.is_some() {
            recorder.record(ORDER_SERVICE, order_acked_ns - order_sent_ns);
            recorder.record(CANCEL_SERVICE, cancel_acked_ns - cancel_sent_ns);
            if has_cycle {
                recorder.record(CYCLE_SERVICE, cancel_acked_ns - order_sent_ns);
            }
            recorder.roll(now_ns);
            load.sent += 2;
            load.received += 2;
        } else {
            load.warm_up_sent += 2;
        }
    }
    let used = host::thread::usage().since(usage);
    load.context_switches_involuntary = used.context_switches_involuntary;
    load.page_faults = used.page_faults_minor + used.page_faults_major;
    let measured_ns = measured_from_ns.map_or(0, |from_ns| now_ns.saturating_sub(from_ns));
    if measured_ns > 0 {
        load.rate_per_second_achieved = load.sent as f64 * 1e9 / measured_ns as f64;
    }
    recorder.finish(clock.now_ns());
    BareResult { load, complete: now_ns >= end_ns && failure.is_none(), failure }
}

impl<'a> Client<'a> {
    fn new(
        bare: Bare,
        spins: bool,
        clock: Clock,
        bytes: MessageBytes,
        stop: &'a AtomicBool,
    ) -> Client<'a> {
        let fit = |bytes: u64| bytes.clamp(HEADER_BYTES as u64, MESSAGE_BYTES_MAX as u64) as u16;
        let message = |length: u64, reply: u64, kind| {
            let (length_bytes, reply_bytes) = (fit(length), fit(reply));
            let mut out = Vec::new();
            EchoMessage { length_bytes, reply_bytes, kind, sequence: 0 }.encode(&mut out);
            (out, usize::from(reply_bytes))
        };
        let (order, order_reply) = message(bytes.order, bytes.order_reply, b'O');
        let (cancel, cancel_reply) = message(bytes.cancel, bytes.cancel_reply, b'C');
        let into = vec![1; MESSAGE_BYTES_MAX].into_boxed_slice();
        let replies = [order_reply, cancel_reply];
        Client { bare, spins, clock, stop, order, cancel, replies, into }
    }

    /// The stamps of an order and of its cancel: the last instruction before the send, and the
    /// first after the receive that returned the reply's first byte.
    fn cycle(&mut self) -> io::Result<[u64; 4]> {
        let [order_reply, cancel_reply] = self.replies;
        let stop = self.stop;
        let goes_on = || !stop.load(Ordering::Relaxed);
        let order_sent_ns = self.clock.now_ns();
        self.bare.send(&self.order, goes_on)?;
        let order_acked_ns = self.reply(order_reply)?;
        let cancel_sent_ns = self.clock.now_ns();
        self.bare.send(&self.cancel, goes_on)?;
        let cancel_acked_ns = self.reply(cancel_reply)?;
        Ok([order_sent_ns, order_acked_ns, cancel_sent_ns, cancel_acked_ns])
    }

    /// Receives a reply of that length, and returns the stamp of its first byte.
    fn reply(&mut self, length: usize) -> io::Result<u64> {
        let (mut end, mut first_byte_ns, mut looks) = (0, 0, 0_u32);
        let mut deadline_ns = None;
        while end < length {
            match self.bare.receive(&mut self.into[end..length])? {
                BareRead::Bytes(n) => {
                    if end == 0 {
                        first_byte_ns = self.clock.now_ns();
                    }
                    end += n;
                }
                BareRead::Nothing => {
                    looks = looks.wrapping_add(1);
                    if self.spins && !looks.is_multiple_of(LOOKS_A_CHECK) {
                        continue;
                    }
                    let now_ns = self.clock.now_ns();
                    if now_ns > *deadline_ns.get_or_insert(now_ns + SILENCE_NS_MAX) {
                        let why = format!("no reply for {} s", SILENCE_NS_MAX / 1_000_000_000);
                        return Err(io::Error::new(io::ErrorKind::TimedOut, why));
                    }
                    if self.stop.load(Ordering::Relaxed) {
                        return Err(io::ErrorKind::Interrupted.into());
                    }
                }
            }
        }
        Ok(first_byte_ns)
    }
}
