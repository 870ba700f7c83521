//! Answers on their way out: one buffer per connection. A part of it may have to wait until what it
//! acknowledges is durable.

use crate::streams::StreamId;
use std::collections::VecDeque;
use std::net::IpAddr;

/// First capacity of a connection's buffer, enough for some two hundred acks.
const LANE_BYTES: usize = 64 * 1024;

#[derive(Clone, Copy)]
struct Hold {
    mark: u64,
    from: usize,
}

/// How many bytes may wait for one connection. A connection for which more wait is cut off at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// That may leave.
    pub free_bytes_max: usize,
    /// That wait to be released.
    pub held_bytes_max: usize,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { free_bytes_max: usize::MAX, held_bytes_max: 0 }
    }
}

/// Answers on their way out, a buffer a connection.
#[derive(Default)]
pub struct Outbound {
    pub(crate) lanes: Vec<OutboundLane>,
    /// Lanes with something to do since the last flush.
    pub(crate) dirty: Vec<StreamId>,
    /// Answers appended now may not leave before this is released.
    mark: u64,
    released: u64,
    /// Lanes with bytes that wait to be released.
    held: Vec<StreamId>,
    /// Before a connection's login.
    bounds: Bounds,
    /// After its login.
    bounds_admitted: Bounds,
    /// Bytes that waited for all connections together when each was last flushed.
    total_bytes: usize,
}

#[derive(Default)]
pub(crate) struct OutboundLane {
    bytes: Vec<u8>,
    /// Bytes at the front that have left. They are removed once they are half of all, so that a
    /// long answer is not moved at each write.
    gone: usize,
    pub state: State,
    dirty: bool,
    /// How many bytes there were before it became dirty.
    settled: usize,
    /// From which byte on they wait, and for which mark; both rise.
    holds: VecDeque<Hold>,
    pub watched: bool,
    bounds: Bounds,
    is_admitted: bool,
    /// More waited than may: what waited is thrown away, and the connection is to be cut off.
    pub is_over: bool,
    /// So many of its bytes are in the total.
    counted_bytes: usize,
    /// Which peers are counted together with its own.
    pub peer: Option<IpAddr>,
    /// While more waits than may: since when it is not less, and how much that is.
    pub stuck: Option<Stuck>,
    /// The service was told of this connection; not of one that is rejected.
    pub served: bool,
    /// When the sweep gives up waiting for a connection that we end.
    pub ends_at_ns: Option<u64>,
}

/// The least that a lane has been down to while more waits than may.
#[derive(Clone, Copy)]
pub(crate) struct Stuck {
    least_bytes: usize,
    since_ns: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum State {
    #[default]
    Vacant,
    Open,
    /// Ends as soon as its bytes are out.
    Closing,
    /// Our side has ended; what the peer still sends is thrown away until it ends too, so that it
    /// reads our last bytes and not a reset.
    Draining,
}

impl Outbound {
    /// The buffer for answers to this connection. Answers to a closed connection are dropped.
    #[inline]
    pub fn to(&mut self, id: StreamId) -> &mut Vec<u8> {
        let lane = &mut self.lanes[id.index()];
        if !lane.dirty {
            lane.dirty = true;
            lane.settled = lane.bytes.len();
            self.dirty.push(id);
        }
        if lane.waiting_bytes() > lane.bounds.free_bytes_max {
            lane.check_bounds();
        }
        &mut lane.bytes
    }

    /// Sets how much may wait for a connection before and after [`Outbound::admit`].
    pub(crate) fn set_bounds(&mut self, before: Bounds, admitted: Bounds) {
        (self.bounds, self.bounds_admitted) = (before, admitted);
    }

    /// The connection has logged in: more may wait for it than for one that has not.
    pub fn admit(&mut self, id: StreamId) {
        if let Some(lane) = self.lanes.get_mut(id.index()) {
            lane.bounds = self.bounds_admitted;
            lane.is_admitted = true;
        }
    }

    /// Counts what waits for this connection now.
    #[inline]
    pub(crate) fn count(&mut self, id: StreamId) {
        let lane = &mut self.lanes[id.index()];
        let waiting = lane.waiting_bytes();
        if waiting != lane.counted_bytes {
            self.total_bytes = self.total_bytes + waiting - lane.counted_bytes;
            lane.counted_bytes = waiting;
        }
    }

    /// Bytes that wait for all connections together.
    #[inline]
    pub(crate) fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    /// The connection for which most waits.
    #[cold]
    pub(crate) fn fullest(&self) -> Option<StreamId> {
        let lanes = self.lanes.iter().enumerate();
        let fullest = lanes.max_by_key(|(_, lane)| lane.counted_bytes)?;
        Some(StreamId(fullest.0 as u32))
    }

