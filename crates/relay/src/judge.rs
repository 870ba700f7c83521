//! From what a client left, and from what disturbed it, to latencies. Every structure is judged here, by
//! whomever it was written.
//!
//! Time is cut into windows of [`WINDOW_NS`]. A window in which one of the two threads was switched out or
//! had a page fault is disturbed, and so is a message that was due, under way or read in it. Both are always
//! kept: `message` is all, `undisturbed` is what the structure does while it is left alone.

use crate::plan::{Plan, Told};
use crate::samples::Sample;
use hdrhistogram::Histogram;
use measure::record::{Kind, Load};
use measure::recorder::{self, INTERVAL_NS, Interval, Series};
use measure::schedule::Schedule;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::time::SystemTime;

/// Length of a window.
pub const WINDOW_NS: u64 = 1_000_000;

/// The series of every message.
pub const MESSAGE: &str = "message";
/// The series of those that nothing on this machine's account disturbed.
pub const UNDISTURBED: &str = "undisturbed";

const SERIES: [Series; 5] = [
    Series::new(MESSAGE, Kind::Response),
    Series::new(MESSAGE, Kind::Service),
    Series::new(UNDISTURBED, Kind::Response),
    Series::new(UNDISTURBED, Kind::Service),
    Series::new("send", Kind::Lateness),
];
/// How many of them are there where it isn't known who was disturbed.
const ALL: [usize; 3] = [0, 1, 4];

/// A thread was away from its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disturbance {
    /// 0 is the producer, 1 the consumer.
    pub thread: usize,
    /// `CLOCK_MONOTONIC`, ns.
    pub start_ns: u64,
    /// The same.
    pub end_ns: u64,
    /// It had a page fault; otherwise it was switched out.
    pub is_fault: bool,
}

/// Writes the latencies to `log` and says what was sent and came. `disturbances` is `None` where the kernel
/// did not tell.
///
/// # Errors
/// If the log can't be written.
pub fn judge(
    plan: &Plan,
    told: &Told,
    samples: &[Sample],
    disturbances: Option<&[Disturbance]>,
    started: SystemTime,
    log: &mut dyn Write,
) -> io::Result<Load> {
    let mut schedule = plan.schedule();
    while schedule.index() < plan.warm_up_messages {
        schedule.advance();
    }
    let first_ns = schedule.offset_ns();
    let windows = Windows::new(told, disturbances.unwrap_or_default());
    let mut due = due(schedule, samples).peekable();
    let mut lateness = recorder::histogram();
    let mut next = |written: Option<Box<Interval>>| {
        let start_ns = due.peek()?.0;
        let end_ns = start_ns - (start_ns - first_ns) % INTERVAL_NS + INTERVAL_NS;
        let mut interval = written.unwrap_or_else(|| {
            let histograms = SERIES.iter().map(|_| recorder::histogram()).collect();
            Box::new(Interval { start_ns, end_ns, histograms })
        });
        interval.histograms.iter_mut().for_each(Histogram::reset);
        (interval.start_ns, interval.end_ns) = (start_ns, end_ns);
        while let Some((due_ns, sample)) = due.next_if(|(due_ns, _)| *due_ns < end_ns) {
            let offset_ns = due_ns - first_ns;
            let through = offset_ns..=offset_ns + u64::from(sample.response_ns);
            let undisturbed = disturbances.is_some() && !windows.touch(through);
            record(&mut interval, sample, undisturbed);
        }
        lateness.add(&interval.histograms[4]).expect("the same bounds");
        Some(interval)
    };
    recorder::write_log(&SERIES, &plan.subject, log, started, first_ns, &|| (), &mut next)?;
    Ok(load(plan, told, disturbances.unwrap_or_default(), &lateness))
}

/// When each message was due that came, and what became of it.
fn due(mut schedule: Schedule, samples: &[Sample]) -> impl Iterator<Item = (u64, Sample)> {
    let all = samples.iter().map(move |sample| {
        let due_ns = schedule.offset_ns();
        schedule.advance();
        (due_ns, *sample)
    });
    all.filter(|(_, sample)| *sample != Sample::NEVER)
}

fn record(interval: &mut Interval, sample: Sample, undisturbed: bool) {
    let (response_ns, service_ns) = (u64::from(sample.response_ns), u64::from(sample.service_ns));
    let lateness_ns = response_ns.saturating_sub(service_ns);
    let values = [response_ns, service_ns, response_ns, service_ns, lateness_ns];
    let wanted = if undisturbed { &[0, 1, 2, 3, 4][..] } else { &ALL };
    for &series in wanted {
        interval.histograms[series].saturating_record(values[series]);
    }
}

/// Which windows were disturbed, from the first measured message on.
struct Windows {
    /// How many before each window, and in all.
    disturbed_before: Vec<u32>,
}

impl Windows {
    fn new(told: &Told, disturbances: &[Disturbance]) -> Windows {
        let start_ns = told.start_monotonic_ns;
        let length_ns = told.end_monotonic_ns.saturating_sub(start_ns);
        let last = (length_ns / WINDOW_NS) as usize;
        let mut disturbed = vec![false; last + 1];
        for disturbance in disturbances.iter().filter(|one| one.end_ns >= start_ns) {
            let window = |ns: u64| (ns.saturating_sub(start_ns) / WINDOW_NS) as usize;
            let (from, to) = (window(disturbance.start_ns), window(disturbance.end_ns).min(last));
            if from <= to {
                disturbed[from..=to].fill(true);
            }
        }
        let mut so_far = 0;
        let mut disturbed_before = vec![0];
        disturbed_before.extend(disturbed.iter().map(|is_disturbed| {
            so_far += u32::from(*is_disturbed);
            so_far
        }));
        Windows { disturbed_before }
    }

