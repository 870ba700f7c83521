//! Where a message begins and ends in a stream of bytes.
//!
//! A garbled message is skipped without an answer, as cases 2d, 2m, 2t and 3b to 3e of the session
//! layer want it: its sequence number is then missing, and the next message asks for a resend.

use crate::SOH;

/// The longest message, in bytes. A longer one is garbled.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// The longest BeginString, in bytes.
const BEGIN_STRING_BYTES_MAX: usize = 16;
/// The most digits of a BodyLength.
const BODY_LENGTH_DIGITS_MAX: usize = 7;
/// `10=ddd` and the separator.
const TRAILER_BYTES: usize = 7;

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Garbled {
    /// The bytes do not begin with BeginString and BodyLength.
    #[error("this is no FIX message: it must begin with 8=FIX… and 9=LENGTH")]
    Prefix,
    /// BodyLength does not lead to the CheckSum.
    #[error("BodyLength (9) does not lead to the field CheckSum (10)")]
    BodyLength,
    /// The body would be longer than [`MESSAGE_BYTES_MAX`].
    #[error("a message of more than {MESSAGE_BYTES_MAX} bytes (limit MESSAGE_BYTES_MAX)")]
    TooLong,
    /// The sum of the bytes is another.
    #[error("CheckSum (10) is {given}, and the sum of the bytes is {sum}")]
    CheckSum {
        /// As it was sent.
        given: u8,
        /// As it should be.
        sum: u8,
    },
    /// The third field is not MsgType.
    #[error("the third field is not MsgType (35)")]
    MsgTypeNotThird,
}

/// The next message of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextFrame<'a> {
    /// More bytes are needed.
    Incomplete,
    /// So many bytes, at least one, are no message: skip them.
    Garbled {
        /// How many.
        bytes: usize,
        /// Why.
        why: Garbled,
    },
    /// A message with the right length and sum.
    Message {
        /// All of it, from `8=` to the separator after the sum.
        bytes: &'a [u8],
        /// The value of BeginString.
        begin_string: &'a [u8],
    },
}

/// The sum of the bytes, modulo 256.
pub fn check_sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum: u8, &byte| sum.wrapping_add(byte))
}

/// Looks for the next message at the start of `bytes`.
pub fn next(bytes: &[u8]) -> NextFrame<'_> {
    if bytes.len() < 2 {
        return match bytes {
            [] | [b'8'] => NextFrame::Incomplete,
            _ => garbled(bytes, Garbled::Prefix),
        };
    }
    let Prefix { begin_string, body_start, body_bytes } = match prefix(bytes) {
        Ok(Some(prefix)) => prefix,
        Ok(None) => return NextFrame::Incomplete,
        Err(why) => return garbled(bytes, why),
    };
    if body_bytes > MESSAGE_BYTES_MAX {
        return garbled(bytes, Garbled::TooLong);
    }
    let trailer = body_start + body_bytes;
    let end = trailer + TRAILER_BYTES;
    if bytes.len() < end {
        return NextFrame::Incomplete;
    }
    let Some(given) = sum_field(&bytes[trailer - 1..end]) else {
        return garbled(bytes, Garbled::BodyLength);
    };
    let sum = check_sum(&bytes[..trailer]);
    if given != u16::from(sum) {
        let given = given.min(255) as u8;
        return NextFrame::Garbled { bytes: end, why: Garbled::CheckSum { given, sum } };
    }
    if !bytes[body_start..].starts_with(b"35=") {
        return NextFrame::Garbled { bytes: end, why: Garbled::MsgTypeNotThird };
    }
    NextFrame::Message { bytes: &bytes[..end], begin_string }
}

/// The first two fields.
struct Prefix<'a> {
    begin_string: &'a [u8],
    body_start: usize,
    body_bytes: usize,
}

