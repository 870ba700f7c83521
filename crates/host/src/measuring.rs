//! A measuring thread: it measures on its own core while the caller's thread writes its log.
//!
//! ```text
//!   caller's thread                                measuring thread
//!   opens the log, spawns ───────────────────────> pins itself, sets everything up
//!   takes the recording <── Reporter::start ────── records
//!   after the run, or during it: writes the log    returns the result
//! ```

use crate::HostError;
use crate::thread::pin;
use clock::recorder::{Drain, Interval};
use clock::wall_now;
use record::ClientResult;
use record::directory::cannot_write;
use record::progress::Second;
use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::SystemTime;

/// A run on a measuring thread.
pub struct MeasuringRun<'a> {
    /// Name of the series in the log.
    pub subject: &'a str,
    /// The log, which is appended to.
    pub hlog: &'a str,
    /// The core to pin to; without one the kernel places the thread.
    pub core: Option<usize>,
    /// Whether the log is written while the thread measures. It must be in a run whose intervals
    /// don't fit into memory ([`clock::recorder::SECONDS_IN_MEMORY_MAX`]).
    pub writes_meanwhile: bool,
    /// Whether somebody watches: then intervals are reported as they end, even if they are written
    /// after the run.
    pub progress: bool,
    /// Ends the run when it is set. Set here too when the log can't be written.
    pub stop: &'a AtomicBool,
}

/// A report from the measuring thread while it works.
pub enum Report<'a> {
    /// An interval of the recording has ended.
    Interval(&'a Interval),
    /// The thread's own report of a second, from [`Reporter::tell`].
    Second(Second),
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum MeasuringError {
    /// The thread can't be pinned.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The log can't be written.
    #[error("{}", cannot_write(path, source))]
    Log {
        /// Its path.
        path: String,
        /// The error of the file system.
        source: io::Error,
    },
    /// A bug.
    #[error("the measuring thread panicked; this is a bug in tickpath, please report it")]
    Panicked,
}

/// The measuring thread's end.
pub struct Reporter {
    sender: mpsc::Sender<Message>,
}

enum Message {
    Recording(Recording),
    Second(Second),
}

/// Intervals to write, and the wall-clock time of `start_ns`.
struct Recording {
    drain: Drain,
    started: SystemTime,
    start_ns: u64,
}

impl Reporter {
    /// Hands over `drain`, which is filled from `start_ns` (now) on. Call it before recording. A
    /// second one may follow, which is filled after the first one's end.
    pub fn start(&self, drain: Drain, start_ns: u64) {
        self.send(Message::Recording(Recording { drain, started: wall_now(), start_ns }));
    }

    /// Reports progress. It allocates: call it only while nothing is timed.
    pub fn tell(&self, second: &Second) {
        self.send(Message::Second(second.clone()));
    }

    fn send(&self, message: Message) {
        // The caller's thread receives until this end is dropped.
        let _ = self.sender.send(message);
    }
}

impl MeasuringRun<'_> {
    /// Spawns the thread, which calls `measure`, and blocks until the log is written. `watch` is
    /// called with reports meanwhile.
    ///
    /// # Errors
    /// If there is no result. If only the log fails, the result says so.
    pub fn carry_out<E: From<MeasuringError> + Send>(
        &self,
        measure: impl FnOnce(Reporter) -> Result<ClientResult, E> + Send,
        watch: &mut dyn FnMut(Report<'_>),
    ) -> Result<ClientResult, E> {
        let log_failed = |source| MeasuringError::Log { path: self.hlog.to_owned(), source };
        // Open the log first: an error must not come after the measurement.
        let log = File::options().create(true).append(true).open(self.hlog).map_err(log_failed)?;
        let mut log = BufWriter::new(log);
        let (sender, messages) = mpsc::channel();
        let core = self.core;
        let pinned_measure = move || {
            // Pin first, so that memory comes from the core's NUMA node.
            core.map_or(Ok(()), pin).map_err(MeasuringError::Host)?;
            measure(Reporter { sender })
        };
        let (measured, logged) = std::thread::scope(|scope| {
            let measuring = scope.spawn(pinned_measure);
            let mut logged = Ok(());
            let mut kept = Vec::new();
            for message in messages {
                match message {
                    Message::Second(second) => watch(Report::Second(second)),
                    Message::Recording(recording) if self.writes_meanwhile => {
                        let written = self.write(recording, &mut log, watch);
                        logged = logged.and(written);
                    }
                    Message::Recording(mut recording) => {
                        if self.progress {
                            recording.drain.keep(&mut |interval| watch(Report::Interval(interval)));
                        }
                        kept.push(recording);
                    }
                }
            }
            let measured = measuring.join();
            for recording in kept {
                let written = self.write(recording, &mut log, &mut |_| ());
                logged = logged.and(written);
            }
            (measured, logged)
        });
        let mut result = measured.map_err(|_| MeasuringError::Panicked)??;
        if let Err(source) = logged {
            result.fail(log_failed(source).to_string());
        }
        Ok(result)
    }

    fn write(
        &self,
        recording: Recording,
        log: &mut BufWriter<File>,
        watch: &mut dyn FnMut(Report<'_>),
    ) -> io::Result<()> {
        let Recording { drain, started, start_ns } = recording;
        // Without a log there is no point in measuring on.
        let failed = || self.stop.store(true, Ordering::Relaxed);
        let mut watch = |interval: &Interval| watch(Report::Interval(interval));
        drain.run_watched(self.subject, log, started, start_ns, &failed, &mut watch)
    }
}

#[cfg(test)]
#[path = "measuring_tests.rs"]
mod tests;
