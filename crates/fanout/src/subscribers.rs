//! The subscribers: their addresses, how long they stay, and what was sent to each.

use std::io;
use std::net::SocketAddrV4;

/// Limit on subscribers, named and registered together.
pub const SUBSCRIBERS_MAX: usize = 1024;
/// Limit on registered subscribers of one host, each at a port of its own.
pub const SUBSCRIBERS_PER_HOST_MAX: usize = 128;
/// Limit on former subscribers whose counts are kept apart; those of more are added up.
pub const FORMER_MAX: usize = 1024;

/// Counts of the datagrams to one subscriber.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentCounts {
    /// Datagrams that the kernel took.
    pub sent: u64,
    /// Datagrams dropped because the kernel had no room for them.
    pub no_room: u64,
    /// Datagrams dropped because the kernel rejected them.
    pub failed: u64,
    /// The reason of the first failure.
    pub failure: Option<String>,
}

impl SentCounts {
    /// Counts one datagram.
    pub fn count(&mut self, sent: io::Result<()>) {
        match sent {
            Ok(()) => self.sent += 1,
            Err(error) if is_full(&error) => self.no_room += 1,
            Err(error) => {
                self.failed += 1;
                self.failure.get_or_insert_with(|| error.to_string());
            }
        }
    }

    fn add(&mut self, other: SentCounts) {
        self.sent += other.sent;
        self.no_room += other.no_room;
        self.failed += other.failed;
        self.failure = self.failure.take().or(other.failure);
    }
}

fn is_full(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::ENOBUFS)
}

/// How long a subscriber stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stay {
    /// It was named at the start.
    Always,
    /// Until then, ns, unless it renews its lease.
    Until(u64),
}

/// One subscriber.
#[derive(Clone, Debug)]
pub struct Subscriber {
    /// Where its copies go.
    pub address: SocketAddrV4,
    /// Counts of the datagrams that went there.
    pub counts: SentCounts,
    stay: Stay,
}

/// Why an address is not a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSubscribed {
    /// The list is full.
    #[error("there are {max} subscribers already, the limit of this backend")]
    Full {
        /// The limit.
        max: usize,
    },
    /// Its host has too many.
    #[error("its host has SUBSCRIBERS_PER_HOST_MAX = {SUBSCRIBERS_PER_HOST_MAX} already")]
    HostFull,
    /// It is named twice.
    #[error("it is in the list twice")]
    Twice,
}

/// How a lease was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lease {
    /// To a new subscriber.
    New,
    /// Once more.
    Renewed,
}

/// All subscribers. Times are ns of one clock, which the caller reads.
#[derive(Clone, Debug)]
pub struct Subscribers {
    max: usize,
    now: Vec<Subscriber>,
    /// Counts of those that left or whose lease ended.
    former: Vec<(SocketAddrV4, SentCounts)>,
    /// The sum of those past [`FORMER_MAX`].
    others: SentCounts,
    others_count: u64,
    expired: u64,
    left: u64,
    changes: u64,
}

impl Default for Subscribers {
    fn default() -> Subscribers {
        Subscribers::up_to(SUBSCRIBERS_MAX)
    }
}

impl Subscribers {
    /// No subscribers yet, and at most `max` at a time.
    pub fn up_to(max: usize) -> Subscribers {
        Subscribers {
            max: max.min(SUBSCRIBERS_MAX),
            now: Vec::new(),
            former: Vec::new(),
            others: SentCounts::default(),
            others_count: 0,
            expired: 0,
            left: 0,
            changes: 0,
        }
    }

    /// Adds one that stays.
    ///
    /// # Errors
    /// If it is there already, or the list is full.
    pub fn name(&mut self, address: SocketAddrV4) -> Result<(), NotSubscribed> {
        if self.find(address).is_some() {
            return Err(NotSubscribed::Twice);
        }
        self.push(address, Stay::Always)
    }

    /// Gives `address` a lease, or renews it. One that was named stays without.
    ///
    /// # Errors
    /// If the list is full, or its host has too many.
    pub fn lease(&mut self, address: SocketAddrV4, until_ns: u64) -> Result<Lease, NotSubscribed> {
        if let Some(at) = self.find(address) {
            if let Stay::Until(until) = &mut self.now[at].stay {
                *until = until_ns;
            }
            return Ok(Lease::Renewed);
        }
        let of_host = self.now.iter().filter(|one| one.address.ip() == address.ip()).count();
        if of_host >= SUBSCRIBERS_PER_HOST_MAX {
            return Err(NotSubscribed::HostFull);
        }
        self.push(address, Stay::Until(until_ns)).map(|()| Lease::New)
    }

    /// Ends a lease before its time. One that was named stays.
    pub fn leave(&mut self, address: SocketAddrV4) {
        let leased = |at: &usize| self.now[*at].stay != Stay::Always;
        if let Some(at) = self.find(address).filter(leased) {
            self.left += 1;
            self.remove(at);
        }
    }

    /// Removes those whose lease has ended.
    pub fn expire(&mut self, now_ns: u64) {
        let is_over = |one: &Subscriber| matches!(one.stay, Stay::Until(until) if until <= now_ns);
        while let Some(at) = self.now.iter().position(is_over) {
            self.expired += 1;
            self.remove(at);
        }
    }

    /// Counts a datagram to the subscriber at that place of [`Subscribers::all`].
    pub fn count(&mut self, at: usize, sent: io::Result<()>) {
        self.now[at].counts.count(sent);
    }

