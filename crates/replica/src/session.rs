//! A follower's end of one connection, without I/O: bytes in, bytes out, a [`Store`].

use crate::admission::Rejection;
use crate::frame::{Frame, FrameError, Frames, Hello};
use journal::CONTENT_BYTES;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Messages of a primary that has nothing to ship, in the time after which its silence ends the
/// connection.
pub const HEARTBEATS_PER_SILENCE: u32 = 40;

/// Where a follower keeps the copy.
pub trait Store {
    /// Decides whether to follow this primary, and makes its term durable. Returns the record that
    /// it needs next; all before it are durable.
    ///
    /// # Errors
    /// The rejection; or the store has failed.
    fn admit(&mut self, hello: &Hello) -> Result<u64, AdmitError>;

    /// Takes bytes of the register of accounts; offset 0 begins it anew. It counts once it is
    /// whole.
    ///
    /// # Errors
    /// Bytes before these are missing.
    fn register(&mut self, offset: u64, is_whole: bool, bytes: &[u8]) -> Result<(), FrameError>;

    /// Takes the next record.
    ///
    /// # Errors
    /// The bytes are no record.
    fn append(&mut self, content: &[u8; CONTENT_BYTES]) -> Result<(), FrameError>;

    /// Makes all of it durable: the register, then the records. Returns the first record that is
    /// not durable.
    ///
    /// # Errors
    /// The store has failed.
    fn commit(&mut self) -> Result<u64, StoreError>;
}

/// The store has failed, and the follower ends.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub String);

/// Why a store does not take a primary.
#[derive(Debug, thiserror::Error)]
pub enum AdmitError {
    /// It rejects it.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// It has failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The other end sent something else than frames in their order.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The primary was rejected; the reply says so.
    #[error(transparent)]
    Rejected(Rejection),
    /// The store has failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A connection from a primary.
#[derive(Debug, Default)]
pub struct Session {
    frames: Frames,
    following: Option<FollowedPrimary>,
}

/// Where a follower stands towards the primary that it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowerStanding {
    /// Whether its copy has every record that the primary may have acknowledged, now and as long as
    /// the follower acknowledges nothing more.
    pub may_lead: bool,
    /// Whether the primary has ended, and its copy has all that it shipped.
    pub has_ended: bool,
    /// The longest time between two messages of the primary, ns.
    pub heartbeat_ns: u64,
}

/// A primary that was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FollowedPrimary {
    /// The next record.
    next: u64,
    /// The first record that is not durable here.
    durable: u64,
    /// The end of the primary's log when it connected. It may have acknowledged earlier records
    /// without this follower.
    written: u64,
    is_sync: bool,
    silence: Duration,
    /// Whether a register has been sent whole on this connection.
    has_register: bool,
    /// Whether the primary has said farewell.
    has_ended: bool,
}

impl Session {
    /// The state of the session: the primary, and the bytes that are no frame yet.
    pub(crate) fn state(&self) -> (Option<FollowedPrimary>, &[u8]) {
        (self.following, self.frames.rest())
    }

    /// A session with that state.
    pub(crate) fn resume(following: Option<FollowedPrimary>, rest: &[u8]) -> Session {
        let mut frames = Frames::default();
        frames.push(rest);
        Session { frames, following }
    }

    /// Time without a frame after which the connection is useless; `None` before the first frame.
    pub fn silence(&self) -> Option<Duration> {
        self.following.map(|following| following.silence)
    }

    /// Where the follower stands; `None` before the first frame.
    pub fn standing(&self) -> Option<FollowerStanding> {
        let FollowedPrimary { next, durable, written, is_sync, silence, has_ended, .. } =
            self.following?;
        let heartbeat_ns = silence.as_nanos() as u64 / u64::from(HEARTBEATS_PER_SILENCE);
        let may_lead = is_sync && durable >= written;
        Some(FollowerStanding { may_lead, has_ended: has_ended && durable >= next, heartbeat_ns })
    }

    /// Takes the stream's next bytes, and makes what they hold durable. Appends the reply to `out`,
    /// also if it fails.
    ///
    /// # Errors
    /// The connection has to be closed after the reply.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        store: &mut impl Store,
        out: &mut Vec<u8>,
    ) -> Result<(), SessionError> {
        self.frames.push(bytes);
        let taken = self.take_frames(store, out);
        if let Err(SessionError::Frame(error)) = &taken {
            // The primary's operator needs to know it, too.
            Frame::Rejected { is_fenced: false, why: &error.to_string() }.encode(out);
        }
        taken
    }

    fn take_frames(
        &mut self,
        store: &mut impl Store,
        out: &mut Vec<u8>,
    ) -> Result<(), SessionError> {
        let mut is_heard = false;
        while let Some(frame) = self.frames.next_frame()? {
            match (frame, &mut self.following) {
                (Frame::Hello(hello), None) => {
                    let next = admit(&hello, store, out)?;
                    let silence = Duration::from_millis(hello.silence_ms.into());
                    self.following = Some(FollowedPrimary {
                        next,
                        durable: next,
                        written: hello.written,
                        is_sync: hello.is_sync,
                        silence,
                        has_register: false,
                        has_ended: false,
                    });
                }
                (frame, Some(following)) => {
                    take(frame, following, store)?;
                    is_heard = true;
                }
                _ => return Err(FrameError::Invalid("place before the first").into()),
            }
        }
        if is_heard {
            let durable = store.commit()?;
            if let Some(following) = &mut self.following {
                following.durable = durable;
            }
            Frame::Ack { durable }.encode(out);
        }
        Ok(())
    }
}

fn admit(hello: &Hello, store: &mut impl Store, out: &mut Vec<u8>) -> Result<u64, SessionError> {
    match store.admit(hello) {
        Ok(next) => {
            Frame::Welcome { next }.encode(out);
            Ok(next)
        }
        Err(AdmitError::Rejected(rejection)) => {
            let why = rejection.to_string();
            Frame::Rejected { is_fenced: rejection.is_fenced(), why: &why }.encode(out);
            Err(SessionError::Rejected(rejection))
        }
        Err(AdmitError::Store(error)) => Err(error.into()),
    }
}

fn take(
    frame: Frame<'_>,
    following: &mut FollowedPrimary,
    store: &mut impl Store,
) -> Result<(), FrameError> {
    match frame {
        _ if following.has_ended => Err(FrameError::Invalid("place after the farewell")),
        Frame::Register { offset, is_whole, bytes } => {
            following.has_register |= is_whole;
            store.register(offset, is_whole, bytes)
        }
        // Without the register, a copy of these records could not be used.
        Frame::Records { .. } if !following.has_register => {
            Err(FrameError::Invalid("place before the register"))
        }
        Frame::Records { first, contents } if first == following.next => {
            following.next += contents.len() as u64;
            contents.iter().try_for_each(|content| store.append(content))
        }
        Frame::Records { .. } => Err(FrameError::Invalid("first record")),
        Frame::Heartbeat => Ok(()),
        Frame::Farewell => {
            following.has_ended = true;
            Ok(())
        }
        _ => Err(FrameError::Invalid("direction")),
    }
}
