//! The replicator's side of registration.

use crate::register::message::{Message, RegistrationKind};
use crate::subscribers::{Lease, Subscribers};
use std::net::SocketAddrV4;
use transport::cookie::{Challenges, Cookie, NoRandomNumbers};

/// Range of a lease, ms.
pub const LEASE_MS: std::ops::RangeInclusive<u32> = 100..=3_600_000;

/// Counts of the messages that came to the registrar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegistrarCounts {
    /// Challenges sent.
    pub challenged: u64,
    /// Challenges not sent, for [the limit](transport::cookie::CHALLENGES_PER_SECOND_MAX).
    pub unchallenged: u64,
    /// Subscribers that got a lease.
    pub accepted: u64,
    /// Leases renewed.
    pub renewed: u64,
    /// Subscribers that found no place.
    pub full: u64,
    /// Confirmations and leaves with a cookie that is too old, or not of that address.
    pub bad_cookies: u64,
    /// Datagrams that are no message to a registrar.
    pub malformed: u64,
}

/// Gives leases to addresses that return their cookie. Times are ns of the caller's clock.
pub struct Registrar {
    challenges: Challenges,
    lease_ms: u32,
    /// The root of the tree as far as it is known, which each subscriber is told.
    pub root: u64,
    counts: RegistrarCounts,
}

impl Registrar {
    /// A registrar whose leases take `lease_ms`, of [`LEASE_MS`].
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn new(lease_ms: u32, root: u64) -> Result<Registrar, NoRandomNumbers> {
        Ok(Registrar {
            challenges: Challenges::new()?,
            lease_ms: lease_ms.clamp(*LEASE_MS.start(), *LEASE_MS.end()),
            root,
            counts: RegistrarCounts::default(),
        })
    }

