//! Writes JSON strings.

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
