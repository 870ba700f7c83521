//! Blocks of fixed length, written and read field by field in the order of the schema.

use crate::request::DeliveryClock;
use crate::sbe::{
    ENCODING, FRAME_HEAD_BYTES, FieldFault, FrameFault, MESSAGE_HEAD_BYTES, MessageError, SCHEMA,
    TEXT_BYTES_MAX, VERSION,
};
use crate::{ClientId, Decimal};

const CLIENT_ID_BYTES: usize = crate::client_id::CLIENT_ID_BYTES_MAX;
/// Bytes before a block.
const HEAD_BYTES: usize = FRAME_HEAD_BYTES + MESSAGE_HEAD_BYTES;
/// The null of an optional mantissa.
const NULL: i64 = i64::MIN;
/// The null of an optional unsigned number.
const NO_NUMBER: u64 = u64::MAX;
/// Bytes of a delivery clock.
pub(super) const CLOCK_BYTES: usize = 16;

/// A frame while it is written; `FRAME` is its length without a text.
pub(super) struct Put<const FRAME: usize> {
    bytes: [u8; FRAME],
    at: usize,
}

/// Length of a frame with a block of `block` bytes and no text.
pub(super) const fn frame(block: usize) -> usize {
    HEAD_BYTES + block
}

impl<const FRAME: usize> Put<FRAME> {
    #[inline]
    pub fn new(template: u16) -> Put<FRAME> {
        let mut put = Put { bytes: [0; FRAME], at: 0 };
        put.put((FRAME as u32).to_be_bytes());
        put.put(ENCODING.to_be_bytes());
        for half in [(FRAME - HEAD_BYTES) as u16, template, SCHEMA, VERSION] {
            put.put(half.to_le_bytes());
        }
        put
    }

    #[inline]
    pub fn put<const N: usize>(&mut self, field: [u8; N]) {
        self.bytes[self.at..self.at + N].copy_from_slice(&field);
        self.at += N;
    }

    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.put(value.to_le_bytes());
    }

    #[inline]
    pub fn i64(&mut self, value: i64) {
        self.put(value.to_le_bytes());
    }

    #[inline]
    pub fn u16(&mut self, value: u16) {
        self.put(value.to_le_bytes());
    }

    #[inline]
    pub fn u8(&mut self, value: u8) {
        self.put([value]);
    }

    #[inline]
    pub fn client_id(&mut self, client_id: Option<&ClientId>) {
        self.put(client_id.map_or([0; CLIENT_ID_BYTES], |client_id| *client_id.padded()));
    }

    #[inline]
    pub fn decimal(&mut self, number: Option<Decimal>) {
        self.i64(number.map_or(NULL, Decimal::mantissa));
        self.u8(number.map_or(0, |number| number.scale().wrapping_neg()));
    }

    #[inline]
    pub fn clock(&mut self, delivery: Option<DeliveryClock>) {
        let (tick, response_ns) = match delivery {
            Some(DeliveryClock { tick, response_ns }) => (tick, response_ns),
            None => (NO_NUMBER, NO_NUMBER),
        };
        self.u64(tick);
        self.u64(response_ns);
    }

    #[inline]
    pub fn end(self, out: &mut Vec<u8>) {
        debug_assert_eq!(self.at, FRAME, "the block's length");
        out.extend_from_slice(&self.bytes);
    }

    /// Ends with a text, cut to [`TEXT_BYTES_MAX`].
    pub fn end_with(mut self, text: &str, out: &mut Vec<u8>) {
        let text = &text.as_bytes()[..text.floor_char_boundary(TEXT_BYTES_MAX)];
        let length = (FRAME + 2 + text.len()) as u32;
        self.bytes[..4].copy_from_slice(&length.to_be_bytes());
        self.end(out);
        out.extend_from_slice(&(text.len() as u16).to_le_bytes());
        out.extend_from_slice(text);
    }
}

/// A message while it is read.
pub(super) struct Take<'a> {
    pub template: u16,
    block: &'a [u8],
    after: &'a [u8],
}

