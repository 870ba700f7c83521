//! From the bytes of a message to its slots.

use crate::fault::MessageFault;
use crate::json::slot::{Object, Slot, Text};
use crate::json::string::plain_bytes;
use serde::de::IgnoredAny;
use std::borrow::Cow;

/// The fields of an object.
pub(crate) trait Fields<'a> {
    /// Reads the next value into the field `key`, or skips it.
    fn read(&mut self, key: &str, value: &mut Scanner<'a>) -> Result<(), MessageFault>;
}

/// Reads JSON from front to back. It parses usual values itself (objects, strings without an
/// escape, short integers) and passes any other value to serde_json, so the grammar is
/// serde_json's.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Reads a field that must be a string.
    pub(crate) fn text(&mut self, slot: &mut Slot<Text<'a>>) -> Result<(), MessageFault> {
        self.vacant(slot)?;
        *slot = match self.peek() {
            Some(b'"') => Slot::Value(self.string()?),
            _ => self.other()?,
        };
        Ok(())
    }

    /// Reads a field that must be an integer.
    pub(crate) fn integer(&mut self, slot: &mut Slot<i64>) -> Result<(), MessageFault> {
        self.vacant(slot)?;
        *slot = match self.peek() {
            Some(b'-' | b'0'..=b'9') => self.value()?.parse().map_or(Slot::WrongKind, Slot::Value),
            _ => self.other()?,
        };
        Ok(())
    }

    /// Reads a field that must be an array of N non-negative integers.
    pub(crate) fn naturals<const N: usize>(
        &mut self,
        slot: &mut Slot<[u64; N]>,
    ) -> Result<(), MessageFault> {
        self.vacant(slot)?;
        self.peek();
        let start = self.at;
        if let Some(numbers) = self.plain_naturals() {
            *slot = Slot::Value(numbers);
            return Ok(());
        }
        self.at = start;
        let numbers = serde_json::from_str::<Option<Vec<u64>>>(self.value()?);
        *slot = match numbers.map(|numbers| numbers.map(<[u64; N]>::try_from)) {
            Ok(None) => Slot::Absent,
            Ok(Some(Ok(numbers))) => Slot::Value(numbers),
            _ => Slot::WrongKind,
        };
        Ok(())
    }

    /// A fast path for our own encoder's form; `None` for any other form.
    fn plain_naturals<const N: usize>(&mut self) -> Option<[u64; N]> {
        let (mut numbers, mut before) = ([0; N], b'[');
        for number in &mut numbers {
            (self.peek() == Some(before)).then_some(())?;
            self.at += 1;
            *number = self.short_integer()?.parse().ok()?;
            before = b',';
        }
        self.ends(b']').ok().filter(|ended| *ended).and(Some(numbers))
    }

    /// Reads a field that must be an array of two strings.
    pub(crate) fn pair(&mut self, slot: &mut Slot<[Text<'a>; 2]>) -> Result<(), MessageFault> {
        self.vacant(slot)?;
        if self.peek() != Some(b'[') {
            *slot = self.other()?;
            return Ok(());
        }
        let start = self.at;
        if let Some(pair) = self.plain_pair() {
            *slot = Slot::Value(pair);
            return Ok(());
        }
        self.at = start;
        let pair = serde_json::from_str::<[Text<'a>; 2]>(self.value()?);
        *slot = pair.map_or(Slot::WrongKind, Slot::Value);
        Ok(())
    }

    /// A fast path for two strings, past the bracket; `None` for any other form.
    fn plain_pair(&mut self) -> Option<[Text<'a>; 2]> {
        let mut pair = [Text::default(), Text::default()];
        self.at += 1;
        for (index, text) in pair.iter_mut().enumerate() {
            (self.peek() == Some(b'"')).then_some(())?;
            *text = self.string().ok()?;
            let is_last = self.ends(b']').ok()?;
            (is_last == (index == 1)).then_some(())?;
        }
        Some(pair)
    }

    /// Reads a field that must be a boolean.
    pub(crate) fn boolean(&mut self, slot: &mut Slot<bool>) -> Result<(), MessageFault> {
        self.vacant(slot)?;
        self.peek();
        *slot = match self.value()? {
            "true" => Slot::Value(true),
            "false" => Slot::Value(false),
            "null" => Slot::Absent,
            _ => Slot::WrongKind,
        };
        Ok(())
    }

    /// Reads a field that must be an object, in place.
    pub(crate) fn object<T: Fields<'a> + Default>(
        &mut self,
        slot: &mut Slot<Object<T>>,
    ) -> Result<(), MessageFault> {
        self.vacant(slot)?;
        if self.peek() != Some(b'{') {
            *slot = self.other()?;
            return Ok(());
        }
        *slot = Slot::Value(Object(T::default()));
        match slot {
            Slot::Value(Object(fields)) => self.fields(fields),
            _ => Ok(()),
        }
    }

    /// Reads a field that must be an array of objects.
    pub(crate) fn array<T: Fields<'a> + Default>(
        &mut self,
        slot: &mut Slot<Vec<Slot<Object<T>>>>,
    ) -> Result<(), MessageFault> {
        self.vacant(slot)?;
        if self.peek() != Some(b'[') {
            *slot = self.other()?;
            return Ok(());
        }
        self.at += 1;
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
        } else {
            loop {
                let mut item = Slot::Absent;
                self.object(&mut item)?;
                items.push(item);
                if self.ends(b']')? {
                    break;
                }
            }
        }
        *slot = Slot::Value(items);
        Ok(())
    }

    /// Skips a value of any kind.
    pub(crate) fn skip(&mut self) -> Result<(), MessageFault> {
        match self.peek() {
            Some(b'"') => self.string().map(drop),
            _ => self.value().map(drop),
        }
    }

    /// Reads an object's fields, including both braces.
    fn fields(&mut self, fields: &mut impl Fields<'a>) -> Result<(), MessageFault> {
        self.at += 1;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.malformed());
            }
            let key = self.string()?;
            if self.peek() != Some(b':') {
                return Err(self.malformed());
            }
            self.at += 1;
            fields.read(&key, self)?;
            if self.ends(b'}')? {
                return Ok(());
            }
        }
    }

    /// After an item: takes the comma or the closing bracket; true if it was the bracket.
    fn ends(&mut self, close: u8) -> Result<bool, MessageFault> {
        match self.peek() {
            Some(byte) if byte == b',' || byte == close => {
                self.at += 1;
                Ok(byte == close)
            }
            _ => Err(self.malformed()),
        }
    }

    /// The next byte that is not white space, without taking it.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    /// Reads a string, including its quotes.
    #[inline]
    fn string(&mut self) -> Result<Text<'a>, MessageFault> {
        let start = self.at + 1;
        let end = start + plain_bytes(&self.text.as_bytes()[start..]);
        match self.text.as_bytes().get(end) {
            Some(b'"') => {
                self.at = end + 1;
                Ok(Cow::Borrowed(&self.text[start..end]))
            }
            Some(b'\\') => self.escaped(),
            _ => Err(self.malformed()),
        }
    }

    #[cold]
    fn escaped(&mut self) -> Result<Text<'a>, MessageFault> {
        let fault = self.malformed();
        serde_json::from_str(self.value()?).map(Cow::Owned).map_err(|_| fault)
    }

    /// Reads a value of a wrong kind; null counts as absent.
    #[cold]
    fn other<T>(&mut self) -> Result<Slot<T>, MessageFault> {
        Ok(if self.value()? == "null" { Slot::Absent } else { Slot::WrongKind })
    }

    /// Skips any value and returns its text. serde_json checks it, without recursion.
    fn value(&mut self) -> Result<&'a str, MessageFault> {
        if let Some(integer) = self.short_integer() {
            return Ok(integer);
        }
        let rest = &self.text[self.at..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => {
                let length = values.byte_offset();
                self.at += length;
                Ok(&rest[..length])
            }
            _ => Err(self.malformed()),
        }
    }

    /// The digits of an unsigned integer, if one is next.
    fn short_integer(&mut self) -> Option<&'a str> {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let ended = matches!(rest.as_bytes().get(length), Some(b',' | b'}' | b']'));
        if length == 0 || !ended || (length > 1 && rest.starts_with('0')) {
            return None;
        }
        self.at += length;
        Some(&rest[..length])
    }

    fn vacant<T>(&self, slot: &Slot<T>) -> Result<(), MessageFault> {
        match slot {
            Slot::Absent => Ok(()),
            _ => Err(MessageFault::Duplicate { at_byte: self.at }),
        }
    }

    fn malformed(&self) -> MessageFault {
        MessageFault::Malformed { at_byte: self.at }
    }
}

/// Parses a message of one object. Checks all bytes for UTF-8 once, sixteen at a time, which costs
/// less than checking each string.
pub(crate) fn parse<'a>(bytes: &'a [u8], fields: &mut impl Fields<'a>) -> Result<(), MessageFault> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| MessageFault::NotUtf8 { at_byte: error.valid_up_to() })?;
    let mut scanner = Scanner { text, at: 0 };
    if scanner.peek() != Some(b'{') {
        scanner.value()?;
        return Err(MessageFault::WrongKind { field: "message", expected: "an object" });
    }
    scanner.fields(fields)?;
    match scanner.peek() {
        None => Ok(()),
        Some(_) => Err(scanner.malformed()),
    }
}
