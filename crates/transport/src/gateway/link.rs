//! State that the exchange's thread and a gateway share beside their rings: waking, and the end.
//!
//! A gateway sleeps in epoll on its sockets, where a ring's own bell can't wake it but an eventfd
//! can. The exchange's thread waits for several rings at once and parks. Spinning threads are never
//! woken; they only read the two flags here that tell them to stop and to sleep.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, fence};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use crate::connection::Connection;
use crate::streams::StreamId;

/// How long a gateway may take to start, to answer what is off the path, and to stop.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Things handed to a gateway, and where it reports the outcome. Off the path: it checks at times.
pub(crate) enum Handover {
    /// Accept from this one.
    Listener(TcpListener, Sender<io::Result<()>>),
    /// A connection that the first gateway has accepted.
    Accepted(TcpStream),
    /// A stream that the exchange's thread has.
    Added(Connection, Sender<io::Result<StreamId>>),
}

pub(crate) type GivenTo = Sender<Handover>;
pub(crate) type GivenBy = Receiver<Handover>;

pub(crate) struct Link {
    /// Whether waiting threads sleep: those of a backend that spins do while nobody uses the
    /// exchange.
    sleeps: AtomicBool,
    bell: OwnedFd,
    /// The gateway sleeps, or is about to.
    asleep: AtomicBool,
    stop: AtomicBool,
    ended: AtomicBool,
    /// Connections of this gateway, those on their way to it with them.
    open: AtomicU32,
    /// Addresses of the other ends of the gateway's streams, by its numbers. Locked when a stream
    /// comes, and at no other time.
    peers: Mutex<Vec<Option<SocketAddr>>>,
    exchange: Thread,
}

impl Link {
    /// Made by the exchange's thread.
    pub(crate) fn new(sleeps: bool) -> io::Result<Link> {
        Ok(Link {
            sleeps: AtomicBool::new(sleeps),
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            asleep: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            open: AtomicU32::new(0),
            peers: Mutex::new(Vec::new()),
            exchange: std::thread::current(),
        })
    }

    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Whether waiting threads sleep now.
    #[inline]
    pub(crate) fn sleeps(&self) -> bool {
        self.sleeps.load(Acquire)
    }

    /// The exchange's thread is about to sleep, and the gateway may.
    pub(crate) fn rest(&self) {
        self.sleeps.store(true, Release);
    }

    /// Both spin from now on.
    pub(crate) fn spin(&self) {
        self.sleeps.store(false, Release);
        self.ring();
    }

    /// After something was sent to the gateway: wakes it if it sleeps.
    #[inline]
    pub(crate) fn wake_gateway(&self) {
        if !self.sleeps() {
            return;
        }
        // With the fence in `falls_asleep`: either we see that it sleeps, or it sees what we sent.
        fence(SeqCst);
        if self.asleep.load(Relaxed) && self.asleep.swap(false, Relaxed) {
            self.ring();
        }
    }

    fn ring(&self) {
        // It fails only where 2^64 - 2 others were not heard.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    /// The gateway is about to sleep. It looks once more at what was sent before it does.
    pub(crate) fn falls_asleep(&self) {
        self.asleep.store(true, Relaxed);
        fence(SeqCst);
    }

    pub(crate) fn is_awake(&self) {
        self.asleep.store(false, Relaxed);
    }

    /// After something was sent to the exchange's thread.
    #[inline]
    pub(crate) fn wake_exchange(&self) {
        if self.sleeps() {
            self.exchange.unpark();
        }
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Release);
        self.ring();
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Acquire)
    }

    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Acquire)
    }

    pub(crate) fn open(&self) -> u32 {
        self.open.load(Relaxed)
    }

    /// Says where a stream's other end is, before the stream is announced.
    pub(crate) fn set_peer(&self, number: StreamId, peer: Option<SocketAddr>) {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if peers.len() <= number.index() {
            peers.resize(number.index() + 1, None);
        }
        peers[number.index()] = peer;
    }

    /// Where the other end of a stream is that was announced.
    pub(crate) fn peer(&self, number: StreamId) -> Option<SocketAddr> {
        let peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.get(number.index()).copied().flatten()
    }

    pub(crate) fn one_more(&self) {
        self.open.fetch_add(1, Relaxed);
    }

    pub(crate) fn one_less(&self) {
        self.open.fetch_sub(1, Relaxed);
    }
}

/// Says that the gateway has ended when its thread does, by a panic too.
pub(crate) struct GatewayEndGuard(pub std::sync::Arc<Link>);

impl Drop for GatewayEndGuard {
    fn drop(&mut self) {
        self.0.ended.store(true, Release);
        self.0.exchange.unpark();
    }
}

/// Which gateway gets the next connection: the one with the fewest, of equals the first.
pub(crate) fn least_busy(links: &[std::sync::Arc<Link>]) -> usize {
    (0..links.len()).min_by_key(|index| links[*index].open()).unwrap_or(0)
}

/// A gateway's answer to a thing handed to it.
pub(crate) fn told<T>(outcome: &Receiver<io::Result<T>>) -> io::Result<T> {
    let silent =
        |error| io::Error::new(io::ErrorKind::TimedOut, format!("it said nothing: {error}"));
    outcome.recv_timeout(PATIENCE).map_err(silent)?
}
