//! A session of FIX 4.4 without I/O, in the way of smoltcp: [`Session::receive`] takes the bytes
//! that came, [`Session::poll`] gives events and appends the bytes to send, and the caller has the
//! sockets and the clock.
//!
//! A session outlives its connections. [`Session::connected`] begins one; messages that are sent
//! between two connections are only stored, and the peer requests them after its next logon.
//!
//! A message after a gap is not kept: the session requests everything from the gap on, so the peer
//! sends it again. A number is stored before the caller gets its message: after a crash an order
//! may be lost, and never enters twice.

mod admin;
mod end;
mod header;
mod hot;
mod receive;
mod send;
mod settings;

pub use crate::reject_reason::RejectReason;
pub use end::End;
pub use header::{Logon, logon_of, signed_text};
pub use settings::{HEARTBEAT_SECONDS_MAX, Proof, Role, Settings, Sign};

use crate::dictionary::{Dictionary, Shapes};
use crate::frame::{self, Garbled, NextFrame};
use crate::message::{Field, Message};
use crate::store::Store;
use std::io;
use std::sync::Arc;

/// The most received bytes that wait to be read as messages. The caller reads no more meanwhile.
pub const INBOUND_BYTES_MAX: usize = 2 * frame::MESSAGE_BYTES_MAX;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// The time of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// On a clock that never steps, ns: for time-outs.
    pub steady_ns: u64,
    /// UTC, ns since 1970: for SendingTime.
    pub utc_ns: u64,
}

/// An event that a call found.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Both sides have logged on.
    LoggedOn,
    /// A message of the application, in sequence and valid.
    Application(Message<'a>),
    /// A message was skipped. For a log.
    Garbled(Garbled),
    /// Close the connection after the bytes of `out` are written.
    End(End),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No connection.
    Apart,
    /// Connected; the peer's Logon has not come.
    LogonAwaited { since_ns: u64 },
    /// Both have logged on.
    Active,
    /// Our Logout was sent.
    LogoutSent { since_ns: u64 },
    /// [`Event::End`] was given.
    Ended,
}

/// The outcome of a received message.
enum Step {
    Nothing,
    LoggedOn,
    Application,
    End(End),
}

/// See the module.
#[derive(Debug)]
pub struct Session<S> {
    settings: Settings,
    dictionary: Arc<Dictionary>,
    store: S,
    state: State,
    inbound: Vec<u8>,
    /// The part of `inbound` that was read.
    read: usize,
    fields: Vec<Field>,
    /// How the peer's messages look.
    shapes: Shapes,
    body: Vec<u8>,
    heartbeat_ns: u64,
    received_ns: u64,
    sent_ns: u64,
    /// When a TestRequest was sent that has no answer yet.
    test_sent_ns: Option<u64>,
    tests: u64,
    /// The last number that a requested resend will bring, and when it was requested.
    gap: Option<(u64, u64)>,
    /// Our Logon carries ResetSeqNumFlag, and the peer's must, too.
    resets: bool,
}

impl<S: Store> Session<S> {
    /// A session that has no connection yet.
    pub fn new(settings: Settings, dictionary: Arc<Dictionary>, store: S) -> Session<S> {
        Session {
            settings,
            dictionary,
            store,
            state: State::Apart,
            inbound: Vec::new(),
            read: 0,
            fields: Vec::new(),
            shapes: Shapes::default(),
            body: Vec::new(),
            heartbeat_ns: 0,
            received_ns: 0,
            sent_ns: 0,
            test_sent_ns: None,
            tests: 0,
            gap: None,
            resets: false,
        }
    }

    /// Its store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Whether both sides have logged on, and none has logged out.
    pub fn is_active(&self) -> bool {
        self.state == State::Active
    }

    /// A connection was made. An initiator's Logon is appended to `out`.
    ///
    /// # Errors
    /// If the store fails.
    pub fn connected(&mut self, now: Now, out: &mut Vec<u8>) -> io::Result<()> {
        self.inbound.clear();
        (self.read, self.gap, self.test_sent_ns, self.resets) = (0, None, None, false);
        self.state = State::LogonAwaited { since_ns: now.steady_ns };
        (self.received_ns, self.sent_ns) = (now.steady_ns, now.steady_ns);
        if self.settings.role == Role::Initiator {
            if self.settings.resets_at_logon {
                self.store.reset()?;
                self.resets = true;
            }
            self.send_logon(self.settings.heartbeat_seconds, now, out)?;
        }
        Ok(())
    }

    /// The connection is gone.
    pub fn disconnected(&mut self) {
        self.state = State::Apart;
        self.inbound.clear();
        self.read = 0;
    }

