//! The clock of a run, its stop flag, and reads that wait no longer than they may.

use clock::Clock;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use transport::Connection;

/// Shorter pauses than this are spun away: a sleep may last that much too long.
const SLEEP_NS_MIN: u64 = 100_000;

/// The clock, stop flag and time limit of every step.
pub(crate) struct StepTimer<'a> {
    pub clock: Clock,
    pub stop: &'a AtomicBool,
    /// Sockets don't block.
    pub spins: bool,
    pub patience: Duration,
}

impl StepTimer<'_> {
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Reads some bytes; also the time at which the read returned.
    ///
    /// # Errors
    /// If the target closed the connection, or nothing came in time.
    pub(crate) fn read(
        &self,
        connection: &mut Connection,
        into: &mut [u8],
    ) -> io::Result<(usize, u64)> {
        let deadline_ns = self.clock.now_ns() + self.patience.as_nanos() as u64;
        loop {
            let read = connection.read(into);
            let now_ns = self.clock.now_ns();
            match read {
                Ok(0) => {
                    let text = "the target closed the connection";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
                }
                Ok(n) => return Ok((n, now_ns)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A socket that blocks says the same after its own time-out.
                Err(error) if is_empty(&error) => {
                    if self.is_stopped() {
                        return Err(io::Error::new(io::ErrorKind::Interrupted, "told to stop"));
                    }
                    if now_ns >= deadline_ns {
                        return Err(self.timed_out());
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn timed_out(&self) -> io::Error {
        let text = format!("no answer within {} s", self.patience.as_secs_f64());
        io::Error::new(io::ErrorKind::TimedOut, text)
    }

    /// Waits until `until_ns`, or until it is told to stop.
    pub(crate) fn wait(&self, until_ns: u64) {
        loop {
            let left_ns = until_ns.saturating_sub(self.clock.now_ns());
            if left_ns == 0 || self.is_stopped() {
                return;
            }
            if !self.spins && left_ns > SLEEP_NS_MIN {
                // In pieces, so that it can be told to stop.
                let piece_ns = (left_ns - SLEEP_NS_MIN).min(100_000_000);
                std::thread::sleep(Duration::from_nanos(piece_ns));
            }
        }
    }
}

pub(crate) fn is_empty(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
