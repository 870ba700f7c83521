//! Fields of a message that came.

use crate::SOH;
use crate::reject_reason::RejectReason;
use crate::separators::Separators;
use std::ops::Range;

/// The most fields of a message; more are rejected.
pub const FIELDS_MAX: usize = 4096;

/// A field: its tag, and where its value is in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The tag, at least 1.
    pub tag: u32,
    start: u32,
    end: u32,
}

/// A message: its bytes and their fields.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    bytes: &'a [u8],
    fields: &'a [Field],
}

/// Why a message can't be split into fields, or is not as the dictionary says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}, tag {tag}")]
pub struct Fault {
    /// The field; 0 if it has no tag.
    pub tag: u32,
    /// As FIX numbers them.
    pub reason: RejectReason,
}

impl Field {
    pub(crate) fn new(tag: u32, start: usize, end: usize) -> Field {
        Field { tag, start: start as u32, end: end as u32 }
    }

    /// Where its value is in the message.
    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl<'a> Message<'a> {
    /// The message of bytes that were [`split`] into these fields.
    pub fn new(bytes: &'a [u8], fields: &'a [Field]) -> Message<'a> {
        Message { bytes, fields }
    }

    /// All of it, as it was on the wire.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its fields, in order.
    pub fn fields(&self) -> &'a [Field] {
        self.fields
    }

    /// The value of a field of this message.
    pub fn value(&self, field: Field) -> &'a [u8] {
        &self.bytes[field.range()]
    }

    /// Where a field begins, with its tag.
    pub(crate) fn start(&self, field: Field) -> usize {
        let before = &self.bytes[..field.start as usize - 1];
        before.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1)
    }

    /// The value of the first field with that tag.
    pub fn get(&self, tag: u32) -> Option<&'a [u8]> {
        self.fields.iter().find(|field| field.tag == tag).map(|field| self.value(*field))
    }

    /// The first field with that tag as text; `None` also if it is not UTF-8.
    pub fn text(&self, tag: u32) -> Option<&'a str> {
        self.get(tag).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// The first field with that tag as a number; `None` also if it is none.
    pub fn number(&self, tag: u32) -> Option<u64> {
        self.get(tag).and_then(number)
    }

    /// Whether that flag is `Y`.
    pub fn is_set(&self, tag: u32) -> bool {
        self.get(tag) == Some(b"Y")
    }

    /// MsgType; empty if there is none.
    pub fn msg_type(&self) -> &'a [u8] {
        self.get(crate::tag::MSG_TYPE).unwrap_or_default()
    }
}

/// A number without a sign; `None` if it is none or does not fit.
pub fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |n, &digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        n.checked_mul(10)?.checked_add(digit)
    })
}

/// Splits a message into fields. `data_of` gives the tag of the data field whose length a field is.
/// Fields before a fault are in `fields` too.
///
/// # Errors
/// A field without a tag or value, a data field that its length does not fit, too many fields.
pub fn split(
    bytes: &[u8],
    data_of: impl Fn(u32) -> Option<u32>,
    fields: &mut Vec<Field>,
) -> Result<(), Fault> {
    fields.clear();
    let mut separators = Separators::of(bytes);
    let mut at = 0;
    while at < bytes.len() {
        let (tag, start) = field_at(bytes, at, fields)?;
        let fault = Fault { tag, reason: RejectReason::IncorrectFormat };
        let end = separators.next().ok_or(fault)?;
        let field = Field::new(tag, start, end);
        fields.push(field);
        at = end + 1;
        if data_of(tag).is_some() {
            at = split_data(bytes, field, &data_of, fields)?;
            separators.skip_to(at);
        }
    }
    Ok(())
}

/// Takes the data field that follows its length; returns where the next field begins.
#[cold]
fn split_data(
    bytes: &[u8],
    mut length: Field,
    data_of: impl Fn(u32) -> Option<u32>,
    fields: &mut Vec<Field>,
) -> Result<usize, Fault> {
    while let Some(wanted) = data_of(length.tag) {
        let fault = |tag, reason| Fault { tag, reason };
        let data_bytes = number(&bytes[length.range()]).and_then(|n| usize::try_from(n).ok());
        let data_bytes = data_bytes.ok_or(fault(length.tag, RejectReason::IncorrectFormat))?;
        let at = length.end as usize + 1;
        if at >= bytes.len() {
            return Err(fault(wanted, RejectReason::RequiredTagMissing));
        }
        let (tag, start) = field_at(bytes, at, fields)?;
        let end = start.checked_add(data_bytes).filter(|&end| bytes.get(end) == Some(&SOH));
        let end = end.filter(|_| tag == wanted);
        let end = end.ok_or(fault(wanted, RejectReason::IncorrectFormat))?;
        length = Field::new(tag, start, end);
        fields.push(length);
    }
    Ok(length.end as usize + 1)
}

/// The tag of the next field, and where its value begins.
#[inline]
fn field_at(bytes: &[u8], at: usize, before: &[Field]) -> Result<(u32, usize), Fault> {
    if before.len() == FIELDS_MAX {
        return Err(Fault { tag: 0, reason: RejectReason::Other });
    }
    tag_at(bytes, at)
}

/// The tag that begins there, and where its value begins.
#[inline]
pub(crate) fn tag_at(bytes: &[u8], at: usize) -> Result<(u32, usize), Fault> {
    match short_tag_at(bytes, at) {
        Some(found) => Ok(found),
        None => any_tag_at(bytes, at),
    }
}