    /// Whether any of the time `span`, ns from the first measured message, lies in a disturbed window.
    fn touch(&self, span: RangeInclusive<u64>) -> bool {
        let last = self.disturbed_before.len() - 1;
        let window = |ns: u64| ((ns / WINDOW_NS) as usize).min(last);
        let (from, to) = (window(*span.start()), (window(*span.end()) + 1).min(last));
        self.disturbed_before[to] > self.disturbed_before[from.min(to)]
    }
}

fn load(plan: &Plan, told: &Told, disturbances: &[Disturbance], lateness: &Histogram<u64>) -> Load {
    let length_ns = told.end_monotonic_ns.saturating_sub(told.start_monotonic_ns).max(1);
    let within = |one: &&Disturbance| {
        one.end_ns >= told.start_monotonic_ns && one.start_ns <= told.end_monotonic_ns
    };
    let (faults, switches): (Vec<&Disturbance>, Vec<&Disturbance>) =
        disturbances.iter().filter(within).partition(|one| one.is_fault);
    let producer_away_ns: u64 = switches
        .iter()
        .filter(|one| one.thread == 0)
        .map(|one| one.end_ns.saturating_sub(one.start_ns))
        .sum();
    // The last message is due a gap before the schedule's length is over.
    let lasted = length_ns as f64 / 1e9;
    let planned = plan.messages as f64 / plan.rate_per_second;
    Load {
        model: "open".to_owned(),
        rate_per_second_offered: Some(plan.rate_per_second),
        rate_per_second_achieved: told.sent as f64 / lasted.max(planned),
        sent: told.sent,
        received: told.received,
        lost: told.lost,
        conflated: told.conflated,
        duplicated: told.duplicated,
        out_of_order: told.out_of_order,
        held_back: told.held_back,
        blocks_late: told.blocks_late,
        warm_up_sent: plan.warm_up_messages,
        lateness_ns_p99: measure::stats::percentiles(lateness).0.p99,
        context_switches_involuntary: switches.len() as u64,
        core_waited_share: producer_away_ns as f64 / length_ns as f64,
        page_faults: faults.len() as u64,
        ..Load::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Ends;
    use measure::hlog;
    use measure::schedule::Arrival;

    /// 1 000 messages/s: a window each.
    fn plan() -> Plan {
        Plan {
            subject: "ring".to_owned(),
            structure: "ring".to_owned(),
            message_bytes: 16,
            slots: 16,
            keys: 1,
            block_bytes: 0,
            rate_per_second: 1_000.0,
            arrival: Arrival::Uniform,
            burst: 1,
            seed: 0,
            warm_up_messages: 10,
            messages: 2_000,
            cores: [None, None],
            scheduling: host::Scheduling::Other,
            directory: String::new(),
            samples: String::new(),
            ends: Ends::Both,
            clock: None,
        }
    }

    fn told() -> Told {
        Told {
            complete: true,
            sent: 2_000,
            received: 1_999,
            start_monotonic_ns: 5_000_000_000,
            end_monotonic_ns: 7_000_000_000,
            ..Told::default()
        }
    }

    fn judged(disturbances: Option<&[Disturbance]>) -> (Load, hlog::Totals) {
        let mut samples = vec![Sample { response_ns: 300, service_ns: 200 }; 2_000];
        samples[7] = Sample::NEVER;
        samples[100] = Sample { response_ns: 3_000_300, service_ns: 3_000_200 };
        let mut log = Vec::new();
        let load =
            judge(&plan(), &told(), &samples, disturbances, SystemTime::UNIX_EPOCH, &mut log);
        (load.unwrap(), hlog::totals(&log[..]).unwrap())
    }

    #[test]
    fn a_message_under_way_in_a_disturbed_window_is_not_undisturbed() {
        // Window 102: only message 100, which is under way until 103, and message 102 meet it.
        let disturbance = Disturbance {
            thread: 0,
            start_ns: 5_102_100_000,
            end_ns: 5_102_500_000,
            is_fault: false,
        };
        let (load, totals) = judged(Some(&[disturbance]));
        assert_eq!(totals["ring.message.response"].len(), 1_999);
        assert_eq!(totals["ring.undisturbed.response"].len(), 1_997);
        assert_eq!(totals["ring.undisturbed.service"].max(), 200);
        assert!(totals["ring.message.response"].max() >= 3_000_000);
        assert_eq!(load.context_switches_involuntary, 1);
        assert!((load.core_waited_share - 0.4e6 / 2e9).abs() < 1e-9);
        assert_eq!(load.lateness_ns_p99, Some(100));
    }

    #[test]
    fn what_the_kernel_did_not_tell_is_not_claimed() {
        let (_, totals) = judged(None);
        assert_eq!(totals["ring.message.response"].len(), 1_999);
        assert!(!totals.contains_key("ring.undisturbed.response"));
        let (_, totals) = judged(Some(&[]));
        assert_eq!(totals["ring.undisturbed.response"].len(), 1_999);
    }

    #[test]
    fn what_happened_before_or_after_disturbs_nothing() {
        let away = |start_ns, end_ns| Disturbance { thread: 1, start_ns, end_ns, is_fault: true };
        let before = away(4_000_000_000, 4_999_999_999);
        let after = away(7_100_000_000, 7_200_000_000);
        let (load, totals) = judged(Some(&[before, after]));
        assert_eq!(totals["ring.undisturbed.response"].len(), 1_999);
        assert_eq!(load.page_faults, 0);
        let over_the_start = away(4_000_000_000, 5_000_000_001);
        assert_eq!(judged(Some(&[over_the_start])).1["ring.undisturbed.response"].len(), 1_998);
    }
}
