//! A message that is encoded once. Its sequence number, times and ids are then written in place.

use crate::frame;
use crate::message::{Field, split};
use crate::tag;
use crate::time::{TIMESTAMP_BYTES, put_timestamp};

const SECOND_NS: u64 = 1_000_000_000;
/// Bytes of `10=ddd` and the separator.
const TRAILER_BYTES: usize = 7;
/// Room for the digits that a sequence number and a length may grow by, without an allocation.
const GROWTH_BYTES: usize = 32;
/// TransactTime.
const TRANSACT_TIME: u32 = 60;

/// A prepared message.
#[derive(Clone, Debug)]
pub struct Form {
    /// From `8=` to the separator after the sum.
    bytes: Vec<u8>,
    /// Where the digits of BodyLength are, and how many.
    length: (usize, usize),
    /// The same of MsgSeqNum.
    seq: (usize, usize),
    /// Where SendingTime and, if there is one, TransactTime are.
    times: Vec<usize>,
    /// Where the ids are, and how long they are.
    ids: Vec<(usize, usize)>,
    /// The second that the times show, since 1970.
    second: Option<u64>,
}

impl Form {
    /// Makes a form of a whole message. `ids` are the tags of its ids: each [`fill`](Form::fill)
    /// gives new ones of the same lengths. `None` if the message lacks one of the fields, or has a
    /// SendingTime or TransactTime without milliseconds.
    pub fn new(message: Vec<u8>, ids: &[u32]) -> Option<Form> {
        let mut fields = Vec::new();
        split(&message, |_| None, &mut fields).ok()?;
        let place = |tag| {
            let field = fields.iter().find(|field: &&Field| field.tag == tag);
            field.map(|field| (field.range().start, field.range().len()))
        };
        let sending = place(tag::SENDING_TIME)?;
        let times: Vec<_> = [Some(sending), place(TRANSACT_TIME)].into_iter().flatten().collect();
        let (length, seq) = (place(tag::BODY_LENGTH)?, place(tag::MSG_SEQ_NUM)?);
        let ids = ids.iter().map(|id| place(*id)).collect::<Option<Vec<_>>>()?;
        if times.iter().any(|(_, bytes)| *bytes != TIMESTAMP_BYTES) {
            return None;
        }
        let times = times.into_iter().map(|(at, _)| at).collect();
        let mut bytes = Vec::with_capacity(message.len() + GROWTH_BYTES);
        bytes.extend_from_slice(&message);
        Some(Form { bytes, length, seq, times, ids, second: None })
    }

    /// Appends the message with this number, time and ids. An id of another length is cut, or
    /// leaves the end of the last one: give each form ids of one length.
    #[inline]
    pub fn fill(&mut self, out: &mut Vec<u8>, seq: u64, utc_ns: u64, ids: &[&[u8]]) {
        debug_assert_eq!(ids.len(), self.ids.len());
        self.put_seq(seq);
        self.put_times(utc_ns);
        for (&(at, bytes), id) in self.ids.iter().zip(ids) {
            debug_assert_eq!(id.len(), bytes);
            let bytes = bytes.min(id.len());
            self.bytes[at..at + bytes].copy_from_slice(&id[..bytes]);
        }
        let trailer = self.bytes.len() - TRAILER_BYTES;
        let sum = frame::check_sum(&self.bytes[..trailer]);
        put_digits(&mut self.bytes[trailer + 3..trailer + 6], u64::from(sum));
        out.extend_from_slice(&self.bytes);
    }

    /// A lower number than before keeps the width, with zeros in front.
    #[inline]
    fn put_seq(&mut self, seq: u64) {
        let (at, digits) = self.seq;
        if !put_digits(&mut self.bytes[at..at + digits], seq) {
            self.widen(seq);
        }
    }

    /// The number has one more digit: once in ten times as many messages.
    #[cold]
    fn widen(&mut self, seq: u64) {
        let digits = seq.ilog10() as usize + 1;
        while self.seq.1 < digits {
            self.insert(self.seq.0);
            self.seq.1 += 1;
        }
        let (at, digits) = self.seq;
        put_digits(&mut self.bytes[at..at + digits], seq);
        let body_start = self.length.0 + self.length.1 + 1;
        let body_bytes = (self.bytes.len() - TRAILER_BYTES - body_start) as u64;
        if body_bytes.ilog10() as usize + 1 > self.length.1 {
            self.insert(self.length.0);
            self.length.1 += 1;
        }
        let (at, digits) = self.length;
        put_digits(&mut self.bytes[at..at + digits], body_bytes);
    }

