//! The pairs, and what each event does to them.

use crate::forward::dial::dial;
use crate::forward::pair::{Pair, Side};
use crate::forward::{Counts, Limits, Target, UnreachableExchange};
use crate::streams::{RECEIVED_AHEAD_BYTES_MAX, StreamId, StreamRead, Streams, Write};
use clock::Clock;
use std::io;

/// Most bytes of one read.
const READ_BYTES: usize = 64 * 1024;

pub(super) struct Forwarder<'a> {
    pub streams: &'a mut dyn Streams,
    exchange: Target<'a>,
    limits: Limits,
    clock: Clock,
    report: &'a mut dyn FnMut(UnreachableExchange),
    pub counts: Counts,
    pairs: Vec<Pair>,
    /// Places in `pairs` without a pair.
    vacant: Vec<usize>,
    /// Which side of which pair each stream is.
    owners: Vec<Option<(usize, Side)>>,
    /// Index of the exchange's address to try first.
    first: usize,
    /// Whether the last connection that came could be accepted.
    accepts: bool,
    buffer: Box<[u8]>,
}

impl<'a> Forwarder<'a> {
    pub(super) fn new(
        streams: &'a mut dyn Streams,
        exchange: Target<'a>,
        limits: Limits,
        clock: Clock,
        report: &'a mut dyn FnMut(UnreachableExchange),
    ) -> Forwarder<'a> {
        Forwarder {
            streams,
            exchange,
            limits,
            clock,
            report,
            counts: Counts::new(),
            pairs: Vec::with_capacity(limits.connections_max),
            vacant: Vec::with_capacity(limits.connections_max),
            owners: Vec::with_capacity(2 * limits.connections_max + 1),
            first: 0,
            accepts: true,
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
        }
    }

    #[inline]
    fn owner(&self, id: StreamId) -> Option<(usize, Side)> {
        self.owners.get(id.index()).copied().flatten()
    }

    fn own(&mut self, id: StreamId, at: usize, side: Side) {
        while self.owners.len() <= id.index() {
            self.owners.push(None);
        }
        self.owners[id.index()] = Some((at, side));
        self.pairs[at].half_mut(side).id = Some(id);
    }

    pub(super) fn accept(&mut self) {
        loop {
            let client = match self.streams.accept() {
                Ok(Some(client)) => client,
                Ok(None) => return,
                Err(_) => {
                    // It is tried again and again, for the same connection.
                    self.counts.accepts_failed += u64::from(self.accepts);
                    self.accepts = false;
                    return;
                }
            };
            self.accepts = true;
            if self.pairs.len() - self.vacant.len() >= self.limits.connections_max {
                self.counts.rejected_connections += 1;
                self.streams.remove(client);
                continue;
            }
            self.counts.connections += 1;
            let at = self.vacant.pop().unwrap_or_else(|| {
                self.pairs.push(Pair::default());
                self.pairs.len() - 1
            });
            let until_ns = self.clock.now_ns() + self.limits.connect_ns_max;
            let capacity = self.limits.buffered_bytes_max + READ_BYTES;
            self.pairs[at].begin(client, capacity, until_ns);
            let to_exchange = &mut self.pairs[at].half_mut(Side::Exchange).out;
            to_exchange.extend_from_slice(self.exchange.greeting);
            self.own(client, at, Side::Client);
            self.connect(at, None);
        }
    }

    /// Tries the exchange's next address; if there is none, closes the client. `why` is the error
    /// of the address before.
    fn connect(&mut self, at: usize, mut why: Option<io::Error>) {
        while let Some(index) =
            self.pairs[at].next_address(self.first, self.exchange.addresses.len())
        {
            let address = self.exchange.addresses[index];
            match dial(address).and_then(|socket| self.streams.add(socket.into())) {
                Ok(id) => {
                    self.own(id, at, Side::Exchange);
                    // It takes bytes once it is connected.
                    self.pairs[at].half_mut(Side::Exchange).watched = true;
                    match self.streams.watch_writable(id, true) {
                        Ok(()) => return,
                        Err(error) => why = Some(error),
                    }
                    self.remove(at, Side::Exchange);
                }
                Err(error) => why = Some(error),
            }
        }
        self.unreachable(at, why.unwrap_or_else(|| io::ErrorKind::NotConnected.into()));
    }

    fn unreachable(&mut self, at: usize, error: io::Error) {
        self.counts.exchange_unreachable += 1;
        let address = self.exchange.addresses[self.pairs[at].address];
        let count = self.counts.exchange_unreachable;
        self.close(at);
        (self.report)(UnreachableExchange { address, error, count });
    }

    pub(super) fn read(&mut self, id: StreamId) {
        let Some((at, from)) = self.owner(id) else { return };
        let pair = &self.pairs[at];
        let most = self.limits.buffered_bytes_max + RECEIVED_AHEAD_BYTES_MAX;
        if pair.half(from).ended || pair.half(from.other()).out.len() >= most {
            return;
        }
        let is_connecting = pair.is_connecting(from);
        match self.streams.read(id, &mut self.buffer) {
            StreamRead::Bytes { n, stamp_ns } => self.pass_on(at, from, n, stamp_ns),
            StreamRead::Empty => {}
            StreamRead::Failed(error) if is_connecting => {
                self.remove(at, from);
                self.connect(at, Some(error));
            }
            StreamRead::Closed => self.ended(at, from),
            StreamRead::Failed(_) => self.broken(at, from),
        }
    }

    /// Writes the `n` bytes in the buffer to the other side, or keeps them for it.
    #[inline]
    fn pass_on(&mut self, at: usize, from: Side, n: usize, read_ns: u64) {
        let to = from.other();
        let pair = &mut self.pairs[at];
        let is_connecting = pair.is_connecting(to);
        let half = pair.half_mut(to);
        let carried = match to {
            Side::Exchange => &mut self.counts.to_exchange,
            Side::Client => &mut self.counts.to_client,
        };
        let mut taken = 0;
        if half.out.is_empty() && !is_connecting {
            // One that broke takes nothing; the bytes are dropped.
            let Some(id) = half.id else { return };
            match self.streams.write(id, &self.buffer[..n]) {
                Write::Bytes { n: all, stamp_ns } if all == n => {
                    carried.bytes += n as u64;
                    let residence_ns = stamp_ns.saturating_sub(read_ns);
                    carried.residence_ns.saturating_record(residence_ns);
                    return;
                }
                Write::Bytes { n, .. } => taken = n,
                Write::Failed(_) => return self.broken(at, to),
            }
        }
        carried.bytes += taken as u64;
        carried.deferred += 1;
        half.out.extend_from_slice(&self.buffer[taken..n]);
        self.balance(at, to);
    }

    pub(super) fn writable(&mut self, id: StreamId) {
        let Some((at, to)) = self.owner(id) else { return };
        if self.pairs[at].is_connecting(to) {
            if self.streams.peer(id).is_none() {
                // Not connected: the read says why.
                return self.read(id);
            }
            self.pairs[at].connect_until_ns = None;
            self.first = self.pairs[at].address;
        }
        self.flush(at, to);
    }

    /// Writes what waits for a side, as far as it takes it.
    fn flush(&mut self, at: usize, to: Side) {
        let half = self.pairs[at].half_mut(to);
        let Some(id) = half.id else { return };
        if !half.out.is_empty() {
            match self.streams.write(id, &half.out) {
                Write::Bytes { n, .. } => {
                    half.out.drain(..n);
                    if n > 0 {
                        half.stuck_since_ns = None;
                    }
                    match to {
                        Side::Exchange => self.counts.to_exchange.bytes += n as u64,
                        Side::Client => self.counts.to_client.bytes += n as u64,
                    }
                }
                Write::Failed(_) => return self.broken(at, to),
            }
        }
        self.balance(at, to);
        self.settle(at);
    }

    /// Watches a side while something waits for it. While that is too much, the other one is not
    /// read, and a client whose replies wait is not read either.
    fn balance(&mut self, at: usize, to: Side) {
        let pair = &mut self.pairs[at];
        let is_connecting = pair.is_connecting(to);
        let half = pair.half_mut(to);
        let waiting_bytes = half.out.len();
        let watch = waiting_bytes > 0 || is_connecting;
        if let Some(id) = half.id
            && watch != half.watched
        {
            half.watched = watch;
            if self.streams.watch_writable(id, watch).is_err() {
                return self.broken(at, to);
            }
        }
        let half = self.pairs[at].half_mut(to);
        half.congested = match half.congested {
            true => waiting_bytes > 0,
            false => waiting_bytes >= self.limits.buffered_bytes_max,
        };
        Side::BOTH.iter().for_each(|side| self.pause_or_resume(at, *side));
    }

    fn pause_or_resume(&mut self, at: usize, side: Side) {
        let pause = self.pairs[at].must_pause(side);
        let half = self.pairs[at].half_mut(side);
        let Some(id) = half.id.filter(|_| pause != half.paused && !half.ended) else { return };
        half.paused = pause;
        if self.streams.watch_readable(id, !pause).is_err() {
            self.broken(at, side);
        }
    }

    /// Nothing more comes from a side, which may still take bytes.
    #[cold]
    fn ended(&mut self, at: usize, side: Side) {
        let half = self.pairs[at].half_mut(side);
        half.ended = true;
        if let Some(id) = half.id {
            // One that is still reported is not read any more.
            let _ = self.streams.watch_readable(id, false);
        }
        self.settle(at);
    }

    /// A side broke: nothing comes from it, and it takes nothing.
    #[cold]
    fn broken(&mut self, at: usize, side: Side) {
        self.remove(at, side);
        let half = self.pairs[at].half_mut(side);
        half.ended = true;
        half.out.clear();
        // The other side may be paused for its sake.
        self.balance(at, side);
        self.settle(at);
    }

    /// Passes ends on, and forgets a pair that is over.
    fn settle(&mut self, at: usize) {
        let pair = &mut self.pairs[at];
        if !Side::BOTH.iter().any(|side| pair.half(*side).ended) {
            return;
        }
        if pair.cut_at_ns.is_none() {
            pair.cut_at_ns = Some(self.clock.now_ns() + self.limits.linger_ns_max);
        }
        for side in Side::BOTH {
            let pair = &mut self.pairs[at];
            // A socket that connects can't be sent an end; it is when it has connected.
            if !pair.half(side.other()).ended || pair.is_connecting(side) {
                continue;
            }
            let half = pair.half_mut(side);
            let Some(id) = half.id.filter(|_| half.out.is_empty()) else { continue };
            if half.ended {
                self.remove(at, side);
            } else if !std::mem::replace(&mut half.shut, true) {
                self.streams.shutdown(id);
            }
        }
        self.forget_if_over(at);
    }

    fn forget_if_over(&mut self, at: usize) {
        let pair = &mut self.pairs[at];
        if Side::BOTH.iter().all(|side| pair.half(*side).id.is_none()) && pair.is_open {
            pair.is_open = false;
            self.vacant.push(at);
        }
    }

    fn remove(&mut self, at: usize, side: Side) {
        if let Some(id) = self.pairs[at].half_mut(side).id.take() {
            self.streams.remove(id);
            self.owners[id.index()] = None;
        }
    }

    /// Closes both sides at once.
    fn close(&mut self, at: usize) {
        Side::BOTH.iter().for_each(|side| self.remove(at, *side));
        self.forget_if_over(at);
    }

    pub(super) fn sweep(&mut self, now_ns: u64) {
        for at in 0..self.pairs.len() {
            let pair = &self.pairs[at];
            if !pair.is_open {
                continue;
            }
            let is_over = |limit_ns: Option<u64>| limit_ns.is_some_and(|until| now_ns >= until);
            if is_over(pair.connect_until_ns) {
                let limit_ms = self.limits.connect_ns_max / 1_000_000;
                let why = format!("no answer in {limit_ms} ms (limit connect_ns_max)");
                self.unreachable(at, io::Error::new(io::ErrorKind::TimedOut, why));
            } else if is_over(pair.cut_at_ns) {
                self.counts.cut += 1;
                self.close(at);
            } else if self.is_stuck(at, now_ns) {
                self.counts.slow_readers += 1;
                self.close(at);
            }
        }
    }

    /// Whether a client has taken none of too many bytes for too long: it would keep its place from
    /// others for ever.
    fn is_stuck(&mut self, at: usize, now_ns: u64) -> bool {
        let client = self.pairs[at].half_mut(Side::Client);
        if !client.congested {
            client.stuck_since_ns = None;
            return false;
        }
        let since_ns = *client.stuck_since_ns.get_or_insert(now_ns);
        now_ns.saturating_sub(since_ns) >= self.limits.stuck_ns_max
    }

    /// Ends every pair; what waits leaves as far as the kernel takes it now.
    pub(super) fn close_all(&mut self) {
        for at in 0..self.pairs.len() {
            Side::BOTH.iter().for_each(|side| self.flush(at, *side));
            Side::BOTH.iter().for_each(|side| self.remove(at, *side));
        }
    }
}