    /// Takes bytes that came; returns how many fitted ([`INBOUND_BYTES_MAX`]). Poll, and give the
    /// rest again.
    pub fn receive(&mut self, bytes: &[u8]) -> usize {
        match self.read == self.inbound.len() {
            true => self.inbound.clear(),
            false => drop(self.inbound.drain(..self.read)),
        }
        self.read = 0;
        let n = bytes.len().min(INBOUND_BYTES_MAX - self.inbound.len());
        self.inbound.extend_from_slice(&bytes[..n]);
        n
    }

    /// The next event of what was received, or of the time that has passed; `None` if there is no
    /// more now. Bytes to send are appended to `out`.
    ///
    /// # Errors
    /// If the store fails: the session must end.
    pub fn poll(&mut self, now: Now, out: &mut Vec<u8>) -> io::Result<Option<Event<'_>>> {
        while !matches!(self.state, State::Apart | State::Ended) {
            let start = self.read;
            let (end, is_begin_string) = match frame::next(&self.inbound[start..]) {
                NextFrame::Incomplete => break,
                NextFrame::Garbled { bytes, why } => {
                    self.read += bytes;
                    return Ok(Some(Event::Garbled(why)));
                }
                NextFrame::Message { bytes, begin_string } => {
                    let ours = self.dictionary.begin_string().as_bytes();
                    (start + bytes.len(), begin_string == ours)
                }
            };
            self.read = end;
            self.received_ns = now.steady_ns;
            self.test_sent_ns = None;
            // Both are lent to the message while the session changes.
            let inbound = std::mem::take(&mut self.inbound);
            let mut fields = std::mem::take(&mut self.fields);
            let bytes = &inbound[start..end];
            let fault = self.dictionary.read(bytes, &mut self.shapes, &mut fields).err();
            let message = Message::new(bytes, &fields);
            let step = match is_begin_string {
                true => self.message(message, fault, now, out),
                false => self.other_version(now, out),
            };
            (self.inbound, self.fields) = (inbound, fields);
            match step? {
                Step::Nothing => {}
                Step::LoggedOn => return Ok(Some(Event::LoggedOn)),
                Step::Application => {
                    let message = Message::new(&self.inbound[start..end], &self.fields);
                    return Ok(Some(Event::Application(message)));
                }
                Step::End(why) => return Ok(Some(self.end(why))),
            }
        }
        Ok(self.time_passed(now, out)?.map(|why| self.end(why)))
    }

    fn end(&mut self, why: End) -> Event<'static> {
        self.state = State::Ended;
        Event::End(why)
    }

    /// When [`poll`](Session::poll) has something to do next although nothing comes, on the steady
    /// clock.
    pub fn poll_at_ns(&self) -> Option<u64> {
        let settings = &self.settings;
        match self.state {
            State::Apart | State::Ended => None,
            State::LogonAwaited { since_ns } => Some(since_ns + settings.logon_ns_max),
            State::LogoutSent { since_ns } => Some(since_ns + settings.logout_ns_max),
            State::Active if self.heartbeat_ns == 0 => None,
            State::Active => {
                let since = self.test_sent_ns.unwrap_or(self.received_ns);
                let test_at = since + self.patience_ns();
                Some(test_at.min(self.sent_ns + self.heartbeat_ns))
            }
        }
    }

    /// How long a peer may be silent: its interval and a fifth, for the way.
    fn patience_ns(&self) -> u64 {
        self.heartbeat_ns + self.heartbeat_ns / 5
    }

    fn time_passed(&mut self, now: Now, out: &mut Vec<u8>) -> io::Result<Option<End>> {
        let settings = &self.settings;
        let now_ns = now.steady_ns;
        let over = |since_ns: u64, limit_ns: u64| now_ns.saturating_sub(since_ns) >= limit_ns;
        match self.state {
            State::LogonAwaited { since_ns } if over(since_ns, settings.logon_ns_max) => {
                return Ok(Some(End::LogonTimeOut));
            }
            State::LogoutSent { since_ns } if over(since_ns, settings.logout_ns_max) => {
                return Ok(Some(End::LogoutTimeOut));
            }
            State::Active if self.heartbeat_ns > 0 => {}
            _ => return Ok(None),
        }
        match self.test_sent_ns {
            Some(since_ns) if over(since_ns, self.patience_ns()) => return Ok(Some(End::Silent)),
            None if over(self.received_ns, self.patience_ns()) => {
                self.test_sent_ns = Some(now_ns);
                self.send_test_request(now, out)?;
            }
            _ if over(self.sent_ns, self.heartbeat_ns) => self.send_heartbeat(None, now, out)?,
            _ => {}
        }
        Ok(None)
    }
}
