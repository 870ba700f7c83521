//! Messages of the application of a FIX session. Those in sequence are taken without a dictionary;
//! the session answers heartbeats and test requests. A connection loses nothing, so a message out
//! of sequence is final.

use crate::session::fix::{Times, text_of, whole_or};
use crate::tick::frames::{Frames, copy};
use fix::hot::Header;
use fix::session::{Event, Session};
use fix::store::{MemoryStore, Store};
use std::io;
use transport::StreamReceiver;
use transport::echo::Inbound;

/// See the module.
pub(crate) struct FixFrames {
    session: Session<MemoryStore>,
    inbound: Inbound,
    times: Times,
    out: Vec<u8>,
}

impl FixFrames {
    /// Goes on with a session that is logged on, and with what it has read.
    pub(crate) fn new(session: Session<MemoryStore>, inbound: Inbound, times: Times) -> FixFrames {
        FixFrames { session, inbound, times, out: Vec::with_capacity(256) }
    }
}

impl Frames for FixFrames {
    fn space(&mut self) -> &mut [u8] {
        self.inbound.space()
    }

    fn filled(&mut self, n: usize, read_ns: u64) {
        self.inbound.filled(n, read_ns);
    }

    #[inline]
    fn next(&mut self, stream: &mut StreamReceiver, into: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            let FixFrames { session, inbound, times, out } = self;
            let taken = inbound.take_by(whole).map_err(io::Error::other)?;
            let Some((message, read_ns)) = taken else { return Ok(None) };
            let header = Header::of(message).ok_or_else(|| {
                io::Error::other("the exchange sent a message without MsgType or MsgSeqNum")
            })?;
            if is_of_session(header.msg_type) {
                through_session(session, message, &header, *times, out)?;
                if !out.is_empty() {
                    stream.send(out)?;
                }
            } else if session.take_hot(&header, read_ns)? {
                return copy(message, into).map(Some);
            } else {
                return Err(out_of_sequence(session, &header));
            }
        }
    }

    #[inline]
    fn ends_read(&self) -> bool {
        self.inbound.is_empty()
    }

    fn keep_alive(&mut self, stream: &mut StreamReceiver) -> io::Result<()> {
        let FixFrames { session, times, out, .. } = self;
        out.clear();
        let ended = match session.poll(times.now(), out)? {
            Some(Event::End(why)) => Some(why),
            _ => None,
        };
        if !out.is_empty() {
            stream.send(out)?;
        }
        let failed = |why| io::Error::other(format!("the session of FIX has ended: {why}"));
        ended.map_or(Ok(()), |why| Err(failed(why)))
    }
}

/// The length of the first message, once it is whole; one that is garbled is final.
fn whole(bytes: &[u8]) -> Result<Option<usize>, String> {
    whole_or(bytes, |_, why| Err(format!("the exchange sent a garbled message: {why}")))
}

/// Heartbeat, TestRequest, ResendRequest, Reject, SequenceReset, Logout, Logon.
#[inline]
fn is_of_session(msg_type: &[u8]) -> bool {
    matches!(msg_type, [b'0'..=b'5' | b'A'])
}

/// A message of the session layer; the answer is in `out`.
#[cold]
fn through_session(
    session: &mut Session<MemoryStore>,
    message: &[u8],
    header: &Header<'_>,
    times: Times,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    out.clear();
    let complaint = text_of(message, b"3").or_else(|| text_of(message, b"5"));
    // A Logout, or a reset, tells more than its number.
    if header.seq > session.store().next_in() && !matches!(header.msg_type, b"4" | b"5") {
        return Err(out_of_sequence(session, header));
    }
    session.receive(message);
    let ended = match session.poll(times.now(), out)? {
        Some(Event::End(why)) => Some(why.to_string()),
        _ => None,
    };
    let text = complaint.unwrap_or_default();
    let why = match (header.msg_type, ended) {
        (b"3", _) => format!("the exchange rejects a message: {text}"),
        (b"4", _) => "the exchange left out messages (SequenceReset)".to_owned(),
        (b"5", _) => format!("the exchange logged out: {text}"),
        (_, Some(why)) => format!("the session of FIX has ended: {why}"),
        _ => return Ok(()),
    };
    Err(io::Error::other(why))
}

#[cold]
fn out_of_sequence(session: &Session<MemoryStore>, header: &Header<'_>) -> io::Error {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    io::Error::other(format!(
        "message {} of type {} from {} to {} came, and message {} of this session was due",
        header.seq,
        text(header.msg_type),
        text(header.sender),
        text(header.target),
        session.store().next_in()
    ))
}

#[cfg(test)]
#[path = "fix_tests.rs"]
mod tests;
