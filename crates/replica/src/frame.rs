//! The frames between a primary and its follower. Pure: bytes in, bytes out.
//!
//! | bytes | |
//! |---|---|
//! | 0..4 | length of the body |
//! | 4..8 | CRC-32C of the body |
//! | 8.. | the body: its kind, one byte, and its fields |
//!
//! All integers are little-endian. The records' own checksums stay in the files: each end makes
//! them, because a record also says how far the log of its own disk was durable.

use crate::term::Term;
use crc32c::crc32c;
use journal::{CONTENT_BYTES, LogName};

/// The version of this protocol.
pub const VERSION: u32 = 2;
/// Longest body, bytes.
pub const BODY_BYTES_MAX: usize = 1 << 20;
/// Maximum number of records in a frame.
pub const RECORDS_MAX: u64 = 8192;
/// Maximum number of the register's bytes in a frame.
pub const REGISTER_BYTES_MAX: usize = 1 << 19;

const HEAD_BYTES: usize = 8;
const TERM_BYTES: usize = 24;

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A primary begins a connection.
    Hello(Hello),
    /// The follower takes the primary: all records below `next` are durable at the follower.
    Welcome {
        /// The record that it needs next.
        next: u64,
    },
    /// The follower rejects the primary, or something that it has sent. Keep this frame as it is in
    /// later versions: it tells the ends of different versions that they are.
    Rejected {
        /// Whether another primary has taken over, so that this one must stop.
        is_fenced: bool,
        /// Why, for the operator.
        why: &'a str,
    },
    /// Bytes of the register of accounts.
    Register {
        /// Where they belong; 0 begins it anew.
        offset: u64,
        /// Whether its last line is here, so that it can be used.
        is_whole: bool,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// Records of the log.
    Records {
        /// Sequence of the first.
        first: u64,
        /// Their contents.
        contents: &'a [[u8; CONTENT_BYTES]],
    },
    /// The primary lives.
    Heartbeat,
    /// The primary has ended: it has shipped all records, and acknowledges nothing more. Builds
    /// that don't know this frame end the connection at it, which is over in any case.
    Farewell,
    /// All records below are durable at the follower.
    Ack {
        /// The first that is not.
        durable: u64,
    },
}

/// The first frame of a primary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Time without a frame after which the follower gives up the connection, ms.
    pub silence_ms: u32,
    /// Whether the primary acknowledges nothing that the follower does not have.
    pub is_sync: bool,
    /// The end of the primary's log when the connection begins.
    pub written: u64,
    /// Its log.
    pub log: LogName,
    /// The primaries of the log, and from which record on; the last one is this primary.
    pub terms: Vec<Term>,
}

/// Why bytes are no frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The length is impossible.
    #[error(
        "a frame has {0} bytes, at most {BODY_BYTES_MAX} are allowed: the other end is no replica"
    )]
    Length(usize),
    /// The checksum does not match.
    #[error("a frame's checksum does not match: it was damaged on its way")]
    Damaged,
    /// The primary speaks another version.
    #[error(
        "the primary speaks version {0} of the replication protocol, and the follower version \
         {VERSION}: use one version of tickpath for both"
    )]
    Version(u32),
    /// The content is invalid.
    #[error("a frame's {0} is invalid: the other end is faulty")]
    Invalid(&'static str),
}

const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const REJECTED: u8 = 3;
const REGISTER: u8 = 4;
const RECORDS: u8 = 5;
const HEARTBEAT: u8 = 6;
const ACK: u8 = 7;
const FAREWELL: u8 = 8;

impl Frame<'_> {
    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(&[0; HEAD_BYTES]);
        match self {
            Frame::Hello(hello) => hello.encode(out),
            Frame::Welcome { next } => number(out, WELCOME, *next),
            Frame::Rejected { is_fenced, why } => {
                out.extend_from_slice(&[REJECTED, u8::from(*is_fenced)]);
                out.extend_from_slice(why.as_bytes());
            }
            Frame::Register { offset, is_whole, bytes } => {
                number(out, REGISTER, *offset);
                out.push(u8::from(*is_whole));
                out.extend_from_slice(bytes);
            }
            Frame::Records { first, contents } => {
                number(out, RECORDS, *first);
                out.extend_from_slice(contents.as_flattened());
            }
            Frame::Heartbeat => out.push(HEARTBEAT),
            Frame::Farewell => out.push(FAREWELL),
            Frame::Ack { durable } => number(out, ACK, *durable),
        }
        let body = &out[begin + HEAD_BYTES..];
        let (length, check) = (body.len() as u32, crc32c(body));
        out[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
        out[begin + 4..begin + HEAD_BYTES].copy_from_slice(&check.to_le_bytes());
    }
}

fn number(out: &mut Vec<u8>, kind: u8, number: u64) {
    out.push(kind);
    out.extend_from_slice(&number.to_le_bytes());
}

