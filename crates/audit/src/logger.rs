//! Both ends of the ring to the disk: the measuring thread's, and the thread that writes.

use crate::file::writer::Writer;
use crate::windows::Windows;
use crate::{AuditError, Header, RECORD_BYTES, Record};
use clock::Clock;
use clock::time_base::TimeBase;
use clock::utc::Utc;
use clock::wall::Wall;
use record::tick::Audit;
use std::fs::OpenOptions;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Largest capacity of the ring to the logger, about a gibibyte.
pub const RING_RECORDS_MAX: usize = 1 << 24;
/// Interval between readings of the wall clock.
const WALL_EVERY_NS: u64 = 1_000_000_000;
/// Records that are encoded and written together.
const WRITE_RECORDS: usize = 4096;

/// Settings of a logger.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The file, which must not exist.
    pub file: PathBuf,
    /// The core of the logger's thread; `None`: the kernel chooses from the cores of the starting
    /// thread.
    pub core: Option<usize>,
    /// Capacity of the ring to the logger, at most [`RING_RECORDS_MAX`]. Further records are lost
    /// and counted.
    pub ring_records: usize,
    /// Time that the logger sleeps between two looks.
    pub pause: Duration,
    /// The clock of all stamps.
    pub clock: Clock,
    /// Whether the exchange's stamps are on it, too.
    pub same_clock: bool,
    /// See [`crate::Header::exchange_time`].
    pub exchange_time: Option<TimeBase>,
    /// Largest distance of the wall clock from UTC (`host::utc`).
    pub utc: Utc,
    /// The scenario's name.
    pub scenario: String,
    /// The measured subject.
    pub subject: String,
    /// The program and its version.
    pub tool: String,
    /// Risk's reasons for rejections, by number.
    pub reasons: Vec<String>,
}

impl Settings {
    /// A log in `file`, by `clock`: the ring has a quarter of a million records (0.25 s at a
    /// million a second), and the logger looks every 10 ms.
    pub fn new(file: PathBuf, clock: Clock) -> Settings {
        Settings {
            file,
            core: None,
            ring_records: 1 << 18,
            pause: Duration::from_millis(10),
            clock,
            same_clock: true,
            exchange_time: None,
            utc: Utc::default(),
            scenario: String::new(),
            subject: String::new(),
            tool: String::new(),
            reasons: Vec::new(),
        }
    }
}

/// State shared by both ends.
#[derive(Default)]
struct LoggerState {
    lost: AtomicU64,
    stop: AtomicBool,
}

/// The measuring thread's end.
pub struct Auditor {
    ring: rtrb::Producer<Record>,
    lost: u64,
    shared: Arc<LoggerState>,
}

impl Auditor {
    /// Logs one record. Wait-free, no allocation, no system call. If the ring is full, the record
    /// is lost and counted.
    #[inline]
    pub fn tell(&mut self, record: &Record) {
        if self.ring.push(*record).is_err() {
            self.lost += 1;
            // Only this thread writes it.
            self.shared.lost.store(self.lost, Ordering::Release);
        }
    }

    /// Records lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// The writing thread.
pub struct Logger {
    shared: Arc<LoggerState>,
    thread: Option<JoinHandle<LogResult>>,
}

/// Result of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogResult {
    /// For the run's record; the caller sets `shares_core_with` and `samples_in_windows`.
    pub audit: Audit,
    /// The times at which the logger was awake.
    pub windows: Windows,
}

/// Makes the file and starts the logger.
///
/// # Errors
/// See [`AuditError`].
pub fn start(settings: Settings) -> Result<(Auditor, Logger), AuditError> {
    if !(1..=RING_RECORDS_MAX).contains(&settings.ring_records) {
        return Err(AuditError::Ring { given: settings.ring_records, max: RING_RECORDS_MAX });
    }
    let failed = |source| AuditError::Create { path: settings.file.clone(), source };
    let wall = Wall::read(settings.clock);
    let header = Header {
        scenario: settings.scenario.clone(),
        subject: settings.subject.clone(),
        tool: settings.tool.clone(),
        time: TimeBase {
            boot_id: host::utc::boot_id(&host::Root::system()),
            clock: settings.clock,
            wall: wall.latest(),
            utc: settings.utc.clone(),
        },
        same_clock: settings.same_clock,
        exchange_time: settings.exchange_time.clone(),
        reasons: settings.reasons.clone(),
    };
    let header = header.to_bytes()?;
    let file = OpenOptions::new().write(true).create_new(true).open(&settings.file);
    let writer = Writer::new(file.map_err(failed)?, &header[..]).map_err(failed)?;
    let (mut producer, mut ring) = rtrb::RingBuffer::new(settings.ring_records);
    touch(&mut producer, &mut ring, settings.ring_records);
    let shared = Arc::new(LoggerState::default());
    let auditor = Auditor { ring: producer, lost: 0, shared: Arc::clone(&shared) };
    let (ready, is_ready) = std::sync::mpsc::sync_channel(1);
    let seen = Arc::clone(&shared);
    let thread = std::thread::Builder::new().name("audit".to_owned()).spawn(move || {
        let placed = settings.core.map_or(Ok(()), host::thread::pin);
        let is_placed = placed.is_ok();
        // The starting thread waits for it.
        let _ = ready.send(placed.map_err(|error| error.to_string()));
        if !is_placed {
            return LogResult::default();
        }
        let windows = Windows::with_room();
        Work { settings, ring, shared: seen, writer, wall, windows, lost_told: 0 }.run()
    });
    let thread = thread.map_err(|error| AuditError::Thread(error.to_string()))?;
    let placed = is_ready.recv().unwrap_or_else(|_| Err("it ended at once".to_owned()));
    placed.map_err(AuditError::Thread)?;
    Ok((auditor, Logger { shared, thread: Some(thread) }))
}

