//! Whether a message is as the dictionary says: case 14 of the session layer.

use super::member_set::MemberSet;
use super::{Dictionary, FieldDef, Members, MessageDef, ValueKind};
use crate::message::{Fault, Field, Message, number};
use crate::session::RejectReason;
use crate::tag;

/// Header, body, trailer, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Header,
    Body,
    Trailer,
}

/// Where a field is listed, and the form of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    part: Part,
    position: u16,
    kind: ValueKind,
    listed: Listed,
}

/// The values that a field may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    Any,
    /// Single characters: a bit for each from `0` on.
    Chars(u64),
    Others,
}

impl Listed {
    fn of(def: &FieldDef) -> Listed {
        let bit = |(value, _): &(String, String)| match value.as_bytes() {
            [char] => char_bit(*char),
            _ => None,
        };
        match def.values.iter().try_fold(0, |bits, value| Some(bits | bit(value)?)) {
            Some(0) => Listed::Any,
            Some(bits) if def.kind != ValueKind::Several => Listed::Chars(bits),
            _ => Listed::Others,
        }
    }
}

/// `None` for characters that have none.
#[inline]
fn char_bit(char: u8) -> Option<u64> {
    1u64.checked_shl(u32::from(char.checked_sub(b'0')?))
}

impl Place {
    pub fn new(part: Part, position: usize, def: &FieldDef) -> Place {
        Place { part, position: position as u16, kind: def.kind, listed: Listed::of(def) }
    }

    /// Whether a value is certainly valid. The others need a look at the field's list.
    #[inline]
    fn takes(&self, value: &[u8]) -> bool {
        match (self.listed, value) {
            (_, []) | (Listed::Others, _) => false,
            (Listed::Any, value) => self.kind.fits(value),
            (Listed::Chars(bits), [char]) => {
                char_bit(*char).is_some_and(|bit| bits & bit != 0) && self.kind.fits(value)
            }
            (Listed::Chars(_), _) => false,
        }
    }
}

impl Dictionary {
    /// Checks fields, values, order and groups.
    ///
    /// # Errors
    /// The first fault; a required field that is missing comes last.
    pub fn check(&self, message: Message<'_>) -> Result<(), Fault> {
        let def = self.message(message.msg_type());
        let fault = Fault { tag: tag::MSG_TYPE, reason: RejectReason::InvalidMsgType };
        Check { dictionary: self, message, def: def.ok_or(fault)? }.all()
    }
}

struct Check<'a> {
    dictionary: &'a Dictionary,
    message: Message<'a>,
    def: &'a MessageDef,
}

