//! A client and its connection to the exchange.

use crate::streams::StreamId;

/// One side of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Exchange,
}

impl Side {
    pub(super) const BOTH: [Side; 2] = [Side::Client, Side::Exchange];

    pub(super) fn other(self) -> Side {
        match self {
            Side::Client => Side::Exchange,
            Side::Exchange => Side::Client,
        }
    }
}

/// State of one side.
#[derive(Default)]
pub(super) struct SideState {
    /// `None` once the stream was removed.
    pub id: Option<StreamId>,
    /// Bytes that it did not take at once.
    pub out: Vec<u8>,
    /// Too many waited. Everything must leave before it is like any other, so that the watch does
    /// not change for each write.
    pub congested: bool,
    /// Since when a congested side has taken nothing, as far as the sweeps saw.
    pub stuck_since_ns: Option<u64>,
    /// Nothing more comes from it.
    pub ended: bool,
    /// It was sent our end.
    pub shut: bool,
    /// It is not read, because a side does not take its bytes.
    pub paused: bool,
    /// It is watched until it takes bytes again.
    pub watched: bool,
}

impl SideState {
    fn begin(&mut self, id: Option<StreamId>, capacity: usize) {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        // Bytes received ahead may have made it larger.
        out.shrink_to(capacity);
        out.reserve_exact(capacity);
        *self = SideState { id, out, ..SideState::default() };
    }
}

/// A place for a pair. Its buffers stay for the next pair that takes it.
#[derive(Default)]
pub(super) struct Pair {
    client: SideState,
    exchange: SideState,
    /// When the connection to the exchange must be there; `None` once it is.
    pub connect_until_ns: Option<u64>,
    /// Addresses of the exchange that were tried.
    attempts: usize,
    /// Index of the one that was tried last.
    pub address: usize,
    /// When it is cut; set as its first side ends.
    pub cut_at_ns: Option<u64>,
    /// There is a pair in this place.
    pub is_open: bool,
}

impl Pair {
    /// For a client that was accepted. Each buffer holds `capacity` bytes without an allocation.
    pub(super) fn begin(&mut self, client: StreamId, capacity: usize, connect_until_ns: u64) {
        self.client.begin(Some(client), capacity);
        self.exchange.begin(None, capacity);
        self.connect_until_ns = Some(connect_until_ns);
        self.attempts = 0;
        self.cut_at_ns = None;
        self.is_open = true;
    }

    /// The index of the exchange's address to try next, of `count`, beginning with `first`.
    pub(super) fn next_address(&mut self, first: usize, count: usize) -> Option<usize> {
        self.address = match self.attempts {
            0 => first,
            attempts if attempts < count => (self.address + 1) % count,
            _ => return None,
        };
        self.attempts += 1;
        Some(self.address)
    }

    /// Whether this side is the exchange's and not connected yet.
    #[inline]
    pub(super) fn is_connecting(&self, side: Side) -> bool {
        side == Side::Exchange && self.connect_until_ns.is_some()
    }

    /// Whether this side must not be read now. A client's messages lead to replies, so a client
    /// that takes none of them is not read either.
    pub(super) fn must_pause(&self, side: Side) -> bool {
        match side {
            Side::Client => self.client.congested || self.exchange.congested,
            Side::Exchange => self.client.congested,
        }
    }

    #[inline]
    pub(super) fn half(&self, side: Side) -> &SideState {
        match side {
            Side::Client => &self.client,
            Side::Exchange => &self.exchange,
        }
    }

    #[inline]
    pub(super) fn half_mut(&mut self, side: Side) -> &mut SideState {
        match side {
            Side::Client => &mut self.client,
            Side::Exchange => &mut self.exchange,
        }
    }
}
