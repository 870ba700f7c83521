//! The shape of a message is the sequence of its tags. A client sends the same one again and again,
//! so that of a valid message is remembered by MsgType. Where the next message has it, order,
//! repetitions and required fields are right: only values are left to check.

use super::by_tag::ByTag;
use super::check::Place;
use super::{Dictionary, MessageDef};
use crate::SOH;
use crate::message::{Fault, Field, Message, split};
use crate::separators::Separators;

/// After so many messages in a row that have another sequence, theirs is remembered.
const MISSES_MAX: u32 = 16;

/// A shape for each MsgType of one byte: those of one peer's messages by one dictionary.
#[derive(Debug, Default)]
pub struct Shapes {
    by_byte: ByTag<Shape>,
}

#[derive(Debug, Default)]
struct Shape {
    fields: Vec<ShapeField>,
    /// Messages in a row that had another one.
    misses: u32,
}

/// A field of a shape.
#[derive(Clone, Copy, Debug)]
struct ShapeField {
    place: Place,
    tag: u32,
    /// The bytes of the tag and of `=`, and which bits of four bytes these are.
    text: u32,
    mask: u32,
    text_bytes: usize,
}

impl ShapeField {
    /// `None` for a group and for a tag of more than three digits.
    fn of(def: &MessageDef, tag: u32) -> Option<ShapeField> {
        let place = def.places.get(tag).filter(|place| !place.is_group())?;
        let text = format!("{tag}=");
        let mut bytes = [0; 4];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        let mask = u32::MAX >> (u32::BITS - 8 * text.len() as u32);
        let text_bytes = text.len();
        Some(ShapeField { place: *place, tag, text: u32::from_le_bytes(bytes), mask, text_bytes })
    }
}

impl Dictionary {
    /// Splits a message that [`frame`](crate::frame) found into fields, and checks it. The same as
    /// [`split`] and [`check`](Dictionary::check), and faster if it has a shape.
    ///
    /// # Errors
    /// Theirs. Fields before a fault are in `fields` too.
    pub fn read(
        &self,
        bytes: &[u8],
        shapes: &mut Shapes,
        fields: &mut Vec<Field>,
    ) -> Result<(), Fault> {
        let separators = Separators::of(bytes);
        let msg_type = msg_type(bytes, separators.clone());
        let shape = msg_type.and_then(|byte| shapes.by_byte.get_mut(u32::from(byte)));
        if let Some(shape) = shape {
            if self.has_shape(bytes, separators, &shape.fields, fields) {
                shape.misses = 0;
                return Ok(());
            }
            shape.misses = shape.misses.saturating_add(1);
        }
        self.read_any(bytes, msg_type, shapes, fields)
    }

    /// Whether it has that shape and certainly valid values; then its fields are in `fields`.
    #[inline]
    fn has_shape(
        &self,
        bytes: &[u8],
        mut separators: Separators<'_>,
        shape: &[ShapeField],
        fields: &mut Vec<Field>,
    ) -> bool {
        let mut at = 0;
        fields.clear();
        for ShapeField { place, tag, text, mask, text_bytes } in shape {
            let Some(first) = bytes.get(at..).and_then(|bytes| bytes.first_chunk()) else {
                return false;
            };
            let Some(end) = separators.next() else { return false };
            let start = at + text_bytes;
            let is_valid = u32::from_le_bytes(*first) & mask == *text
                && bytes
                    .get(start..end)
                    .is_some_and(|value| place.takes(value) || self.value(*tag, value).is_ok());
            if !is_valid {
                return false;
            }
            fields.push(Field::new(*tag, start, end));
            at = end + 1;
        }
        at == bytes.len()
    }

    #[cold]
    fn read_any(
        &self,
        bytes: &[u8],
        msg_type: Option<u8>,
        shapes: &mut Shapes,
        fields: &mut Vec<Field>,
    ) -> Result<(), Fault> {
        split(bytes, |tag| self.data_of(tag), fields)?;
        let message = Message::new(bytes, fields);
        self.check(message)?;
        if let (Some(byte), Some(def)) = (msg_type, self.message(message.msg_type())) {
            self.remember(u32::from(byte), def, fields, shapes);
        }
        Ok(())
    }

    /// Remembers the shape of a valid message, unless it has a data field, a group or a long tag.
    fn remember(&self, byte: u32, def: &MessageDef, fields: &[Field], shapes: &mut Shapes) {
        if shapes.by_byte.get(byte).is_none() {
            shapes.by_byte.insert(byte, Shape { misses: MISSES_MAX, ..Shape::default() });
        }
        let Some(shape) = shapes.by_byte.get_mut(byte) else { return };
        if shape.misses < MISSES_MAX {
            return;
        }
        *shape = Shape { fields: std::mem::take(&mut shape.fields), misses: 0 };
        shape.fields.clear();
        for field in fields {
            let is_plain = self.data_of(field.tag).is_none();
            match ShapeField::of(def, field.tag).filter(|_| is_plain) {
                Some(field) => shape.fields.push(field),
                None => return shape.fields.clear(),
            }
        }
    }
}

