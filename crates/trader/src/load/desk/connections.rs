//! The desk's connections (lanes), and how it writes to them.

use crate::load::desk::lane::{LANE_BYTES_MAX, LoadLane};
use crate::load::desk::ledger::Ledger;
use crate::load::desk::stamping::Stamping;
use between::ways::KernelTimes;
use record::KernelStamped;
use std::io;
use transport::{StreamId, Streams, Write};

/// Limit on unanswered messages per lane; further ones wait and are late. Their replies stay below
/// the megabyte after which an exchange takes a client for one that does not read.
const LANE_UNANSWERED_MAX: u32 = 2048;

pub(crate) struct Connections {
    pub(crate) streams: Box<dyn Streams>,
    pub(crate) lanes: Vec<LoadLane>,
    lane_of_stream: Vec<usize>,
    /// Lanes with bytes that no write has been tried for.
    pub(super) dirty: Vec<usize>,
    /// Each message is a write of its own.
    pub(super) is_datagrams: bool,
    /// `None`: the kernel stamps nothing.
    pub(super) stamping: Option<Stamping>,
}

impl Connections {
    /// `streams` has one stream per lane, in order.
    pub(super) fn new(streams: Box<dyn Streams>, ids: &[StreamId]) -> Connections {
        let mut lane_of_stream = vec![0; ids.iter().map(|id| id.index() + 1).max().unwrap_or(0)];
        let lanes = ids.iter().enumerate().map(|(lane, &stream)| {
            lane_of_stream[stream.index()] = lane;
            LoadLane::new(stream)
        });
        Connections {
            streams,
            lanes: lanes.collect(),
            lane_of_stream,
            dirty: Vec::with_capacity(ids.len()),
            is_datagrams: false,
            stamping: None,
        }
    }

    #[inline]
    pub(crate) fn lane_of(&self, stream: StreamId) -> usize {
        self.lane_of_stream[stream.index()]
    }

    /// From now on the lane uses this stream.
    pub(crate) fn use_stream(&mut self, lane: usize, stream: StreamId, now_ns: u64) {
        if self.lane_of_stream.len() <= stream.index() {
            self.lane_of_stream.resize(stream.index() + 1, 0);
        }
        self.lane_of_stream[stream.index()] = lane;
        let lane = &mut self.lanes[lane];
        (lane.stream, lane.watched, lane.quiet_since_ns) = (stream, false, now_ns);
    }

    /// Whether a further message of that account must wait.
    #[inline]
    pub(super) fn is_full(&self, account: usize) -> bool {
        let lane = &self.lanes[account % self.lanes.len()];
        lane.bytes.len() > LANE_BYTES_MAX || lane.unanswered >= LANE_UNANSWERED_MAX
    }

    /// Something was appended to the lane, and waits for a write.
    #[inline]
    pub(crate) fn mark(&mut self, index: usize) {
        if !self.lanes[index].dirty {
            self.lanes[index].dirty = true;
            self.dirty.push(index);
        }
    }

    /// Writes what was appended to a lane: one call, or one per datagram. The first stamp of
    /// invariant 6, the last instruction before the write, is for every message of the batch. The
    /// write that takes the last byte of a message stamps it again.
    ///
    /// # Errors
    /// The connection has failed.
    #[inline]
    pub(super) fn flush(&mut self, index: usize, ledger: &mut Ledger) -> io::Result<()> {
        while self.write(index, ledger)? {}
        Ok(())
    }

    /// One write. Returns whether the next datagram may follow.
    #[inline]
    fn write(&mut self, index: usize, ledger: &mut Ledger) -> io::Result<bool> {
        let lane = &mut self.lanes[index];
        let one = lane.unsent.first().filter(|_| self.is_datagrams);
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
            Write::Failed(error) => return Err(error),
        };
        if let Some(stamping) = self.stamping.as_mut().filter(|_| is_stamped && n > 0) {
            stamping.wrote(index, until(n));
        }
        let whole = until(n).count();
        ledger.wrote(until(n), stamp_ns);
        lane.unsent.drain(..whole);
        lane.unsent.iter_mut().for_each(|unsent| unsent.end -= n);
        lane.bytes.drain(..n);
        let watch = !lane.bytes.is_empty();
        if watch && n > 0 && self.is_datagrams {
            return Ok(true);
        }
        if watch != lane.watched {
            lane.watched = watch;
            self.streams.watch_writable(lane.stream, watch)?;
        }
        Ok(false)
    }

    /// Counts of the stamped messages, and the times of those that were kept.
    pub(crate) fn into_stamped(self) -> Option<(KernelStamped, Vec<KernelTimes>)> {
        self.stamping.map(Stamping::finish)
    }
}