    /// Ends the connection when its answers are out. What it sends from now on is not read.
    pub fn close(&mut self, id: StreamId) {
        self.to(id);
        let lane = &mut self.lanes[id.index()];
        if lane.state == State::Open {
            lane.state = State::Closing;
        }
    }

    /// Whether the connection still takes answers.
    pub fn is_open(&self, id: StreamId) -> bool {
        self.lanes.get(id.index()).is_some_and(|lane| lane.state == State::Open)
    }

    /// Bytes that wait for this connection: what was appended and has not been written.
    #[inline]
    pub fn waiting_bytes(&self, id: StreamId) -> usize {
        self.lanes.get(id.index()).map_or(0, OutboundLane::waiting_bytes)
    }

    /// Makes room for a connection. [`serve`] does it for those it accepts; a test that drives a
    /// [`Service`] without sockets does it itself.
    pub fn open(&mut self, id: StreamId) {
        while self.lanes.len() <= id.index() {
            let bytes = Vec::with_capacity(LANE_BYTES);
            self.lanes.push(OutboundLane { bytes, ..OutboundLane::default() });
        }
        let lane = &mut self.lanes[id.index()];
        lane.state = State::Open;
        lane.bounds = self.bounds;
        lane.is_admitted = false;
        lane.is_over = false;
    }

    /// Answers appended from now on leave when `mark` is released; marks rise. Without a call
    /// nothing ever waits.
    pub fn hold(&mut self, mark: u64) {
        self.mark = mark;
    }

    /// The mark that was released last.
    #[inline]
    pub(crate) fn released(&self) -> u64 {
        self.released
    }

    /// Lets everything leave that waits for `mark` or a lower one.
    #[inline]
    pub fn release(&mut self, mark: u64) {
        if mark == self.released {
            return;
        }
        self.released = mark;
        for index in (0..self.held.len()).rev() {
            let id = self.held[index];
            let lane = &mut self.lanes[id.index()];
            lane.holds.retain(|hold| hold.mark > mark);
            if lane.holds.is_empty() {
                self.held.swap_remove(index);
            }
            self.to(id);
        }
    }

    /// Whether a mark is still to be released.
    #[inline]
    pub(crate) fn awaits_release(&self) -> bool {
        self.mark > self.released
    }

    /// A lane is about to be flushed: what was appended to it waits, if it has to.
    #[inline]
    pub(crate) fn settle(&mut self, id: StreamId) {
        let awaits_release = self.awaits_release();
        let lane = &mut self.lanes[id.index()];
        lane.dirty = false;
        if awaits_release && lane.bytes.len() > lane.settled {
            if lane.holds.is_empty() {
                self.held.push(id);
            }
            if lane.holds.back().is_none_or(|hold| hold.mark < self.mark) {
                lane.holds.push_back(Hold { mark: self.mark, from: lane.settled });
            }
        }
    }
}

impl OutboundLane {
    /// The bytes that may leave.
    #[inline]
    pub fn free(&self) -> &[u8] {
        let end = self.holds.front().map_or(self.bytes.len(), |hold| hold.from);
        &self.bytes[self.gone..end]
    }

    /// Bytes that have not left, whether they may or not.
    #[inline]
    pub fn waiting_bytes(&self) -> usize {
        self.bytes.len() - self.gone
    }

    /// Bytes that may not leave yet.
    pub fn held_bytes(&self) -> usize {
        self.waiting_bytes() - self.free().len()
    }

    /// Whether the connection has logged in.
    pub fn is_admitted(&self) -> bool {
        self.is_admitted
    }

    /// Drops what waits if it is beyond the bounds, so that memory stays bounded until the flush.
    #[cold]
    fn check_bounds(&mut self) {
        let Bounds { free_bytes_max, held_bytes_max } = self.bounds;
        let total_max = free_bytes_max.saturating_add(held_bytes_max);
        if self.is_over || self.free().len() > free_bytes_max || self.waiting_bytes() > total_max {
            self.clear();
            self.is_over = true;
        }
    }

    /// Marks bytes as gone. Usually the kernel takes everything, and nothing is moved.
    #[inline]
    pub fn written(&mut self, bytes: usize) {
        self.gone += bytes;
        if self.gone * 2 >= self.bytes.len() {
            self.bytes.drain(..self.gone);
            self.holds.iter_mut().for_each(|hold| hold.from -= self.gone);
            self.gone = 0;
        }
    }

