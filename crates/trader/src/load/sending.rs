//! The desk's connections, and how it writes to them.

use crate::load::desk::{Desk, WAIT_NS_MAX};
use crate::load::rows::SEND_LATENESS;
use crate::load::session::OrderProtocol;
use transport::{Ready, StreamRead, Write};

/// Time that the other end has for the answer to a logout.
const LOG_OFF_NS_MAX: u64 = 500_000_000;

impl<E: OrderProtocol> Desk<E> {
    /// Writes what was appended, one call per lane, the lane of the earliest message first.
    #[inline]
    pub(crate) fn flush(&mut self) {
        for place in 0..self.dirty.len() {
            let lane = self.dirty[place];
            self.lanes[lane].dirty = false;
            // A lane with a full socket is written when the socket is ready again.
            if !self.lanes[lane].watched && !self.lanes[lane].bytes.is_empty() {
                self.flush_lane(lane);
            }
        }
        self.dirty.clear();
    }

    /// The first stamp of invariant 6, the last instruction before the write, for every message of
    /// the batch. The write that takes the last byte of a message stamps it again.
    pub(super) fn flush_lane(&mut self, index: usize) {
        while self.write_lane(index) {}
    }

    /// One write. Returns whether the next datagram may follow.
    fn write_lane(&mut self, index: usize) -> bool {
        let lane = &mut self.lanes[index];
        let one = lane.unsent.first().filter(|_| self.patience.is_some());
        let end = one.map_or(lane.bytes.len(), |datagram| datagram.end);
        let until = |end: usize| {
            let written = lane.unsent.iter().take_while(move |unsent| unsent.end <= end);
            written.map(|unsent| (unsent.number, unsent.message))
        };
        let is_stamped = self.stamping.as_ref().is_some_and(|one| one.wants(index, until(end)));
        if is_stamped {
            self.streams.stamp_next_write(lane.stream);
        }
        let (n, stamp_ns) = match self.streams.write(lane.stream, &lane.bytes[..end]) {
            Write::Bytes { n, stamp_ns } => (n, stamp_ns),
            Write::Failed(error) => {
                self.fail_lane(index, &error.to_string());
                return false;
            }
        };
        if let Some(stamping) = self.stamping.as_mut().filter(|_| is_stamped && n > 0) {
            stamping.wrote(index, until(n));
        }
        let whole = until(n).count();
        for unsent in &lane.unsent[..whole] {
            if let Some(order) = self.in_flight.order(unsent.number) {
                let measured = order.measured;
                let stamps = order.stamps(unsent.message);
                stamps.sent_ns = stamp_ns;
                // Ping-pong has no schedule, so nothing in it is late.
                if measured && self.load.rate_per_second_offered.is_some() {
                    let lateness_ns = stamp_ns.saturating_sub(stamps.intended_ns);
                    self.recorder.record(SEND_LATENESS, lateness_ns);
                }
            }
        }
        if whole > 0 {
            self.last_sent_ns = stamp_ns;
        }
        if let Some(patience) = &mut self.patience {
            patience.sent(until(n), &mut self.in_flight);
        }
        lane.unsent.drain(..whole);
        lane.unsent.iter_mut().for_each(|unsent| unsent.end -= n);
        lane.bytes.drain(..n);
        let watch = !lane.bytes.is_empty();
        if watch && n > 0 && self.patience.is_some() {
            return true;
        }
        if watch != lane.watched {
            lane.watched = watch;
            if let Err(error) = self.streams.watch_writable(lane.stream, watch) {
                self.fail_lane(index, &error.to_string());
            }
        }
        false
    }

    /// Lets each session say that it lives, where it must.
    pub(super) fn keep_alive(&mut self, now_ns: u64) {
        for lane in 0..self.lanes.len() {
            let bytes = &mut self.lanes[lane].bytes;
            let before = bytes.len();
            if let Err(why) = self.entry.keep_alive(lane, now_ns, bytes) {
                return self.fail_lane(lane, &why);
            }
            self.send_own(lane, before);
        }
    }

    /// Sends at once what a session has appended for itself to `before` bytes.
    pub(super) fn send_own(&mut self, lane: usize, before: usize) {
        if self.lanes[lane].bytes.len() > before && !self.lanes[lane].watched {
            self.flush_lane(lane);
        }
    }

    /// Ends each session in order, and waits a moment for the answers.
    pub(super) fn log_off(&mut self) {
        if self.broken || self.in_flight.unanswered > 0 {
            return;
        }
        let mut now_ns = self.clock.now_ns();
        let mut waits: Vec<bool> = Vec::with_capacity(self.lanes.len());
        for lane in 0..self.lanes.len() {
            let before = self.lanes[lane].bytes.len();
            self.entry.log_off(lane, now_ns, &mut self.lanes[lane].bytes);
            waits.push(self.lanes[lane].bytes.len() > before);
            self.send_own(lane, before);
        }
        let until_ns = now_ns + LOG_OFF_NS_MAX;
        while waits.contains(&true) && now_ns < until_ns && !self.broken {
            self.wait(until_ns.min(now_ns + WAIT_NS_MAX));
            for index in 0..self.ready.len() {
                if let Ready::Readable(stream) = self.ready[index] {
                    let lane = self.lane_of(stream);
                    waits[lane] &= !self.is_logged_off(lane);
                }
            }
            now_ns = self.clock.now_ns();
        }
    }

    /// Reads once. Whether the lane's session has ended.
    fn is_logged_off(&mut self, lane: usize) -> bool {
        match self.streams.read(self.lanes[lane].stream, self.entry.space(lane)) {
            StreamRead::Empty => false,
            StreamRead::Closed | StreamRead::Failed(_) => true,
            StreamRead::Bytes { n, stamp_ns } => {
                self.entry.filled(lane, n, stamp_ns);
                loop {
                    match self.entry.next(lane, &mut self.lanes[lane].bytes) {
                        Ok(Some(_)) => {}
                        Ok(None) => return false,
                        Err(_) => return true,
                    }
                }
            }
        }
    }
}
