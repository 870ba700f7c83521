//! From XML to a dictionary.

use super::check::{Part, Place};
use super::{ByTag, Dictionary, FieldDef, Member, Members, MessageDef, ValueKind};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::{BTreeMap, HashMap};

/// The largest file, in bytes. QuickFIX's FIX44.xml has 350 000.
pub const XML_BYTES_MAX: usize = 4 << 20;
/// How deep components and groups may lie within each other.
const DEPTH_MAX: usize = 16;
/// The most members of the whole dictionary, each component counted wherever it is used.
const ALL_MEMBERS_MAX: usize = 400_000;
/// XML nodes of the file.
const NODES_MAX: u32 = 1_000_000;

/// Why a dictionary can't be loaded.
#[derive(Debug, thiserror::Error)]
pub enum DictionaryError {
    /// Too large.
    #[error("the dictionary has {0} bytes, and at most {XML_BYTES_MAX} are read")]
    TooLong(usize),
    /// Not XML.
    #[error("the dictionary is not XML: {0}")]
    Xml(#[from] roxmltree::Error),
    /// XML, but no dictionary.
    #[error("the dictionary's line {line}: {why}; compare it with QuickFIX's FIX44.xml")]
    Malformed {
        /// From 1.
        line: u32,
        /// The fault.
        why: String,
    },
}

type Result<T> = std::result::Result<T, DictionaryError>;

impl Dictionary {
    /// Reads a dictionary in QuickFIX's form: `header`, `trailer`, `messages`, `components`,
    /// `fields` within `fix`.
    ///
    /// # Errors
    /// [`DictionaryError`], with the line.
    pub fn load(xml: &str) -> Result<Dictionary> {
        if xml.len() > XML_BYTES_MAX {
            return Err(DictionaryError::TooLong(xml.len()));
        }
        let options = ParsingOptions { nodes_limit: NODES_MAX, ..ParsingOptions::default() };
        let document = Document::parse_with_options(xml, options)?;
        let root = document.root_element();
        if !root.has_tag_name("fix") {
            return Err(malformed(root, "the outermost element is not <fix>"));
        }
        let (kind, major) = (root.attribute("type").unwrap_or("FIX"), needed(root, "major")?);
        let begin_string = format!("{kind}.{major}.{}", needed(root, "minor")?);
        let fields = fields(child(root, "fields")?)?;
        let mut loader = Loader::new(root, &fields);
        let header = loader.members(child(root, "header")?, 0)?;
        let trailer = loader.members(child(root, "trailer")?, 0)?;
        let mut messages = BTreeMap::new();
        for node in elements(child(root, "messages")?) {
            let members = loader.members(node, 0)?;
            let message = MessageDef {
                msg_type: needed(node, "msgtype")?.to_owned(),
                name: needed(node, "name")?.to_owned(),
                is_admin: node.attribute("msgcat") == Some("admin"),
                places: places(&header, &members, &trailer, &fields),
                members,
            };
            messages.insert(message.msg_type.clone(), message);
        }
        let messages: Vec<MessageDef> = messages.into_values().collect();
        let mut by_byte = ByTag::default();
        for (at, message) in messages.iter().enumerate() {
            if let [byte] = *message.msg_type.as_bytes() {
                by_byte.insert(u32::from(byte), at);
            }
        }
        let data = data(&fields);
        Ok(Dictionary { begin_string, fields, messages, by_byte, data, header, trailer })
    }
}

/// A tag of several parts is the body's, or else the header's.
fn places(
    header: &Members,
    body: &Members,
    trailer: &Members,
    fields: &ByTag<FieldDef>,
) -> ByTag<Place> {
    let mut places = ByTag::default();
    for (part, members) in [(Part::Trailer, trailer), (Part::Header, header), (Part::Body, body)] {
        for (at, member) in members.list.iter().enumerate() {
            // A member has its tag from there.
            if let Some(def) = fields.get(member.tag) {
                places.insert(member.tag, Place::new(part, at, member, def));
            }
        }
    }
    places
}

struct Loader<'a, 'x> {
    tags: HashMap<&'a str, u32>,
    components: HashMap<&'x str, Node<'x, 'x>>,
    members: usize,
}

impl<'a, 'x> Loader<'a, 'x> {
    fn new(root: Node<'x, 'x>, fields: &'a ByTag<FieldDef>) -> Loader<'a, 'x> {
        let tags = fields.values().map(|field| (field.name.as_str(), field.tag)).collect();
        let components = child(root, "components").ok().into_iter().flat_map(elements);
        let named = components.filter_map(|node| Some((node.attribute("name")?, node)));
        Loader { tags, components: named.collect(), members: 0 }
    }