    /// Takes a datagram that came from that address. Returns the answer, which goes back there.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        from: SocketAddrV4,
        now_ns: u64,
        subscribers: &mut Subscribers,
    ) -> Option<Message> {
        let message = Message::decode(bytes);
        let asks = |one: &Message| {
            matches!(
                one.kind,
                RegistrationKind::Register | RegistrationKind::Confirm | RegistrationKind::Leave
            ) && from.port() != 0
        };
        let Some(message) = message.filter(asks) else {
            self.counts.malformed += 1;
            return None;
        };
        if message.kind == RegistrationKind::Register {
            return self.challenge(message.token, from, now_ns);
        }
        if !self.challenges.is_good(&message.cookie, from.into(), now_ns) {
            self.counts.bad_cookies += 1;
            let again = message.kind == RegistrationKind::Confirm;
            return again.then(|| self.challenge(message.token, from, now_ns)).flatten();
        }
        if message.kind == RegistrationKind::Leave {
            subscribers.leave(from);
            return None;
        }
        let until_ns = now_ns + u64::from(self.lease_ms) * 1_000_000;
        let kind = match subscribers.lease(from, until_ns) {
            Ok(Lease::New) => {
                self.counts.accepted += 1;
                RegistrationKind::Accepted
            }
            Ok(Lease::Renewed) => {
                self.counts.renewed += 1;
                RegistrationKind::Accepted
            }
            Err(_) => {
                self.counts.full += 1;
                RegistrationKind::Full
            }
        };
        let answer = Message::new(kind, message.token, Cookie::default());
        Some(Message { lease_ms: self.lease_ms, root: self.root, ..answer })
    }

    /// Its counts so far.
    pub fn counts(&self) -> RegistrarCounts {
        self.counts
    }

    fn challenge(&mut self, token: u64, to: SocketAddrV4, now_ns: u64) -> Option<Message> {
        let Some(cookie) = self.challenges.give(to.into(), now_ns) else {
            self.counts.unchallenged += 1;
            return None;
        };
        self.counts.challenged += 1;
        Some(Message::new(RegistrationKind::Challenge, token, cookie))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::register::message::MESSAGE_BYTES;
    use transport::cookie::{CHALLENGES_PER_SECOND_MAX, PERIOD_NS};

    const NOW_NS: u64 = 7 * PERIOD_NS;

    fn address(port: u16) -> SocketAddrV4 {
        SocketAddrV4::new([192, 0, 2, 7].into(), port)
    }

    fn register(token: u64) -> [u8; MESSAGE_BYTES] {
        Message::new(RegistrationKind::Register, token, Cookie::default()).encode()
    }

    #[test]
    fn an_address_that_returns_its_cookie_gets_a_lease() {
        let mut subscribers = Subscribers::default();
        let mut registrar = Registrar::new(1_000, 42).unwrap();
        let mut say =
            |bytes: &[u8], now_ns| registrar.receive(bytes, address(1), now_ns, &mut subscribers);
        let challenge = say(&register(5), NOW_NS).unwrap();
        assert_eq!((challenge.kind, challenge.token), (RegistrationKind::Challenge, 5));
        let confirm = Message::new(RegistrationKind::Confirm, 5, challenge.cookie).encode();
        let accepted = say(&confirm, NOW_NS + 1).unwrap();
        assert_eq!((accepted.kind, accepted.token), (RegistrationKind::Accepted, 5));
        assert_eq!((accepted.lease_ms, accepted.root), (1_000, 42));
        // Half a lease later it renews, and so stays past the end of the first.
        say(&confirm, NOW_NS + 500_000_000).unwrap();
        let leave = Message::new(RegistrationKind::Leave, 5, challenge.cookie).encode();
        subscribers.expire(NOW_NS + 1_400_000_000);
        assert_eq!(subscribers.all().len(), 1);
        assert_eq!(registrar.receive(&leave, address(1), NOW_NS, &mut subscribers), None);
        assert!(subscribers.all().is_empty());
        let expected =
            RegistrarCounts { challenged: 1, accepted: 1, renewed: 1, ..Default::default() };
        assert_eq!(registrar.counts(), expected);
    }

    /// A datagram with a forged source: whatever it says, that address gets at most one challenge
    /// of the same length, and no place in the list.
    #[test]
    fn nothing_but_a_challenge_goes_to_an_address_that_did_not_confirm() {
        let mut subscribers = Subscribers::default();
        let mut registrar = Registrar::new(1_000, 0).unwrap();
        let (attacker, victim) = (address(1), address(2));
        // The attacker has a good cookie, of its own address.
        let own = registrar.receive(&register(1), attacker, NOW_NS, &mut subscribers).unwrap();
        let with = |kind, cookie| Message::new(kind, 1, cookie).encode();
        for forged in [
            register(1),
            with(RegistrationKind::Confirm, own.cookie),
            with(RegistrationKind::Confirm, Cookie::default()),
        ] {
            let answer = registrar.receive(&forged, victim, NOW_NS, &mut subscribers).unwrap();
            assert_eq!(answer.kind, RegistrationKind::Challenge);
            assert!(answer.encode().len() <= forged.len());
            assert!(subscribers.all().is_empty());
        }
        for silent in [
            with(RegistrationKind::Leave, own.cookie),
            with(RegistrationKind::Challenge, own.cookie),
            with(RegistrationKind::Accepted, own.cookie),
            with(RegistrationKind::Full, own.cookie),
        ] {
            assert_eq!(registrar.receive(&silent, victim, NOW_NS, &mut subscribers), None);
        }
        assert_eq!(registrar.receive(b"", victim, NOW_NS, &mut subscribers), None);
        assert_eq!(registrar.counts().bad_cookies, 3);
        assert_eq!(registrar.counts().malformed, 4);
    }

    /// Somebody else's leave would have cut a subscriber off.
    #[test]
    fn a_lease_ends_only_by_its_own_cookie() {
        let mut subscribers = Subscribers::default();
        let mut registrar = Registrar::new(1_000, 0).unwrap();
        let challenge =
            registrar.receive(&register(1), address(1), NOW_NS, &mut subscribers).unwrap();
        let confirm = Message::new(RegistrationKind::Confirm, 1, challenge.cookie).encode();
        registrar.receive(&confirm, address(1), NOW_NS, &mut subscribers).unwrap();
        let forged = Message::new(RegistrationKind::Leave, 1, Cookie::default()).encode();
        registrar.receive(&forged, address(1), NOW_NS, &mut subscribers);
        assert_eq!(subscribers.all().len(), 1);
    }

    /// A cookie ages while its subscriber goes on renewing: it gets a fresh one on the way.
    #[test]
    fn an_old_cookie_is_answered_by_a_fresh_one() {
        let mut subscribers = Subscribers::default();
        let mut registrar = Registrar::new(1_000, 0).unwrap();
        let mut say =
            |bytes: &[u8], now_ns| registrar.receive(bytes, address(1), now_ns, &mut subscribers);
        let first = say(&register(1), NOW_NS).unwrap();
        let later_ns = NOW_NS + 2 * PERIOD_NS;
        let confirm = |cookie| Message::new(RegistrationKind::Confirm, 1, cookie).encode();
        let second = say(&confirm(first.cookie), later_ns).unwrap();
        assert_eq!(second.kind, RegistrationKind::Challenge);
        assert_eq!(
            say(&confirm(second.cookie), later_ns).unwrap().kind,
            RegistrationKind::Accepted
        );
    }

    #[test]
    fn challenges_of_a_second_are_limited() {
        let mut subscribers = Subscribers::default();
        let mut registrar = Registrar::new(1_000, 0).unwrap();
        let mut ask = |now_ns| {
            registrar.receive(&register(1), address(1), now_ns, &mut subscribers).is_some()
        };
        let answered = (0..CHALLENGES_PER_SECOND_MAX + 50).filter(|_| ask(NOW_NS)).count();
        assert_eq!(answered, CHALLENGES_PER_SECOND_MAX as usize);
        assert!(ask(NOW_NS + 1_000_000_000));
        assert_eq!(registrar.counts().unchallenged, 50);
    }
}
