//! The follower's loop: takes one primary's connection after the other, and writes the copy.

use crate::reply::Replies;
use crate::session::{Session, SessionError, StoreError};
use crate::store::DirectoryStore;
use clock::monotonic_ns;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How often the loop looks whether it must end, and for a connection.
const LOOK: Duration = Duration::from_millis(20);
/// Longest time for a primary's first frame, and for a reply to be taken.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes per read: a group of records in one piece.
const READ_BYTES: usize = 1 << 20;

/// News for the operator.
#[derive(Debug)]
pub enum FollowEvent<'a> {
    /// A primary was taken; the copy needs this record next.
    Following(SocketAddr, u64),
    /// A connection ended, and why.
    Ended(SocketAddr, &'a str),
}

/// Counts of a follower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FollowCounts {
    /// Connections that were accepted.
    pub connections: u64,
    /// Primaries that were rejected.
    pub refused: u64,
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
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// How a follower follows.
#[derive(Clone, Copy, Debug, Default)]
pub struct FollowSettings {
    /// Each reply is sent so much later, as if the follower were that far away: a round trip.
    pub delay: Duration,
}

/// Follows until `stop` is set.
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
    let mut counts = FollowCounts::default();
    let mut buffer = vec![0; READ_BYTES];
    while !stop.load(Ordering::Relaxed) {
        let (stream, peer) = match listener.accept() {
            Ok(accepted) => accepted,
            // Nobody is there, or has gone again, or there is no descriptor now.
            Err(_) => {
                thread::sleep(LOOK);
                continue;
            }
        };
        counts.connections += 1;
        let ended = Connection { stream, peer, delay: settings.delay }.follow(
            store,
            stop,
            &mut buffer,
            report,
        );
        match ended {
            Ok(()) => {}
            Err(EndError::Session(SessionError::Store(error))) => return Err(error),
            Err(error) => {
                let is_refused = matches!(error, EndError::Session(SessionError::Refused(_)));
                counts.refused += u64::from(is_refused);
                report(&FollowEvent::Ended(peer, &error.to_string()));
            }
        }
    }
    Ok(counts)
}

/// A connection from a primary.
struct Connection {
    stream: TcpStream,
    peer: SocketAddr,
    delay: Duration,
}

impl Connection {
    fn follow(
        self,
        store: &mut DirectoryStore,
        stop: &AtomicBool,
        buffer: &mut [u8],
        report: &mut dyn FnMut(&FollowEvent<'_>),
    ) -> Result<(), EndError> {
        let Connection { mut stream, peer, delay } = self;
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut replies = Replies::new(stream.try_clone()?, delay)?;
        let mut session = Session::default();
        let mut out = Vec::new();
        let mut heard_ns = monotonic_ns();
        while !stop.load(Ordering::Relaxed) {
            match stream.read(buffer) {
                Ok(0) => return Err(EndError::Closed),
                Ok(n) => {
                    let was_following = session.silence().is_some();
                    let received = session.receive(&buffer[..n], store, &mut out);
                    replies.send(&mut out)?;
                    received?;
                    if !was_following && session.silence().is_some() {
                        report(&FollowEvent::Following(peer, store.next_sequence()));
                    }
                    heard_ns = monotonic_ns();
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                        let silence = session.silence().unwrap_or(PATIENCE);
                        if u128::from(monotonic_ns() - heard_ns) > silence.as_nanos() {
                            return Err(EndError::Silent(silence));
                        }
                    }
                    io::ErrorKind::Interrupted => {}
                    _ => return Err(error.into()),
                },
            }
        }
        Ok(())
    }
}
