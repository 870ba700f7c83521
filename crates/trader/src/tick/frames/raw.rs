//! Ticks of the raw ticker over a connection, one after the other, all as long.

use crate::tick::frames::{Frames, copy};
use std::io;
use transport::StreamReceiver;
use transport::echo::Inbound;
use transport::echo::ticker::TICK_BYTES_MAX;

/// See the module.
pub(crate) struct RawFrames {
    tick_bytes: usize,
    inbound: Inbound,
}

impl RawFrames {
    pub(crate) fn new(tick_bytes: usize) -> RawFrames {
        let tick_bytes = tick_bytes.clamp(1, TICK_BYTES_MAX);
        RawFrames { tick_bytes, inbound: Inbound::default() }
    }
}

impl Frames for RawFrames {
    fn space(&mut self) -> &mut [u8] {
        self.inbound.space()
    }

    fn filled(&mut self, n: usize, read_ns: u64) {
        self.inbound.filled(n, read_ns);
    }

    #[inline]
    fn next(&mut self, _: &mut StreamReceiver, into: &mut [u8]) -> io::Result<Option<usize>> {
        let length = self.tick_bytes;
        let whole = |bytes: &[u8]| io::Result::Ok((bytes.len() >= length).then_some(length));
        let taken = self.inbound.take_by(whole)?;
        taken.map(|(tick, _)| copy(tick, into)).transpose()
    }

    #[inline]
    fn ends_read(&self) -> bool {
        self.inbound.is_empty()
    }
}

#[cfg(test)]
#[path = "raw_tests.rs"]
mod tests;
