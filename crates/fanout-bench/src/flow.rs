//! Sends the messages that are due, and in between collects arrivals and hands on what is due.

use crate::arrivals::Arrivals;
use crate::register::Subscriber;
use clock::Clock;
use clock::schedule::Schedule;
use fair::holding::{HELD_MAX, Holding};
use fanout::register::message::Message;
use fanout::tunnel::Stamps;
use plan::process::fan_out::FanOutPlan;
use plan::tables::fan_out::MESSAGE_BYTES_MAX;
use rustix::event::{Timespec, epoll};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// The group of its messages: one for documentation (RFC 6676).
const GROUP: Ipv4Addr = Ipv4Addr::new(233, 252, 0, 1);
/// From the first look at the clock to the first message, ns.
const LEAD_NS: u64 = 1_000_000;
/// Copies that one subscriber may bring in a row, before the schedule is looked at.
const COPIES_IN_A_ROW: usize = 16;
/// Subscribers that are looked at in one call.
const EVENTS_MAX: usize = 64;
/// After the last message: how long nothing may arrive before the rest is taken as lost, ns.
const SILENCE_NS: u64 = 500_000_000;
/// How long arrivals are waited for at most, ns.
const DRAIN_NS_MAX: u64 = 10_000_000_000;
/// How long a thread that does not spin sleeps in one call at most, ms.
const SLEEP_MS: u64 = 20;

/// The messages that one flow sends, and how long it holds them.
#[derive(Clone, Copy)]
pub(crate) struct Phase {
    /// Messages of earlier flows to the same subscribers: the numbers go on.
    pub before: u64,
    /// Messages that are measured, after those of the warm-up.
    pub messages: u64,
    /// How long after its sending each message is handed on, ns; `None`: nothing is.
    pub hold_ns: Option<u64>,
}

/// A copy that waits for its release: message, subscriber.
type HeldCopy = (usize, usize);

/// A flow that is under way.
pub(crate) struct Flow<'a> {
    plan: &'a FanOutPlan,
    phase: Phase,
    clock: Clock,
    source: UdpSocket,
    subscribers: &'a [Subscriber],
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    arrivals: Arrivals,
    holding: Holding<HeldCopy>,
    /// Copies that found no room to wait.
    overflowed: u64,
    bytes: [u8; MESSAGE_BYTES_MAX],
}

/// How a flow ended.
pub(crate) struct FlowResult {
    /// Stamps of the measured messages.
    pub arrivals: Arrivals,
    /// Measured messages that were sent.
    pub sent: u64,
    /// When the first measured message was due, on the clock, ns.
    pub start_ns: u64,
    /// When the last message was sent, on the clock, ns.
    pub last_ns: u64,
    /// Why it ended before its time.
    pub failure: Option<String>,
}

