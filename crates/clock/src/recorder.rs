//! Latencies of a run, interval by interval. The measuring thread adds to preallocated histograms
//! and swaps the whole set once an interval. The drain at the other end encodes and sums.
//!
//! ```text
//!   measuring thread            two wait-free rings           drain (after the run, or a thread)
//!   Recorder::record  ──full──>  [Interval] [Interval]  ──>   lines of the .hlog
//!                     <──free──  [Interval] [Interval]  <──   cleared
//! ```

use crate::kind::Kind;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriter, IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::Write;
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

/// The longest latency a histogram holds, ns: an hour. Longer ones are counted as an hour.
pub const LATENCY_NS_MAX: u64 = 3_600_000_000_000;
/// Decimal digits that a histogram keeps of a value: an error of at most 0.1 %.
pub const SIGNIFICANT_DIGITS: u8 = 3;
/// Length of an interval.
pub const INTERVAL_NS: u64 = 1_000_000_000;
/// A run up to this long is encoded after its end; a longer one needs a recorder thread.
pub const SECONDS_IN_MEMORY_MAX: f64 = 60.0;
/// Sets of histograms with a recorder thread, which may be this many seconds late.
const POOL_WITH_THREAD: usize = 16;
/// How often the drain looks for a finished interval.
const POLL: Duration = Duration::from_millis(20);

/// An empty histogram of latencies, as every series uses it.
pub fn histogram() -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, LATENCY_NS_MAX, SIGNIFICANT_DIGITS)
        .expect("constant bounds are valid");
    // A fresh allocation is mapped lazily: write to it here, not on the measured path.
    histogram.record_n(1, 1).expect("in bounds");
    histogram.reset();
    histogram
}

/// Name and meaning of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// `order`, `cancel`, `cycle`, …
    pub name: Cow<'static, str>,
    /// Response time, service time, …
    pub kind: Kind,
}

impl Series {
    /// A series with a fixed name.
    pub const fn new(name: &'static str, kind: Kind) -> Series {
        Series { name: Cow::Borrowed(name), kind }
    }

    /// `series.kind`, its tag among those of one subject.
    pub fn own_tag(&self) -> String {
        format!("{}.{}", self.name, self.kind.name())
    }

    /// `subject.series.kind`, the tag in an .hlog file.
    pub fn tag(&self, subject: &str) -> String {
        format!("{subject}.{}", self.own_tag())
    }
}

/// The values of one interval.
pub struct Interval {
    /// Its start on the recorder's clock, ns.
    pub start_ns: u64,
    /// Its end, ns.
    pub end_ns: u64,
    /// Its values, ns, in the order of the recorder's series.
    pub histograms: Vec<Histogram<u64>>,
}

/// The measuring thread's end. It never allocates, locks or calls the system.
pub struct Recorder {
    current: Option<Box<Interval>>,
    boundary_ns: u64,
    full: rtrb::Producer<Box<Interval>>,
    free: rtrb::Consumer<Box<Interval>>,
    /// Carries no messages. When it is dropped, the drain wakes and ends.
    _alive: mpsc::Sender<()>,
}

/// The reading end.
pub struct Drain {
    series: Vec<Series>,
    full: rtrb::Consumer<Box<Interval>>,
    free: rtrb::Producer<Box<Interval>>,
    alive: mpsc::Receiver<()>,
    /// The recorder is gone.
    finished: bool,
    /// Time until the next look.
    pause: Duration,
    /// Intervals taken during the run, written after it.
    kept: VecDeque<Box<Interval>>,
}

/// Makes a recorder of `series` for a run of `seconds`, and its drain.
pub fn recorder(series: &[Series], seconds: f64) -> (Recorder, Drain) {
    // Without a recorder thread, the pool needs a set for each second, one for the second in which
    // the last replies come, and some for a late start or end.
    let pool = if seconds <= SECONDS_IN_MEMORY_MAX {
        seconds.ceil() as usize + 4
    } else {
        POOL_WITH_THREAD
    };
    let (full_in, full_out) = rtrb::RingBuffer::new(pool);
    let (mut free_in, mut free_out) = rtrb::RingBuffer::new(pool);
    for _ in 0..pool {
        let histograms = series.iter().map(|_| histogram()).collect();
        let interval = Box::new(Interval { start_ns: 0, end_ns: 0, histograms });
        free_in.push(interval).unwrap_or_else(|_| unreachable!("the ring holds the whole pool"));
    }
    let current = free_out.pop().ok();
    let (alive_in, alive) = mpsc::channel();
    let drain = Drain {
        series: series.to_vec(),
        full: full_out,
        free: free_in,
        alive,
        finished: false,
        pause: POLL,
        kept: VecDeque::new(),
    };
    let boundary_ns = u64::MAX;
    (Recorder { current, boundary_ns, full: full_in, free: free_out, _alive: alive_in }, drain)
}

impl Recorder {
    /// Drops the values recorded so far (the warm-up) and starts the first interval.
    pub fn start(&mut self, now_ns: u64) {
        let current = self.current();
        // Skip empty sets: clearing one takes as long as a hundred orders.
        current.histograms.iter_mut().filter(|one| !one.is_empty()).for_each(Histogram::reset);
        current.start_ns = now_ns;
        self.boundary_ns = now_ns + INTERVAL_NS;
    }

    /// Adds `value_ns` to series number `series`.
    #[inline]
    pub fn record(&mut self, series: usize, value_ns: u64) {
        self.current().histograms[series].saturating_record(value_ns);
    }

    /// Ends the interval if its time is over. Call it between messages. If no empty set is left
    /// (the drain is late), the interval gets longer and loses nothing.
    #[inline]
    pub fn roll(&mut self, now_ns: u64) {
        if now_ns >= self.boundary_ns {
            self.swap(now_ns);
        }
    }

