//! A place for each peer of a socket, and the server's side of the handshake.
//!
//! The table keeps nothing of an address that has not returned its cookie, and sends nothing longer
//! than its question there.

use crate::acked::datagram::{Datagram, DatagramKind, Handshake};
use crate::acked::peer::Peer;
use crate::cookie::{Challenges, Cookie, NoRandomNumbers, random_number};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// Limit on the peers of a socket.
pub const PEERS_MAX: usize = 256;
/// The longest that a removed peer's last bytes are sent again, ns.
pub const LINGER_NS: u64 = 1_000_000_000;

/// The bits of a connection's number that are its place. The others are random.
const PLACE_BITS: u32 = 16;
const _: () = assert!(PEERS_MAX <= 1 << PLACE_BITS);

/// The meaning of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramMeaning {
    /// Nothing to the caller.
    Nothing,
    /// There is a new peer in this place.
    New(usize),
    /// The peer in this place received it.
    Peer(usize),
}

/// Counts of the datagrams that were not a connection's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableCounts {
    /// Cookies given.
    pub challenged: u64,
    /// Cookies not given, for [the limit](crate::cookie::CHALLENGES_PER_SECOND_MAX).
    pub unchallenged: u64,
    /// Connections given.
    pub accepted: u64,
    /// Connections not given, for [`PEERS_MAX`].
    pub full: u64,
    /// Requests for a connection with a cookie that is too old, or not of that address.
    pub bad_cookies: u64,
    /// Datagrams that name an unknown connection, or come from another address than its peer's.
    pub strangers: u64,
    /// Datagrams that are damaged, or not ours, or make no sense.
    pub malformed: u64,
}

/// The counts of a set that accepts peers, once the set is gone.
pub type SharedCounts = Arc<Mutex<TableCounts>>;

/// A peer and its address.
struct PeerEntry {
    peer: Peer,
    address: SocketAddr,
    /// The number that its client gave its handshake.
    token: u64,
    /// The caller has removed it: it ends when its last bytes were acknowledged, or then.
    lingers_until_ns: Option<u64>,
}

/// The peers of a socket. Datagrams to send go to the `send` of each call, with their destination.
/// Times are ns of the caller's clock.
pub struct Table {
    places: Vec<Option<PeerEntry>>,
    /// `None`: it accepts no connections.
    challenges: Option<Challenges>,
    counts: TableCounts,
}