    /// Inserts a byte before the one at that place, and moves the fields behind it.
    fn insert(&mut self, at: usize) {
        self.bytes.insert(at, b'0');
        let places = [&mut self.length.0, &mut self.seq.0];
        let ids = self.ids.iter_mut().map(|(place, _)| place);
        for place in places.into_iter().chain(&mut self.times).chain(ids) {
            *place += usize::from(*place > at);
        }
    }

    #[inline]
    fn put_times(&mut self, utc_ns: u64) {
        let second = utc_ns / SECOND_NS;
        if self.second == Some(second) {
            let ms = utc_ns / 1_000_000 % 1000;
            for &at in &self.times {
                put_digits(&mut self.bytes[at + TIMESTAMP_BYTES - 3..at + TIMESTAMP_BYTES], ms);
            }
            return;
        }
        let mut text = [0; TIMESTAMP_BYTES];
        put_timestamp(&mut text, utc_ns);
        for &at in &self.times {
            self.bytes[at..at + TIMESTAMP_BYTES].copy_from_slice(&text);
        }
        self.second = Some(second);
    }
}

/// Writes a number with zeros in front. Returns whether it fitted.
#[inline]
fn put_digits(into: &mut [u8], mut value: u64) -> bool {
    for digit in into.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
    value == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::{Body, seal};
    use proptest::prelude::*;

    /// An order as the slow encoder writes it.
    fn order(sender: &str, seq: u64, utc_ns: u64, ids: [&str; 2]) -> Vec<u8> {
        let (mut body, mut out) = (Vec::new(), Vec::new());
        Body::new(&mut body)
            .text(tag::MSG_TYPE, "F")
            .text(tag::SENDER_COMP_ID, sender)
            .text(tag::TARGET_COMP_ID, "TICKPATH")
            .number(tag::MSG_SEQ_NUM, seq)
            .time(tag::SENDING_TIME, utc_ns)
            .text(41, ids[0])
            .text(11, ids[1])
            .text(55, "BTC_USDT")
            .time(TRANSACT_TIME, utc_ns);
        seal(&mut out, b"FIX.4.4", &body);
        out
    }

    const IDS: [&str; 2] = ["an-id-of-eighteen.", "another-of-eightee"];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(256)))]
        /// Any number, time and id, over every width of the number, with a body that may get a
        /// longer length by it.
        #[test]
        fn a_form_writes_what_the_encoder_writes(
            sender in "[A-Z]{1,40}",
            first in 1u64..1_000_000,
            steps in prop::collection::vec((1u64..1 << 40, 0u64..3_000_000_000, "[a-z0-9-]{18}", "[a-z0-9-]{18}"), 1..20),
        ) {
            let mut form = Form::new(order(&sender, 1, 0, IDS), &[41, 11]).unwrap();
            let (mut seq, mut utc_ns) = (first, 1_790_000_000_000_000_000);
            for (seqs, ns, one, other) in &steps {
                (seq, utc_ns) = (seq + seqs, utc_ns + ns);
                let mut filled = Vec::new();
                form.fill(&mut filled, seq, utc_ns, &[one.as_bytes(), other.as_bytes()]);
                let encoded = order(&sender, seq, utc_ns, [one, other]);
                prop_assert_eq!(String::from_utf8_lossy(&filled), String::from_utf8_lossy(&encoded));
            }
        }
    }

    #[test]
    fn filling_allocates_nothing_however_long_the_number_gets() {
        let mut form = Form::new(order("ONE", 1, 0, IDS), &[41, 11]).unwrap();
        let capacity = form.bytes.capacity();
        let mut out = Vec::new();
        form.fill(&mut out, u64::MAX, 0, &IDS.map(str::as_bytes));
        assert_eq!(form.bytes.capacity(), capacity);
        assert_eq!(out, order("ONE", u64::MAX, 0, IDS));
    }

    #[test]
    fn a_message_without_its_fields_makes_no_form() {
        assert!(Form::new(order("ONE", 1, 0, IDS), &[41, 11, 37]).is_none());
        let mut heartbeat = Vec::new();
        seal(&mut heartbeat, b"FIX.4.4", b"35=0\x0134=1\x0152=20261127-10:00:00\x01");
        assert!(Form::new(heartbeat, &[]).is_none(), "a time without milliseconds");
        assert!(Form::new(b"noise".to_vec(), &[]).is_none());
    }
}
