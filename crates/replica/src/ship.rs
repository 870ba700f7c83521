//! The primary's threads: one ships what the journal's writer has written, one per connection takes
//! acknowledgements, one judges whether the follower is lost.
//!
//! Catching up and keeping up are the same: the shipping thread reads the log's files from where
//! the follower is, and what was just written is still in the page cache. So nothing is queued, the
//! writer never waits, and a follower may be away for as long as the segments are kept.

use crate::frame::{Frame, FrameError, Frames, Hello};
use crate::lag::LagJudge;
use crate::pace::Pace;
use crate::register::RegisterReader;
use crate::session::HEARTBEATS_PER_SILENCE;
use crate::ship_error::{ShipError, rejected};
use crate::stream::{connect, receive};
use crate::term;
use crate::wire::Wire;
use clock::monotonic_ns;
use journal::{CONTENT_BYTES, Shipping, Tail};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use transport::tls::Connector;

/// Time from one try to connect to the next, at least.
const RETRY: Duration = Duration::from_millis(50);
/// Judgements per limit.
const PER_LIMIT: u32 = 5;
/// A connection without a message for this many limits is given up.
const SILENCE_LIMITS: u32 = 2;
/// Longest wait for a welcome, in limits: the follower's disk may be slow.
const WELCOME_LIMITS: u32 = 10;

/// Settings of a shipper.
#[derive(Clone, Debug)]
pub struct ShipSettings {
    /// Directory of the journal.
    pub journal: PathBuf,
    /// The follower: `HOST:PORT`, resolved anew for each connection.
    pub follower: String,
    /// A follower that does not acknowledge for longer is lost.
    pub limit: Duration,
    /// Whether nothing is acknowledged that the follower does not have.
    pub is_sync: bool,
    /// Records that a follower may lack that is not synchronous. With fewer, it catches up at a
    /// pace that leaves cores and disk to the orders.
    pub lag_max: u64,
    /// How the follower's certificate is checked, and which one it is shown; read for each
    /// connection. `None`: the connection is plain.
    pub tls: Option<Arc<Mutex<Connector>>>,
}

/// News for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShipEvent {
    /// The follower has taken this primary, and needs this record next.
    Connected {
        /// The record.
        next: u64,
        /// Records that it lacks.
        behind: u64,
    },
    /// The connection, or a try to make one, failed; said once until it works again.
    Broken(String),
    /// The follower has not acknowledged for longer than the limit.
    Lost,
    /// It acknowledges again.
    Back,
    /// Another primary has taken over.
    Fenced(String),
}

/// State that the threads share.
struct ShipState {
    settings: ShipSettings,
    shipping: Shipping,
    report: Box<dyn Fn(&ShipEvent) + Send + Sync>,
    /// When the follower last said anything.
    heard_ns: AtomicU64,
    connections: AtomicU64,
    is_ending: AtomicBool,
    /// Whether the journal was closed: nothing flows that the follower could disturb.
    is_closed: AtomicBool,
    /// Whether the follower has all that this primary has ever written, and it ends.
    says_farewell: AtomicBool,
    is_fenced: AtomicBool,
    last_failure: Mutex<Option<String>>,
}

/// The work of a thread.
type Work = fn(&ShipState);

/// The primary's threads.
pub struct Shipper {
    shared: Arc<ShipState>,
    threads: Vec<JoinHandle<()>>,
}

impl Shipper {
    /// Starts to ship a journal. `place` is called at the start of each lasting thread.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start(
        settings: ShipSettings,
        shipping: Shipping,
        report: impl Fn(&ShipEvent) + Send + Sync + 'static,
        place: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Shipper> {
        let shared = Arc::new(ShipState {
            settings,
            shipping,
            report: Box::new(report),
            heard_ns: AtomicU64::new(monotonic_ns()),
            connections: AtomicU64::new(0),
            is_ending: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            says_farewell: AtomicBool::new(false),
            is_fenced: AtomicBool::new(false),
            last_failure: Mutex::new(None),
        });
        let place = Arc::new(place);
        let mut threads = Vec::new();
        let works =
            [("replica-ship", ShipState::ship as Work), ("replica-lag", ShipState::judge as Work)];
        for (name, work) in works {
            let (shared, place) = (Arc::clone(&shared), Arc::clone(&place));
            let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
                place();
                work(&shared);
            });
            threads.push(thread?);
        }
        Ok(Shipper { shared, threads })
    }

    /// Waits until the follower has answered for the first time, but not longer than the limit.
    /// Returns whether another primary has taken over.
    pub fn await_first(&self) -> bool {
        let deadline = clock::Deadline::after(self.shared.settings.limit);
        while !deadline.left().is_zero() {
            if self.shared.connections.load(Ordering::Relaxed) > 0 {
                break;
            }
            if self.shared.is_fenced() {
                return true;
            }
            thread::sleep(Duration::from_millis(1));
        }
        false
    }

    /// Number of connections that the follower has taken.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Ships what is written, for at most the limit, and ends. A follower that has all is told that
    /// no more comes. Returns the number of written records, and of those that the follower has.
    /// Call it after the journal was closed.
    pub fn end(mut self) -> (u64, u64) {
        let shared = &self.shared;
        shared.is_closed.store(true, Ordering::Relaxed);
        let deadline = clock::Deadline::after(shared.settings.limit);
        while shared.shipping.replicated() < shared.shipping.written()
            && !shared.is_fenced()
            && !deadline.left().is_zero()
        {
            thread::sleep(Duration::from_millis(1));
        }
        let counts = (shared.shipping.written(), shared.shipping.replicated());
        shared.says_farewell.store(counts.1 >= counts.0, Ordering::Relaxed);
        self.join();
        counts
    }

    fn join(&mut self) {
        self.shared.is_ending.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // It has no reason to panic; if it did, it has said so.
            let _ = thread.join();
        }
    }
}

