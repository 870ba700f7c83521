//! Logging on: a Logon and its answer, while the connection blocks.

use super::replies::text_of;
use super::whole;
use crate::session::web::{STEP_PATIENCE, read, wait_at_most};
use clock::Deadline;
use fix::session::{Event, Now, Session};
use fix::store::MemoryStore;
use std::io;
use transport::Blocking;
use transport::echo::Inbound;

/// Sends a Logon, and waits for the exchange's.
pub(super) fn log_on(
    session: &mut Session<MemoryStore>,
    inbound: &mut Inbound,
    stream: &mut dyn Blocking,
    now: impl Fn() -> Now,
) -> io::Result<()> {
    let mut out = Vec::new();
    session.connected(now(), &mut out)?;
    stream.write_all(&out)?;
    let deadline = Deadline::after(STEP_PATIENCE);
    let mut logout = None;
    loop {
        let Some((message, _)) = inbound.take_by(whole).map_err(io::Error::other)? else {
            wait_at_most(stream, deadline)?;
            match read(stream, inbound.space())? {
                0 => return Err(closed_at_logon(logout)),
                n => inbound.filled(n, now().steady_ns),
            }
            continue;
        };
        logout = text_of(message, b"5").or(logout);
        session.receive(message);
        out.clear();
        let event = session.poll(now(), &mut out)?;
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

/// An exchange does not answer a Logon that it does not believe, or that is of another protocol.
fn closed_at_logon(logout: Option<String>) -> io::Error {
    let text = logout.unwrap_or_else(|| {
        "it closed the connection without an answer to the Logon: it may not know the token, the key \
         or the CompID TICKPATH, the session may have a connection already, or this is not its FIX port"
            .to_owned()
    });
    io::Error::new(io::ErrorKind::UnexpectedEof, text)
}