/// Nearly all tags have one to three digits: no loop over them.
#[inline]
fn short_tag_at(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let [a, b, c, d] = *bytes.get(at..)?.first_chunk()?;
    let digit = |byte: u8| u32::from(byte.wrapping_sub(b'0'));
    let (hundreds, tens, ones) = (digit(a), digit(b), digit(c));
    if !(1..10).contains(&hundreds) {
        return None;
    }
    if b == b'=' {
        return Some((hundreds, at + 2));
    }
    if tens < 10 && c == b'=' {
        return Some((hundreds * 10 + tens, at + 3));
    }
    (tens < 10 && ones < 10 && d == b'=').then_some((hundreds * 100 + tens * 10 + ones, at + 4))
}

#[cold]
fn any_tag_at(bytes: &[u8], at: usize) -> Result<(u32, usize), Fault> {
    let mut tag = 0u32;
    for (length, &byte) in bytes[at..].iter().enumerate() {
        match byte {
            b'0' if length == 0 => break,
            b'0'..=b'9' if length < 9 => tag = tag * 10 + u32::from(byte - b'0'),
            b'=' if length > 0 => return Ok((tag, at + length + 1)),
            // Part of the value before it.
            SOH => return Err(Fault { tag: 0, reason: RejectReason::ValueHasSeparator }),
            _ => break,
        }
    }
    Err(Fault { tag: 0, reason: RejectReason::InvalidTag })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Result<Vec<(u32, String)>, Fault> {
        let bytes = text.replace('|', "\x01").into_bytes();
        let mut fields = Vec::new();
        split(&bytes, |tag| (tag == 95).then_some(96), &mut fields)?;
        let message = Message::new(&bytes, &fields);
        let value = |field: &Field| String::from_utf8_lossy(message.value(*field)).into_owned();
        Ok(fields.iter().map(|field| (field.tag, value(field))).collect())
    }

    #[test]
    fn data_may_hold_separators() {
        let fields = of("35=A|95=5|96=a|b=c|98=0|").expect("fields");
        let data = "a\x01b=c".to_owned();
        assert_eq!(fields[1..], [(95, "5".to_owned()), (96, data), (98, "0".to_owned())]);
    }

    #[test]
    fn faults() {
        let cases = [
            ("35=A|95=4|96=a|b=c|", 96, RejectReason::IncorrectFormat),
            ("35=A|95=1|58=a|", 96, RejectReason::IncorrectFormat),
            ("35=A|95=x|96=a|", 95, RejectReason::IncorrectFormat),
            ("35=A|95=1|", 96, RejectReason::RequiredTagMissing),
            ("35=A|58=a|b|", 0, RejectReason::InvalidTag),
            ("35=A|58=a||", 0, RejectReason::ValueHasSeparator),
            ("35=A|058=a|", 0, RejectReason::InvalidTag),
            ("35=A|=a|", 0, RejectReason::InvalidTag),
            ("35=A|9999999999=a|", 0, RejectReason::InvalidTag),
            ("35=A|58=a", 58, RejectReason::IncorrectFormat),
        ];
        for (text, tag, reason) in cases {
            assert_eq!(of(text), Err(Fault { tag, reason }), "{text}");
        }
    }

    fn data_of(tag: u32) -> Option<u32> {
        (tag == 95).then_some(96)
    }

    /// The plain way to split a message: field by field, and byte by byte.
    fn byte_by_byte(bytes: &[u8]) -> (Vec<Field>, Option<Fault>) {
        let (mut fields, mut at, mut data) = (Vec::new(), 0, None::<(u32, usize)>);
        while at < bytes.len() {
            let (tag, start) = match any_tag_at(bytes, at) {
                Ok(found) => found,
                Err(fault) => return (fields, Some(fault)),
            };
            let length = match data.take() {
                Some((wanted, length)) if tag == wanted => Some(length),
                Some((tag, _)) => {
                    return (fields, Some(Fault { tag, reason: RejectReason::IncorrectFormat }));
                }
                None => bytes[start..].iter().position(|byte| *byte == SOH),
            };
            let end = length.and_then(|length| start.checked_add(length));
            let fault = Fault { tag, reason: RejectReason::IncorrectFormat };
            let Some(end) = end.filter(|end| bytes.get(*end) == Some(&SOH)) else {
                return (fields, Some(fault));
            };
            fields.push(Field { tag, start: start as u32, end: end as u32 });
            if let Some(data_tag) = data_of(tag) {
                match number(&bytes[start..end]) {
                    Some(length) => data = Some((data_tag, length as usize)),
                    None => return (fields, Some(fault)),
                }
            }
            at = end + 1;
        }
        (fields, data.map(|(tag, _)| Fault { tag, reason: RejectReason::RequiredTagMissing }))
    }

    /// Fields, some with one byte changed or a data field.
    fn nearly_fields() -> impl Strategy<Value = Vec<u8>> {
        let field = prop_oneof![
            4 => "[1-9][0-9]{0,4}=[ -~]{0,30}",
            1 => (0usize..70, ".{0,70}").prop_map(|(n, text)| format!("95={n}\x0196={text}")),
            1 => "[0-9=]{0,12}",
        ];
        let fields = prop::collection::vec(field, 0..20);
        (fields, any::<bool>(), prop::option::of((any::<prop::sample::Index>(), any::<u8>())))
            .prop_map(|(fields, ends, changed)| {
                let mut bytes = fields.join("\x01").into_bytes();
                bytes.extend(ends.then_some(SOH));
                if let Some((at, byte)) = changed.filter(|_| !bytes.is_empty()) {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
                bytes
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(512)))]
        #[test]
        fn a_message_is_split_as_byte_by_byte(bytes in nearly_fields()) {
            let mut fields = Vec::new();
            let fault = split(&bytes, data_of, &mut fields).err();
            prop_assert_eq!((fields, fault), byte_by_byte(&bytes));
        }
    }
}