impl Drop for Shipper {
    fn drop(&mut self) {
        self.join();
    }
}

impl ShipState {
    fn is_over(&self) -> bool {
        // With the farewell that was stored before it.
        self.is_ending.load(Ordering::Acquire) || self.is_fenced()
    }

    fn is_fenced(&self) -> bool {
        self.is_fenced.load(Ordering::Relaxed)
    }

    /// The thread that connects and ships.
    fn ship(&self) {
        self.shipping.wake(thread::current());
        while !self.is_over() {
            let next_try = clock::Deadline::after(RETRY);
            match self.connection() {
                Ok(()) => return,
                Err(ShipError::Fenced(why)) => {
                    self.is_fenced.store(true, Ordering::Relaxed);
                    (self.report)(&ShipEvent::Fenced(why.clone()));
                    self.shipping.fence(why);
                }
                Err(error) => self.failed(error.to_string()),
            }
            // At once after a connection that has worked: orders may be waiting.
            thread::sleep(next_try.left());
        }
    }

    fn failed(&self, why: String) {
        let mut last = self.last_failure.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref() != Some(&why) {
            (self.report)(&ShipEvent::Broken(why.clone()));
            *last = Some(why);
        }
    }

    /// One connection, until it breaks or the shipper ends.
    fn connection(&self) -> Result<(), ShipError> {
        let (stream, mut frames, next) = self.welcome()?;
        let mut tail = Tail::open(&self.settings.journal, next)?;
        let mut register = RegisterReader::open(&self.settings.journal)?;
        let is_broken = AtomicBool::new(false);
        let shipper = thread::current();
        thread::scope(|scope| {
            let listening = thread::Builder::new().name("replica-acks".to_owned());
            let listening = listening.spawn_scoped(scope, || {
                let heard = self.listen(&stream, &mut frames);
                is_broken.store(true, Ordering::Release);
                shipper.unpark();
                heard
            })?;
            let shipped = self.send(&stream, &mut tail, &mut register, &is_broken);
            // The listening thread reads until then.
            stream.shut_down();
            match (listening.join(), shipped) {
                // Said before the connection broke.
                (Ok(Err(error @ (ShipError::Rejected(_) | ShipError::Fenced(_)))), _) => Err(error),
                (_, Err(error)) => Err(error),
                (Ok(Err(error)), _) if !self.is_over() => Err(error),
                _ => Ok(()),
            }
        })
    }

