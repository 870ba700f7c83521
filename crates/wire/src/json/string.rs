//! Strings of JSON: where one ends, and how one is written.

/// Number of bytes before the first quote, backslash or control character; eight at a time.
#[inline]
pub(super) fn plain_bytes(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    // A byte's high bit is set if `word`'s byte is below `limit`. Above the first such byte a
    // borrow may set other bits, but only the first matters.
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & (ONES * 0x80);
    let (words, rest) = bytes.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let (quote, backslash) = (ONES * u64::from(b'"'), ONES * u64::from(b'\\'));
        let stops = below(word, 0x20) | below(word ^ quote, 1) | below(word ^ backslash, 1);
        if stops != 0 {
            return i * 8 + stops.trailing_zeros() as usize / 8;
        }
    }
    let stops = |&b: &u8| b < b' ' || b == b'"' || b == b'\\';
    bytes.len() - rest.len() + rest.iter().position(stops).unwrap_or(rest.len())
}

/// Appends a string with quotes and escapes.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    // A fold instead of a search, so that the compiler can test many bytes at a time.
    let plain =
        text.iter().fold(true, |plain, &b| plain & (b >= b' ') & (b != b'"') & (b != b'\\'));
    if plain {
        out.extend_from_slice(text);
    } else {
        write_escaped(out, text);
    }
    out.push(b'"');
}

#[cold]
fn write_escaped(out: &mut Vec<u8>, text: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            0..b' ' => {
                let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            }
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
#[path = "string_tests.rs"]
mod tests;
