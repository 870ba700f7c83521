//! Cookies: a code of an address and a secret, which only their maker can make and check. It keeps
//! nothing of an address that asked for one.
//!
//! Anybody can write somebody else's address into a datagram. An address that returns its cookie
//! has received it, so it may get more than it sent.

use ring::hmac::{HMAC_SHA256, Key, sign, verify};
use ring::rand::SystemRandom;
use std::net::{IpAddr, SocketAddr};

/// Bytes of a cookie.
pub const COOKIE_BYTES: usize = 32;
/// A cookie is good until the end of the period after the one it was made in, ns.
pub const PERIOD_NS: u64 = 60_000_000_000;
/// Limit on the cookies that [`Challenges`] gives in a second, to all addresses together. A client
/// that gets none asks again.
pub const CHALLENGES_PER_SECOND_MAX: u32 = 1_000;

const SECOND_NS: u64 = 1_000_000_000;

/// A cookie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cookie(pub [u8; COOKIE_BYTES]);

/// The system has no random numbers.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "the system gives no random numbers, which cookies need; check whether a sandbox forbids getrandom(2)"
)]
pub struct NoRandomNumbers;

/// A random number that nobody can guess.
///
/// # Errors
/// If the system gives none.
pub fn random_number() -> Result<u64, NoRandomNumbers> {
    let random: ring::rand::Random<[u8; 8]> =
        ring::rand::generate(&SystemRandom::new()).map_err(|_| NoRandomNumbers)?;
    Ok(u64::from_ne_bytes(random.expose()))
}

/// Makes and checks cookies by one secret.
struct Cookies(Key);

impl Cookies {
    /// With a secret of its own.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn new() -> Result<Cookies, NoRandomNumbers> {
        Key::generate(HMAC_SHA256, &SystemRandom::new()).map(Cookies).map_err(|_| NoRandomNumbers)
    }

    /// The cookie of an address at that time.
    pub fn of(&self, address: SocketAddr, now_ns: u64) -> Cookie {
        let tag = sign(&self.0, &signed(address, now_ns / PERIOD_NS));
        Cookie(*tag.as_ref().first_chunk().expect("a SHA-256 has 32 bytes"))
    }

    /// Whether it is the address's cookie, of this period or the one before. Takes as long either
    /// way.
    pub fn is_good(&self, cookie: &Cookie, address: SocketAddr, now_ns: u64) -> bool {
        let period = now_ns / PERIOD_NS;
        let is_of = |period| verify(&self.0, &signed(address, period), &cookie.0).is_ok();
        is_of(period) || period.checked_sub(1).is_some_and(is_of)
    }
}

/// Gives cookies, a limited number a second.
pub struct Challenges {
    cookies: Cookies,
    /// The second in which they are counted.
    second: u64,
    given: u32,
}

impl Challenges {
    /// With a secret of its own.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn new() -> Result<Challenges, NoRandomNumbers> {
        Ok(Challenges { cookies: Cookies::new()?, second: 0, given: 0 })
    }

    /// The cookie of an address at that time; `None` past [`CHALLENGES_PER_SECOND_MAX`].
    pub fn give(&mut self, to: SocketAddr, now_ns: u64) -> Option<Cookie> {
        let second = now_ns / SECOND_NS;
        if second != self.second {
            (self.second, self.given) = (second, 0);
        }
        if self.given >= CHALLENGES_PER_SECOND_MAX {
            return None;
        }
        self.given += 1;
        Some(self.cookies.of(to, now_ns))
    }

    /// As [`Cookies::is_good`].
    pub fn is_good(&self, cookie: &Cookie, address: SocketAddr, now_ns: u64) -> bool {
        self.cookies.is_good(cookie, address, now_ns)
    }
}

/// An IPv4 address and the IPv6 address that maps it are the same.
fn signed(address: SocketAddr, period: u64) -> [u8; 26] {
    let mut bytes = [0; 26];
    let ip = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    bytes[..16].copy_from_slice(&ip.octets());
    bytes[16..18].copy_from_slice(&address.port().to_be_bytes());
    bytes[18..].copy_from_slice(&period.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_good_for_one_address_and_a_time() {
        let (mine, other) = (Cookies::new().unwrap(), Cookies::new().unwrap());
        let address: SocketAddr = "192.0.2.7:4000".parse().unwrap();
        let at_ns = 5 * PERIOD_NS + 1;
        let cookie = mine.of(address, at_ns);
        for now_ns in [at_ns, 6 * PERIOD_NS - 1, 7 * PERIOD_NS - 1] {
            assert!(mine.is_good(&cookie, address, now_ns), "{now_ns}");
        }
        assert!(!mine.is_good(&cookie, address, 7 * PERIOD_NS), "it is too old");
        assert!(!mine.is_good(&cookie, address, at_ns - 2), "it is of a later period");
        for foreign in ["192.0.2.7:4001", "192.0.2.8:4000", "[2001:db8::7]:4000"] {
            assert!(!mine.is_good(&cookie, foreign.parse().unwrap(), at_ns), "{foreign}");
        }
        assert!(!other.is_good(&cookie, address, at_ns), "another maker's");
        assert!(!mine.is_good(&Cookie::default(), address, at_ns));
    }
    #[test]
    fn challenges_of_a_second_are_limited() {
        let mut challenges = Challenges::new().unwrap();
        let mut give = |now_ns| challenges.give("192.0.2.7:4000".parse().unwrap(), now_ns);
        let asked = CHALLENGES_PER_SECOND_MAX + 50;
        let given = (0..asked).filter(|_| give(PERIOD_NS).is_some()).count();
        assert_eq!(given, CHALLENGES_PER_SECOND_MAX as usize);
        assert!(give(PERIOD_NS + SECOND_NS).is_some());
    }
}
