//! Stage 1, ingest: where ticks come to.

use crate::tick::frames::FrameReceiver;
use clock::wall::Wall;
use std::os::fd::BorrowedFd;
use transport::datagram::{Datagram, DatagramReceiver};

/// A receiver of ticks. Never blocks.
pub(crate) enum TickReceiver {
    Datagrams(Box<DatagramReceiver>),
    Frames(Box<FrameReceiver>),
}

impl From<DatagramReceiver> for TickReceiver {
    fn from(receiver: DatagramReceiver) -> TickReceiver {
        TickReceiver::Datagrams(Box::new(receiver))
    }
}

impl TickReceiver {
    /// The next datagram or message, if one is there, into `into`.
    #[inline]
    pub(crate) fn receive(&mut self, into: &mut [u8]) -> Datagram {
        match self {
            TickReceiver::Datagrams(datagrams) => datagrams.receive(into),
            TickReceiver::Frames(frames) => frames.receive(into),
        }
    }

    /// When the kernel received the latest one, ns on the clock; 0: unknown.
    pub(crate) fn kernel_ns(&mut self) -> u64 {
        match self {
            TickReceiver::Datagrams(datagrams) => datagrams.kernel_ns(),
            TickReceiver::Frames(frames) => frames.kernel_ns(),
        }
    }

    /// Counts drops of the kernel from now on.
    pub(crate) fn count_drops(&mut self) {
        if let TickReceiver::Datagrams(datagrams) = self {
            datagrams.count_drops();
        }
    }

    /// Reads the wall clock again: about once a second.
    pub(crate) fn refresh_wall(&mut self) {
        match self {
            TickReceiver::Datagrams(datagrams) => datagrams.refresh_wall(),
            TickReceiver::Frames(frames) => frames.stream.refresh_wall(),
        }
    }

    /// The wall clock by which the kernel's stamps are laid on ours.
    pub(crate) fn wall(&self) -> Option<&Wall> {
        match self {
            TickReceiver::Datagrams(datagrams) => datagrams.wall(),
            TickReceiver::Frames(frames) => frames.stream.wall(),
        }
    }

    /// Source of the latest stamp of the kernel.
    pub(crate) fn kernel_stamps(&self) -> &'static str {
        match self {
            TickReceiver::Datagrams(datagrams) => datagrams.kernel_stamps(),
            TickReceiver::Frames(frames) => frames.stream.kernel_stamps(),
        }
    }

    /// The kernel's socket; `None`: there is none below it.
    pub(crate) fn socket(&self) -> Option<BorrowedFd<'_>> {
        match self {
            TickReceiver::Datagrams(datagrams) => datagrams.socket(),
            TickReceiver::Frames(frames) => Some(frames.stream.socket()),
        }
    }

    /// The receiver of datagrams, whose kernel may drop some.
    pub(crate) fn datagrams(&self) -> Option<&DatagramReceiver> {
        match self {
            TickReceiver::Datagrams(datagrams) => Some(datagrams),
            TickReceiver::Frames(_) => None,
        }
    }
}