impl Hello {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(HELLO);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&self.silence_ms.to_le_bytes());
        out.push(u8::from(self.is_sync));
        out.extend_from_slice(&self.written.to_le_bytes());
        out.extend_from_slice(&self.log.to_bytes());
        for Term { term, primary, first } in &self.terms {
            for word in [term, primary, first] {
                out.extend_from_slice(&word.to_le_bytes());
            }
        }
    }

    fn decode(body: &[u8]) -> Result<Hello, FrameError> {
        let (version, rest) = half(body)?;
        if version != VERSION {
            return Err(FrameError::Version(version));
        }
        let (silence_ms, rest) = half(rest)?;
        let (is_sync, rest) = flag(rest)?;
        let (written, rest) = word(rest)?;
        let (log, rest) = rest.split_first_chunk().ok_or(FrameError::Invalid("log"))?;
        let log = LogName::from_bytes(log).ok_or(FrameError::Invalid("log"))?;
        let (terms, rest) = rest.as_chunks::<TERM_BYTES>();
        if terms.is_empty() || !rest.is_empty() {
            return Err(FrameError::Invalid("list of terms"));
        }
        let word = |term: &[u8; TERM_BYTES], at: usize| {
            u64::from_le_bytes(std::array::from_fn(|byte| term[8 * at + byte]))
        };
        let term = |bytes| {
            let [term, primary, first] = std::array::from_fn(|at| word(bytes, at));
            Term { term, primary, first }
        };
        let terms: Vec<Term> = terms.iter().map(term).collect();
        match terms.is_sorted_by(|one, next| one.term < next.term && one.first <= next.first) {
            true => Ok(Hello { silence_ms, is_sync, written, log, terms }),
            false => Err(FrameError::Invalid("order of terms")),
        }
    }
}

/// The frames in a stream of bytes.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    /// Bytes of frames that were taken.
    taken: usize,
}

impl Frames {
    /// Adds the stream's next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The bytes of no frame yet.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// Takes the next frame; `None` if it is not complete yet.
    ///
    /// # Errors
    /// The bytes are no frame; the rest of the stream has no meaning then.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, FrameError> {
        let rest = &self.bytes[self.taken..];
        let Some((head, rest)) = rest.split_first_chunk::<HEAD_BYTES>() else { return Ok(None) };
        let half = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| head[at + byte]));
        let length = half(0) as usize;
        if length == 0 || length > BODY_BYTES_MAX {
            return Err(FrameError::Length(length));
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        if crc32c(body) != half(4) {
            return Err(FrameError::Damaged);
        }
        self.taken += HEAD_BYTES + length;
        decode(body).map(Some)
    }
}

fn decode(body: &[u8]) -> Result<Frame<'_>, FrameError> {
    let (kind, rest) = body.split_first().ok_or(FrameError::Length(0))?;
    match *kind {
        HELLO => Hello::decode(rest).map(Frame::Hello),
        WELCOME => last_word(rest).map(|next| Frame::Welcome { next }),
        REJECTED => {
            let (is_fenced, why) = flag(rest)?;
            let why = std::str::from_utf8(why).map_err(|_| FrameError::Invalid("reason"))?;
            Ok(Frame::Rejected { is_fenced, why })
        }
        REGISTER => {
            let (offset, rest) = word(rest)?;
            let (is_whole, bytes) = flag(rest)?;
            Ok(Frame::Register { offset, is_whole, bytes })
        }
        RECORDS => {
            let (first, rest) = word(rest)?;
            let (contents, rest) = rest.as_chunks();
            let end = first.checked_add(contents.len() as u64);
            match rest.is_empty() && !contents.is_empty() && end.is_some() {
                true => Ok(Frame::Records { first, contents }),
                false => Err(FrameError::Invalid("number of records")),
            }
        }
        HEARTBEAT if rest.is_empty() => Ok(Frame::Heartbeat),
        FAREWELL if rest.is_empty() => Ok(Frame::Farewell),
        ACK => last_word(rest).map(|durable| Frame::Ack { durable }),
        _ => Err(FrameError::Invalid("kind")),
    }
}

fn word(bytes: &[u8]) -> Result<(u64, &[u8]), FrameError> {
    let (word, rest) = bytes.split_first_chunk().ok_or(FrameError::Invalid("length"))?;
    Ok((u64::from_le_bytes(*word), rest))
}

fn last_word(bytes: &[u8]) -> Result<u64, FrameError> {
    match word(bytes)? {
        (word, []) => Ok(word),
        _ => Err(FrameError::Invalid("length")),
    }
}

fn half(bytes: &[u8]) -> Result<(u32, &[u8]), FrameError> {
    let (half, rest) = bytes.split_first_chunk().ok_or(FrameError::Invalid("length"))?;
    Ok((u32::from_le_bytes(*half), rest))
}

fn flag(bytes: &[u8]) -> Result<(bool, &[u8]), FrameError> {
    match bytes.split_first() {
        Some((flag @ (0 | 1), rest)) => Ok((*flag == 1, rest)),
        _ => Err(FrameError::Invalid("flag")),
    }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
