//! Frames in and out: what a stack stands on. Tests put a harmful one in between.

use std::io;

/// A source and sink of Ethernet frames that never blocks.
pub trait Frames {
    /// Passes the next frame to `take`; false if there is none now.
    fn receive(&mut self, take: impl FnOnce(&[u8])) -> bool;

    /// Queues a frame of `bytes` that `fill` writes. False if there is no room for it; `fill` was
    /// not called then.
    fn send(&mut self, bytes: usize, fill: impl FnOnce(&mut [u8])) -> bool;

    /// Hands queued frames to the interface. Those that exceed its rings stay queued.
    ///
    /// # Errors
    /// If the interface is gone or down.
    fn flush(&mut self) -> io::Result<()>;
}
