//! Fields of a message that is sent.

use crate::time::{TIMESTAMP_BYTES, put_timestamp};
use crate::{SOH, frame};

/// Appends fields, `tag=value` and a separator each.
#[derive(Debug)]
pub struct Body<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Body<'a> {
    /// Appends to `out`.
    pub fn new(out: &'a mut Vec<u8>) -> Body<'a> {
        Body { out }
    }

    /// A value as it is. A separator in it would begin another field, so it becomes a space.
    #[inline]
    pub fn bytes(&mut self, tag: u32, value: &[u8]) -> &mut Self {
        if value.contains(&SOH) {
            return self.with_spaces(tag, value);
        }
        self.written(tag, |out| out.extend_from_slice(value))
    }

    #[cold]
    fn with_spaces(&mut self, tag: u32, value: &[u8]) -> &mut Self {
        let bytes = value.iter().map(|byte| if *byte == SOH { b' ' } else { *byte });
        self.written(tag, |out| out.extend(bytes))
    }

    /// A text.
    #[inline]
    pub fn text(&mut self, tag: u32, value: &str) -> &mut Self {
        self.bytes(tag, value.as_bytes())
    }

    /// One character.
    #[inline]
    pub fn char(&mut self, tag: u32, value: char) -> &mut Self {
        self.text(tag, value.encode_utf8(&mut [0; 4]))
    }

    /// A number, without leading zeros.
    #[inline]
    pub fn number(&mut self, tag: u32, value: u64) -> &mut Self {
        self.written(tag, |out| put_number(out, value))
    }

    /// `Y` or `N`.
    pub fn flag(&mut self, tag: u32, value: bool) -> &mut Self {
        self.char(tag, if value { 'Y' } else { 'N' })
    }

    /// UTC with milliseconds; `utc_ns` counts from 1970.
    pub fn time(&mut self, tag: u32, utc_ns: u64) -> &mut Self {
        let mut text = [0; TIMESTAMP_BYTES];
        put_timestamp(&mut text, utc_ns);
        self.written(tag, |out| out.extend_from_slice(&text))
    }

    /// A value that `write` appends, without a separator.
    #[inline]
    pub fn written(&mut self, tag: u32, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        self.tag(tag);
        write(self.out);
        self.out.push(SOH);
        self
    }

    /// The time of day in UTC, with milliseconds; `utc_ns` counts from 1970.
    pub fn time_of_day(&mut self, tag: u32, utc_ns: u64) -> &mut Self {
        let mut text = [0; TIMESTAMP_BYTES];
        put_timestamp(&mut text, utc_ns);
        // After the date and its hyphen.
        self.bytes(tag, &text[9..])
    }

    /// Fields that another value of this type has encoded.
    pub fn encoded(&mut self, fields: &[u8]) -> &mut Self {
        self.out.extend_from_slice(fields);
        self
    }

    /// A data field with its length field before it; it may hold any byte.
    pub fn data(&mut self, length_tag: u32, tag: u32, value: &[u8]) -> &mut Self {
        self.number(length_tag, value.len() as u64);
        self.tag(tag);
        self.out.extend_from_slice(value);
        self.out.push(SOH);
        self
    }

    /// Nearly all tags are constants of two or three digits, which are written at once.
    #[inline]
    fn tag(&mut self, tag: u32) {
        let digit = |n: u32| b'0' + (n % 10) as u8;
        match tag {
            10..100 => self.out.extend_from_slice(&[digit(tag / 10), digit(tag), b'=']),
            100..1000 => {
                let digits = [digit(tag / 100), digit(tag / 10), digit(tag), b'='];
                self.out.extend_from_slice(&digits);
            }
            _ => {
                put_number(self.out, u64::from(tag));
                self.out.push(b'=');
            }
        }
    }
}

/// Appends a whole message to `out`: BeginString, BodyLength, `body` from MsgType on, CheckSum.
pub fn seal(out: &mut Vec<u8>, begin_string: &[u8], body: &[u8]) {
    let start = out.len();
    Body::new(out)
        .bytes(crate::tag::BEGIN_STRING, begin_string)
        .number(crate::tag::BODY_LENGTH, body.len() as u64);
    out.extend_from_slice(body);
    let sum = frame::check_sum(&out[start..]);
    let digit = |n: u8| b'0' + n % 10;
    out.extend_from_slice(&[b'1', b'0', b'=', digit(sum / 100), digit(sum / 10), digit(sum), SOH]);
}

/// Appends a number, without leading zeros.
#[inline]
pub fn put_number(out: &mut Vec<u8>, value: u64) {
    let digit = |n: u64| b'0' + (n % 10) as u8;
    // All tags of FIX 4.4.
    match value {
        0..10 => out.push(digit(value)),
        10..100 => out.extend_from_slice(&[digit(value / 10), digit(value)]),
        100..1000 => {
            out.extend_from_slice(&[digit(value / 100), digit(value / 10), digit(value)]);
        }
        _ => put_long(out, value),
    }
}

fn put_long(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_separator_in_a_text_begins_no_field() {
        let mut out = Vec::new();
        Body::new(&mut out).text(58, "a\x0134=9").number(1, 0).number(2, u64::MAX).flag(43, true);
        assert_eq!(out, b"58=a 34=9\x011=0\x012=18446744073709551615\x0143=Y\x01");
    }

    #[test]
    fn numbers_of_any_length_are_written_as_such() {
        for number in [0, 9, 10, 99, 100, 109, 999, 1000, 12_345, u64::MAX] {
            let mut out = Vec::new();
            put_number(&mut out, number);
            assert_eq!(out, number.to_string().as_bytes());
        }
    }

    #[test]
    fn a_time_of_day_has_no_date() {
        let (mut entry, mut out) = (Vec::new(), Vec::new());
        Body::new(&mut entry).time_of_day(273, 1_790_000_000_123_000_000);
        Body::new(&mut out).number(268, 1).encoded(&entry);
        assert_eq!(out, b"268=1\x01273=14:13:20.123\x01");
    }

    #[test]
    fn a_sealed_message_has_the_length_and_sum_of_the_specification() {
        // An example that is printed in many places.
        let mut out = Vec::new();
        let body = "35=5|34=1|49=BANZAI|52=20121105-23:24:37|56=EXEC|".replace('|', "\x01");
        seal(&mut out, b"FIX.4.1", body.as_bytes());
        let text = String::from_utf8(out).expect("ASCII").replace('\x01', "|");
        let sum: u32 = text[..text.len() - 7].replace('|', "\x01").bytes().map(u32::from).sum();
        assert!(text.starts_with("8=FIX.4.1|9=49|35=5|"), "{text}");
        assert!(text.ends_with(&format!("|10={:03}|", sum % 256)), "{text}");
    }
}
