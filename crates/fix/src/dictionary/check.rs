//! Whether a message is as the dictionary says: case 14 of the session layer.

use super::member_set::{MemberSet, WORDS_MAX};
use super::{Dictionary, FieldDef, Member, Members, MessageDef, ValueKind};
use crate::message::{Fault, Field, Message, number};
use crate::reject_reason::RejectReason;
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
    is_group: bool,
    listed: Listed,
}

/// The values that a field may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    /// All that are not empty.
    All,
    /// All of its form.
    OfForm,
    /// Single characters: a bit for each from `0` on.
    Chars(u64),
    Others,
}

impl Listed {
    fn of(def: &FieldDef) -> Listed {
        let bit = |(value, _): &(String, String)| match value.as_bytes() {
            [char] if def.kind.fits(&[*char]) => char_bit(*char),
            _ => None,
        };
        let is_of_any_form =
            matches!(def.kind, ValueKind::Several | ValueKind::Data | ValueKind::Text);
        match def.values.iter().try_fold(0, |bits, value| Some(bits | bit(value)?)) {
            Some(0) if is_of_any_form => Listed::All,
            Some(0) => Listed::OfForm,
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
    pub fn new(part: Part, position: usize, member: &Member, def: &FieldDef) -> Place {
        Place {
            part,
            position: position as u16,
            kind: def.kind,
            is_group: member.group.is_some(),
            listed: Listed::of(def),
        }
    }

    /// Whether it counts the entries of a group.
    pub fn is_group(&self) -> bool {
        self.is_group
    }

    /// Whether a value is certainly valid. The others need a look at the field's list.
    #[inline]
    pub fn takes(&self, value: &[u8]) -> bool {
        match (self.listed, value) {
            (_, []) | (Listed::Others, _) => false,
            (Listed::All, _) => true,
            (Listed::OfForm, value) => self.kind.fits(value),
            (Listed::Chars(bits), [char]) => char_bit(*char).is_some_and(|bit| bits & bit != 0),
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
        let check = Check { dictionary: self, message, def: def.ok_or(fault)? };
        let parts = [&self.header, &check.def.members, &self.trailer];
        match parts.iter().all(|members| members.list.len() <= MemberSet::<4>::BITS) {
            true => check.all::<4>(parts),
            false => check.all::<WORDS_MAX>(parts),
        }
    }

    /// Checks a value alone.
    #[cold]
    pub(super) fn value(&self, tag: u32, value: &[u8]) -> Result<(), Fault> {
        let def = self.field(tag).ok_or(fault(tag, RejectReason::InvalidTag))?;
        if value.is_empty() {
            return Err(fault(tag, RejectReason::NoValue));
        }
        if !def.kind.fits(value) {
            return Err(fault(tag, RejectReason::IncorrectFormat));
        }
        match is_listed(def, value) {
            true => Ok(()),
            false => Err(fault(tag, RejectReason::ValueIncorrect)),
        }
    }
}

struct Check<'a> {
    dictionary: &'a Dictionary,
    message: Message<'a>,
    def: &'a MessageDef,
}

impl Check<'_> {
    /// `WORDS`: as many as the sets of these parts need. Most parts need few, and a check has only
    /// tens of nanoseconds.
    fn all<const WORDS: usize>(&self, parts: [&Members; 3]) -> Result<(), Fault> {
        let fields = self.message.fields();
        let mut seen = [MemberSet::<WORDS>::default(); 3];
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
            if !seen[part as usize].add(position) {
                return Err(fault(field.tag, RejectReason::Repeated));
            }
            at += 1;
            if place.is_group
                && let Some(group) = &parts[part as usize].list[position].group
            {
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
        let (mut seen, mut last) = (MemberSet::<WORDS_MAX>::default(), 0);
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
        self.dictionary.value(field.tag, self.message.value(field))
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

fn required<const WORDS: usize>(members: &Members, seen: &MemberSet<WORDS>) -> Result<(), Fault> {
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
            if place.listed != Listed::Others {
                prop_assert_eq!(place.takes(value), is_valid, "{} {:?}", field.name, value);
            }
        }
    }
}
