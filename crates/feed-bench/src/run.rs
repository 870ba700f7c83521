//! One run of one plan: the measuring thread has the book, and another one is the source.

use crate::prepared::PreparedFeed;
use crate::source::{Extent, Source, SourceResult};
use clock::recorder::{self, Recorder, SECONDS_IN_MEMORY_MAX, Series};
use clock::utc::Time;
use clock::{Clock, Deadline};
use feed::{Follower, PublisherSettingsError};
use host::measuring::{MeasuringError, MeasuringRun, Reporter};
use host::network::{NetworkError, enter_at};
use host::{HostError, thread};
use plan::backend::UnknownBackend;
use plan::process::feed::{BOOK, FeedPlan, NORMALISE};
use record::tick::Tick;
use record::{ClientResult, Datagrams, Kind, Load};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use transport::datagram::{
    DATAGRAM_BYTES_MAX, Datagram, DatagramError, DatagramReceiver, DatagramSender, ReceiveOptions,
    SendOptions, SendOutcome,
};

/// A datagram that the book never had counts as this long, ns.
const PATIENCE_NS: u64 = 1_000_000_000;
/// How long both ends may need to find each other.
const GREETING_MAX: Duration = Duration::from_secs(5);
/// Interval between greetings.
const GREETING_PAUSE: Duration = Duration::from_millis(1);
/// Time without a datagram after which, with the source at its end, nothing more will come.
const SILENCE: Duration = Duration::from_millis(200);

