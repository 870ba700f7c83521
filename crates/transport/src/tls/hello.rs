//! The one thing that we read in a client's first message ourselves: whether it offers TLS 1.3.

/// The extension that lists versions, and TLS 1.3 in it (RFC 8446, 4.2.1).
const SUPPORTED_VERSIONS: u16 = 43;
const TLS13: [u8; 2] = [3, 4];

/// Whether the record that begins here is a ClientHello that offers TLS 1.3. A message in several
/// records is taken for one that doesn't.
pub(super) fn offers_tls13(record: &[u8]) -> bool {
    extension(record, SUPPORTED_VERSIONS)
        .and_then(|mut versions| vector(&mut versions, 1))
        .is_some_and(|versions| versions.chunks_exact(2).any(|version| version == TLS13))
}

fn extension(mut hello: &[u8], wanted: u16) -> Option<&[u8]> {
    // The heads of the record and of the message, version and random.
    hello = hello.get(5 + 4 + 2 + 32..)?;
    // The session, the ciphers and the compressions.
    for length_bytes in [1, 2, 1] {
        vector(&mut hello, length_bytes)?;
    }
    let mut extensions = vector(&mut hello, 2)?;
    while let Some((&kind, rest)) = extensions.split_first_chunk() {
        extensions = rest;
        let body = vector(&mut extensions, 2)?;
        if u16::from_be_bytes(kind) == wanted {
            return Some(body);
        }
    }
    None
}

/// Takes a vector, whose length comes first, from the front.
fn vector<'b>(bytes: &mut &'b [u8], length_bytes: usize) -> Option<&'b [u8]> {
    let (length, rest) = bytes.split_at_checked(length_bytes)?;
    let length = length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    let (vector, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(vector)
}
