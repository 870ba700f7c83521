//! The state of one connection, and its time-outs.

use crate::setup::limits::{HTTP_HEAD_BYTES_MAX, Limits, nanoseconds};
use std::hint::black_box;
use transport::StreamId;
use wire::reader::{FrameLimits, MessageReader, Role};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not connected, or ended by the exchange.
    #[default]
    Ended,
    /// Speaks HTTP.
    Head,
    /// Speaks WebSocket.
    Frames,
    /// Speaks SBE. The session is there after the logon.
    Sbe { session: Option<StreamId> },
    /// Its login failed. The exchange drops all input until the delayed answer.
    LoginFailed { answer_ns: u64 },
}

pub(crate) struct Connection {
    pub phase: Phase,
    /// Whether a plain HTTP request was answered: silence after that is not a failed handshake.
    pub is_answered: bool,
    /// Whether it speaks SBE, also while the answer to its failed login is delayed.
    pub speaks_sbe: bool,
    /// When the upgrade was answered, or the first frame of SBE came.
    pub upgraded_ns: u64,
    /// When the connection began a head or a message that is not complete yet.
    pub owes_since_ns: Option<u64>,
    /// When a client that speaks SBE last sent anything.
    pub heard_ns: u64,
    pub head: Box<[u8]>,
    pub head_bytes: usize,
    pub reader: MessageReader,
}

/// Time-outs of a connection.
pub(crate) struct TimeOuts {
    handshake_ns_max: u64,
    message_ns_max: u64,
    authentication_ns_max: u64,
    silence_ns_max: u64,
}

impl TimeOuts {
    pub fn new(limits: &Limits) -> TimeOuts {
        TimeOuts {
            handshake_ns_max: nanoseconds(limits.handshake_seconds_max),
            message_ns_max: nanoseconds(limits.message_seconds_max),
            authentication_ns_max: nanoseconds(limits.authentication_seconds_max),
            silence_ns_max: nanoseconds(limits.sbe_silence_seconds_max),
        }
    }
}

/// Why a sweep ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeOut {
    /// The delayed answer to a failed login is due.
    FailedLogin,
    /// An idle HTTP client.
    Idle,
    /// The head of a request is incomplete.
    Head,
    /// A message is incomplete.
    Message,
    /// It has not authenticated.
    Authentication,
    /// A client that speaks SBE has sent nothing.
    Silence,
}

impl Connection {
    /// Allocates and touches all memory of a connection.
    pub fn new(frames: FrameLimits) -> Connection {
        let mut reader = MessageReader::new(Role::Server, frames);
        // Without `black_box` the compiler may see that the memory is zero already and not touch
        // it.
        black_box(reader.space()).fill(0);
        let mut head = black_box(vec![0; HTTP_HEAD_BYTES_MAX]).into_boxed_slice();
        black_box(&mut head).fill(0);
        let (phase, upgraded_ns, owes_since_ns) = (Phase::Ended, 0, None);
        let (is_answered, speaks_sbe, heard_ns, head_bytes) = (false, false, 0, 0);
        Connection {
            phase,
            is_answered,
            speaks_sbe,
            upgraded_ns,
            owes_since_ns,
            heard_ns,
            head,
            head_bytes,
            reader,
        }
    }

    /// Begins anew for another client.
    pub fn open(&mut self, now_ns: u64) {
        self.phase = Phase::Head;
        self.is_answered = false;
        self.speaks_sbe = false;
        self.owes_since_ns = Some(now_ns);
        self.head_bytes = 0;
        self.reader.reset();
    }

    /// Why the connection ends now, if it has not completed its head, message or login in time.
    pub fn time_out(
        &self,
        time_outs: &TimeOuts,
        now_ns: u64,
        is_authenticated: impl FnOnce() -> bool,
    ) -> Option<TimeOut> {
        let is_over = |since_ns: u64, ns_max| now_ns.saturating_sub(since_ns) > ns_max;
        let owes_longer =
            |ns_max| self.owes_since_ns.is_some_and(|since_ns| is_over(since_ns, ns_max));
        match self.phase {
            Phase::LoginFailed { answer_ns } if now_ns >= answer_ns => Some(TimeOut::FailedLogin),
            Phase::Head if owes_longer(time_outs.handshake_ns_max) => {
                let is_idle = self.is_answered && self.head_bytes == 0;
                Some(if is_idle { TimeOut::Idle } else { TimeOut::Head })
            }
            Phase::Frames | Phase::Sbe { .. } if owes_longer(time_outs.message_ns_max) => {
                Some(TimeOut::Message)
            }
            Phase::Sbe { session: None }
                if is_over(self.upgraded_ns, time_outs.authentication_ns_max) =>
            {
                Some(TimeOut::Authentication)
            }
            Phase::Sbe { session: Some(_) } if is_over(self.heard_ns, time_outs.silence_ns_max) => {
                Some(TimeOut::Silence)
            }
            Phase::Frames
                if is_over(self.upgraded_ns, time_outs.authentication_ns_max)
                    && !is_authenticated() =>
            {
                Some(TimeOut::Authentication)
            }
            _ => None,
        }
    }
}