/// The series, by their place in the recorder.
const SERIES: [Series; 4] = [
    Series::new(BOOK, Kind::Response),
    Series::new(BOOK, Kind::Service),
    Series::new(NORMALISE, Kind::Service),
    Series::new("send", Kind::Lateness),
];

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum FeedBenchError {
    /// There is no such backend.
    #[error(transparent)]
    Backend(#[from] UnknownBackend),
    /// There is no such feed.
    #[error(transparent)]
    Feed(#[from] PublisherSettingsError),
    /// A thread can't be placed as asked.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The source's network can't be entered.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A socket can't be had, or the device below the kernel can't run here.
    #[error(transparent)]
    Socket(#[from] DatagramError),
    /// The socket broke.
    #[error("cannot receive datagrams: {0}; run it again, and look at the kernel's log")]
    Receive(io::Error),
    /// The ends don't reach each other.
    #[error(
        "no datagram of the source reached {to} within {} s{why}; check that the network is up, and \
         that no firewall drops UDP", GREETING_MAX.as_secs()
    )]
    NothingCame {
        /// Where they should come to.
        to: SocketAddr,
        /// Why the last one could not be sent, if so.
        why: String,
    },
    /// The thread can't be pinned, the log can't be written, or there is a bug.
    #[error(transparent)]
    Measuring(#[from] MeasuringError),
}

/// Carries the plan out. Returns soon after `stop` is set, with what was measured so far.
///
/// # Errors
/// If there is no result. A run that broke off has a result that says so.
pub fn run(plan: &FeedPlan, stop: &AtomicBool) -> Result<ClientResult, FeedBenchError> {
    let mut feed = PreparedFeed::new(plan.seed, plan.datagram_bytes)?;
    let seconds = plan.messages as f64 / plan.rate_per_second;
    let measuring = MeasuringRun {
        subject: &plan.subject,
        hlog: &plan.hlog,
        core: plan.core,
        writes_meanwhile: seconds >= SECONDS_IN_MEMORY_MAX,
        progress: false,
        stop,
    };
    let measured = |reporter| measure(plan, &mut feed, seconds, &reporter, stop);
    measuring.carry_out(measured, &mut |_| ())
}

/// Where both threads are.
#[derive(Default)]
struct Course {
    /// A greeting arrived: the source may begin.
    is_heard: AtomicBool,
    /// The source has ended, or could not begin.
    has_ended: AtomicBool,
}

/// The measuring thread.
fn measure(
    plan: &FeedPlan,
    feed: &mut PreparedFeed,
    seconds: f64,
    reporter: &Reporter,
    stop: &AtomicBool,
) -> Result<ClientResult, FeedBenchError> {
    let clock = Clock::calibrate();
    let receiver = receive(plan, clock)?;
    let to = receiver.local_addr().map_err(FeedBenchError::Receive)?;
    let extent = Extent::of(plan, feed);
    let course = &Course::default();
    let mut end = BookEnd {
        receiver,
        follower: feed.follower(),
        clock,
        bytes: vec![0; DATAGRAM_BYTES_MAX],
        course,
        is_lost: false,
        tick: Tick::default(),
    };
    thread::set_scheduling(plan.scheduling)?;
    std::thread::scope(|scope| {
        let source = scope.spawn(|| {
            let sent = source(plan, feed, to, extent, (clock, course, stop));
            course.has_ended.store(true, Ordering::Release);
            sent
        });
        let usage = thread::usage();
        let followed = end.follow(extent, seconds, reporter);
        let usage = thread::usage().since(usage);
        let sent = source.join().map_err(|_| MeasuringError::Panicked)??;
        let mut recorder = followed?;
        for _ in end.tick.datagrams..sent.datagrams {
            recorder.record(0, PATIENCE_NS);
            recorder.record(1, PATIENCE_NS);
        }
        recorder.finish(clock.now_ns());
        let load = Load {
            context_switches_involuntary: usage.context_switches_involuntary,
            page_faults: usage.page_faults_minor + usage.page_faults_major,
            ..end.load(plan, extent, &sent)
        };
        let failures: Vec<String> = sent.failure.into_iter().collect();
        let clock = record::Clock::of(&clock);
        Ok(ClientResult { complete: failures.is_empty(), failures, load, clock, exchange: None })
    })
}

/// Where the book's end receives.
fn receive(plan: &FeedPlan, clock: Clock) -> Result<DatagramReceiver, FeedBenchError> {
    let address = SocketAddr::from((plan.own, 0));
    let backend = transport::backend(&plan.backend)?.on(plan.queue);
    Ok(match backend.shared_device() {
        Some(device) => DatagramReceiver::below(&device, address, None, clock)?,
        None => {
            let options = ReceiveOptions {
                receive_buffer_bytes: plan.receive_buffer_bytes,
                kernel_stamps: false,
                multicast: None,
            };
            DatagramReceiver::bind(address, &options, clock)?
        }
    })
}

/// The source's thread.
fn source(
    plan: &FeedPlan,
    feed: &mut PreparedFeed,
    to: SocketAddr,
    extent: Extent,
    (clock, course, stop): (Clock, &Course, &AtomicBool),
) -> Result<SourceResult, FeedBenchError> {
    if let Some(path) = &plan.source_network {
        enter_at(Path::new(path))?;
    }
    if let Some(core) = plan.source_core {
        thread::pin(core)?;
    }
    thread::set_scheduling(plan.scheduling)?;
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let sender = DatagramSender::bind(any, &SendOptions::default())?;
    let rate_per_second = plan.rate_per_second;
    let mut source = Source { sender, to, clock, rate_per_second, stop };
    let deadline = Deadline::after(GREETING_MAX);
    let mut why = String::new();
    while !course.is_heard.load(Ordering::Acquire) {
        if let SendOutcome::Failed(error) = source.greet(&feed.heartbeat) {
            why = format!(" ({error})");
        }
        if deadline.left().is_zero() {
            return Err(FeedBenchError::NothingCame { to, why });
        }
        std::thread::sleep(GREETING_PAUSE);
    }
    Ok(source.send(feed, extent))
}

/// The end that has the book.
struct BookEnd<'a> {
    receiver: DatagramReceiver,
    follower: Follower,
    clock: Clock,
    bytes: Vec<u8>,
    course: &'a Course,
    /// A datagram is missing. Without it the book is worth nothing, and nobody is asked for it.
    is_lost: bool,
    /// Counts of the measured part.
    tick: Tick,
}

impl BookEnd<'_> {
    /// Follows the feed to its end, or until the book is lost. Returns the recording of what was in
    /// the book.
    fn follow(
        &mut self,
        extent: Extent,
        seconds: f64,
        reporter: &Reporter,
    ) -> Result<Recorder, FeedBenchError> {
        let (mut recorder, drain) = recorder::recorder(&SERIES, seconds);
        self.follow_to(extent.first - 1, None)?;
        self.receiver.count_drops();
        let start_ns = self.clock.now_ns();
        reporter.start(drain, start_ns);
        recorder.start(start_ns);
        self.follow_to(extent.last, Some(&mut recorder))?;
        self.tick.kernel_drops = self.receiver.dropped();
        Ok(recorder)
    }

    /// Follows until the book has message `last`, or is lost.
    fn follow_to(
        &mut self,
        last: u64,
        mut recorder: Option<&mut Recorder>,
    ) -> Result<(), FeedBenchError> {
        let mut silence: Option<Deadline> = None;
        while self.follower.sequence() < last && !self.is_lost {
            let (n, read_ns) = match self.receiver.receive(&mut self.bytes) {
                Datagram::Bytes { n, read_ns } => (n, read_ns),
                Datagram::Empty if self.course.has_ended.load(Ordering::Acquire) => {
                    let deadline = silence.get_or_insert_with(|| Deadline::after(SILENCE));
                    self.is_lost = deadline.left().is_zero();
                    continue;
                }
                Datagram::Empty => continue,
                Datagram::Failed(error) => return Err(FeedBenchError::Receive(error)),
            };
            silence = None;
            let outcome = self.follower.datagram(&self.bytes[..n]);
            let now_ns = self.clock.now_ns();
            let Some(header) = outcome.header else { continue };
            if header.count == 0 {
                self.course.is_heard.store(true, Ordering::Release);
                continue;
            }
            self.is_lost = outcome.applied == 0;
            let Some(recorder) = recorder.as_deref_mut().filter(|_| !self.is_lost) else {
                continue;
            };
            self.tick.datagrams += 1;
            self.tick.messages += u64::from(outcome.applied);
            self.tick.datagram_bytes += n as u64;
            recorder.record(0, now_ns.saturating_sub(header.intended_ns));
            recorder.record(1, now_ns.saturating_sub(header.published_ns));
            recorder.record(2, now_ns - read_ns);
            recorder.record(3, header.published_ns.saturating_sub(header.intended_ns));
            recorder.roll(now_ns);
        }
        Ok(())
    }

    /// The counts of the measured part.
    fn load(self, plan: &FeedPlan, extent: Extent, sent: &SourceResult) -> Load {
        let Tick { datagrams, messages, datagram_bytes, .. } = self.tick;
        let counts = self.follower.counts();
        let is_whole = self.follower.sequence() == sent.last;
        let hash = |hash: u64| format!("{hash:016x}");
        let tick = Tick {
            datagram_bytes: datagram_bytes.div_ceil(datagrams.max(1)),
            gaps: counts.gaps,
            faults: counts.faults.met().map(|(name, count)| (name.to_owned(), count)).collect(),
            receive_buffer_bytes: self.receiver.receive_buffer_bytes().map(|bytes| bytes as u64),
            book_hash: hash(self.follower.book_hash()),
            book_sequence: self.follower.sequence(),
            exchange_book_hash: match (is_whole, sent.book_hash) {
                (true, Some(theirs)) => hash(theirs),
                _ => String::new(),
            },
            time: Time { same_clock: true, ..Time::default() },
            ..self.tick
        };
        let all = (sent.last + 1).saturating_sub(extent.first);
        let lasted_ns = sent.end_ns.saturating_sub(sent.start_ns).max(1);
        Load {
            model: "open".to_owned(),
            rate_per_second_offered: Some(plan.rate_per_second),
            rate_per_second_achieved: all as f64
                / (lasted_ns as f64 / 1e9).max(all as f64 / plan.rate_per_second),
            sent: all,
            received: messages,
            lost: all.saturating_sub(messages),
            datagrams: Some(Datagrams { patience_ns: PATIENCE_NS, late: 0 }),
            warm_up_sent: extent.first - 1,
            lateness_ns_p99: sent.lateness_ns_p99,
            stacks: self
                .receiver
                .stack()
                .map(|stack| format!("client: {stack}"))
                .into_iter()
                .collect(),
            tick: vec![tick],
            ..Load::default()
        }
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
