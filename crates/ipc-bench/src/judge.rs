//! Turns a client's samples and its disturbances into latencies, by the same code for every
//! structure in any language.
//!
//! A message is disturbed if one of the two threads was switched out or had a page fault while it
//! was due or under way, or if it waited behind such a message. Both series are always kept:
//! `message` has all messages, `undisturbed` only the undisturbed ones.

use crate::report::ClientReport;
use crate::samples::Sample;
use clock::recorder::{self, INTERVAL_NS, Interval, Series};
use clock::schedule::Schedule;
use hdrhistogram::Histogram;
use plan::process::ipc::{IpcPlan, MESSAGE};
use record::{Kind, Load};
use stats::touch::Touch;
use std::io::{self, Write};
use std::time::SystemTime;

/// Largest drift between the client's clock and the kernel's, as a share of the time since the
/// start. Disturbances are extended by it on both sides.
const DRIFT_SHARE: f64 = 20e-6;
/// Assumed length of a page fault, ns, because the kernel reports only its start.
pub const FAULT_NS: u64 = 5_000;

/// The series of undisturbed messages.
pub const UNDISTURBED: &str = "undisturbed";

const SERIES: [Series; 5] = [
    Series::new(MESSAGE, Kind::Response),
    Series::new(MESSAGE, Kind::Service),
    Series::new(UNDISTURBED, Kind::Response),
    Series::new(UNDISTURBED, Kind::Service),
    Series::new("send", Kind::Lateness),
];
/// Indices of the series that exist without knowledge of the disturbances.
const ALL: [usize; 3] = [0, 1, 4];

/// A time in which a thread did not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disturbance {
    /// 0: the producer, 1: the consumer.
    pub thread: usize,
    /// `CLOCK_MONOTONIC`, ns.
    pub start_ns: u64,
    /// `CLOCK_MONOTONIC`, ns.
    pub end_ns: u64,
    /// Whether it had a page fault; otherwise it was switched out.
    pub is_fault: bool,
}

/// Result of the samples.
#[derive(Clone, Debug)]
pub struct SampleResult {
    /// The messages that were sent and received.
    pub load: Load,
    /// Shares of disturbed messages; `None` if unknown.
    pub touched: Option<DisturbedShares>,
}

/// Shares of disturbed messages of all received ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DisturbedShares {
    /// While a thread was switched out.
    pub preempted: f64,
    /// While a thread had a page fault.
    pub faulted: f64,
}

/// Writes the latencies to `log` and returns the load. `disturbances` is `None` if unknown.
///
/// # Errors
/// If the log can't be written.
pub fn judge(
    plan: &IpcPlan,
    told: &ClientReport,
    samples: &[Sample],
    disturbances: Option<&[Disturbance]>,
    started: SystemTime,
    log: &mut dyn Write,
) -> io::Result<SampleResult> {
    let mut schedule = plan.schedule();
    while schedule.index() < plan.warm_up_messages {
        schedule.advance();
    }
    let first_ns = schedule.offset_ns();
    let (faults, switches): (Vec<Disturbance>, Vec<Disturbance>) =
        disturbances.unwrap_or_default().iter().partition(|one| one.is_fault);
    let (mut away, mut faulting) = (touch(told, &switches), touch(told, &faults));
    let (mut came, mut preempted, mut faulted) = (0_u64, 0_u64, 0_u64);
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
            let until_ns = offset_ns + u64::from(sample.response_ns);
            let is_preempted = away.touches(offset_ns, until_ns);
            let is_faulted = faulting.touches(offset_ns, until_ns);
            came += 1;
            preempted += u64::from(is_preempted);
            faulted += u64::from(is_faulted);
            let undisturbed = disturbances.is_some() && !is_preempted && !is_faulted;
            record(&mut interval, sample, undisturbed);
        }
        lateness.add(&interval.histograms[4]).expect("the same bounds");
        Some(interval)
    };
    recorder::write_log(&SERIES, &plan.subject, log, started, first_ns, &|| (), &mut next)?;
    let share = |touched: u64| touched as f64 / came.max(1) as f64;
    let touched = DisturbedShares { preempted: share(preempted), faulted: share(faulted) };
    let load = load(plan, told, &faults, &switches, &lateness);
    Ok(SampleResult { load, touched: disturbances.map(|_| touched) })
}

/// Due time and sample of each received message.
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

