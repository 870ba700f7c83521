//! One FIX session with an exchange during its blocking set-up: a Logon and its answer, then
//! requests and their replies.

use crate::session::web::{read, wait_at_most};
use clock::{Clock, Deadline};
use fix::dictionary::Dictionary;
use fix::encode::Body;
use fix::frame::{self, Garbled, NextFrame};
use fix::message::{Message, split};
use fix::session::{Event, Now, Proof, Role, Session, Settings};
use fix::store::MemoryStore;
use fix::tag;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use transport::Blocking;
use transport::echo::Inbound;

/// CompID of the exchange: the default of `tickpath exchange --fix-comp-id`.
pub(crate) const EXCHANGE_COMP_ID: &str = "TICKPATH";
/// Our heartbeat interval, s.
const HEARTBEAT_SECONDS: u64 = 30;
/// The longest message, so that one fits into the buffer of a connection.
const MESSAGE_BYTES_MAX: usize = 56 * 1024;

/// The times of a session, from one clock.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    clock: Clock,
    /// UTC less the clock, ns.
    utc_offset_ns: u64,
}

impl Times {
    pub(crate) fn new(clock: Clock) -> Times {
        let utc_offset_ns = clock::steady_wall_ns().saturating_sub(clock.now_ns());
        Times { clock, utc_offset_ns }
    }

    #[inline]
    pub(crate) fn at(&self, steady_ns: u64) -> Now {
        Now { steady_ns, utc_ns: steady_ns + self.utc_offset_ns }
    }

    #[inline]
    pub(crate) fn now(&self) -> Now {
        self.at(self.clock.now_ns())
    }
}

/// A session whose numbers begin with 1 at each Logon.
pub(crate) fn initiator(
    comp_id: &str,
    proof: Proof,
    dictionary: Arc<Dictionary>,
) -> Session<MemoryStore> {
    let settings = Settings {
        heartbeat_seconds: HEARTBEAT_SECONDS,
        resets_at_logon: true,
        proof,
        ..Settings::new(Role::Initiator, comp_id, EXCHANGE_COMP_ID)
    };
    Session::new(settings, dictionary, MemoryStore::default())
}

/// The proof of a load's account: its token as the password.
pub(crate) fn password(token: &str) -> Proof {
    Proof::Password { username: None, password: token.to_owned() }
}

/// A connection and its session.
pub(crate) struct SessionConnection<'a> {
    pub(crate) session: &'a mut Session<MemoryStore>,
    pub(crate) inbound: &'a mut Inbound,
    pub(crate) stream: &'a mut dyn Blocking,
    pub(crate) times: Times,
    /// The longest that each step takes.
    pub(crate) patience: Duration,
}