    /// Whether more than `bytes_max` may leave and has not decreased for `patience_ns`. A client
    /// that reads takes everything made for it, however much; one that does not read, or reads more
    /// slowly than it asks, is stuck.
    pub fn is_stuck(&mut self, bytes_max: usize, patience_ns: u64, now_ns: u64) -> bool {
        let waiting = self.free().len();
        if waiting <= bytes_max {
            self.stuck = None;
            return false;
        }
        match self.stuck {
            Some(Stuck { least_bytes, since_ns }) if waiting >= least_bytes => {
                now_ns.saturating_sub(since_ns) >= patience_ns
            }
            _ => {
                self.stuck = Some(Stuck { least_bytes: waiting, since_ns: now_ns });
                false
            }
        }
    }

    /// Nothing of this leaves any more, and what was taken beyond the first capacity is given back.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(LANE_BYTES);
        self.holds.clear();
        self.gone = 0;
        self.settled = 0;
        self.stuck = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flushes a lane as the loop does, through a socket that takes everything; returns what left.
    fn flush(outbound: &mut Outbound) -> String {
        let mut left = String::new();
        for id in std::mem::take(&mut outbound.dirty) {
            outbound.settle(id);
            let lane = &mut outbound.lanes[id.index()];
            left += std::str::from_utf8(lane.free()).unwrap();
            lane.written(lane.free().len());
        }
        left
    }

    #[test]
    fn what_is_held_leaves_when_it_is_released_and_in_order() {
        let (mut outbound, id) = (Outbound::default(), StreamId(0));
        outbound.open(id);
        outbound.to(id).extend(b"free,");
        assert_eq!(flush(&mut outbound), "free,");
        for (mark, text) in [(1, "one,"), (2, "two,"), (2, "two too,"), (5, "five,")] {
            outbound.hold(mark);
            outbound.to(id).extend(text.bytes());
            assert_eq!(flush(&mut outbound), "");
        }
        assert!(outbound.awaits_release());
        outbound.release(3);
        assert_eq!(flush(&mut outbound), "one,two,two too,");
        outbound.release(5);
        assert!(!outbound.awaits_release());
        // Nothing new is to be safe: it leaves at once, behind what was held.
        outbound.to(id).extend(b"free");
        assert_eq!(flush(&mut outbound), "five,free");
    }

    #[test]
    fn one_lane_does_not_hold_another_and_one_that_ends_holds_nothing() {
        let (mut outbound, ids) = (Outbound::default(), [StreamId(0), StreamId(1)]);
        ids.iter().for_each(|id| outbound.open(*id));
        outbound.hold(1);
        outbound.to(ids[0]).extend(b"zero");
        assert_eq!(flush(&mut outbound), "");
        outbound.hold(2);
        outbound.to(ids[1]).extend(b"one");
        assert_eq!(flush(&mut outbound), "");
        outbound.lanes[0].clear();
        outbound.to(ids[0]).extend(b"next");
        outbound.release(1);
        assert_eq!(flush(&mut outbound), "");
        outbound.release(2);
        assert_eq!(flush(&mut outbound), "nextone");
        assert!(!outbound.awaits_release());
    }

    /// Bytes leave in parts, and some are held: none is lost, none comes twice.
    #[test]
    fn what_leaves_in_parts_is_whole() {
        let (mut outbound, id) = (Outbound::default(), StreamId(0));
        outbound.open(id);
        let (mut left, mut given) = (Vec::<u8>::new(), Vec::<u8>::new());
        for round in 0..200u64 {
            outbound.hold(round / 3);
            let part: Vec<u8> = (0..round % 7).map(|n| (round + n) as u8).collect();
            outbound.to(id).extend(&part);
            given.extend(&part);
            outbound.release(round.saturating_sub(4) / 3);
            outbound.dirty.clear();
            outbound.settle(id);
            let lane = &mut outbound.lanes[0];
            let taken = lane.free().len().min(round as usize % 5);
            left.extend(&lane.free()[..taken]);
            lane.written(taken);
            assert_eq!(lane.waiting_bytes(), given.len() - left.len());
        }
        outbound.release(100);
        left.extend(outbound.lanes[0].free());
        assert_eq!(left, given);
    }

    #[test]
    fn who_takes_something_is_not_stuck() {
        let mut lane = OutboundLane { bytes: vec![0; 100], ..OutboundLane::default() };
        assert!(!lane.is_stuck(100, 5, 0), "not past the limit");
        lane.bytes.resize(200, 0);
        assert!(!lane.is_stuck(100, 5, 1) && !lane.is_stuck(100, 5, 5));
        lane.written(1);
        lane.bytes.resize(200, 0);
        assert!(!lane.is_stuck(100, 5, 6) && !lane.is_stuck(100, 5, 10));
        // More, but it never was less.
        lane.bytes.resize(300, 0);
        assert!(lane.is_stuck(100, 5, 11));
        lane.written(210);
        assert!(!lane.is_stuck(100, 5, 12));
    }
}
