//! Ticks of the raw ticker over a connection, one after the other, all as long.

use crate::tick::frames::{Frames, copy};
use std::io;
use transport::StreamReceiver;
use transport::echo::ticker::TICK_BYTES_MAX;

/// See the module.
pub(crate) struct RawFrames {
    tick_bytes: usize,
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl RawFrames {
    pub(crate) fn new(tick_bytes: usize) -> RawFrames {
        let bytes = vec![0; 2 * TICK_BYTES_MAX].into_boxed_slice();
        RawFrames { tick_bytes: tick_bytes.clamp(1, TICK_BYTES_MAX), bytes, start: 0, end: 0 }
    }
}

impl Frames for RawFrames {
    fn space(&mut self) -> &mut [u8] {
        if self.bytes.len() - self.end < TICK_BYTES_MAX {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        &mut self.bytes[self.end..]
    }

    fn filled(&mut self, n: usize, _read_ns: u64) {
        self.end += n;
    }

    #[inline]
    fn next(&mut self, _: &mut StreamReceiver, into: &mut [u8]) -> io::Result<Option<usize>> {
        if self.end - self.start < self.tick_bytes {
            return Ok(None);
        }
        let n = copy(&self.bytes[self.start..self.start + self.tick_bytes], into)?;
        self.start += n;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        Ok(Some(n))
    }

    #[inline]
    fn ends_read(&self) -> bool {
        self.start == self.end
    }
}

#[cfg(test)]
#[path = "raw_tests.rs"]
mod tests;
