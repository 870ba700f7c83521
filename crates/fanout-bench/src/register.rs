//! The subscribers' sockets, registered at the replicator.

use clock::Clock;
use fanout::register::member::{Answer, Member};
use fanout::register::message::MESSAGE_BYTES;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use transport::datagram::{ArrivalSocket, DatagramError};

/// The receive buffer of each subscriber to ask for, bytes.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;
/// Time limit for one registration, ns.
const PATIENCE_NS: u64 = 10_000_000_000;
/// How long to wait until the replicator is asked again for an answer that the kernel stamps, ns.
const UNSTAMPED_RETRY_NS: u64 = 5_000_000;
/// How long to sleep while nothing comes.
const PAUSE: Duration = Duration::from_micros(200);

/// Why there are no subscribers.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// A socket can't be made.
    #[error(transparent)]
    Socket(#[from] DatagramError),
    /// The system lacks what a registration needs.
    #[error(transparent)]
    Random(#[from] transport::cookie::NoRandomNumbers),
    /// The replicator does not answer.
    #[error(
        "subscriber {number} could not register at {at} within 10 s; is a replicator there \
         (tickpath fan-out --listen), and does a firewall let its answers in?"
    )]
    NoAnswer {
        /// From 1.
        number: usize,
        /// The replicator's address.
        at: SocketAddrV4,
    },
    /// The kernel stamps none of the replicator's answers.
    #[error(
        "the kernel stamped none of the datagrams that subscriber {number} got within 10 s \
         (SO_TIMESTAMPING); a sandbox or an old kernel may not offer it: run it on another host"
    )]
    Unstamped {
        /// From 1.
        number: usize,
    },
    /// The replicator has no place.
    #[error("the replicator at {at} has no place for subscriber {number}; use fewer")]
    Full {
        /// From 1.
        number: usize,
        /// The replicator's address.
        at: SocketAddrV4,
    },
    /// A socket broke.
    #[error("subscriber {number} can't be used: {source}; check that the network is up")]
    Io {
        /// From 1.
        number: usize,
        /// The system's reason.
        source: io::Error,
    },
    /// It was told to stop.
    #[error("interrupted before the first message; nothing was measured")]
    Interrupted,
}

/// A subscriber: its socket, and what ends its registration.
pub(crate) struct Subscriber {
    pub socket: ArrivalSocket,
    member: Member,
}

impl Subscriber {
    /// Ends the registration, so that the replicator's list is what it was.
    pub(crate) fn leave(&self) {
        // A lost one expires.
        let _ = self.socket.as_ref().send_to(&self.member.leave(), self.member.parent());
    }

    /// Renews the registration, if that is due.
    pub(crate) fn renew(&mut self, now_ns: u64) {
        if let Some(message) = self.member.due(now_ns) {
            // A lost one is due again.
            let _ = self.socket.as_ref().send_to(&message, self.member.parent());
        }
    }

    /// Takes the replicator's answer, which has the registration's token.
    pub(crate) fn answered(&mut self, bytes: &[u8], now_ns: u64) {
        let parent = self.member.parent();
        if let Answer::Reply(reply) = self.member.receive(bytes, parent.into(), now_ns) {
            let _ = self.socket.as_ref().send_to(&reply, parent);
        }
    }
}

/// Registers that many, one after the other: a fixed order of sending is that of their numbers.
///
/// # Errors
/// See [`RegisterError`].
pub(crate) fn all(
    own: Ipv4Addr,
    at: SocketAddrV4,
    count: usize,
    clock: Clock,
    stop: &AtomicBool,
) -> Result<Vec<Subscriber>, RegisterError> {
    (1..=count).map(|number| one(number, own, at, clock, stop)).collect()
}

fn one(
    number: usize,
    own: Ipv4Addr,
    at: SocketAddrV4,
    clock: Clock,
    stop: &AtomicBool,
) -> Result<Subscriber, RegisterError> {
    let socket = ArrivalSocket::bind((own, 0).into(), RECEIVE_BUFFER_BYTES)?;
    let receive = |bytes: &mut [u8]| socket.receive(bytes);
    let member = Registration { number, at, clock, stop }.member(socket.as_ref(), receive)?;
    Ok(Subscriber { socket, member })
}

