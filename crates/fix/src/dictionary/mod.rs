//! Messages and fields as data, read from the XML that QuickFIX made usual.

mod by_tag;
mod check;
mod load;
mod member_set;
mod shapes;
mod value;

pub use load::DictionaryError;
pub use shapes::Shapes;
pub use value::ValueKind;

use by_tag::ByTag;
use check::Place;
use member_set::{MemberSet, WORDS_MAX};

/// The most members of a message or group, components resolved.
pub const MEMBERS_MAX: usize = 1024;

/// The messages and fields of one version of FIX.
#[derive(Debug)]
pub struct Dictionary {
    begin_string: String,
    fields: ByTag<FieldDef>,
    /// Sorted by MsgType.
    messages: Vec<MessageDef>,
    /// Where those are whose MsgType is one byte.
    by_byte: ByTag<usize>,
    /// The tags of data fields, by the tags of their lengths.
    data: ByTag<u32>,
    header: Members,
    trailer: Members,
}

/// A field's name, type and values.
#[derive(Debug, PartialEq, Eq)]
pub struct FieldDef {
    /// Its tag.
    pub tag: u32,
    /// Such as `ClOrdID`.
    pub name: String,
    /// The form of its values.
    pub kind: ValueKind,
    /// The values that it may have and what they mean; empty if there is no list.
    pub values: Vec<(String, String)>,
}

/// A message's name and members.
#[derive(Debug)]
pub struct MessageDef {
    /// MsgType.
    pub msg_type: String,
    /// Such as `NewOrderSingle`.
    pub name: String,
    /// Whether it is of the session layer.
    pub is_admin: bool,
    /// Its fields and groups, without header and trailer.
    pub members: Members,
    /// Where each field of header, body and trailer is listed; the body's come first.
    places: ByTag<Place>,
}

/// The fields and groups of a message, group, header or trailer, in the dictionary's order.
#[derive(Debug, Default)]
pub struct Members {
    list: Vec<Member>,
    /// The ones that must be there.
    required: MemberSet<WORDS_MAX>,
}

/// A field, or a group with the field that counts it.
#[derive(Debug)]
pub struct Member {
    /// The field, or the count of the group.
    pub tag: u32,
    /// Whether it must be there.
    pub is_required: bool,
    /// The members of one entry, if this is a group. The first one begins each entry.
    pub group: Option<Members>,
}

impl Members {
    /// In the dictionary's order.
    pub fn iter(&self) -> impl Iterator<Item = &Member> {
        self.list.iter()
    }

    fn position(&self, tag: u32) -> Option<usize> {
        self.list.iter().position(|member| member.tag == tag)
    }

    /// Adds a member; a second one with the same tag changes nothing. Returns whether there is
    /// room.
    fn add(&mut self, member: Member) -> bool {
        if self.position(member.tag).is_some() {
            return true;
        }
        if self.list.len() == MEMBERS_MAX {
            return false;
        }
        if member.is_required {
            self.required.add(self.list.len());
        }
        self.list.push(member);
        true
    }
}

impl Dictionary {
    /// The dictionary of what tickpath supports.
    ///
    /// # Panics
    /// Never: a test loads it.
    pub fn tickpath() -> Dictionary {
        Dictionary::load(crate::TICKPATH_XML).expect("the dictionary that ships")
    }

    /// Such as `FIX.4.4`.
    pub fn begin_string(&self) -> &str {
        &self.begin_string
    }

    /// The field with that tag.
    #[inline]
    pub fn field(&self, tag: u32) -> Option<&FieldDef> {
        self.fields.get(tag)
    }

    /// The message with that MsgType.
    pub fn message(&self, msg_type: &[u8]) -> Option<&MessageDef> {
        let at = match *msg_type {
            [byte] => *self.by_byte.get(u32::from(byte))?,
            _ => {
                self.messages.binary_search_by(|def| def.msg_type.as_bytes().cmp(msg_type)).ok()?
            }
        };
        self.messages.get(at)
    }

    /// All messages, sorted by MsgType.
    pub fn messages(&self) -> &[MessageDef] {
        &self.messages
    }

    /// Members of every message's header.
    pub fn header(&self) -> &Members {
        &self.header
    }

    /// The tag of the data field whose length the field `tag` is.
    #[inline]
    pub fn data_of(&self, tag: u32) -> Option<u32> {
        self.data.get(tag).copied()
    }
}

#[cfg(test)]
mod tests;
