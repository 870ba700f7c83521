//! `host:port` in a target or in `Host` (RFC 3986, 3.2).

/// Whether it is a host, which may be empty, with or without a port.
pub(super) fn is_authority(authority: &[u8]) -> bool {
    let (host, port) = split(authority);
    let is_digits = port.iter().all(u8::is_ascii_digit);
    is_digits
        && match host {
            [b'[', address @ .., b']'] => std::str::from_utf8(address)
                .is_ok_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok()),
            // Unreserved characters, sub-delimiters, and percent signs.
            host => host
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=%".contains(byte)),
        }
}

/// Whether the host is an address or `localhost`, not a name that may point anywhere.
pub(super) fn is_fixed(authority: &[u8]) -> bool {
    let (host, _) = split(authority);
    let host = host.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]")).unwrap_or(host);
    let Ok(host) = std::str::from_utf8(host) else { return false };
    host.eq_ignore_ascii_case("localhost") || host.parse::<std::net::IpAddr>().is_ok()
}

/// Host and port, which may be empty.
fn split(authority: &[u8]) -> (&[u8], &[u8]) {
    match authority.iter().rposition(|byte| *byte == b':') {
        // A colon within brackets belongs to the address.
        Some(at) if !authority[at..].contains(&b']') => (&authority[..at], &authority[at + 1..]),
        _ => (authority, &[]),
    }
}

/// `HOST:PORT` as the header `Host` has it: without the port that the scheme implies (RFC 9110,
/// 4.2.3).
pub fn without_default_port(target: &str, is_secure: bool) -> &str {
    let default = if is_secure { ":443" } else { ":80" };
    target.strip_suffix(default).unwrap_or(target)
}
