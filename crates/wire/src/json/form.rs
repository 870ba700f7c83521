//! Reads a message that has the form of our own encoder, byte for byte between its values: most of
//! the messages that are measured. Any other one gives `None`, and the scanner reads it: one with
//! other keys, another order, white space or escapes, and all that is wrong.
//!
//! It needs no key to be found, which is most of the scanner's work.

use crate::client_id::ClientId;
use crate::decimal::Decimal;
use crate::json::string::plain_bytes;

/// The rest of a message.
pub(crate) struct Form<'a> {
    rest: &'a str,
}

impl<'a> Form<'a> {
    /// All of a message; `None` if it is not UTF-8.
    #[inline]
    pub(crate) fn new(message: &'a [u8]) -> Option<Form<'a>> {
        std::str::from_utf8(message).ok().map(|rest| Form { rest })
    }

    /// Takes these bytes, if they are next.
    #[inline(always)]
    pub(crate) fn literal(&mut self, literal: &'static str) -> Option<()> {
        self.rest = self.rest.strip_prefix(literal)?;
        Some(())
    }

    /// The end of the message, after these bytes.
    #[inline]
    pub(crate) fn end(&mut self, literal: &'static str) -> Option<()> {
        (self.rest == literal).then_some(())
    }

    /// The rest of a string without escapes, from after its first quote, with the last.
    #[inline]
    pub(crate) fn text(&mut self) -> Option<&'a str> {
        let (text, rest) = self.rest.split_at_checked(plain_bytes(self.rest.as_bytes()))?;
        self.rest = rest.strip_prefix('"')?;
        Some(text)
    }

    /// The same for a string of this many bytes at most.
    #[inline]
    pub(crate) fn bounded(&mut self, bytes_max: usize) -> Option<&'a str> {
        self.text().filter(|text| text.len() <= bytes_max)
    }

    /// A string that is a client id.
    #[inline]
    pub(crate) fn client_id(&mut self) -> Option<ClientId> {
        ClientId::new(self.text()?).ok()
    }

    /// A string that is a number.
    #[inline]
    pub(crate) fn decimal(&mut self) -> Option<Decimal> {
        Decimal::parse(self.text()?).ok()
    }

    /// An integer from 0 on.
    #[inline]
    pub(crate) fn natural(&mut self) -> Option<u64> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.rest.split_at_checked(digits)?;
        // JSON has no leading zeros.
        if digits > 1 && number.starts_with('0') {
            return None;
        }
        self.rest = rest;
        number.parse().ok()
    }

    /// The same, if it is no more than an `i64` takes.
    #[inline]
    pub(crate) fn integer(&mut self) -> Option<i64> {
        self.natural()?.try_into().ok()
    }
}
