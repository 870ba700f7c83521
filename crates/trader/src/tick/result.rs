//! From the stamps of a run to its results: series, the file of samples, counts.

use crate::load::error::TraderError;
use crate::load::run::processor;
use crate::risk::Rejection;
use crate::tick::clock_source::ClockSource;
use crate::tick::counts::TickCounts;
use crate::tick::departures::DepartedTicks;
use crate::tick::followed_state::FollowedState;
use crate::tick::receiver::TickReceiver;
use crate::tick::series::{ExtraSeries, errors_ns, judge, withheld, write_log};
use crate::tick::stamped_orders::StampedResult;
use audit::{LogResult, Windows};
use clock::utc::Time;
use host::measuring::MeasuringError;
use host::thread::Usage;
use plan::process::ticks::TickPlan;
use record::between::HostClocks;
use record::tick::{Audit, MarketMaking, Point, Sample, Tick, TickHold};
use record::{self, ClientResult, KernelStamped, Load, MessageBytes, Outage};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::time::SystemTime;
use wire::administration::Description;

/// The measuring thread's result.
pub(crate) struct ThreadResult {
    pub(crate) samples: Vec<Sample>,
    pub(crate) stamped: Option<StampedResult>,
    pub(crate) counts: TickCounts,
    pub(crate) unanswered: u64,
    pub(crate) usage: Usage,
    pub(crate) measured_from_ns: u64,
    pub(crate) complete: bool,
    pub(crate) failures: Vec<String>,
    pub(crate) receiving: ReceiverCounts,
    pub(crate) following: Option<BookCounts>,
    /// The part of the description that is about the trader's book.
    pub(crate) followed: FollowedState,
    pub(crate) market_making: Option<MarketMaking>,
    pub(crate) description: Option<Box<Description>>,
    pub(crate) memory_locked: bool,
    /// Processor time of both ends, ns, in the measured part; `None`: unknown.
    pub(crate) processor_ns: [Option<u64>; 2],
    /// The stack below the streams; `None`: the kernel's.
    pub(crate) stack: Option<String>,
    pub(crate) hold: Option<TickHold>,
    pub(crate) outages: Vec<Outage>,
}

/// The socket's counts.
pub(crate) struct ReceiverCounts {
    pub(crate) dropped: u64,
    pub(crate) cut: u64,
    /// `None`: below the kernel, and of a stream.
    pub(crate) buffer_bytes: Option<u64>,
    pub(crate) kernel_stamps: String,
    pub(crate) kernel_bound_ns: Option<u64>,
    pub(crate) wall_steps: u64,
}

impl ReceiverCounts {
    pub(crate) fn of(receiver: &mut TickReceiver) -> ReceiverCounts {
        // So that stamps since the last reading are within the bound too.
        receiver.look_after();
        let datagrams = receiver.datagrams();
        ReceiverCounts {
            dropped: datagrams.map_or(0, |it| it.dropped()),
            cut: datagrams.map_or(0, |it| it.cut()),
            buffer_bytes: datagrams
                .and_then(|it| it.receive_buffer_bytes())
                .map(|bytes| bytes as u64),
            kernel_stamps: receiver.kernel_stamps().to_owned(),
            kernel_bound_ns: receiver.wall().map(|wall| wall.bound_ns()),
            wall_steps: receiver.wall().map_or(0, |wall| wall.steps()),
        }
    }
}

/// The book's counts.
pub(crate) struct BookCounts {
    pub(crate) counts: feed::Counts,
    /// Before the first tick.
    pub(crate) before: feed::Counts,
    pub(crate) book_hash: u64,
    pub(crate) sequence: u64,
}

/// The files of a run's series and samples.
pub(crate) struct Log {
    series: File,
    samples: File,
}

/// Makes both files.
///
/// # Errors
/// Which of them can't be made.
pub(crate) fn open_log(plan: &TickPlan) -> Result<Log, TraderError> {
    let series = File::options().create(true).append(true).open(&plan.hlog);
    Ok(Log {
        series: series.map_err(failed(&plan.hlog))?,
        samples: File::create(&plan.samples).map_err(failed(&plan.samples))?,
    })
}

fn failed(path: &str) -> impl FnOnce(io::Error) -> TraderError {
    let path = path.to_owned();
    move |source| MeasuringError::Log { path, source }.into()
}