/// `None` if bytes are missing.
fn prefix(bytes: &[u8]) -> Result<Option<Prefix<'_>>, Garbled> {
    if !bytes.starts_with(b"8=") {
        return Err(Garbled::Prefix);
    }
    let Some(begin_end) = separator(bytes, 2, BEGIN_STRING_BYTES_MAX)? else { return Ok(None) };
    let length = &bytes[begin_end + 1..];
    if !b"9=".starts_with(&length[..length.len().min(2)]) {
        return Err(Garbled::Prefix);
    }
    let digits = begin_end + 3;
    if bytes.len() <= digits {
        return Ok(None);
    }
    let Some(length_end) = separator(bytes, digits, BODY_LENGTH_DIGITS_MAX)? else {
        return Ok(None);
    };
    let body_bytes = number(&bytes[digits..length_end]).ok_or(Garbled::Prefix)?;
    Ok(Some(Prefix { begin_string: &bytes[2..begin_end], body_start: length_end + 1, body_bytes }))
}

/// The separator that ends a value of 1 to `max` bytes.
fn separator(bytes: &[u8], from: usize, max: usize) -> Result<Option<usize>, Garbled> {
    let value = &bytes[from..bytes.len().min(from + max + 1)];
    match value.iter().position(|&byte| byte == SOH) {
        Some(0) => Err(Garbled::Prefix),
        Some(length) => Ok(Some(from + length)),
        None if value.len() > max => Err(Garbled::Prefix),
        None => Ok(None),
    }
}

fn number(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |n, &digit| n * 10 + usize::from(digit - b'0')))
}

/// The value of `SOH 10=ddd SOH`.
fn sum_field(field: &[u8]) -> Option<u16> {
    match field {
        [SOH, b'1', b'0', b'=', digits @ .., SOH] => number(digits).map(|sum| sum as u16),
        _ => None,
    }
}

/// Skips to where the next message may begin.
fn garbled(bytes: &[u8], why: Garbled) -> NextFrame<'_> {
    let next = (1..bytes.len()).find(|&at| {
        let rest = &bytes[at..];
        b"8=FIX".starts_with(&rest[..rest.len().min(5)])
    });
    NextFrame::Garbled { bytes: next.unwrap_or(bytes.len()), why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::seal;

    fn heartbeat() -> Vec<u8> {
        let mut out = Vec::new();
        seal(&mut out, b"FIX.4.4", b"35=0\x0149=A\x0156=B\x0134=2\x01");
        out
    }

    #[test]
    fn any_cut_of_a_message_is_incomplete_and_the_whole_is_one() {
        let message = heartbeat();
        for cut in 0..message.len() {
            assert_eq!(next(&message[..cut]), NextFrame::Incomplete, "{cut} bytes");
        }
        let mut two = message.clone();
        two.extend_from_slice(b"8=FIX");
        assert_eq!(next(&two), NextFrame::Message { bytes: &message, begin_string: b"FIX.4.4" });
    }

    #[test]
    fn a_wrong_sum_skips_one_message() {
        let mut message = heartbeat();
        let end = message.len();
        message[end - 2] = if message[end - 2] == b'0' { b'1' } else { b'0' };
        let NextFrame::Garbled { bytes, why: Garbled::CheckSum { .. } } = next(&message) else {
            panic!("{:?}", next(&message))
        };
        assert_eq!(bytes, end);
    }

    #[test]
    fn noise_before_a_message_is_skipped() {
        let mut stream = b"noise 8=".to_vec();
        stream.extend_from_slice(&heartbeat());
        let mut skipped = 0;
        while let NextFrame::Garbled { bytes, .. } = next(&stream[skipped..]) {
            skipped += bytes;
        }
        assert_eq!(skipped, 8);
        assert!(matches!(next(&stream[skipped..]), NextFrame::Message { .. }));
    }

    #[test]
    fn a_length_that_is_too_large_is_garbled_at_once() {
        let why = Garbled::TooLong;
        assert_eq!(next(b"8=FIX.4.4\x019=9999999\x01"), NextFrame::Garbled { bytes: 20, why });
    }
}