impl Check<'_> {
    fn all(&self) -> Result<(), Fault> {
        let fields = self.message.fields();
        let parts = [&self.dictionary.header, &self.def.members, &self.dictionary.trailer];
        let mut seen = [MemberSet::default(); 3];
        let (mut at, mut last) = (0, Part::Header);
        while at < fields.len() {
            let field = fields[at];
            let Some(place) = self.def.places.get(field.tag) else {
                self.value(field)?;
                return Err(fault(field.tag, RejectReason::NotOfThisMessage));
            };
            if !place.takes(self.message.value(field)) {
                self.value(field)?;
            }
            let (part, position) = (place.part, usize::from(place.position));
            if part < last {
                return Err(fault(field.tag, RejectReason::OutOfOrder));
            }
            last = part;
            let members = parts[part as usize];
            if !seen[part as usize].add(position) {
                return Err(fault(field.tag, RejectReason::Repeated));
            }
            at += 1;
            if let Some(group) = &members.list[position].group {
                at = self.group(group, field, at)?;
            }
        }
        for (members, seen) in parts.iter().zip(&seen) {
            required(members, seen)?;
        }
        Ok(())
    }

    /// The entries of a group whose count is `count`; returns where the next field is.
    fn group(&self, group: &Members, count: Field, mut at: usize) -> Result<usize, Fault> {
        let wanted = number(self.message.value(count)).unwrap_or(0);
        let fields = self.message.fields();
        let first = group.list[0].tag;
        let mut entries = 0;
        while fields.get(at).is_some_and(|field| field.tag == first) {
            entries += 1;
            at = self.entry(group, at)?;
        }
        if entries == wanted {
            return Ok(at);
        }
        let member = fields.get(at).filter(|field| group.position(field.tag).is_some());
        match member {
            // An entry that begins with another field.
            Some(field) if entries < wanted => Err(fault(field.tag, RejectReason::GroupOutOfOrder)),
            _ => Err(fault(count.tag, RejectReason::WrongGroupCount)),
        }
    }

    /// One entry of a group, from its first field.
    fn entry(&self, group: &Members, mut at: usize) -> Result<usize, Fault> {
        let fields = self.message.fields();
        let (mut seen, mut last) = (MemberSet::default(), 0);
        while let Some(field) = fields.get(at) {
            let Some(position) = group.position(field.tag) else { break };
            if position == 0 && seen.has(0) {
                break;
            }
            self.value(*field)?;
            if !seen.add(position) {
                return Err(fault(field.tag, RejectReason::Repeated));
            }
            if position < last {
                return Err(fault(field.tag, RejectReason::GroupOutOfOrder));
            }
            last = position;
            at += 1;
            if let Some(inner) = &group.list[position].group {
                at = self.group(inner, *field, at)?;
            }
        }
        required(group, &seen)?;
        Ok(at)
    }

    fn value(&self, field: Field) -> Result<(), Fault> {
        let def = self.dictionary.field(field.tag);
        let def = def.ok_or(fault(field.tag, RejectReason::InvalidTag))?;
        let value = self.message.value(field);
        if value.is_empty() {
            return Err(fault(field.tag, RejectReason::NoValue));
        }
        if !def.kind.fits(value) {
            return Err(fault(field.tag, RejectReason::IncorrectFormat));
        }
        match is_listed(def, value) {
            true => Ok(()),
            false => Err(fault(field.tag, RejectReason::ValueIncorrect)),
        }
    }
}

fn is_listed(def: &FieldDef, value: &[u8]) -> bool {
    let has = |value: &[u8]| def.values.iter().any(|(listed, _)| listed.as_bytes() == value);
    match def.kind {
        _ if def.values.is_empty() => true,
        ValueKind::Several => value.split(|&byte| byte == b' ').all(has),
        _ => has(value),
    }
}

fn required(members: &Members, seen: &MemberSet) -> Result<(), Fault> {
    match members.required.first_without(seen) {
        Some(at) => Err(fault(members.list[at].tag, RejectReason::RequiredTagMissing)),
        None => Ok(()),
    }
}

fn fault(tag: u32, reason: RejectReason) -> Fault {
    Fault { tag, reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    static DICTIONARY: LazyLock<Dictionary> = LazyLock::new(Dictionary::tickpath);

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(512)))]
        /// A value that a place takes is one that the field's definition takes; and each listed
        /// character is taken.
        #[test]
        fn a_place_takes_no_value_that_its_field_does_not(
            message in any::<prop::sample::Index>(),
            member in any::<prop::sample::Index>(),
            value in prop_oneof!["[ -~]", "-?[0-9.]{0,6}", ".{0,4}"],
        ) {
            let dictionary = &*DICTIONARY;
            let def = message.get(dictionary.messages());
            let members: Vec<_> = def.members.iter().chain(dictionary.header().iter()).collect();
            let tag = member.get(&members).tag;
            let (place, field) = (def.places.get(tag).unwrap(), dictionary.field(tag).unwrap());
            let value = value.as_bytes();
            let is_valid = !value.is_empty() && field.kind.fits(value) && is_listed(field, value);
            prop_assert!(is_valid || !place.takes(value), "{} {:?}", field.name, value);
            if matches!(place.listed, Listed::Any | Listed::Chars(_)) {
                prop_assert_eq!(place.takes(value), is_valid, "{} {:?}", field.name, value);
            }
        }
    }
}
