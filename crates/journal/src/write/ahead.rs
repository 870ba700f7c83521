//! The thread that makes the next segment while the present one is written, so that the writer
//! never waits for it, and a full disk is detected one segment ahead.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvError, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::JournalError;
use crate::file::directory::Directory;
use crate::file::header::Header;
use crate::file::segment::{Segment, end_of};
use crate::write::state::WriterState;

/// Time between two tries on a full disk.
pub(crate) const RETRY: Duration = Duration::from_millis(100);

/// The writer's end: takes finished segments.
pub(crate) struct SegmentMaker {
    /// The first input of the next segment to make.
    orders: Option<SyncSender<u64>>,
    made: Receiver<Segment>,
    thread: Option<JoinHandle<()>>,
}

/// Parameters of all segments.
pub(crate) struct Maker {
    pub directory: Directory,
    /// Header of the first one; the others differ only in their sequence.
    pub header: Header,
    pub zeroed: bool,
    pub shared: Arc<WriterState>,
}

impl SegmentMaker {
    /// Starts the thread, which makes the segment that begins with `first`.
    pub fn start(maker: Maker, first: u64) -> std::io::Result<SegmentMaker> {
        let (orders, to_do) = sync_channel(1);
        let (done, made) = sync_channel(1);
        let work = move || {
            for first in to_do {
                let Some(segment) = maker.make(first) else { return };
                if done.send(segment).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("journal-ahead".into()).spawn(work)?;
        let ahead = SegmentMaker { orders: Some(orders), made, thread: Some(thread) };
        ahead.ask(first);
        Ok(ahead)
    }

    fn ask(&self, first: u64) {
        if let Some(orders) = &self.orders {
            // The thread ends only with the journal, which then takes no segments.
            let _ = orders.send(first);
        }
    }

    /// Takes the next segment, waiting if necessary, and orders the one after it. `None` if
    /// `goes_on`, which it asks while it waits, said no.
    ///
    /// # Errors
    /// The journal has ended.
    pub fn take(&self, goes_on: &mut dyn FnMut() -> bool) -> Result<Option<Segment>, RecvError> {
        loop {
            match self.made.recv_timeout(RETRY) {
                Ok(segment) => {
                    self.ask(segment.end());
                    return Ok(Some(segment));
                }
                Err(RecvTimeoutError::Timeout) if goes_on() => {}
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => return Err(RecvError),
            }
        }
    }
}

impl Drop for SegmentMaker {
    /// Waits for the thread, so that it makes nothing after the writer's lock is released.
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Maker {
    /// Makes a segment as soon as there is room; `None` if the journal has ended.
    fn make(&self, first: u64) -> Option<Segment> {
        let header = Header { sequence: first, ..self.header };
        loop {
            match Segment::create(&self.directory, header, self.zeroed) {
                Ok(segment) => {
                    self.shared.set_room_end(end_of(&header));
                    return Some(segment);
                }
                Err(JournalError::NoRoom { .. }) if !self.shared.is_over() => {
                    self.shared.set_no_room();
                    std::thread::sleep(RETRY);
                }
                Err(JournalError::NoRoom { .. }) => return None,
                Err(error) => {
                    self.shared.fail(error);
                    return None;
                }
            }
        }
    }
}