    /// The members of a message, group or component.
    fn members(&mut self, of: Node<'x, 'x>, depth: usize) -> Result<Members> {
        let mut members = Members::default();
        self.add(&mut members, of, true, depth)?;
        Ok(members)
    }

    fn add(
        &mut self,
        to: &mut Members,
        of: Node<'x, 'x>,
        is_required: bool,
        depth: usize,
    ) -> Result<()> {
        if depth > DEPTH_MAX {
            return Err(malformed(of, "components or groups lie too deep within each other"));
        }
        for node in elements(of) {
            self.members += 1;
            if self.members > ALL_MEMBERS_MAX {
                return Err(malformed(node, "the messages have too many members"));
            }
            let is_required = is_required && node.attribute("required") == Some("Y");
            let name = needed(node, "name")?;
            if node.has_tag_name("component") {
                let component = self.components.get(name).copied();
                let component =
                    component.ok_or_else(|| malformed(node, "there is no such component"))?;
                self.add(to, component, is_required, depth + 1)?;
                continue;
            }
            let tag = *self.tags.get(name).ok_or_else(|| malformed(node, "no such field"))?;
            let group = match node.tag_name().name() {
                "field" => None,
                "group" => Some(self.members(node, depth + 1)?),
                _ => return Err(malformed(node, "neither a field nor a group or component")),
            };
            if group.as_ref().is_some_and(|group| group.list.is_empty()) {
                return Err(malformed(node, "a group without fields"));
            }
            if !to.add(Member { tag, is_required, group }) {
                return Err(malformed(node, "too many members"));
            }
        }
        Ok(())
    }
}

fn fields(node: Node<'_, '_>) -> Result<ByTag<FieldDef>> {
    let mut fields = ByTag::default();
    for node in elements(node) {
        let tag = needed(node, "number")?.parse().ok().filter(|tag| *tag > 0);
        let tag = tag.ok_or_else(|| malformed(node, "number is no tag"))?;
        let mut values = Vec::new();
        for value in elements(node).filter(|value| value.has_tag_name("value")) {
            let meaning = value.attribute("description").unwrap_or_default();
            values.push((needed(value, "enum")?.to_owned(), meaning.to_owned()));
        }
        let name = needed(node, "name")?.to_owned();
        let kind = ValueKind::of(needed(node, "type")?);
        fields.insert(tag, FieldDef { tag, name, kind, values });
    }
    Ok(fields)
}

/// A data field `X` has its length in `XLength` or `XLen`.
fn data(fields: &ByTag<FieldDef>) -> ByTag<u32> {
    let data = fields.values().filter(|field| field.kind == ValueKind::Data);
    let by_name: HashMap<&str, u32> = data.map(|field| (field.name.as_str(), field.tag)).collect();
    let mut by_length = ByTag::default();
    for field in fields.values() {
        let name = field.name.strip_suffix("Length").or(field.name.strip_suffix("Len"));
        if let Some(data) = name.and_then(|name| by_name.get(name)) {
            by_length.insert(field.tag, *data);
        }
    }
    by_length
}

fn elements<'a, 'x>(of: Node<'a, 'x>) -> impl Iterator<Item = Node<'a, 'x>> {
    of.children().filter(Node::is_element)
}

fn child<'a, 'x>(of: Node<'a, 'x>, name: &str) -> Result<Node<'a, 'x>> {
    let found = elements(of).find(|node| node.has_tag_name(name));
    found.ok_or_else(|| malformed(of, &format!("there is no <{name}>")))
}

fn needed<'a>(node: Node<'a, '_>, name: &str) -> Result<&'a str> {
    let value = node.attribute(name).filter(|value| !value.is_empty());
    value.ok_or_else(|| malformed(node, &format!("an element without {name}=\"…\"")))
}

fn malformed(node: Node<'_, '_>, why: &str) -> DictionaryError {
    let line = node.document().text_pos_at(node.range().start).row;
    DictionaryError::Malformed { line, why: why.to_owned() }
}
