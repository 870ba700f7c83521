//! The subscriber's side of registration, such as that of a replicator that is fed by another.

use crate::register::message::{MESSAGE_BYTES, Message, RegistrationKind};
use std::net::{SocketAddr, SocketAddrV4};
use transport::cookie::{Cookie, NoRandomNumbers, random_number};

/// How long a subscriber waits for an answer before it asks again, ns.
pub const RETRY_NS: u64 = 200_000_000;
/// How long it waits where there was no place, ns.
const FULL_RETRY_NS: u64 = 2_000_000_000;
/// A lease is renewed when this part of it has passed.
const RENEWALS_PER_LEASE: u64 = 3;

/// A registration at a replicator. Times are ns of the caller's clock.
#[derive(Debug)]
pub struct Member {
    parent: SocketAddrV4,
    token: u64,
    cookie: Option<Cookie>,
    /// When the next message is due.
    due_ns: u64,
    /// When a challenge is answered at once again.
    quick_ns: u64,
    lease_until_ns: u64,
    root: Option<u64>,
    full: u64,
}

/// The meaning of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is none of registration: a datagram to be copied.
    Other,
    /// It was taken.
    Taken,
    /// It was taken, and this goes back.
    Reply([u8; MESSAGE_BYTES]),
}

impl Member {
    /// A subscriber that is not registered yet.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn new(parent: SocketAddrV4) -> Result<Member, NoRandomNumbers> {
        Ok(Member {
            parent,
            token: random_number()?,
            cookie: None,
            due_ns: 0,
            quick_ns: 0,
            lease_until_ns: 0,
            root: None,
            full: 0,
        })
    }

    /// The replicator at which it registers.
    pub fn parent(&self) -> SocketAddrV4 {
        self.parent
    }

    /// The message that is due now, if there is one.
    pub fn due(&mut self, now_ns: u64) -> Option<[u8; MESSAGE_BYTES]> {
        if now_ns < self.due_ns {
            return None;
        }
        self.due_ns = now_ns + RETRY_NS;
        let kind = if self.cookie.is_some() {
            RegistrationKind::Confirm
        } else {
            RegistrationKind::Register
        };
        Some(self.message(kind))
    }

    /// Makes the next message due by then, however long the lease lasts: a caller needs an answer.
    pub fn renew_by(&mut self, due_ns: u64) {
        self.due_ns = self.due_ns.min(due_ns);
    }

    /// Takes a datagram that came from that address.
    pub fn receive(&mut self, bytes: &[u8], from: SocketAddr, now_ns: u64) -> Answer {
        let message = Message::decode(bytes).filter(|one| one.token == self.token);
        let Some(message) = message.filter(|_| from == SocketAddr::V4(self.parent)) else {
            return Answer::Other;
        };
        match message.kind {
            RegistrationKind::Challenge => {
                self.cookie = Some(message.cookie);
                // Not a word for a word: two that disagree would keep each other busy.
                if now_ns < self.quick_ns {
                    return Answer::Taken;
                }
                (self.quick_ns, self.due_ns) = (now_ns + RETRY_NS, now_ns + RETRY_NS);
                Answer::Reply(self.message(RegistrationKind::Confirm))
            }
            RegistrationKind::Accepted => {
                let lease_ns = u64::from(message.lease_ms) * 1_000_000;
                self.lease_until_ns = now_ns + lease_ns;
                self.due_ns = now_ns + lease_ns / RENEWALS_PER_LEASE;
                self.root = Some(message.root);
                Answer::Taken
            }
            RegistrationKind::Full => {
                self.full += 1;
                self.due_ns = now_ns + FULL_RETRY_NS;
                Answer::Taken
            }
            RegistrationKind::Register | RegistrationKind::Confirm | RegistrationKind::Leave => {
                Answer::Other
            }
        }
    }

    /// Whether it has a lease.
    pub fn is_registered(&self, now_ns: u64) -> bool {
        now_ns < self.lease_until_ns
    }

    /// The root of the tree, as its parent knows it; `None` until it has a lease.
    pub fn root(&self) -> Option<u64> {
        self.root
    }

    /// How often there was no place.
    pub fn full(&self) -> u64 {
        self.full
    }

    /// The message that ends the lease.
    pub fn leave(&self) -> [u8; MESSAGE_BYTES] {
        self.message(RegistrationKind::Leave)
    }

    fn message(&self, kind: RegistrationKind) -> [u8; MESSAGE_BYTES] {
        Message::new(kind, self.token, self.cookie.unwrap_or_default()).encode()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::register::registrar::Registrar;
    use crate::subscribers::Subscribers;
    use transport::cookie::PERIOD_NS;

    const PARENT: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::new(192, 0, 2, 1), 9);
    const OWN: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::new(192, 0, 2, 2), 9);
    const MS: u64 = 1_000_000;

    /// Both ends, and a path on which each n-th message is lost.
    #[test]
    fn a_lease_lasts_as_long_as_both_ends_live() {
        for lose_every in [0, 3, 2] {
            let mut subscribers = Subscribers::default();
            let mut registrar = Registrar::new(3_000, 77).unwrap();
            let mut member = Member::new(PARENT).unwrap();
            let (mut sent, mut without) = (0_u64, 0);
            let from_ns = 10 * PERIOD_NS;
            // Four periods of a cookie, by steps of 10 ms.
            for now_ns in (from_ns..from_ns + 4 * PERIOD_NS).step_by(10 * MS as usize) {
                subscribers.expire(now_ns);
                let mut word = member.due(now_ns);
                while let Some(bytes) = word.take() {
                    sent += 1;
                    if lose_every > 0 && sent.is_multiple_of(lose_every) {
                        break;
                    }
                    let answer = registrar.receive(&bytes, OWN, now_ns, &mut subscribers);
                    let Some(answer) = answer else { break };
                    let taken = member.receive(&answer.encode(), PARENT.into(), now_ns);
                    if let Answer::Reply(reply) = taken {
                        word = Some(reply);
                    }
                }
                let late = now_ns > from_ns + 1_000 * MS;
                without += u64::from(late && subscribers.all().is_empty());
                assert!(!late || member.is_registered(now_ns), "1 of {lose_every} lost");
            }
            assert_eq!(without, 0, "1 of {lose_every} lost");
            assert_eq!(member.root(), Some(77));
            // A message a second renews it; the retries after losses are few.
            assert!(sent < 4 * 60 * 3, "{sent} messages");
        }
    }

    #[test]
    fn a_stranger_is_not_believed() {
        let mut member = Member::new(PARENT).unwrap();
        let asked = Message::decode(&member.due(0).unwrap()).unwrap();
        assert_eq!(asked.kind, RegistrationKind::Register);
        let accepted = Message { lease_ms: 1_000, ..asked };
        let accepted = Message { kind: RegistrationKind::Accepted, ..accepted };
        let forged = Message { token: asked.token ^ 1, ..accepted };
        let parent = SocketAddr::V4(PARENT);
        assert_eq!(member.receive(&forged.encode(), parent, 1), Answer::Other);
        assert_eq!(member.receive(&accepted.encode(), OWN.into(), 1), Answer::Other);
        assert_eq!(member.receive(b"a tick", parent, 1), Answer::Other);
        assert!(!member.is_registered(1));
        assert_eq!(member.receive(&accepted.encode(), parent, 1), Answer::Taken);
        assert!(member.is_registered(1));
    }

    /// A replicator that challenges every confirmation would have been answered at line speed.
    #[test]
    fn challenges_are_answered_once_in_a_while() {
        let mut member = Member::new(PARENT).unwrap();
        let token = Message::decode(&member.due(0).unwrap()).unwrap().token;
        let challenge = Message::new(RegistrationKind::Challenge, token, Cookie([1; 32])).encode();
        let parent = SocketAddr::V4(PARENT);
        assert!(matches!(member.receive(&challenge, parent, 1), Answer::Reply(_)));
        assert_eq!(member.receive(&challenge, parent, 2), Answer::Taken);
        assert_eq!(member.due(3), None);
        assert!(member.due(1 + RETRY_NS).is_some());
    }
}