/// Writes log and samples, and returns the result. If either can't be written, the run is not
/// complete.
pub(crate) fn assemble(
    plan: &TickPlan,
    mut finished: ThreadResult,
    (source, rate_off_ppm): (ClockSource, Option<f64>),
    logged: Option<LogResult>,
    log: Log,
    started: (SystemTime, u64),
) -> ClientResult {
    let mut samples = std::mem::take(&mut finished.samples);
    let clock = source.ours.clock;
    let departures = finished.description.as_mut().and_then(|it| it.departures.take());
    let departed = departures.map(|departures| DepartedTicks::of(departures, &samples));
    let (time, between) =
        source.settle(finished.description.as_deref(), finished.stamped.as_ref(), &mut samples);
    let receiving = &finished.receiving;
    let (kernel_bound_ns, wall_steps) = (receiving.kernel_bound_ns, receiving.wall_steps);
    let mut time = Time { kernel_bound_ns, wall_steps, rate_off_ppm, ..time };
    let judged = judge(&mut samples, &time);
    time.refused = withheld(&samples, &time, plan.one_way);
    let mut errors_ns = errors_ns(&samples, &time);
    let mut asides = Vec::new();
    if let Some(departed) = &departed {
        let shown = departed.show(&samples, &mut time, plan.one_way);
        errors_ns.extend(shown.error_ns);
        asides.push(shown.series);
    }
    let between =
        between.map(|between| HostClocks { errors_ns, withheld: time.refused.clone(), ..between });
    let (stamped, segments) = stamped_of(&samples, finished.stamped.take());
    asides.push(segments);
    let written = write(plan, log, (&samples, &asides), &time.refused, started);
    let (tick, exchange) = {
        let mut tick = tick(&finished, time);
        tick.samples = judged.whole;
        tick.samples_out_of_order = judged.out_of_order;
        tick.samples_not_adding_up = judged.not_adding_up;
        tick.departures = departed.map(|departed| departed.counts);
        tick.audit = logged.map(|logged| audit(plan, logged, &samples, &tick.time));
        let description = finished.description.as_deref();
        (tick, description.and_then(|description| serde_json::to_value(description).ok()))
    };
    let complete = finished.complete && written.is_ok();
    let mut failures = std::mem::take(&mut finished.failures);
    failures.extend(written.err().map(|error| error.to_string()));
    if judged.whole == 0 && finished.counts.received > 0 && plan.raw.is_none() {
        let why = "replies came, and none had the exchange's stamps: is it an older tickpath?";
        failures.push(why.to_owned());
    }
    ClientResult {
        complete,
        failures,
        load: Load {
            between: between.into_iter().collect(),
            stamped,
            ..load(&finished, &plan.backend, tick)
        },
        clock: record::Clock::of(&clock),
        exchange,
    }
}

/// Counts and segments of stamped orders, of samples that count.
fn stamped_of(
    samples: &[Sample],
    stamped: Option<StampedResult>,
) -> (Option<KernelStamped>, ExtraSeries) {
    let Some(StampedResult { counts, orders }) = stamped else {
        return (None, ExtraSeries::default());
    };
    let lengths: HashMap<u64, Vec<Option<u64>>> =
        orders.into_iter().map(|(number, order)| (number, order.lengths.to_vec())).collect();
    let messages = samples.iter().filter(|sample| lengths.contains_key(&sample.number)).count();
    let counts = KernelStamped { messages: messages as u64, ..counts };
    (Some(counts), ExtraSeries { series: crate::stamped::series().collect(), lengths })
}

fn write(
    plan: &TickPlan,
    log: Log,
    (samples, asides): (&[Sample], &[ExtraSeries]),
    withheld: &BTreeMap<String, String>,
    (started, start_ns): (SystemTime, u64),
) -> Result<(), TraderError> {
    let mut series = io::BufWriter::new(log.series);
    write_log((samples, asides), withheld, &plan.subject, &mut series, started, start_ns)
        .and_then(|()| series.flush())
        .map_err(failed(&plan.hlog))?;
    record::tick::samples::write(log.samples, samples).map_err(failed(&plan.samples))
}