/// The MsgType of a message whose third field it is, if it is one byte.
#[inline]
fn msg_type(bytes: &[u8], mut separators: Separators<'_>) -> Option<u8> {
    let at = separators.nth(1)? + 1;
    match *bytes.get(at..)?.first_chunk()? {
        [b'3', b'5', b'=', byte, SOH] => Some(byte),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::seal;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    static DICTIONARY: LazyLock<Dictionary> = LazyLock::new(Dictionary::tickpath);
    const BODIES: [&str; 6] = [
        "35=D|49=A|56=B|34=2|52=20261127-10:00:00.000|11=a|55=X|54=1|60=20261127-10:00:00|38=1|40=2|44=1.5",
        "35=D|49=A|56=B|34=2|52=20261127-10:00:00.000|11=a|55=X|54=1|60=20261127-10:00:00|38=1|40=1|18=6",
        "35=F|49=A|56=B|34=2|52=20261127-10:00:00.000|41=b|11=a|55=X|54=1|60=20261127-10:00:00",
        "35=A|49=A|56=B|34=1|52=20261127-10:00:00|98=0|108=30|95=3|96=a|b|554=x|8013=Y",
        "35=0|49=A|56=B|34=2|52=20261127-10:00:00.000|112=x",
        "35=V|49=A|56=B|34=2|52=20261127-10:00:00|262=a|263=1|264=0|265=1|267=1|269=0|146=1|55=X",
    ];

    fn message(fields: &[&str]) -> Vec<u8> {
        let mut bytes = Vec::new();
        seal(&mut bytes, b"FIX.4.4", format!("{}\x01", fields.join("\x01")).as_bytes());
        bytes
    }

    /// One of the bodies with fields left out, doubled, moved or changed, or one byte changed.
    fn nearly_valid() -> impl Strategy<Value = Vec<u8>> {
        let index = any::<prop::sample::Index>;
        let change = (0u8..6, index(), index(), "[ -~]{0,3}");
        let byte = prop::option::weighted(0.2, (index(), any::<u8>()));
        (0..BODIES.len(), prop::collection::vec(change, 0..2), byte).prop_map(
            |(body, changes, byte)| {
                let mut fields: Vec<String> = BODIES[body].split('|').map(str::to_owned).collect();
                for (kind, from, to, value) in changes {
                    let (from, to) = (from.index(fields.len()), to.index(fields.len()));
                    match kind {
                        0 => drop(fields.remove(from)),
                        1 => fields.insert(to, fields[from].clone()),
                        2 => fields.swap(from, to),
                        3 => fields[from].truncate(3),
                        4 => fields[from].push_str(&value),
                        _ => fields[from] = format!("{}={value}", to + 30),
                    }
                }
                let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
                let mut bytes = message(&fields);
                if let Some((at, byte)) = byte {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
                bytes
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(1024)))]
        /// Whatever was remembered, a message has the fields and the fault that it has alone.
        #[test]
        fn a_shape_changes_no_result(messages in prop::collection::vec(nearly_valid(), 1..40)) {
            let (mut shapes, mut fields, mut alone) = (Shapes::default(), Vec::new(), Vec::new());
            for bytes in &messages {
                let read = DICTIONARY.read(bytes, &mut shapes, &mut fields);
                let expected = split(bytes, |tag| DICTIONARY.data_of(tag), &mut alone)
                    .and_then(|()| DICTIONARY.check(Message::new(bytes, &alone)));
                prop_assert_eq!(read, expected, "{}", String::from_utf8_lossy(bytes));
                prop_assert_eq!(&fields, &alone);
            }
        }
    }

    #[test]
    fn a_shape_is_remembered_and_gives_way_to_another_one() {
        let [limit, market, _, logon, _, request] =
            BODIES.map(|body| message(&body.split('|').collect::<Vec<_>>()));
        let (mut shapes, mut fields) = (Shapes::default(), Vec::new());
        let mut read = |bytes: &[u8], shapes: &mut Shapes| {
            DICTIONARY.read(bytes, shapes, &mut fields).unwrap();
        };
        let state = |shapes: &Shapes, byte: u8| {
            let shape = shapes.by_byte.get(u32::from(byte)).unwrap();
            (shape.fields.last().map(|field| field.tag), shape.fields.len(), shape.misses)
        };
        read(&limit, &mut shapes);
        read(&limit, &mut shapes);
        assert_eq!(state(&shapes, b'D'), (Some(10), 15, 0));
        for miss in 1..MISSES_MAX {
            read(&market, &mut shapes);
            assert_eq!(state(&shapes, b'D'), (Some(10), 15, miss));
        }
        let has_exec_inst = |shapes: &Shapes| {
            let shape = shapes.by_byte.get(u32::from(b'D')).unwrap();
            shape.fields.iter().any(|field| field.tag == 18)
        };
        assert!(!has_exec_inst(&shapes));
        read(&market, &mut shapes);
        assert!(has_exec_inst(&shapes), "its turn came");
        read(&market, &mut shapes);
        assert_eq!(state(&shapes, b'D'), (Some(10), 15, 0));
        // A data field, and a group.
        for (bytes, byte) in [(logon, b'A'), (request, b'V')] {
            read(&bytes, &mut shapes);
            assert_eq!(state(&shapes, byte).1, 0);
        }
    }
}
