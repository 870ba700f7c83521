//! The line with which a gateway begins its connections to the exchange: PROXY protocol, version 1,
//! "UNKNOWN". It says that the address of the connection is not the client's. It names no other
//! address, so that the exchange need not trust its sender.

/// The line of our gateway.
pub const UNKNOWN: &[u8] = b"PROXY UNKNOWN\r\n";

/// How every line of the protocol begins.
const START: &[u8] = b"PROXY ";
/// The longest line of version 1, with its end.
const LINE_BYTES_MAX: usize = 107;

/// Length of the line at the start of `bytes`, of any proxy; 0 if there is none, `None` if there
/// may be one that is not whole.
pub fn line_bytes(bytes: &[u8]) -> Option<usize> {
    let window = &bytes[..bytes.len().min(LINE_BYTES_MAX)];
    if !window.starts_with(START) {
        return (window.is_empty() || !START.starts_with(window)).then_some(0);
    }
    match window.windows(2).position(|two| two == b"\r\n") {
        Some(at) => Some(at + 2),
        None => (window.len() == LINE_BYTES_MAX).then_some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_whole_and_nothing_else() {
        assert_eq!(line_bytes(UNKNOWN), Some(UNKNOWN.len()));
        let haproxys = b"PROXY TCP4 192.0.2.1 192.0.2.2 5000 8888\r\nGET / HTTP/1.1\r\n";
        assert_eq!(line_bytes(haproxys), Some(42));
        for end in 1..UNKNOWN.len() {
            assert_eq!(line_bytes(&UNKNOWN[..end]), None, "{end}");
        }
        for other in [&b""[..], b"GET / HTTP/1.1\r\n", b"PUT ", b"\x16\x03"] {
            assert_eq!(line_bytes(other), Some(0), "{other:?}");
        }
        assert_eq!(line_bytes(&[START, &[b'x'; 106]].concat()), Some(0));
    }
}
