//! Subscribers of an end: what each of them got, and when the kernel had it.

use crate::end::dialogue::{EndReport, EndRequest};
use crate::register::Subscriber;
use clock::Clock;
use fanout::register::message::Message;
use fanout::tunnel::Stamps;
use plan::tables::fan_out::MESSAGE_BYTES_MAX;
use rustix::event::{Timespec, epoll};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use transport::stamps::Segments;

/// How long the thread sleeps in one call at most, ms. Arrivals don't depend on it.
const SLEEP_MS: i64 = 5;
/// Subscribers that are looked at in one call.
const EVENTS_MAX: usize = 64;
/// Copies that one subscriber may bring in a row.
const COPIES_IN_A_ROW: usize = 256;
/// Limit on the reads of a subscriber at the end, in each of which it may bring that many: more
/// than its receive buffer has.
const LAST_READS_MAX: usize = 1_000;

/// The subscribers of one client.
pub(super) struct Receiver {
    asked: EndRequest,
    clock: Clock,
    subscribers: Vec<Subscriber>,
    epoll: OwnedFd,
    segments: Segments,
    /// When each copy arrived, by message and subscriber, ns on the clock; 0: it did not. Or, if
    /// the client asked for hops, when the replicator had each message, and sent it.
    times_ns: Vec<u64>,
    received: EndReport,
}

impl Receiver {
    /// `segments` lay the kernel's stamps on `clock`.
    ///
    /// # Errors
    /// If the kernel lacks what it takes to wait for several sockets.
    pub(super) fn new(
        asked: EndRequest,
        subscribers: Vec<Subscriber>,
        clock: Clock,
        segments: Segments,
    ) -> io::Result<Receiver> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (number, subscriber) in subscribers.iter().enumerate() {
            let token = epoll::EventData::new_u64(number as u64);
            epoll::add(&epoll, subscriber.socket.as_ref(), token, epoll::EventFlags::IN)?;
        }
        let times = asked.messages as usize * asked.times();
        Ok(Receiver {
            asked,
            clock,
            subscribers,
            epoll,
            segments,
            times_ns: vec![0; times],
            received: EndReport::default(),
        })
    }

    /// Receives until `ended` is set. Returns the counts, and all times.
    pub(super) fn run(mut self, ended: &AtomicBool) -> (EndReport, Vec<u64>) {
        let mut events = Vec::with_capacity(EVENTS_MAX);
        while !ended.load(Ordering::Relaxed) {
            self.turn(&mut events);
        }
        // Copies that the kernel has by now count.
        for number in 0..self.subscribers.len() {
            let _ = (0..LAST_READS_MAX).all(|_| self.read(number));
        }
        let dropped = |one: &Subscriber| transport::datagram::dropped(one.socket.as_ref());
        self.received.dropped = self.subscribers.iter().map(dropped).sum();
        self.received.wall = self.segments.check();
        self.subscribers.iter().for_each(Subscriber::leave);
        (self.received, self.times_ns)
    }

    fn turn(&mut self, events: &mut Vec<epoll::Event>) {
        let now_ns = self.clock.now_ns();
        self.segments.refresh(now_ns);
        self.subscribers.iter_mut().for_each(|one| one.renew(now_ns));
        let wait = Timespec { tv_sec: 0, tv_nsec: SLEEP_MS * 1_000_000 };
        events.clear();
        let spare = rustix::buffer::spare_capacity(events);
        if epoll::wait(&self.epoll, spare, Some(&wait)).is_err() {
            return;
        }
        for event in &*events {
            self.read(event.data.u64() as usize);
        }
    }

    /// Reads what a subscriber got; whether there may be more.
    fn read(&mut self, subscriber: usize) -> bool {
        let mut bytes = [0; MESSAGE_BYTES_MAX];
        for _ in 0..COPIES_IN_A_ROW {
            let Ok((length, arrival)) = self.subscribers[subscriber].socket.receive(&mut bytes)
            else {
                return false;
            };
            match Stamps::decode(&bytes[..length]) {
                Some(stamps) => self.came(subscriber, &stamps, arrival),
                None if Message::decode(&bytes[..length]).is_some() => {
                    let now_ns = self.clock.now_ns();
                    self.subscribers[subscriber].answered(&bytes[..length], now_ns);
                }
                None => self.received.strange += 1,
            }
        }
        true
    }

    fn came(&mut self, subscriber: usize, stamps: &Stamps, arrival_wall_ns: Option<u64>) {
        let Some(number) = stamps.sequence.checked_sub(self.asked.first) else { return };
        if number >= self.asked.messages {
            self.received.strange += 1;
            return;
        }
        let first = number as usize * self.asked.times();
        match arrival_wall_ns {
            None => self.received.unstamped += 1,
            Some(wall_ns) if self.asked.hops => self.passed(first, stamps, wall_ns),
            Some(_) if self.times_ns[first + subscriber] != 0 => self.received.duplicated += 1,
            Some(wall_ns) => self.times_ns[first + subscriber] = self.clock_ns(wall_ns),
        }
    }

    /// Keeps the replicator's two times, which are of the wall clock that stamps arrivals here.
    fn passed(&mut self, first: usize, stamps: &Stamps, arrival_wall_ns: u64) {
        let Stamps { received_ns, resent_ns, .. } = *stamps;
        if received_ns == 0 || resent_ns == 0 {
            self.received.timeless += 1;
            return;
        }
        self.received.backwards += u64::from(arrival_wall_ns < resent_ns);
        self.times_ns[first] = self.clock_ns(received_ns);
        self.times_ns[first + 1] = self.clock_ns(resent_ns);
    }

    /// A time of the wall clock on ours. 0 stands for one that did not come to be.
    fn clock_ns(&self, wall_ns: u64) -> u64 {
        self.segments.wall().clock_ns(wall_ns).max(1)
    }
}