impl<'a> Take<'a> {
    #[inline]
    pub fn new(message: &'a [u8]) -> Result<Take<'a>, FrameFault> {
        let head = |at: usize| u16::from_le_bytes([message[at], message[at + 1]]);
        if message.len() < MESSAGE_HEAD_BYTES {
            return Err(FrameFault::Short { template: 0 });
        }
        let (block, template, found) = (usize::from(head(0)), head(2), head(4));
        if found != SCHEMA {
            return Err(FrameFault::Schema { found });
        }
        let split = message[MESSAGE_HEAD_BYTES..].split_at_checked(block);
        let (block, after) = split.ok_or(FrameFault::Short { template })?;
        Ok(Take { template, block, after })
    }

    #[inline]
    pub fn take<const N: usize>(&mut self) -> Result<[u8; N], FrameFault> {
        let short = FrameFault::Short { template: self.template };
        let (field, rest) = self.block.split_first_chunk::<N>().ok_or(short)?;
        self.block = rest;
        Ok(*field)
    }

    #[inline]
    pub fn u64(&mut self) -> Result<u64, FrameFault> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    #[inline]
    pub fn i64(&mut self) -> Result<i64, FrameFault> {
        Ok(i64::from_le_bytes(self.take()?))
    }

    #[inline]
    pub fn u32(&mut self) -> Result<u32, FrameFault> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    #[inline]
    pub fn u16(&mut self) -> Result<u16, FrameFault> {
        Ok(u16::from_le_bytes(self.take()?))
    }

    #[inline]
    pub fn u8(&mut self) -> Result<u8, FrameFault> {
        Ok(self.take::<1>()?[0])
    }

    /// A byte that is the position of one of these values.
    #[inline]
    pub fn one_of<T: Copy>(
        &mut self,
        field: &'static str,
        all: &[T],
        expected: &'static str,
    ) -> Result<T, MessageError> {
        let found = usize::from(self.u8()?);
        Ok(*all.get(found).ok_or(FieldFault::Value { field, expected })?)
    }

    #[inline]
    pub fn flag(&mut self, field: &'static str) -> Result<bool, MessageError> {
        self.one_of(field, &[false, true], "0 or 1")
    }

    #[inline]
    pub fn client_id(&mut self) -> Result<Option<ClientId>, MessageError> {
        let padded = self.take()?;
        Ok(ClientId::from_padded(&padded).map_err(FieldFault::ClientId)?)
    }

    #[inline]
    pub fn named(&mut self) -> Result<ClientId, MessageError> {
        Ok(self.client_id()?.ok_or(FieldFault::Missing("clientId"))?)
    }

    #[inline]
    pub fn decimal(&mut self, field: &'static str) -> Result<Option<Decimal>, MessageError> {
        let (mantissa, exponent) = (self.i64()?, self.u8()?);
        if mantissa == NULL {
            return Ok(None);
        }
        let expected = "a decimal of at most 18 digits with an exponent from -18 to 0";
        let number = Decimal::new(mantissa, exponent.wrapping_neg());
        Ok(Some(number.ok_or(FieldFault::Value { field, expected })?))
    }

    #[inline]
    pub fn some(&mut self, field: &'static str) -> Result<Decimal, MessageError> {
        Ok(self.decimal(field)?.ok_or(FieldFault::Missing(field))?)
    }

    /// A delivery clock at the end of a block: both numbers or none. Version 0 of the schema has
    /// no such fields, so its blocks end before them.
    #[inline]
    pub fn clock(&mut self) -> Result<Option<DeliveryClock>, MessageError> {
        if self.block.len() < CLOCK_BYTES {
            return Ok(None);
        }
        match (self.u64()?, self.u64()?) {
            (NO_NUMBER, NO_NUMBER) => Ok(None),
            (NO_NUMBER, _) => Err(FieldFault::Missing("tick").into()),
            (_, NO_NUMBER) => Err(FieldFault::Missing("responseNs").into()),
            (tick, response_ns) => Ok(Some(DeliveryClock { tick, response_ns })),
        }
    }

    /// The text after the block.
    pub fn text(&mut self, field: &'static str) -> Result<&'a str, MessageError> {
        let short = FrameFault::Short { template: self.template };
        let (length, rest) = self.after.split_first_chunk::<2>().ok_or(short)?;
        let text = rest.get(..usize::from(u16::from_le_bytes(*length))).ok_or(short)?;
        let expected = "UTF-8 of at most 512 bytes";
        match std::str::from_utf8(text) {
            Ok(text) if text.len() <= TEXT_BYTES_MAX => Ok(text),
            _ => Err(FieldFault::Value { field, expected }.into()),
        }
    }
}