fn tick(finished: &ThreadResult, time: Time) -> Tick {
    let (counts, receiving) = (&finished.counts, &finished.receiving);
    let mut tick = Tick {
        datagrams: counts.datagrams,
        messages: counts.messages,
        datagram_bytes: mean(counts.datagram_bytes, counts.datagrams),
        kernel_drops: receiving.dropped,
        receive_buffer_bytes: receiving.buffer_bytes,
        kernel_stamps: receiving.kernel_stamps.clone(),
        refused: Rejection::ALL
            .into_iter()
            .map(|rejection| {
                (rejection.name().to_owned(), counts.risk_rejections[rejection as usize])
            })
            .filter(|(_, count)| *count > 0)
            .collect(),
        time,
        market_making: finished.market_making.clone(),
        memory_locked: finished.memory_locked,
        hold: finished.hold,
        ..Tick::default()
    };
    if let Some(following) = &finished.following {
        followed(&mut tick, finished, following);
    }
    tick
}

fn followed(tick: &mut Tick, finished: &ThreadResult, following: &BookCounts) {
    let BookCounts { counts, before, .. } = following;
    tick.gaps = counts.gaps - before.gaps;
    tick.messages_replayed = counts.replayed - before.replayed;
    tick.snapshots = counts.snapshots;
    tick.datagrams_not_needed = counts.not_needed - before.not_needed;
    let faults = counts.faults.since(&before.faults);
    tick.faults = faults.met().map(|(name, count)| (name.to_owned(), count)).collect();
    let others = [
        ("duplicate", counts.duplicates - before.duplicates),
        ("not_kept", counts.not_kept - before.not_kept),
        ("cut", finished.receiving.cut),
    ];
    for (name, count) in others.into_iter().filter(|(_, count)| *count > 0) {
        tick.faults.insert(name.to_owned(), count);
    }
    tick.book_hash = format!("{:016x}", following.book_hash);
    tick.book_sequence = following.sequence;
    let theirs = finished.description.as_ref().and_then(|it| finished.followed.of(&it.feeds));
    // The hash at another message would mean nothing.
    if let Some(theirs) = theirs.filter(|theirs| theirs.sequence == following.sequence) {
        tick.exchange_book_hash.clone_from(&theirs.book_hash);
    }
}

fn audit(plan: &TickPlan, logged: LogResult, samples: &[Sample], time: &Time) -> Audit {
    let LogResult { mut audit, windows } = logged;
    let is_shared = audit.core.is_some() && audit.core == plan.core;
    if is_shared {
        audit.shares_core_with = "trader".to_owned();
    }
    // The windows are on our clock.
    let is_ours = time.same_clock || time.exchange_bound_ns.is_some();
    let begin = if is_ours { Point::Published } else { Point::Read };
    audit.samples_in_windows = in_windows(&windows, samples, begin);
    audit
}

fn in_windows(windows: &Windows, samples: &[Sample], begin: Point) -> u64 {
    let at = |sample: &Sample, point: Point| sample.stamps[point as usize];
    let is_in = |sample: &&Sample| windows.overlap(at(sample, begin), at(sample, Point::Replied));
    samples.iter().filter(is_in).count() as u64
}

fn load(finished: &ThreadResult, backend: &str, tick: Tick) -> Load {
    let (counts, usage) = (&finished.counts, &finished.usage);
    let span_ns = |end_ns: u64| end_ns.saturating_sub(finished.measured_from_ns) as f64;
    let per_second = |count: u64, ns: f64| if ns > 0.0 { count as f64 / (ns / 1e9) } else { 0.0 };
    Load {
        model: "tick".to_owned(),
        rate_per_second_achieved: per_second(counts.sent, span_ns(counts.last_sent_ns)),
        sent: counts.sent,
        received: counts.received,
        lost: finished.unanswered,
        duplicated: counts.duplicated,
        rejected: counts.rejected,
        outages: finished.outages.clone(),
        unexpected: counts.unexpected,
        message_bytes: MessageBytes {
            order: mean(counts.said_bytes, counts.said),
            order_reply: mean(counts.heard_bytes, counts.heard),
            ..MessageBytes::default()
        },
        warm_up_sent: counts.warm_up_sent,
        context_switches_involuntary: usage.context_switches_involuntary,
        page_faults: usage.page_faults_minor + usage.page_faults_major,
        processor: processor(backend, finished.processor_ns),
        stacks: finished.stack.iter().map(|stack| format!("client: {stack}")).collect(),
        tick: vec![tick],
        ..Load::default()
    }
}

fn mean(sum: u64, count: u64) -> u64 {
    if count == 0 { 0 } else { sum.div_ceil(count) }
}
