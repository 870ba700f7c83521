//! Stage 1, ingest: where ticks come to.

use crate::tick::frames::FrameReceiver;
use crate::tick::frames::fix::FixFrames;
use crate::tick::frames::raw::RawFrames;
use crate::tick::frames::web::WebFrames;
use clock::wall::Wall;
use std::os::fd::BorrowedFd;
use transport::datagram::{Datagram, DatagramReceiver};

/// A receiver of ticks. Never blocks.
pub(crate) enum TickReceiver {
    Datagrams(Box<DatagramReceiver>),
    Web(Box<FrameReceiver<WebFrames>>),
    Fix(Box<FrameReceiver<FixFrames>>),
    /// The receiver of a floor.
    Raw(Box<FrameReceiver<RawFrames>>),
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
            TickReceiver::Web(web) => web.receive(into),
            TickReceiver::Fix(fix) => fix.receive(into),
            TickReceiver::Raw(raw) => raw.receive(into),
        }
    }

    /// When the kernel received the latest one, ns on the clock; 0: unknown.
    pub(crate) fn kernel_ns(&mut self) -> u64 {
        match self {
            TickReceiver::Datagrams(datagrams) => datagrams.kernel_ns(),
            TickReceiver::Web(web) => web.kernel_ns(),
            TickReceiver::Fix(fix) => fix.kernel_ns(),
            TickReceiver::Raw(raw) => raw.kernel_ns(),
        }
    }

    /// Counts drops of the kernel from now on.
    pub(crate) fn count_drops(&mut self) {
        if let TickReceiver::Datagrams(datagrams) = self {
            datagrams.count_drops();
        }
    }

    /// Reads the wall clock again, and keeps a session alive: about once a second.
    pub(crate) fn look_after(&mut self) {
        match self {
            TickReceiver::Datagrams(datagrams) => datagrams.refresh_wall(),
            TickReceiver::Web(web) => web.look_after(),
            TickReceiver::Fix(fix) => fix.look_after(),
            TickReceiver::Raw(raw) => raw.look_after(),
        }
    }

    /// The wall clock that converts the kernel's stamps to our clock.
    pub(crate) fn wall(&self) -> Option<&Wall> {
        match self {
            TickReceiver::Datagrams(datagrams) => datagrams.wall(),
            TickReceiver::Web(web) => web.stream.wall(),
            TickReceiver::Fix(fix) => fix.stream.wall(),
            TickReceiver::Raw(raw) => raw.stream.wall(),
        }
    }

    /// Source of the latest stamp of the kernel.
    pub(crate) fn kernel_stamps(&self) -> &'static str {
        match self {
            TickReceiver::Datagrams(datagrams) => datagrams.kernel_stamps(),
            TickReceiver::Web(web) => web.stream.kernel_stamps(),
            TickReceiver::Fix(fix) => fix.stream.kernel_stamps(),
            TickReceiver::Raw(raw) => raw.stream.kernel_stamps(),
        }
    }

    /// The kernel's socket; `None`: there is none below it.
    pub(crate) fn socket(&self) -> Option<BorrowedFd<'_>> {
        match self {
            TickReceiver::Datagrams(datagrams) => datagrams.socket(),
            TickReceiver::Web(web) => Some(web.stream.socket()),
            TickReceiver::Fix(fix) => Some(fix.stream.socket()),
            TickReceiver::Raw(raw) => Some(raw.stream.socket()),
        }
    }

    /// The receiver of datagrams, whose kernel may drop some.
    pub(crate) fn datagrams(&self) -> Option<&DatagramReceiver> {
        match self {
            TickReceiver::Datagrams(datagrams) => Some(datagrams),
            TickReceiver::Web(_) | TickReceiver::Fix(_) | TickReceiver::Raw(_) => None,
        }
    }
}
