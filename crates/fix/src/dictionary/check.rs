//! Whether a message is as the dictionary says: case 14 of the session layer.

use super::{Dictionary, FieldDef, MEMBERS_MAX, Members, MessageDef, ValueKind};
use crate::message::{Fault, Field, Message, number};
use crate::session::RejectReason;
use crate::tag;

/// Which members of a message, group, header or trailer have come.
struct SeenMembers([u64; MEMBERS_MAX.div_ceil(64)]);

impl SeenMembers {
    fn new() -> SeenMembers {
        SeenMembers([0; MEMBERS_MAX.div_ceil(64)])
    }

    /// Returns whether it is new.
    fn add(&mut self, position: usize) -> bool {
        let (word, bit) = (&mut self.0[position / 64], 1 << (position % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn has(&self, position: usize) -> bool {
        self.0[position / 64] & (1 << (position % 64)) != 0
    }
}

/// Header, body, trailer, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Header,
    Body,
    Trailer,
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
        let mut seen = [SeenMembers::new(), SeenMembers::new(), SeenMembers::new()];
        let (mut at, mut last) = (0, Part::Header);
        while at < fields.len() {
            let field = fields[at];
            self.value(field)?;
            let (part, position) = self.part(field.tag)?;
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

    fn part(&self, tag: u32) -> Result<(Part, usize), Fault> {
        let place = self.def.places.get(tag).ok_or(fault(tag, RejectReason::NotOfThisMessage));
        place.map(|(part, position)| (*part, usize::from(*position)))
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
        let (mut seen, mut last) = (SeenMembers::new(), 0);
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

fn required(members: &Members, seen: &SeenMembers) -> Result<(), Fault> {
    let all = members.list.iter().enumerate();
    let missing = all.into_iter().find(|(at, member)| member.is_required && !seen.has(*at));
    match missing {
        Some((_, member)) => Err(fault(member.tag, RejectReason::RequiredTagMissing)),
        None => Ok(()),
    }
}

fn fault(tag: u32, reason: RejectReason) -> Fault {
    Fault { tag, reason }
}