    /// Adds datagrams that the kernel sent to a subscriber, or to a former one.
    pub fn add_sent(&mut self, address: SocketAddrV4, sent: u64) {
        let counts = match self.find(address) {
            Some(at) => &mut self.now[at].counts,
            None => {
                let former = self.former.iter_mut().find(|(known, _)| *known == address);
                former.map_or(&mut self.others, |(_, counts)| counts)
            }
        };
        counts.sent += sent;
    }

    /// Notes why the subscriber at that place of [`Subscribers::all`] gets nothing, unless there is
    /// a reason already.
    pub fn note(&mut self, at: usize, why: impl FnOnce() -> String) {
        self.now[at].counts.failure.get_or_insert_with(why);
    }

    /// Subscribers that get copies now.
    pub fn all(&self) -> &[Subscriber] {
        &self.now
    }

    /// Counts of former ones, and the sum of those that are not kept apart, with their number.
    pub fn former(&self) -> (&[(SocketAddrV4, SentCounts)], &SentCounts, u64) {
        (&self.former, &self.others, self.others_count)
    }

    /// Leases that ended because nobody renewed them.
    pub fn expired(&self) -> u64 {
        self.expired
    }

    /// Subscribers that ended their lease themselves.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Changes with every change of [`Subscribers::all`] but of its counts.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    fn find(&self, address: SocketAddrV4) -> Option<usize> {
        self.now.iter().position(|one| one.address == address)
    }

    fn push(&mut self, address: SocketAddrV4, stay: Stay) -> Result<(), NotSubscribed> {
        if self.now.len() >= self.max {
            return Err(NotSubscribed::Full { max: self.max });
        }
        self.now.push(Subscriber { address, counts: SentCounts::default(), stay });
        self.changes += 1;
        Ok(())
    }

    /// The others keep their order, so a fixed order stays one.
    fn remove(&mut self, at: usize) {
        let Subscriber { address, counts, .. } = self.now.remove(at);
        self.changes += 1;
        // One that comes and goes has one row.
        match self.former.iter().position(|(known, _)| *known == address) {
            Some(known) => self.former[known].1.add(counts),
            None if self.former.len() < FORMER_MAX => self.former.push((address, counts)),
            None => {
                self.others.add(counts);
                self.others_count += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn at(host: u32, port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::from_bits(0x0A00_0000 + host), port)
    }

    fn addresses(subscribers: &Subscribers) -> Vec<SocketAddrV4> {
        subscribers.all().iter().map(|one| one.address).collect()
    }

    #[test]
    fn a_lease_ends_unless_it_is_renewed() {
        let mut subscribers = Subscribers::default();
        subscribers.name(at(1, 1)).unwrap();
        assert_eq!(subscribers.name(at(1, 1)), Err(NotSubscribed::Twice));
        assert_eq!(subscribers.lease(at(2, 1), 100), Ok(Lease::New));
        assert_eq!(subscribers.lease(at(3, 1), 100), Ok(Lease::New));
        assert_eq!(subscribers.lease(at(2, 1), 200), Ok(Lease::Renewed));
        subscribers.expire(99);
        assert_eq!(addresses(&subscribers), [at(1, 1), at(2, 1), at(3, 1)]);
        subscribers.expire(100);
        assert_eq!(addresses(&subscribers), [at(1, 1), at(2, 1)]);
        subscribers.leave(at(2, 1));
        subscribers.leave(at(1, 1));
        assert_eq!(addresses(&subscribers), [at(1, 1)], "one that was named stays");
        assert_eq!((subscribers.expired(), subscribers.left()), (1, 1));
    }

    /// The counts keep what was sent to one that left, whether it came back or not.
    #[test]
    fn nothing_sent_is_forgotten() {
        let mut subscribers = Subscribers::default();
        for _ in 0..2 {
            subscribers.lease(at(1, 1), 1).unwrap();
            subscribers.count(0, Ok(()));
            subscribers.count(0, Err(io::ErrorKind::WouldBlock.into()));
            subscribers.count(0, Err(io::Error::from_raw_os_error(libc::EPERM)));
            subscribers.expire(1);
        }
        let (former, others, others_count) = subscribers.former();
        let [(address, counts)] = former else { panic!("one row: {former:?}") };
        assert_eq!(*address, at(1, 1));
        assert_eq!((counts.sent, counts.no_room, counts.failed), (2, 2, 2));
        assert!(counts.failure.as_ref().unwrap().contains("not permitted"));
        assert_eq!((others, others_count), (&SentCounts::default(), 0));
    }

    #[test]
    fn the_limits_are_kept() {
        let mut subscribers = Subscribers::default();
        for port in 1..=SUBSCRIBERS_PER_HOST_MAX as u16 {
            subscribers.lease(at(0, port), 1).unwrap();
        }
        assert_eq!(subscribers.lease(at(0, 999), 1), Err(NotSubscribed::HostFull));
        assert_eq!(subscribers.lease(at(0, 1), 1), Ok(Lease::Renewed), "it has its place");
        for host in 1..=(SUBSCRIBERS_MAX - SUBSCRIBERS_PER_HOST_MAX) as u32 {
            subscribers.lease(at(host, 1), 1).unwrap();
        }
        let full = NotSubscribed::Full { max: SUBSCRIBERS_MAX };
        assert_eq!(subscribers.lease(at(5_000, 1), 1), Err(full));
        // More former ones than are kept apart.
        subscribers.expire(1);
        for host in 0..10 {
            subscribers.lease(at(9_000 + host, 1), 2).unwrap();
            subscribers.count(0, Ok(()));
            subscribers.expire(2);
        }
        let (former, others, count) = subscribers.former();
        assert_eq!((former.len(), others.sent, count), (FORMER_MAX, 10, 10));
    }
}