    fn swap(&mut self, now_ns: u64) {
        if let Ok(mut next) = self.free.pop() {
            next.start_ns = now_ns;
            self.boundary_ns += INTERVAL_NS * ((now_ns - self.boundary_ns) / INTERVAL_NS + 1);
            let ended = self.current.replace(next);
            self.push(ended, now_ns);
        }
    }

    /// Ends the last interval, and the run.
    pub fn finish(mut self, now_ns: u64) {
        let ended = self.current.take();
        self.push(ended, now_ns);
    }

    fn push(&mut self, ended: Option<Box<Interval>>, now_ns: u64) {
        if let Some(mut ended) = ended {
            ended.end_ns = now_ns;
            self.full.push(ended).unwrap_or_else(|_| unreachable!("the ring holds the whole pool"));
        }
    }

    #[inline]
    fn current(&mut self) -> &mut Interval {
        self.current.as_mut().expect("taken only by `finish`, which takes self")
    }
}

impl Drain {
    /// Shows each interval to `watch` as it ends and keeps it for [`Drain::run`] to write, so that
    /// nothing is encoded during the run. Blocks until the run ends and wakes once an interval. For
    /// runs of at most [`SECONDS_IN_MEMORY_MAX`]: a longer one would use up all sets.
    pub fn keep(&mut self, watch: &mut dyn FnMut(&Interval)) {
        while let Some(interval) = self.next() {
            watch(&interval);
            self.kept.push_back(interval);
        }
    }

    /// Writes each interval until the recorder finishes: a line per series, tagged
    /// `subject.series.kind`, to `log` (an HdrHistogram interval log, values in ns). Blocks: call
    /// it after the run or on a thread of its own.
    ///
    /// `started` is the wall-clock time of `start_ns` on the recorder's clock.
    ///
    /// # Errors
    /// The first error of `log`. `failed` is called at once, so that a long run can stop early; the
    /// drain still takes the remaining intervals.
    pub fn run(
        self,
        subject: &str,
        log: &mut dyn Write,
        started: SystemTime,
        start_ns: u64,
        failed: &dyn Fn(),
    ) -> std::io::Result<()> {
        self.run_watched(subject, log, started, start_ns, failed, &mut |_| ())
    }

    /// As [`Drain::run`], and shows each interval to `watch` as it ends, except those already kept.
    ///
    /// # Errors
    /// As [`Drain::run`].
    pub fn run_watched(
        mut self,
        subject: &str,
        log: &mut dyn Write,
        started: SystemTime,
        start_ns: u64,
        failed: &dyn Fn(),
        watch: &mut dyn FnMut(&Interval),
    ) -> std::io::Result<()> {
        let series = std::mem::take(&mut self.series);
        write_log(&series, subject, log, started, start_ns, failed, &mut |written| {
            if let Some(mut written) = written {
                written.histograms.iter_mut().for_each(Histogram::reset);
                // The recorder and its end of this ring may have been dropped.
                let _ = self.free.push(written);
            }
            self.kept_or_next(watch)
        })
    }

    fn kept_or_next(&mut self, watch: &mut dyn FnMut(&Interval)) -> Option<Box<Interval>> {
        self.kept.pop_front().or_else(|| self.next().inspect(|interval| watch(interval)))
    }

    fn next(&mut self) -> Option<Box<Interval>> {
        loop {
            if let Ok(interval) = self.full.pop() {
                // The next interval ends no sooner; waking earlier would only disturb the
                // measurement.
                self.pause = Duration::from_nanos(INTERVAL_NS);
                return Some(interval);
            }
            if self.finished {
                return None;
            }
            // Check in this order: a recorder that was dropped pushes nothing more.
            let waited = self.alive.recv_timeout(self.pause);
            self.finished = waited == Err(mpsc::RecvTimeoutError::Disconnected);
            self.pause = POLL;
        }
    }
}

/// Writes the intervals that `next` returns, as [`Drain::run`] does. `next` gets the previous one
/// back.
///
/// # Errors
/// As [`Drain::run`].
pub fn write_log(
    series: &[Series],
    subject: &str,
    mut log: &mut dyn Write,
    started: SystemTime,
    start_ns: u64,
    failed: &dyn Fn(),
    next: &mut dyn FnMut(Option<Box<Interval>>) -> Option<Box<Interval>>,
) -> std::io::Result<()> {
    let tags: Vec<String> = series.iter().map(|series| series.tag(subject)).collect();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment("[Logged with tickpath; values in nanoseconds]")
        .with_start_time(started)
        .with_base_time(started)
        .begin_log_with(&mut log, &mut serializer);
    let mut written = None;
    while let Some(interval) = next(written.take()) {
        if let Ok(open) = &mut writer
            && let Err(error) = write_interval(open, &tags, &interval, start_ns)
        {
            writer = Err(error);
            failed();
        }
        written = Some(interval);
    }
    drop(writer?);
    log.flush()
}

fn write_interval(
    log: &mut IntervalLogWriter<'_, '_, &mut dyn Write, V2DeflateSerializer>,
    tags: &[String],
    interval: &Interval,
    start_ns: u64,
) -> std::io::Result<()> {
    let offset = Duration::from_nanos(interval.start_ns.saturating_sub(start_ns));
    let length = Duration::from_nanos(interval.end_ns - interval.start_ns);
    for (tag, histogram) in tags.iter().zip(&interval.histograms) {
        if !histogram.is_empty() {
            log.write_histogram(histogram, offset, length, Tag::new(tag)).map_err(|error| {
                match error {
                    IntervalLogWriterError::IoError(error) => error,
                    other => std::io::Error::other(format!("{other:?}")),
                }
            })?;
        }
    }
    Ok(())
}
