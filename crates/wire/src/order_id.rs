//! The exchange's name for an order: a UUID on the wire.

use std::fmt;

/// The length of a UUID's text.
pub const ORDER_ID_BYTES: usize = 36;

/// A UUID's 128 bits. Ours hold a `u64`, the incumbent's are random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OrderId(pub u128);

/// Version 8 (vendor's own, RFC 9562 section 5.8) and the variant's bits: what makes ours well-formed.
const OURS: u128 = 0x0000_0000_0000_8000_8000_0000_0000_0000;
const LOW_48: u64 = (1 << 48) - 1;
/// Where the hyphens stand in the text.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl OrderId {
    /// The UUID of order number `n`: `00000000-HHHH-8000-8000-LLLLLLLLLLLL`, with the high 16 bits of `n`
    /// in H and the low 48 in L. So a person finds order 42 as `…-00000000002a`.
    pub fn from_u64(n: u64) -> OrderId {
        OrderId(OURS | u128::from(n & LOW_48) | (u128::from(n >> 48) << 80))
    }

    /// The order number, if this is a UUID that [`OrderId::from_u64`] makes.
    pub fn to_u64(self) -> Option<u64> {
        let n = (self.0 as u64 & LOW_48) | (((self.0 >> 80) as u64 & 0xffff) << 48);
        (OrderId::from_u64(n) == self).then_some(n)
    }

    /// Reads the 36-character text, in either case; `None` if it is not a UUID's.
    pub fn parse(text: &str) -> Option<OrderId> {
        let text: &[u8; ORDER_ID_BYTES] = text.as_bytes().try_into().ok()?;
        let mut bits = 0u128;
        for (at, &byte) in text.iter().enumerate() {
            if HYPHENS.contains(&at) {
                if byte != b'-' {
                    return None;
                }
                continue;
            }
            bits = bits << 4 | u128::from((byte as char).to_digit(16)?);
        }
        Some(OrderId(bits))
    }

    /// The 36-character text, in lower case.
    pub fn text(self) -> [u8; ORDER_ID_BYTES] {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let bytes = self.0.to_be_bytes();
        let mut text = [b'-'; ORDER_ID_BYTES];
        let mut at = 0;
        for (i, byte) in bytes.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                at += 1;
            }
            text[at] = HEX[usize::from(byte >> 4)];
            text[at + 1] = HEX[usize::from(byte & 15)];
            at += 2;
        }
        text
    }
}

impl fmt::Display for OrderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().iter().try_for_each(|&byte| fmt::Write::write_char(f, byte as char))
    }
}