/// A fresh allocation is mapped at the first write: do that here, not on the measured path.
fn touch(producer: &mut rtrb::Producer<Record>, ring: &mut rtrb::Consumer<Record>, records: usize) {
    let blank = Record::Lost { noticed_ns: 0, count: 0 };
    for _ in 0..records {
        let _ = producer.push(blank);
    }
    while ring.pop().is_ok() {}
}

impl Logger {
    /// Writes all records so far and ends the log. Later records are lost: end the measuring
    /// thread, or its [`Auditor`], first.
    pub fn finish(mut self) -> LogResult {
        self.end()
    }

    fn end(&mut self) -> LogResult {
        self.shared.stop.store(true, Ordering::Release);
        let Some(thread) = self.thread.take() else { return LogResult::default() };
        thread.thread().unpark();
        thread.join().unwrap_or_else(|_| {
            let failed = "the audit log's thread panicked".to_owned();
            LogResult { audit: Audit { failed, ..Audit::default() }, ..LogResult::default() }
        })
    }
}

/// Ends the log even without a call of `finish`.
impl Drop for Logger {
    fn drop(&mut self) {
        self.end();
    }
}

/// The logger's thread.
struct Work {
    settings: Settings,
    ring: rtrb::Consumer<Record>,
    shared: Arc<LoggerState>,
    writer: Writer,
    wall: Wall,
    windows: Windows,
    /// Lost records that the file already reports.
    lost_told: u64,
}

impl Work {
    fn run(mut self) -> LogResult {
        let clock = self.settings.clock;
        let mut wall_at_ns = clock.now_ns();
        loop {
            // Read this before the ring is emptied, so that records from before the end are
            // written.
            let is_last = self.shared.stop.load(Ordering::Acquire);
            let begin_ns = clock.now_ns();
            self.drain();
            if begin_ns >= wall_at_ns || is_last {
                wall_at_ns = begin_ns + WALL_EVERY_NS;
                self.tell_wall();
            }
            self.writer.flush();
            self.windows.add(begin_ns, clock.now_ns());
            if is_last {
                return self.end();
            }
            std::thread::park_timeout(self.settings.pause);
        }
    }

    /// Writes all records that were there at the start.
    fn drain(&mut self) {
        let mut left = self.ring.slots();
        while left > 0 {
            let Ok(records) = self.ring.read_chunk(left.min(WRITE_RECORDS)) else { break };
            left -= records.len();
            let (first, second) = records.as_slices();
            first.iter().chain(second).for_each(|record| self.writer.add(record));
            records.commit_all();
            self.writer.flush();
        }
        let lost = self.shared.lost.load(Ordering::Acquire);
        if lost > self.lost_told {
            let noticed_ns = self.settings.clock.now_ns();
            self.writer.add(&Record::Lost { noticed_ns, count: lost - self.lost_told });
            self.lost_told = lost;
        }
    }

    fn tell_wall(&mut self) {
        self.wall.refresh();
        let pair = self.wall.latest();
        self.writer.add(&Record::Wall {
            clock_ns: pair.clock_ns,
            wall_ns: pair.wall_ns,
            bound_ns: self.wall.bound_ns(),
            steps: self.wall.steps(),
        });
    }

    fn end(mut self) -> LogResult {
        let lost_on_the_way = self.lost_told;
        let clock_ns = self.settings.clock.now_ns();
        let (records, unwritten, failed) = self.writer.finish(lost_on_the_way, clock_ns);
        let audit = Audit {
            file: self.settings.file.display().to_string(),
            records,
            lost: lost_on_the_way + unwritten,
            core: self.settings.core,
            windows: self.windows.count(),
            windows_ns: self.windows.total_ns(),
            failed,
            ..Audit::default()
        };
        LogResult { audit, windows: std::mem::take(&mut self.windows) }
    }
}

const _: () = assert!(WRITE_RECORDS * RECORD_BYTES <= 1 << 20);

#[cfg(test)]
#[path = "logger_tests.rs"]
mod tests;
