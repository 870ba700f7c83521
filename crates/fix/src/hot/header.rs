//! Fields and the header of a message, read without a dictionary.

use crate::message::{number, tag_at};
use crate::separators::Separators;
use crate::tag;

/// The fields of a whole message that [`frame`](crate::frame) found, in order: each a tag and its
/// value. The last one is `None` if it can't be read. It knows no data fields, whose values may
/// contain separators.
#[inline]
pub fn fields(message: &[u8]) -> Fields<'_> {
    Fields { message, at: 0, separators: Separators::of(message) }
}

/// See [`fields`].
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    message: &'a [u8],
    at: usize,
    separators: Separators<'a>,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Option<(u32, &'a [u8])>;

    #[inline]
    fn next(&mut self) -> Option<Option<(u32, &'a [u8])>> {
        let Fields { message, at, .. } = *self;
        if at >= message.len() {
            return None;
        }
        // The end of an unreadable field is that of the message.
        self.at = message.len();
        let Some(end) = self.separators.next() else { return Some(None) };
        let Ok((tag, start)) = tag_at(message, at) else { return Some(None) };
        self.at = end + 1;
        Some(Some((tag, &message[start..end])))
    }
}

/// The fields of a header by which a session takes a message. Those that are missing are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header<'a> {
    /// BeginString (8).
    pub begin_string: &'a [u8],
    /// MsgType (35).
    pub msg_type: &'a [u8],
    /// SenderCompID (49).
    pub sender: &'a [u8],
    /// TargetCompID (56).
    pub target: &'a [u8],
    /// MsgSeqNum (34); 0 if there is none.
    pub seq: u64,
    /// PossDupFlag (43).
    pub is_poss_dup: bool,
}

impl<'a> Header<'a> {
    /// Reads the beginning of a message, up to the first field that is none of a plain header.
    /// `None` if MsgType or MsgSeqNum is not there.
    #[inline]
    pub fn of(message: &'a [u8]) -> Option<Header<'a>> {
        let mut header = Header::default();
        for field in fields(message) {
            let (tag, value) = field?;
            if !header.take(tag, value)? && !matches!(tag, tag::BODY_LENGTH | tag::SENDING_TIME) {
                break;
            }
        }
        (header.seq > 0 && !header.msg_type.is_empty()).then_some(header)
    }

    /// Takes a field. Returns whether it is one of these; `None` if it can't be read.
    #[inline]
    pub(super) fn take(&mut self, tag: u32, value: &'a [u8]) -> Option<bool> {
        match tag {
            tag::BEGIN_STRING => self.begin_string = value,
            tag::MSG_TYPE => self.msg_type = value,
            tag::SENDER_COMP_ID => self.sender = value,
            tag::TARGET_COMP_ID => self.target = value,
            tag::MSG_SEQ_NUM => self.seq = number(value)?,
            tag::POSS_DUP_FLAG => self.is_poss_dup = value != b"N",
            _ => return Some(false),
        }
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SOH;
    use crate::message::{Message, split};
    use proptest::prelude::*;

    #[test]
    fn a_header_ends_with_the_first_other_field() {
        let message =
            b"8=FIX.4.4\x019=5\x0135=X\x0149=A\x0156=B\x0134=7\x0152=x\x01262=a\x0134=9\x01";
        let header = Header::of(message).unwrap();
        let expected = Header {
            begin_string: b"FIX.4.4",
            msg_type: b"X",
            sender: b"A",
            target: b"B",
            seq: 7,
            is_poss_dup: false,
        };
        assert_eq!(header, expected);
        for unreadable in [&b""[..], b"35=X\x0134=x\x01", b"35=X\x01", b"34=1\x01", b"35=X\x0134=1"]
        {
            assert_eq!(Header::of(unreadable), None);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(256)))]
        /// The slow reader finds the same fields, or the same fault.
        #[test]
        fn fields_are_those_of_the_slow_reader(
            texts in prop::collection::vec("[0-9]{1,3}(=[ -~]{0,5})?", 0..8),
        ) {
            let mut message = texts.join("\x01").into_bytes();
            message.push(SOH);
            let mut slow = Vec::new();
            let is_readable = split(&message, |_| None, &mut slow).is_ok();
            let whole = Message::new(&message, &slow);
            let slow: Vec<_> = slow.iter().map(|field| (field.tag, whole.value(*field))).collect();
            let fast: Vec<_> = fields(&message).map_while(|field| field).collect();
            prop_assert_eq!(fast, slow);
            prop_assert_eq!(fields(&message).all(|field| field.is_some()), is_readable);
        }
    }
}
