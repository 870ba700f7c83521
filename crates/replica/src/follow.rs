//! The follower's loop: follows one primary at a time, answers every other one, and writes the
//! copy. As a standby it ends when the primary's lease has run out, or the primary has ended.

use crate::lease::{Lease, Promotion};
use crate::reply::{Distance, Replies};
use crate::session::{Session, SessionError, StoreError};
use crate::store::DirectoryStore;
use crate::wire::Wire;
use clock::monotonic_ns;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use transport::tls::Acceptor;

/// How often the loop looks whether it must end, and for other connections.
const LOOK: Duration = Duration::from_millis(20);
/// The same while a connection has not sent its first frame.
const LOOK_SOON: Duration = Duration::from_millis(1);
/// Longest time for a primary's first frame, and for a reply to be taken.
const PATIENCE: Duration = Duration::from_secs(5);
/// Limit on connections that have not sent their first frame.
const STRANGERS_MAX: usize = 16;
/// Bytes per read: a group of records in one piece.
const READ_BYTES: usize = 1 << 20;

/// News for the operator.
#[derive(Debug)]
pub enum FollowEvent<'a> {
    /// A primary was taken; the copy needs this record next.
    Following(SocketAddr, u64),
    /// A connection ended, and why.
    Ended(SocketAddr, &'a str),
    /// Whether the standby would take over now, and after which silence of the primary.
    MayLead(bool, Duration),
}

/// Counts of a follower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FollowCounts {
    /// Connections that were accepted.
    pub connections: u64,
    /// Primaries that were rejected.
    pub rejected: u64,
    /// Why the standby takes over; `None`: it does not.
    pub promotion: Option<Promotion>,
}

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
enum EndError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the primary has closed the connection")]
    Closed,
    #[error("the primary has been silent for {0:?}")]
    Silent(Duration),
    #[error("it, or a later primary, has connected again")]
    Replaced,
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// How a follower follows.
#[derive(Clone, Default)]
pub struct FollowSettings {
    /// Replies are sent later, as if the follower were that far away: a round trip.
    pub distance: Distance,
    /// A silence of the primary after which the follower ends as promoted; also if the primary has
    /// ended in order. `None`: never.
    pub promote_after: Option<Duration>,
    /// Its certificate, and whose primaries it takes; `None`: connections are plain.
    pub tls: Option<Arc<Acceptor>>,
}

/// Follows until `stop` is set, or until a standby takes over.
///
/// # Errors
/// The store has failed, or nothing can be accepted.
pub fn follow(
    listener: &TcpListener,
    store: &mut DirectoryStore,
    settings: FollowSettings,
    stop: &AtomicBool,
    report: &mut dyn FnMut(&FollowEvent<'_>),
) -> Result<FollowCounts, StoreError> {
    let failed = |error: io::Error| StoreError(format!("cannot accept connections: {error}"));
    listener.set_nonblocking(true).map_err(failed)?;
    let now_ns = monotonic_ns();
    let lease = settings.promote_after.map(|limit| Lease::new(limit.as_nanos() as u64, now_ns));
    let mut follower = Follower {
        listener,
        store,
        distance: settings.distance,
        tls: settings.tls,
        report,
        buffer: vec![0; READ_BYTES],
        lease,
        may_lead: None,
        followed: None,
        strangers: Vec::new(),
        looked_ns: 0,
        counts: FollowCounts::default(),
    };
    while !stop.load(Ordering::Relaxed) && follower.counts.promotion.is_none() {
        follower.turn()?;
    }
    Ok(follower.counts)
}

/// The state of the loop.
struct Follower<'a> {
    listener: &'a TcpListener,
    store: &'a mut DirectoryStore,
    distance: Distance,
    tls: Option<Arc<Acceptor>>,
    report: &'a mut dyn FnMut(&FollowEvent<'_>),
    buffer: Vec<u8>,
    lease: Option<Lease>,
    /// As it was reported last.
    may_lead: Option<bool>,
    followed: Option<Connection>,
    /// Connections that have not said yet who they are.
    strangers: Vec<Connection>,
    looked_ns: u64,
    counts: FollowCounts,
}

