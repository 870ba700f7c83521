//! Snapshots of an exchange's journal while it runs. A second engine follows the log and writes
//! them, so that the working engine never stops.

use host::HostError;
use journal::{JournalError, Snapshotter, Watch};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The thread that writes snapshots. When the exchange ends, it writes a last one.
pub(crate) struct Snapshots {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Snapshots {
    /// Begins to write one every `interval` in which something was logged.
    pub(crate) fn start(
        journal: PathBuf,
        watch: Watch,
        interval: Duration,
        place: impl FnOnce() -> Result<(), HostError> + Send + 'static,
    ) -> io::Result<Snapshots> {
        let ends = Arc::new(AtomicBool::new(false));
        let its_ends = Arc::clone(&ends);
        let thread = thread::Builder::new().name("snapshots".to_owned()).spawn(move || {
            if let Err(error) = place() {
                eprintln!("warning: {error}");
            }
            if let Err(error) = follow(&journal, &watch, interval, &its_ends) {
                eprintln!(
                    "warning: no more snapshots: {error}; the journal continues, and recovery replays \
                     all inputs since the last snapshot"
                );
            }
        })?;
        Ok(Snapshots { ends, thread })
    }

    /// Writes a last snapshot after the journal was closed.
    pub(crate) fn end(self) {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        // It has no reason to panic; if it did, it has said so.
        let _ = self.thread.join();
    }
}

fn follow(
    journal: &Path,
    watch: &Watch,
    interval: Duration,
    ends: &AtomicBool,
) -> Result<(), JournalError> {
    let mut snapshotter = Snapshotter::open(journal)?;
    loop {
        let is_last = ends.load(Ordering::Relaxed);
        // An input whose reports may wait for a follower stays out: a session of FIX is told from
        // the log what it lacks.
        let end = watch.durable_and_acknowledged();
        if end > snapshotter.next_sequence() {
            snapshotter.advance(end)?;
            snapshotter.save()?;
        }
        if is_last {
            return Ok(());
        }
        // The end unparks it, and may do so before it parks.
        thread::park_timeout(interval);
    }
}