impl<'a> Flow<'a> {
    /// A flow to the replicator's address.
    ///
    /// # Errors
    /// If the kernel lacks a socket for it.
    pub(crate) fn new(
        plan: &'a FanOutPlan,
        phase: Phase,
        clock: Clock,
        subscribers: &'a [Subscriber],
    ) -> io::Result<Flow<'a>> {
        let source = UdpSocket::bind((plan.own, 0))?;
        source.connect(plan.replicator)?;
        source.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (number, subscriber) in subscribers.iter().enumerate() {
            let token = epoll::EventData::new_u64(number as u64);
            epoll::add(&epoll, subscriber.socket.as_ref(), token, epoll::EventFlags::IN)?;
        }
        let holds = phase.hold_ns.is_some();
        Ok(Flow {
            plan,
            phase,
            clock,
            source,
            subscribers,
            epoll,
            events: Vec::with_capacity(EVENTS_MAX),
            arrivals: Arrivals::new(phase.messages as usize, subscribers.len(), holds),
            holding: Holding::new(if holds { HELD_MAX } else { 0 }),
            overflowed: 0,
            bytes: [0; MESSAGE_BYTES_MAX],
        })
    }

    /// Sends all messages, warm-up first, and collects their copies.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> FlowResult {
        let FanOutPlan { rate_per_second, arrival, burst, seed, .. } = *self.plan;
        let mut schedule = Schedule::new(rate_per_second, arrival, burst, seed);
        let origin_ns = self.clock.now_ns() + LEAD_NS;
        let total = self.plan.warm_up_messages + self.phase.messages;
        let (mut first_ns, mut failure) = (origin_ns, None);
        while schedule.index() < total {
            if stop.load(Ordering::Relaxed) {
                failure = Some("it was told to stop".to_owned());
                break;
            }
            let due_ns = origin_ns + schedule.offset_ns();
            if schedule.index() == self.plan.warm_up_messages {
                first_ns = due_ns;
            }
            if let Err(why) = self.send_at(schedule.index(), due_ns, first_ns) {
                failure = Some(format!("message {} could not be sent: {why}", schedule.index()));
                break;
            }
            schedule.advance();
        }
        let sent = schedule.index().saturating_sub(self.plan.warm_up_messages);
        let last_ns = self.clock.now_ns();
        self.drain(sent * self.subscribers.len() as u64);
        if self.overflowed > 0 {
            failure.get_or_insert_with(|| {
                format!(
                    "{} copies found no room to wait for their release, HELD_MAX is {HELD_MAX}: \
                     lower fan_out.hold_us, load.rate_per_second or fan_out.subscribers",
                    self.overflowed
                )
            });
        }
        FlowResult { arrivals: self.arrivals, sent, start_ns: first_ns, last_ns, failure }
    }

    /// Collects until then, and sends.
    fn send_at(&mut self, number: u64, due_ns: u64, first_ns: u64) -> io::Result<()> {
        let mut now_ns = self.clock.now_ns();
        while now_ns < due_ns {
            let left_ms = (due_ns - now_ns) / 1_000_000;
            self.collect(if self.plan.spins { 0 } else { left_ms.min(SLEEP_MS) });
            now_ns = self.clock.now_ns();
        }
        if let Some(measured) = number.checked_sub(self.plan.warm_up_messages) {
            self.arrivals.sent(measured as usize, due_ns - first_ns, now_ns - first_ns);
        }
        let end_ns = now_ns + DRAIN_NS_MAX;
        let sequence = self.phase.before + number;
        loop {
            let stamps = Stamps { sequence, sent_ns: clock::wall_ns(), ..Stamps::default() };
            stamps.encode(GROUP, &mut self.bytes);
            match self.source.send(&self.bytes[..self.plan.message_bytes]) {
                Ok(_) => return Ok(()),
                Err(error) if is_full(&error) && self.clock.now_ns() < end_ns => self.collect(0),
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for the copies that are still under way, and for those that are held.
    fn drain(&mut self, copies: u64) {
        let start_ns = self.clock.now_ns();
        let (mut came, mut last_ns) = (0, start_ns);
        while came < copies {
            self.collect(1);
            let (now_ns, now_came) = (self.clock.now_ns(), self.arrivals.copies());
            if now_came > came {
                (came, last_ns) = (now_came, now_ns);
            }
            if now_ns > last_ns + SILENCE_NS || now_ns > start_ns + DRAIN_NS_MAX {
                break;
            }
        }
        let end_ns = self.clock.now_ns() + self.phase.hold_ns.unwrap_or(0) + DRAIN_NS_MAX;
        while !self.holding.is_empty() && self.clock.now_ns() < end_ns {
            self.collect(1);
        }
    }

    /// Reads copies that are there, and hands on what is due; waits up to `wait_ms` for the first.
    fn collect(&mut self, wait_ms: u64) {
        let wait_ms = self.hand_on(wait_ms);
        let wait = Timespec { tv_sec: 0, tv_nsec: wait_ms as i64 * 1_000_000 };
        self.events.clear();
        let spare = rustix::buffer::spare_capacity(&mut self.events);
        if epoll::wait(&self.epoll, spare, Some(&wait)).is_err() {
            return;
        }
        for at in 0..self.events.len() {
            self.read(self.events[at].data.u64() as usize);
        }
        if wait_ms == 0 && !self.plan.spins && self.events.is_empty() {
            // Less than a millisecond is left: others may use the core.
            std::thread::yield_now();
        }
    }

    /// Hands on the copies that are due. Returns how much of `wait_ms` is left until the next one
    /// is, in whole milliseconds.
    fn hand_on(&mut self, wait_ms: u64) -> u64 {
        let Some(hold_ns) = self.phase.hold_ns else { return wait_ms };
        let Some(mut next_ns) = self.holding.next_due_ns() else { return wait_ms };
        let mut now_ns = clock::wall_ns();
        while let Some((due_ns, copy)) = self.holding.release(now_ns) {
            // This is where a subscriber's own work would begin. Each copy has a time of its own.
            now_ns = clock::wall_ns();
            self.arrivals.handed_on(copy, due_ns - hold_ns, now_ns);
            next_ns = self.holding.next_due_ns().unwrap_or(u64::MAX);
        }
        wait_ms.min(next_ns.saturating_sub(now_ns) / 1_000_000)
    }

    fn read(&mut self, subscriber: usize) {
        let mut bytes = [0; MESSAGE_BYTES_MAX];
        let first = self.phase.before + self.plan.warm_up_messages;
        let socket = &self.subscribers[subscriber].socket;
        for _ in 0..COPIES_IN_A_ROW {
            let Ok((length, arrival_ns)) = socket.receive(&mut bytes) else { return };
            match Stamps::decode(&bytes[..length]) {
                Some(stamps) if stamps.sequence < first => {}
                Some(stamps) => {
                    let number = (stamps.sequence - first) as usize;
                    if self.arrivals.came(number, subscriber, &stamps, arrival_ns)
                        && let Some(hold_ns) = self.phase.hold_ns
                    {
                        let due_ns = stamps.sent_ns.saturating_add(hold_ns);
                        let held = self.holding.hold(due_ns, (number, subscriber));
                        self.overflowed += u64::from(held.is_err());
                    }
                }
                // An answer to a registration that was repeated.
                None if Message::decode(&bytes[..length]).is_some() => {}
                None => self.arrivals.strange += 1,
            }
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, WouldBlock};
    matches!(error.kind(), WouldBlock | Interrupted)
        || error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error())
}
