//! The exchange's name for an order: a UUID on the wire.

use std::fmt;

/// The length of a UUID's text.
pub const ORDER_ID_BYTES: usize = 36;

/// A UUID's 128 bits. Ours hold a `u64`, the incumbent's are random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OrderId(pub u128);

/// Version 8 (vendor-specific, RFC 9562 section 5.8) and the variant's bits, which make our ids
/// valid UUIDs.
const OURS: u128 = 0x0000_0000_0000_8000_8000_0000_0000_0000;
const LOW_48: u64 = (1 << 48) - 1;
/// Positions of the hyphens in the text.
const HYPHENS_AT: [usize; 4] = [8, 13, 18, 23];
const PAIRS_AT: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/// A hexadecimal digit's value by its byte; 0xff for other bytes.
const NIBBLES: [u8; 256] = {
    let mut nibbles = [0xff; 256];
    let mut value = 0;
    while value < 16 {
        nibbles[b"0123456789abcdef"[value] as usize] = value as u8;
        nibbles[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    nibbles
};

impl OrderId {
    /// The UUID of order number `n`: `00000000-HHHH-8000-8000-LLLLLLLLLLLL`, with the high 16 bits
    /// of `n` in H and the low 48 in L. So order 42 is recognisable as `…-00000000002a`.
    pub fn from_u64(n: u64) -> OrderId {
        OrderId(OURS | u128::from(n & LOW_48) | (u128::from(n >> 48) << 80))
    }

    /// The order number, if [`OrderId::from_u64`] makes this UUID.
    pub fn to_u64(self) -> Option<u64> {
        let n = (self.0 as u64 & LOW_48) | (((self.0 >> 80) as u64 & 0xffff) << 48);
        (OrderId::from_u64(n) == self).then_some(n)
    }

    /// Parses the 36-character text, in either case; `None` if it is not a UUID.
    pub fn parse(text: &str) -> Option<OrderId> {
        let text: &[u8; ORDER_ID_BYTES] = text.as_bytes().try_into().ok()?;
        // Collect all faults and check once: an invalid nibble has bits above the fourth.
        let mut bytes = [0; 16];
        let mut faults = 0;
        for (byte, at) in bytes.iter_mut().zip(PAIRS_AT) {
            let (high, low) = (NIBBLES[usize::from(text[at])], NIBBLES[usize::from(text[at + 1])]);
            faults |= (high | low) & !0xf;
            *byte = high << 4 | low;
        }
        let hyphens = HYPHENS_AT.iter().all(|&at| text[at] == b'-');
        (hyphens && faults == 0).then(|| OrderId(u128::from_be_bytes(bytes)))
    }

    /// The 36-character text, in lower case.
    pub fn text(self) -> [u8; ORDER_ID_BYTES] {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let bytes = self.0.to_be_bytes();
        let mut text = [b'-'; ORDER_ID_BYTES];
        for (byte, at) in bytes.iter().zip(PAIRS_AT) {
            text[at] = HEX[usize::from(byte >> 4)];
            text[at + 1] = HEX[usize::from(byte & 15)];
        }
        text
    }
}

impl fmt::Display for OrderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().iter().try_for_each(|&byte| fmt::Write::write_char(f, byte as char))
    }
}