/// One subscriber's registration.
struct Registration<'a> {
    number: usize,
    at: SocketAddrV4,
    clock: Clock,
    stop: &'a AtomicBool,
}

impl Registration<'_> {
    /// A member that has a lease, and whose arrivals `receive` gives a time. The kernel enables its
    /// stamps by deferred work: a copy that arrives before that has none.
    fn member(
        self,
        socket: &UdpSocket,
        receive: impl Fn(&mut [u8]) -> io::Result<(usize, Option<u64>)>,
    ) -> Result<Member, RegisterError> {
        let Registration { number, at, clock, stop } = self;
        let failed = |source| RegisterError::Io { number, source };
        let mut member = Member::new(at)?;
        let end_ns = clock.now_ns() + PATIENCE_NS;
        let mut bytes = [0; MESSAGE_BYTES + 1];
        let mut is_stamped = false;
        loop {
            let now_ns = clock.now_ns();
            let is_registered = member.is_registered(now_ns);
            if is_registered && is_stamped {
                return Ok(member);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(RegisterError::Interrupted);
            }
            if member.full() > 0 {
                return Err(RegisterError::Full { number, at });
            }
            if now_ns > end_ns {
                return Err(match is_registered {
                    true => RegisterError::Unstamped { number },
                    false => RegisterError::NoAnswer { number, at },
                });
            }
            if is_registered {
                member.renew_by(now_ns + UNSTAMPED_RETRY_NS);
            }
            if let Some(message) = member.due(now_ns) {
                socket.send_to(&message, at).map_err(failed)?;
            }
            match receive(&mut bytes) {
                Ok((length, arrival_ns)) => {
                    is_stamped |= arrival_ns.is_some();
                    let answer = member.receive(&bytes[..length], at.into(), now_ns);
                    if let Answer::Reply(reply) = answer {
                        socket.send_to(&reply, at).map_err(failed)?;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(PAUSE);
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanout::register::registrar::Registrar;
    use fanout::subscribers::Subscribers;
    use std::cell::Cell;
    use std::net::SocketAddr;

    /// Gives leases until `stop` is set.
    fn replicate(socket: &UdpSocket, clock: Clock, stop: &AtomicBool) {
        let mut registrar = Registrar::new(60_000, 1).unwrap();
        let mut subscribers = Subscribers::default();
        let mut bytes = [0; MESSAGE_BYTES];
        while !stop.load(Ordering::Relaxed) {
            let Ok((length, SocketAddr::V4(from))) = socket.recv_from(&mut bytes) else {
                continue;
            };
            let now_ns = clock.now_ns();
            if let Some(answer) =
                registrar.receive(&bytes[..length], from, now_ns, &mut subscribers)
            {
                socket.send_to(&answer.encode(), from).unwrap();
            }
        }
    }

    /// The first answers have no time, as on a machine that is too busy for the kernel's deferred
    /// work: the subscriber has its lease, and asks on. Without that its first copies had no time.
    #[test]
    fn a_subscriber_is_ready_once_its_arrivals_are_stamped() {
        const UNSTAMPED: u32 = 6;
        let (clock, stop) = (Clock::calibrate(), AtomicBool::new(false));
        let replicator = UdpSocket::bind("127.0.0.1:0").unwrap();
        replicator.set_read_timeout(Some(std::time::Duration::from_millis(20))).unwrap();
        let SocketAddr::V4(at) = replicator.local_addr().unwrap() else { unreachable!() };
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let answers = Cell::new(0);
        let receive = |bytes: &mut [u8]| -> io::Result<(usize, Option<u64>)> {
            let (length, _) = socket.recv_from(bytes)?;
            answers.set(answers.get() + 1);
            Ok((length, (answers.get() > UNSTAMPED).then_some(1)))
        };
        std::thread::scope(|scope| {
            scope.spawn(|| replicate(&replicator, clock, &stop));
            let member =
                Registration { number: 1, at, clock, stop: &stop }.member(&socket, receive);
            stop.store(true, Ordering::Relaxed);
            assert!(member.unwrap().is_registered(clock.now_ns()));
        });
        assert_eq!(answers.get(), UNSTAMPED + 1);
    }
}