impl Table {
    /// The table of a socket that accepts connections, or of one that makes them.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn new(accepts: bool) -> Result<Table, NoRandomNumbers> {
        let challenges = accepts.then(Challenges::new).transpose()?;
        let places = Vec::with_capacity(PEERS_MAX);
        Ok(Table { places, challenges, counts: TableCounts::default() })
    }

    /// Its counts so far.
    pub fn counts(&self) -> TableCounts {
        self.counts
    }

    /// The peer in that place, and its address.
    #[inline]
    pub fn peer(&mut self, place: usize) -> Option<(&mut Peer, SocketAddr)> {
        let place = self.places.get_mut(place)?.as_mut()?;
        Some((&mut place.peer, place.address))
    }

    /// Where the peer in that place is.
    pub fn address(&self, place: usize) -> Option<SocketAddr> {
        Some(self.places.get(place)?.as_ref()?.address)
    }

    /// Adds the connection of that number, which a [`Dial`](crate::acked::Dial) got from `address`.
    /// Gives its place, or `None` past [`PEERS_MAX`].
    pub fn dialled(&mut self, connection: u64, address: SocketAddr, now_ns: u64) -> Option<usize> {
        let place = self.free_place()?;
        let peer = Peer::new(connection, now_ns);
        self.places[place] = Some(PeerEntry { peer, address, token: 0, lingers_until_ns: None });
        Some(place)
    }

    /// Takes a datagram that came from that address.
    #[inline]
    pub fn receive(
        &mut self,
        bytes: &[u8],
        from: SocketAddr,
        now_ns: u64,
        send: &mut impl FnMut(&[u8], SocketAddr),
    ) -> DatagramMeaning {
        match Datagram::decode(bytes) {
            Some(Datagram::Connection(header, payload)) => {
                let place = self.place_of(header.connection);
                let Some(known) = place
                    .and_then(|place| self.places[place].as_mut())
                    .filter(|known| known.address == from)
                else {
                    self.counts.strangers += 1;
                    return DatagramMeaning::Nothing;
                };
                if !known.peer.receive(&header, payload, now_ns, &mut |out| send(out, from)) {
                    self.counts.malformed += 1;
                }
                place.map_or(DatagramMeaning::Nothing, DatagramMeaning::Peer)
            }
            Some(Datagram::Handshake(message)) => self.greet(&message, from, now_ns, send),
            None => {
                self.counts.malformed += 1;
                DatagramMeaning::Nothing
            }
        }
    }

    /// The caller has no more use for that peer: its end is sent, and it is forgotten when that was
    /// acknowledged, or after [`LINGER_NS`].
    pub fn remove(&mut self, place: usize, now_ns: u64, send: &mut impl FnMut(&[u8], SocketAddr)) {
        let Some(Some(removed)) = self.places.get_mut(place) else { return };
        let to = removed.address;
        removed.peer.finish(now_ns, &mut |out| send(out, to));
        removed.lingers_until_ns = Some(now_ns + LINGER_NS);
    }

    /// Does what is due for every peer. Gives when it is to be called next; `gone` gets the places
    /// of peers that were lost.
    pub fn poll(
        &mut self,
        now_ns: u64,
        send: &mut impl FnMut(&[u8], SocketAddr),
        mut gone: impl FnMut(usize),
    ) -> u64 {
        let mut due_ns = u64::MAX;
        for (index, place) in self.places.iter_mut().enumerate() {
            let Some(known) = place else { continue };
            let to = known.address;
            known.peer.poll(now_ns, &mut |out| send(out, to));
            match known.lingers_until_ns {
                None if known.peer.end().is_some() => gone(index),
                None => {}
                Some(until_ns) => {
                    let is_over = known.peer.is_done() || known.peer.end().is_some();
                    if !is_over && now_ns < until_ns {
                        due_ns = due_ns.min(until_ns);
                    } else {
                        if !is_over {
                            known.peer.reset(now_ns, &mut |out| send(out, to));
                        }
                        *place = None;
                        continue;
                    }
                }
            }
            due_ns = due_ns.min(known.peer.due_ns());
        }
        due_ns
    }

    /// The system says that the other end's port is closed, of a socket that has one other end.
    pub fn refused(&mut self, now_ns: u64) {
        self.places.iter_mut().flatten().for_each(|place| place.peer.refused(now_ns));
    }

    /// Ends all connections at once.
    pub fn reset_all(&mut self, now_ns: u64, send: &mut impl FnMut(&[u8], SocketAddr)) {
        for place in self.places.iter_mut().flatten() {
            let to = place.address;
            if !place.peer.is_done() {
                place.peer.reset(now_ns, &mut |out| send(out, to));
            }
        }
    }

    /// The place that a connection of this number is in, if it is there.
    #[inline]
    fn place_of(&self, connection: u64) -> Option<usize> {
        match self.challenges {
            Some(_) => {
                let place = (connection & ((1 << PLACE_BITS) - 1)) as usize;
                let known = self.places.get(place)?.as_ref()?;
                (known.peer.connection() == connection).then_some(place)
            }
            // The number is the server's; a client has few.
            None => self.places.iter().position(|place| {
                place.as_ref().is_some_and(|known| known.peer.connection() == connection)
            }),
        }
    }

    fn free_place(&mut self) -> Option<usize> {
        let free = self.places.iter().position(Option::is_none);
        if free.is_none() && self.places.len() < PEERS_MAX {
            self.places.push(None);
            return Some(self.places.len() - 1);
        }
        free
    }

    #[cold]
    fn greet(
        &mut self,
        message: &Handshake,
        from: SocketAddr,
        now_ns: u64,
        send: &mut impl FnMut(&[u8], SocketAddr),
    ) -> DatagramMeaning {
        let Some(challenges) = &mut self.challenges else { return DatagramMeaning::Nothing };
        if from.port() == 0 || !matches!(message.kind, DatagramKind::Hello | DatagramKind::Connect)
        {
            self.counts.malformed += 1;
            return DatagramMeaning::Nothing;
        }
        let is_confirmed = message.kind == DatagramKind::Connect
            && challenges.is_good(&message.cookie, from, now_ns);
        if !is_confirmed {
            self.counts.bad_cookies += u64::from(message.kind == DatagramKind::Connect);
            match challenges.give(from, now_ns) {
                Some(cookie) => {
                    self.counts.challenged += 1;
                    let answer = Handshake::new(DatagramKind::Challenge, message.token, cookie);
                    send(&answer.encode(), from);
                }
                None => self.counts.unchallenged += 1,
            }
            return DatagramMeaning::Nothing;
        }
        self.admit(message.token, from, now_ns, send)
    }

    /// The address has returned its cookie.
    fn admit(
        &mut self,
        token: u64,
        from: SocketAddr,
        now_ns: u64,
        send: &mut impl FnMut(&[u8], SocketAddr),
    ) -> DatagramMeaning {
        let is_its = |place: &PeerEntry| place.address == from && place.token == token;
        // The answer was lost, or the question came twice.
        if let Some(known) = self.places.iter().flatten().find(|place| is_its(place)) {
            send(&accepted(token, known.peer.connection()), from);
            return DatagramMeaning::Nothing;
        }
        let (Some(place), Ok(random)) = (self.free_place(), random_number()) else {
            self.counts.full += 1;
            send(&Handshake::new(DatagramKind::Full, token, Cookie::default()).encode(), from);
            return DatagramMeaning::Nothing;
        };
        let connection = ((random >> PLACE_BITS) << PLACE_BITS) | place as u64;
        let peer = Peer::new(connection, now_ns);
        self.places[place] = Some(PeerEntry { peer, address: from, token, lingers_until_ns: None });
        self.counts.accepted += 1;
        send(&accepted(token, connection), from);
        DatagramMeaning::New(place)
    }
}

fn accepted(token: u64, connection: u64) -> [u8; crate::acked::HANDSHAKE_BYTES] {
    let answer = Handshake::new(DatagramKind::Accepted, token, Cookie::default());
    Handshake { connection, ..answer }.encode()
}