impl Follower<'_> {
    fn turn(&mut self) -> Result<(), StoreError> {
        let now_ns = monotonic_ns();
        let look = if self.strangers.is_empty() { LOOK } else { LOOK_SOON };
        if u128::from(now_ns - self.looked_ns) >= look.as_nanos() {
            self.looked_ns = now_ns;
            self.store.look_for_room();
            self.look()?;
        }
        let promotion = |lease: &mut Lease| lease.promotion(monotonic_ns());
        self.counts.promotion = self.lease.as_mut().and_then(promotion);
        if self.counts.promotion.is_some() {
            return Ok(());
        }
        let Some(mut followed) = self.followed.take() else {
            thread::sleep(look);
            return Ok(());
        };
        match followed.read(self.store, &mut self.buffer) {
            Ok(was_heard) => {
                if was_heard {
                    self.renew(&followed);
                }
                self.followed = Some(followed);
                Ok(())
            }
            Err(error) => self.ended(followed.peer, error),
        }
    }

    /// Accepts connections, and reads what strangers say: a primary that is taken replaces the one
    /// that was followed.
    fn look(&mut self) -> Result<(), StoreError> {
        while self.strangers.len() < STRANGERS_MAX {
            // Nobody is there, or has gone again, or there is no descriptor now.
            let Ok((stream, peer)) = self.listener.accept() else { break };
            self.counts.connections += 1;
            match Connection::new((stream, peer), self.tls.as_deref(), self.distance) {
                Ok(stranger) => self.strangers.push(stranger),
                Err(error) => self.ended(peer, error.into())?,
            }
        }
        for mut stranger in std::mem::take(&mut self.strangers) {
            let peer = stranger.peer;
            match stranger.read(self.store, &mut self.buffer) {
                Ok(_) if stranger.session.silence().is_none() => self.strangers.push(stranger),
                Ok(_) => self.take(stranger)?,
                Err(error) => self.ended(peer, error)?,
            }
        }
        Ok(())
    }

    /// Follows this primary from now on.
    fn take(&mut self, primary: Connection) -> Result<(), StoreError> {
        if let Some(before) = self.followed.take() {
            self.ended(before.peer, EndError::Replaced)?;
        }
        if let Err(error) = primary.stream.set_nonblocking(false) {
            return self.ended(primary.peer, error.into());
        }
        (self.report)(&FollowEvent::Following(primary.peer, self.store.next_sequence()));
        self.renew(&primary);
        self.followed = Some(primary);
        Ok(())
    }

    fn renew(&mut self, primary: &Connection) {
        let (Some(lease), Some(standing)) = (&mut self.lease, primary.session.standing()) else {
            return;
        };
        // After the disk, which may have been slow.
        lease.renew(monotonic_ns(), standing);
        if self.may_lead != Some(standing.may_lead) {
            self.may_lead = Some(standing.may_lead);
            let limit = Duration::from_nanos(lease.limit_ns());
            (self.report)(&FollowEvent::MayLead(standing.may_lead, limit));
        }
    }

    fn ended(&mut self, peer: SocketAddr, why: EndError) -> Result<(), StoreError> {
        if let EndError::Session(SessionError::Store(error)) = why {
            return Err(error);
        }
        let is_rejected = matches!(why, EndError::Session(SessionError::Rejected(_)));
        self.counts.rejected += u64::from(is_rejected);
        (self.report)(&FollowEvent::Ended(peer, &why.to_string()));
        Ok(())
    }
}

/// A connection from a primary.
struct Connection {
    stream: Wire,
    peer: SocketAddr,
    session: Session,
    replies: Replies,
    out: Vec<u8>,
    heard_ns: u64,
}

impl Connection {
    /// One that does not wait when it reads.
    fn new(
        (socket, peer): (TcpStream, SocketAddr),
        tls: Option<&Acceptor>,
        distance: Distance,
    ) -> io::Result<Connection> {
        socket.set_nodelay(true)?;
        let stream = Wire::of_follower(socket, tls)?;
        stream.set_nonblocking(true)?;
        stream.set_read_timeout(LOOK)?;
        stream.set_write_timeout(PATIENCE)?;
        let replies = Replies::new(stream.clone(), distance)?;
        let (session, out) = (Session::default(), Vec::new());
        Ok(Connection { stream, peer, session, replies, out, heard_ns: monotonic_ns() })
    }

    /// Reads once, makes what came durable and replies. Returns whether anything came.
    fn read(&mut self, store: &mut DirectoryStore, buffer: &mut [u8]) -> Result<bool, EndError> {
        match (&self.stream).read(buffer) {
            Ok(0) => Err(EndError::Closed),
            Ok(n) => {
                let received = self.session.receive(&buffer[..n], store, &mut self.out);
                self.replies.send(&mut self.out)?;
                received?;
                self.heard_ns = monotonic_ns();
                Ok(true)
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    let silence = self.session.silence().unwrap_or(PATIENCE);
                    match u128::from(monotonic_ns() - self.heard_ns) > silence.as_nanos() {
                        true => Err(EndError::Silent(silence)),
                        false => Ok(false),
                    }
                }
                io::ErrorKind::Interrupted => Ok(false),
                _ => Err(error.into()),
            },
        }
    }
}
