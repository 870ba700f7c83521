//! Room on a follower's disk: what is written beside the records waits for it, as they do.

use std::time::Duration;

/// Told when the disk becomes full and when it has room again, and asked again and again while the
/// store waits for room. Returns whether to go on waiting.
pub type TellRoom = dyn FnMut(bool) -> bool + Send;

/// Time between two tries on a full disk, as a journal's.
const RETRY: Duration = Duration::from_millis(100);

/// Whether there is room, as it was told last.
pub(crate) struct Room {
    tell: Box<TellRoom>,
    is_full: bool,
}

impl Room {
    pub(crate) fn new(tell: Box<TellRoom>) -> Room {
        Room { tell, is_full: false }
    }

    /// Tells it if it has changed.
    pub(crate) fn set(&mut self, is_full: bool) {
        if self.is_full != is_full {
            self.ask(is_full);
        }
    }

    /// Tells it during a wait. Returns whether to go on waiting.
    pub(crate) fn ask(&mut self, is_full: bool) -> bool {
        self.is_full = is_full;
        (self.tell)(is_full)
    }

    /// Writes as soon as there is room. A segment that is being made may take all of it for a
    /// moment. `write` may fail at any place, and has to begin anew; `is_no_room` says whether
    /// there may be room later. Returns whether it is written: if not, nobody wants to wait.
    ///
    /// # Errors
    /// Errors of `write` with another reason than no room.
    pub(crate) fn write<E>(
        &mut self,
        mut write: impl FnMut() -> Result<(), E>,
        is_no_room: impl Fn(&E) -> bool,
    ) -> Result<bool, E> {
        loop {
            match write() {
                Err(error) if is_no_room(&error) => {
                    if !self.ask(true) {
                        return Ok(false);
                    }
                    std::thread::sleep(RETRY);
                }
                written => return written.map(|()| true),
            }
        }
    }
}