/// The disturbed times, ns from the first measured message.
fn touch(told: &ClientReport, disturbances: &[Disturbance]) -> Touch {
    let since_start = |ns: u64, sign: f64| {
        let since_ns = ns as f64 - told.start_monotonic_ns as f64;
        since_ns + sign * since_ns.abs() * DRIFT_SHARE
    };
    let window = |one: &Disturbance| {
        let end_ns = if one.is_fault { one.end_ns + FAULT_NS } else { one.end_ns };
        let end_ns = since_start(end_ns, 1.0);
        (end_ns >= 0.0).then_some((since_start(one.start_ns, -1.0).max(0.0) as u64, end_ns as u64))
    };
    Touch::new(disturbances.iter().filter_map(window).collect())
}

fn load(
    plan: &IpcPlan,
    told: &ClientReport,
    faults: &[Disturbance],
    switches: &[Disturbance],
    lateness: &Histogram<u64>,
) -> Load {
    let length_ns = told.end_monotonic_ns.saturating_sub(told.start_monotonic_ns).max(1);
    let within = |one: &&Disturbance| {
        one.end_ns >= told.start_monotonic_ns && one.start_ns <= told.end_monotonic_ns
    };
    let count = |all: &[Disturbance]| all.iter().filter(within).count() as u64;
    // The last message is due one gap before the end of the schedule.
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
        lateness_ns_p99: stats::percentiles(lateness).0.p99,
        context_switches_involuntary: count(switches),
        page_faults: count(faults),
        ..Load::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::schedule::Arrival;
    use plan::process::ipc::IpcEnds;
    use record::hlog;

    /// 1 000 messages/s.
    fn plan() -> IpcPlan {
        IpcPlan {
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
            ends: IpcEnds::Both,
            clock: None,
        }
    }

    fn told() -> ClientReport {
        ClientReport {
            complete: true,
            sent: 2_000,
            received: 1_999,
            start_monotonic_ns: 5_000_000_000,
            end_monotonic_ns: 7_000_000_000,
            ..ClientReport::default()
        }
    }

    fn judged(disturbances: Option<&[Disturbance]>) -> (SampleResult, hlog::Totals) {
        let mut samples = vec![Sample { response_ns: 300, service_ns: 200 }; 2_000];
        samples[7] = Sample::NEVER;
        samples[100] = Sample { response_ns: 3_000_300, service_ns: 3_000_200 };
        let mut log = Vec::new();
        let judged =
            judge(&plan(), &told(), &samples, disturbances, SystemTime::UNIX_EPOCH, &mut log);
        (judged.unwrap(), hlog::totals(&log[..]).unwrap())
    }

    #[test]
    fn who_is_under_way_or_waits_behind_is_not_undisturbed() {
        // Message 100 is under way from 100 to 103 ms. 101 and 102 are due during that time.
        let disturbance = Disturbance {
            thread: 0,
            start_ns: 5_102_100_000,
            end_ns: 5_102_500_000,
            is_fault: false,
        };
        let (SampleResult { load, touched }, totals) = judged(Some(&[disturbance]));
        let preempted = 4.0 / 1_999.0;
        assert_eq!(touched, Some(DisturbedShares { preempted, faulted: 0.0 }));
        assert_eq!(totals["ring.message.response"].len(), 1_999);
        assert_eq!(totals["ring.undisturbed.response"].len(), 1_999 - 4);
        assert_eq!(totals["ring.undisturbed.service"].max(), 200);
        assert!(totals["ring.message.response"].max() >= 3_000_000);
        assert_eq!(load.context_switches_involuntary, 1);
        assert_eq!(load.lateness_ns_p99, Some(100));
    }

    #[test]
    fn what_the_kernel_did_not_tell_is_not_claimed() {
        let (SampleResult { touched, .. }, totals) = judged(None);
        assert_eq!(touched, None);
        assert_eq!(totals["ring.message.response"].len(), 1_999);
        assert!(!totals.contains_key("ring.undisturbed.response"));
        let (_, totals) = judged(Some(&[]));
        assert_eq!(totals["ring.undisturbed.response"].len(), 1_999);
    }

    #[test]
    fn what_happened_before_or_after_disturbs_nothing() {
        let away = |start_ns, end_ns| Disturbance { thread: 1, start_ns, end_ns, is_fault: true };
        let before = away(4_000_000_000, 4_999_900_000);
        let after = away(7_100_000_000, 7_200_000_000);
        let (SampleResult { load, .. }, totals) = judged(Some(&[before, after]));
        assert_eq!(totals["ring.undisturbed.response"].len(), 1_999);
        assert_eq!(load.page_faults, 0);
        let over_the_start = away(4_000_000_000, 5_000_000_001);
        assert_eq!(judged(Some(&[over_the_start])).1["ring.undisturbed.response"].len(), 1_998);
    }
}