    /// Connects, and waits until the follower takes this primary. Returns the record that it needs
    /// next.
    fn welcome(&self) -> Result<(Wire, Frames, u64), ShipError> {
        let ShipSettings { journal, follower, limit, is_sync, tls, .. } = &self.settings;
        let unreachable = |error| ShipError::Connect(follower.clone(), error);
        let socket = connect(follower, *limit).map_err(unreachable)?;
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(*limit))?;
        let tls =
            tls.as_ref().map(|tls| tls.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let stream = Wire::of_primary(socket, tls.as_ref(), *limit * WELCOME_LIMITS);
        let stream = stream.map_err(ShipError::Secure)?;
        let silence_ms = (*limit * SILENCE_LIMITS).as_millis();
        let hello = Hello {
            silence_ms: u32::try_from(silence_ms).unwrap_or(u32::MAX),
            is_sync: *is_sync,
            written: self.shipping.written(),
            log: Tail::open(journal, 0)?.name(),
            terms: term::read(journal)?,
        };
        let mut out = Vec::new();
        Frame::Hello(hello).encode(&mut out);
        (&stream).write_all(&out)?;
        let mut frames = Frames::default();
        stream.set_read_timeout(*limit / PER_LIMIT)?;
        let deadline = clock::Deadline::after(*limit * WELCOME_LIMITS);
        let next = loop {
            match frames.next_frame()? {
                Some(Frame::Welcome { next }) => break next,
                Some(Frame::Rejected { is_fenced, why }) => return Err(rejected(is_fenced, why)),
                Some(_) => return Err(FrameError::Invalid("place before the welcome").into()),
                None if self.is_over() || deadline.left().is_zero() => {
                    return Err(io::Error::from(io::ErrorKind::TimedOut).into());
                }
                None => receive(&stream, &mut frames).map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                        ShipError::NoAnswer
                    }
                    _ => error.into(),
                })?,
            };
        };
        // Otherwise records that it has never seen would count as acknowledged.
        if next > self.shipping.written() {
            return Err(FrameError::Invalid("next record").into());
        }
        self.heard_ns.store(monotonic_ns(), Ordering::Relaxed);
        self.shipping.acknowledge(next);
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.connections.fetch_add(1, Ordering::Relaxed);
        let behind = self.shipping.written().saturating_sub(next);
        (self.report)(&ShipEvent::Connected { next, behind });
        Ok((stream, frames, next))
    }

    /// A follower that lacks so many records catches up without pauses.
    fn lacks_max(&self) -> u64 {
        // Orders wait for a synchronous one.
        match self.settings.is_sync || self.is_closed.load(Ordering::Relaxed) {
            true => 0,
            false => self.settings.lag_max,
        }
    }

    /// Ships until the connection breaks or the shipper ends.
    fn send(
        &self,
        mut stream: &Wire,
        tail: &mut Tail,
        register: &mut RegisterReader,
        is_broken: &AtomicBool,
    ) -> Result<(), ShipError> {
        let heartbeat = self.settings.limit * SILENCE_LIMITS / HEARTBEATS_PER_SILENCE;
        let (mut out, mut contents) = (Vec::new(), Vec::new());
        let mut pace = Pace::default();
        register.ship(&mut out)?;
        while !self.is_over() && !is_broken.load(Ordering::Acquire) {
            // Read this before the register: then the register has every line that they need.
            let written = self.shipping.written();
            let first = tail.next_sequence();
            if written > first {
                let allowance = pace.allowance(monotonic_ns(), written, first, self.lacks_max());
                if allowance == 0 {
                    thread::sleep(Pace::PAUSE);
                    continue;
                }
                register.ship(&mut out)?;
                contents.clear();
                pace.shipped(tail.read(written, allowance, &mut contents)?);
                let (contents, _) = contents.as_chunks::<CONTENT_BYTES>();
                Frame::Records { first, contents }.encode(&mut out);
            } else if out.is_empty() {
                thread::park_timeout(heartbeat);
                if self.shipping.written() > tail.next_sequence() {
                    continue;
                }
                Frame::Heartbeat.encode(&mut out);
            }
            stream.write_all(&out)?;
            out.clear();
        }
        let has_shipped = self.shipping.written() == tail.next_sequence();
        if has_shipped && self.says_farewell.load(Ordering::Relaxed) && !self.is_fenced() {
            Frame::Farewell.encode(&mut out);
            stream.write_all(&out)?;
        }
        Ok(())
    }

    /// Takes acknowledgements until the connection breaks.
    fn listen(&self, stream: &Wire, frames: &mut Frames) -> Result<(), ShipError> {
        loop {
            while let Some(frame) = frames.next_frame()? {
                let durable = match frame {
                    Frame::Ack { durable } => durable,
                    Frame::Rejected { is_fenced, why } => return Err(rejected(is_fenced, why)),
                    _ => return Err(FrameError::Invalid("kind of reply").into()),
                };
                if durable > self.shipping.written() {
                    return Err(FrameError::Invalid("acknowledged record").into());
                }
                self.shipping.acknowledge(durable);
                self.heard_ns.store(monotonic_ns(), Ordering::Relaxed);
            }
            let silent_ns = monotonic_ns() - self.heard_ns.load(Ordering::Relaxed);
            if u128::from(silent_ns) > (self.settings.limit * SILENCE_LIMITS).as_nanos() {
                return Err(io::Error::from(io::ErrorKind::TimedOut).into());
            }
            receive(stream, frames)?;
        }
    }

    /// The thread that judges whether the follower is lost.
    fn judge(&self) {
        let limit = self.settings.limit;
        let mut judge = LagJudge::new(limit.as_nanos() as u64, monotonic_ns());
        let mut was_lost = false;
        while !self.is_over() {
            let heard_ns = self.heard_ns.load(Ordering::Relaxed);
            let replicated = self.shipping.replicated();
            // One that is not synchronous may lag, up to another limit.
            let written = if self.settings.is_sync { self.shipping.written() } else { replicated };
            let is_lost = judge.is_lost(monotonic_ns(), written, replicated, heard_ns);
            if is_lost != was_lost {
                self.shipping.set_lost(is_lost);
                (self.report)(if is_lost { &ShipEvent::Lost } else { &ShipEvent::Back });
                was_lost = is_lost;
            }
            thread::park_timeout(limit / PER_LIMIT);
        }
    }
}