impl SessionConnection<'_> {
    /// Sends a Logon, and waits for the exchange's.
    ///
    /// # Errors
    /// If the connection fails, or the exchange rejects the Logon.
    pub(crate) fn log_on(&mut self) -> io::Result<()> {
        let mut out = Vec::new();
        self.session.connected(self.times.now(), &mut out)?;
        self.stream.write_all(&out)?;
        let deadline = Deadline::after(self.patience);
        let mut logout = None;
        loop {
            let SessionConnection { session, inbound, stream, times, .. } = self;
            let Some((message, _)) = inbound.take_by(whole).map_err(io::Error::other)? else {
                match self.read(deadline)? {
                    0 => return Err(closed_at_logon(logout)),
                    _ => continue,
                }
            };
            logout = text_of(message, b"5").or(logout);
            session.receive(message);
            out.clear();
            let event = session.poll(times.now(), &mut out)?;
            let ended = match event {
                Some(Event::LoggedOn) => return stream.write_all(&out),
                Some(Event::End(why)) => Some(why),
                _ => None,
            };
            stream.write_all(&out)?;
            if let Some(why) = ended {
                return Err(io::Error::other(match logout {
                    Some(text) => format!("the exchange rejects the Logon: {text}"),
                    None => format!("the exchange ended the session before its Logon: {why}"),
                }));
            }
        }
    }

    /// Sends a message of the application.
    ///
    /// # Errors
    /// If the connection fails.
    pub(crate) fn send(
        &mut self,
        msg_type: &str,
        fill: impl FnOnce(&mut Body<'_>),
    ) -> io::Result<()> {
        let mut out = Vec::new();
        self.session.send(msg_type, self.times.now(), &mut out, fill)?;
        self.stream.write_all(&out)
    }

    /// Waits until `accept` takes a message, the reply to the message `asked`.
    ///
    /// # Errors
    /// If none comes in time, the exchange rejects the request, or the session ends.
    pub(crate) fn wait_for<T>(
        &mut self,
        asked: &str,
        mut accept: impl FnMut(Message<'_>) -> Option<T>,
    ) -> io::Result<T> {
        let deadline = Deadline::after(self.patience);
        let failed = |why: String| io::Error::other(format!("{asked}: {why}"));
        let mut out = Vec::new();
        loop {
            let SessionConnection { session, inbound, stream, times, .. } = self;
            let Some((message, _)) = inbound.take_by(whole).map_err(failed)? else {
                match self.read(deadline) {
                    Ok(0) => return Err(failed("the exchange closed the connection".to_owned())),
                    Ok(_) => continue,
                    Err(error) => return Err(failed(error.to_string())),
                }
            };
            let complaint = REJECTS.iter().find_map(|msg_type| text_of(message, msg_type));
            session.receive(message);
            out.clear();
            let accepted = match session.poll(times.now(), &mut out)? {
                Some(Event::Application(message)) => accept(message),
                Some(Event::End(why)) => {
                    return Err(failed(complaint.unwrap_or_else(|| why.to_string())));
                }
                Some(Event::Garbled(why)) => return Err(failed(why.to_string())),
                Some(Event::LoggedOn) | None => None,
            };
            stream.write_all(&out)?;
            match (accepted, complaint) {
                (Some(accepted), _) => return Ok(accepted),
                (None, Some(complaint)) => {
                    return Err(failed(format!("the exchange says: {complaint}")));
                }
                (None, None) => {}
            }
        }
    }

    fn read(&mut self, deadline: Deadline) -> io::Result<usize> {
        wait_at_most(self.stream, deadline)?;
        let n = read(self.stream, self.inbound.space())?;
        self.inbound.filled(n, self.times.now().steady_ns);
        Ok(n)
    }
}

/// Reject, Logout, MarketDataRequestReject, BusinessMessageReject.
const REJECTS: [&[u8]; 4] = [b"3", b"5", b"Y", b"j"];

/// The length of the first message, once it is whole; also of one that is garbled, which the
/// session skips.
///
/// # Errors
/// The message is longer than [`MESSAGE_BYTES_MAX`].
pub(crate) fn whole(bytes: &[u8]) -> Result<Option<usize>, String> {
    whole_or(bytes, |length, _| Ok(length))
}

/// As [`whole`]; `garbled` decides about a message that is garbled, by its length and why.
#[inline]
pub(crate) fn whole_or(
    bytes: &[u8],
    garbled: impl FnOnce(usize, Garbled) -> Result<usize, String>,
) -> Result<Option<usize>, String> {
    match frame::next(bytes) {
        NextFrame::Message { bytes, .. } => Ok(Some(bytes.len())),
        NextFrame::Garbled { bytes, why } => garbled(bytes, why).map(Some),
        NextFrame::Incomplete if bytes.len() <= MESSAGE_BYTES_MAX => Ok(None),
        NextFrame::Incomplete => Err(format!(
            "a message of more than {MESSAGE_BYTES_MAX} bytes came (limit MESSAGE_BYTES_MAX)"
        )),
    }
}

/// Text (58) of a message of that type; an empty text counts as none.
pub(crate) fn text_of(message: &[u8], msg_type: &[u8]) -> Option<String> {
    let mut fields = Vec::new();
    split(message, |_| None, &mut fields).ok()?;
    let message = Message::new(message, &fields);
    let text = message.text(tag::TEXT).filter(|text| !text.is_empty())?;
    (message.msg_type() == msg_type).then(|| text.to_owned())
}

/// An exchange does not answer a Logon that it does not believe, or that is of another protocol.
fn closed_at_logon(logout: Option<String>) -> io::Error {
    let text = logout.unwrap_or_else(|| {
        "it closed the connection without an answer to the Logon: it may not know the token, the key \
         or the CompID TICKPATH, the session may have a connection already, or this is not its FIX port"
            .to_owned()
    });
    io::Error::new(io::ErrorKind::UnexpectedEof, text)
}
