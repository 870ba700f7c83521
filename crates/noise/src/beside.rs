//! `run --noise`: attributes the hiccup stretches, and keeps the kernel's events of the measured
//! cores while a subject is measured.
//!
//! Under load a core is not idle. There, only time counts that the kernel's events assign to other
//! processes than the measured ones. A softirq without a preceding interrupt is the subject's own
//! (loopback delivers in the sender) and is left out.

use crate::attribute::attribute;
use crate::cause::{self, Cause, Causes};
use crate::hiccup;
use crate::meter::{self, Gap, MeterResult};
use crate::occupancy::OccupancyResult;
use crate::profile::{self, named};
use crate::tally::{GapOwner, Tally, moved};
use crate::trace::catalog::WorkKind;
use crate::trace::spans::Span;
use crate::trace::{EndSignal, Trace};
use clock::{Clock, wall_ms};
use host::HostError;
use record::hlog::measured_part;
use record::noise::{Attribution, Core, Noise};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Spans that are closer together count as one disturbance: an interrupt and its softirq, ns.
const APART_NS: u64 = 2_000;
/// The log's times are rounded to this, ns.
const ROUNDING_NS: u64 = 2_000_000;
/// No thread has this number.
const NO_THREAD: i32 = -1;

/// The time in which one subject of one run was measured.
struct MeasuredTime {
    whose: GapOwner,
    /// The clock and the events' timeline, before and after.
    anchors: [(u64, u64); 2],
    start_unix_seconds: f64,
    /// The measured part on the clock, or why it is unknown.
    measured: Result<(u64, u64), String>,
}

/// Collects the disturbances of a run's cores, part by part.
pub struct DisturbanceCollector {
    trace: Option<Trace>,
    causes: Causes,
    idle: Tally,
    under_load: Tally,
    cores: BTreeMap<usize, Core>,
    attribution: Attribution,
    has_fair_server: bool,
    /// Events whose measured threads are not known yet.
    pending: Option<MeasuredTime>,
    /// Idle measurements so far: one before each run, and one after the last.
    looks: u32,
}

impl DisturbanceCollector {
    /// For runs on `cores`. Without permission for the kernel's events everything is `untraced`,
    /// and [`DisturbanceCollector::finish`] gives the reason.
    pub fn open(cores: &[usize], has_fair_server: bool) -> DisturbanceCollector {
        let mut attribution = Attribution::default();
        let trace = Trace::open(cores).map_err(|error| attribution.missing.push(error.to_string()));
        let trace = trace.ok();
        attribution.traced = trace.is_some();
        if let Some(trace) = &trace {
            attribution.missing.extend(profile::missing_tracepoints(trace.missing()));
        }
        DisturbanceCollector {
            trace,
            causes: Causes::default(),
            idle: Tally::default(),
            under_load: Tally::default(),
            cores: BTreeMap::new(),
            attribution,
            has_fair_server,
            pending: None,
            looks: 0,
        }
    }

    /// The result of [`hiccup::look`], with causes; for [`hiccup::write`].
    ///
    /// # Errors
    /// If a thread can't be placed.
    pub fn hiccup(
        &mut self,
        look: &hiccup::HiccupSettings,
        clock: Clock,
        stop: &AtomicBool,
    ) -> Result<Vec<MeterResult>, HostError> {
        self.looks += 1;
        let looks: Vec<meter::MeterSettings> =
            look.cores.iter().map(|&core| look.on(core)).collect();
        let (_, start_ns) = clock.beside_raw();
        let on = self.trace.as_ref().is_some_and(|trace| trace.start().is_ok());
        let seen = meter::look_on_each(&looks, clock, stop, &|| (), || ())?;
        let told = match (&mut self.trace, on) {
            (Some(trace), true) => {
                trace.stop();
                let own: Vec<i32> = seen.iter().map(|seen| seen.thread).collect();
                trace.told(start_ns, &own, self.has_fair_server, &mut self.causes)
            }
            _ => Vec::new(),
        };
        for (number, seen) in seen.iter().enumerate() {
            let told = told.get(number);
            let whose = GapOwner { run: self.looks, subject: hiccup::SUBJECT.to_owned() };
            let aligned = self.idle.add(seen, told, &whose);
            let so_far = &mut self.attribution.aligned_share;
            *so_far = [*so_far, aligned].into_iter().flatten().reduce(f64::min);
            self.attribution.events += told.map_or(0, |told| told.records);
            self.attribution.events_lost += told.map_or(0, |told| told.lost);
            let core = profile::core(seen);
            self.cores
                .entry(seen.core)
                .and_modify(|sum| add(sum, &core))
                .or_insert_with(|| core.clone());
        }
        Ok(seen)
    }

    /// Runs `work`, during which other processes measure `subject` and this one sleeps. Keeps the
    /// kernel's events only of the measured part, which the log at `hlog` defines: before and after
    /// it, other programs may use the cores. [`DisturbanceCollector::attribute`] follows.
    pub fn during<T>(
        &mut self,
        run: u32,
        subject: &str,
        clock: Clock,
        hlog: &Path,
        work: impl FnOnce() -> T,
    ) -> T {
        let Some(trace) = &mut self.trace else { return work() };
        let whose = GapOwner { run, subject: subject.to_owned() };
        let first = clock.beside_raw();
        let start_unix_seconds = wall_ms() as f64 / 1e3;
        let ended = EndSignal::new().and_then(|ended| trace.start().map(|()| ended));
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => {
                self.miss(&whose, &error.to_string());
                return work();
            }
        };
        let done = std::thread::scope(|scope| {
            scope.spawn(|| trace.take_until(&ended, 1));
            let done = work();
            ended.tell();
            done
        });
        trace.stop();
        let anchors = [first, clock.beside_raw()];
        let on_clock = |unix_seconds: f64| {
            let after_start_ns = (unix_seconds - start_unix_seconds) * 1e9;
            first.0.saturating_add_signed(after_start_ns as i64)
        };
        let part = File::open(hlog)
            .map_err(|error| error.to_string())
            .and_then(|log| measured_part(BufReader::new(log), subject));
        let measured = part.map(|(from, to)| (on_clock(from), on_clock(to))).and_then(|part| {
            let (start_ns, end_ns) = (anchors[0].0, anchors[1].0 + ROUNDING_NS);
            match part.0 + ROUNDING_NS >= start_ns && part.1 <= end_ns {
                true => Ok(part),
                false => Err("the log's times lie outside the time it ran".to_owned()),
            }
        });
        self.pending = Some(MeasuredTime { whose, anchors, start_unix_seconds, measured });
        done
    }

    /// Attributes the events of the last [`DisturbanceCollector::during`]. The `occupancy` of the
    /// same time names the measured thread of each core, whose own work is no disturbance.
    pub fn attribute(&mut self, occupancy: &OccupancyResult) {
        let Some(MeasuredTime { whose, anchors, start_unix_seconds, measured }) =
            self.pending.take()
        else {
            return;
        };
        let thread = |core| occupancy.cores.iter().find(|one| one.core == core)?.thread;
        let Some(trace) = &mut self.trace else { return };
        let cores: Vec<usize> = trace.cores().collect();
        let own: Vec<Option<i32>> = cores.iter().map(|core| thread(*core)).collect();
        let known: Vec<i32> = own.iter().map(|thread| thread.unwrap_or(NO_THREAD)).collect();
        let told = trace.told(anchors[0].1, &known, self.has_fair_server, &mut self.causes);
        for ((core, told), own) in cores.into_iter().zip(told).zip(own) {
            self.attribution.events += told.records;
            self.attribution.events_lost += told.lost;
            let part = match (&measured, own) {
                // A subject that does not use the core is not disturbed there.
                (Ok(_), None) if occupancy.missing.is_empty() => continue,
                (Ok(_), None) => {
                    self.miss(&whose, &occupancy.missing);
                    continue;
                }
                (Ok(part), Some(_)) => *part,
                (Err(why), _) => {
                    self.miss(&whose, why);
                    continue;
                }
            };
            let spans = within(part, &moved(&anchors, &told.spans));
            let gaps = disturbances(&spans, self.causes.text(cause::BLOCKED));
            let parts = attribute(&gaps, &spans);
            let origin = (anchors[0].0, start_unix_seconds);
            self.under_load.count((core, 0), origin, &gaps, &parts, &whose);
        }
    }

    /// Notes that the disturbances of one subject in one run are not known.
    fn miss(&mut self, whose: &GapOwner, why: &str) {
        let sentence = format!("run {}, {}: not known under load: {why}", whose.run, whose.subject);
        if !self.attribution.missing.contains(&sentence) {
            self.attribution.missing.push(sentence);
        }
    }

    /// Everything, for the record.
    pub fn finish(mut self) -> Noise {
        let ids = named(&self.causes, &mut self.attribution);
        let mut longest = self.under_load.longest(&ids);
        longest.extend(self.idle.longest(&ids));
        longest.sort_by_key(|stall| std::cmp::Reverse(stall.length_ns));
        longest.truncate(crate::tally::STALLS_MAX);
        Noise {
            cores: self.cores.into_values().collect(),
            causes: self.idle.causes(&ids),
            under_load: self.under_load.causes(&ids),
            attribution: self.attribution,
            longest,
        }
    }
}

fn add(sum: &mut Core, more: &Core) {
    // The usual look of several stretches is their mean, weighted by time.
    let seconds = sum.seconds + more.seconds;
    sum.look_ns = (sum.look_ns * sum.seconds + more.look_ns * more.seconds) / seconds.max(1e-9);
    sum.seconds = seconds;
    sum.gap_from_ns = sum.gap_from_ns.max(more.gap_from_ns);
    sum.max_ns = sum.max_ns.max(more.max_ns);
    sum.looks += more.looks;
    sum.gaps += more.gaps;
    sum.gaps_not_kept += more.gaps_not_kept;
    sum.gaps_1us += more.gaps_1us;
    sum.gaps_10us += more.gaps_10us;
    sum.gaps_100us += more.gaps_100us;
    sum.gaps_1ms += more.gaps_1ms;
    sum.lost_ns += more.lost_ns;
    sum.unaccounted_ns += more.unaccounted_ns;
}

/// The spans in that part of the time, cut at its ends.
fn within((from_ns, to_ns): (u64, u64), spans: &[Span]) -> Vec<Span> {
    let cut = |span: &Span| {
        let (start_ns, end_ns) = (span.start_ns.max(from_ns), span.end_ns.min(to_ns));
        // Spans without an end stay so.
        let end_ns = if span.end_ns == u64::MAX { u64::MAX } else { end_ns };
        (start_ns < end_ns && span.start_ns < to_ns).then_some(Span { start_ns, end_ns, ..*span })
    };
    spans.iter().filter_map(cut).collect()
}

/// The times in which something else had the core; spans that touch, or nearly do, count as one.
/// The length of spans without an end is unknown. Events while the subject itself waits (`blocked`)
/// take nothing from it.
fn disturbances(spans: &[Span], blocked: Cause) -> Vec<Gap> {
    let mut found: Vec<(Gap, bool)> = Vec::new();
    let mut blocked_until_ns = 0;
    for span in spans.iter().filter(|span| span.end_ns != u64::MAX && span.end_ns > span.start_ns) {
        if span.cause == blocked {
            blocked_until_ns = blocked_until_ns.max(span.end_ns);
        }
        if span.start_ns < blocked_until_ns {
            continue;
        }
        let from_outside = span.kind != WorkKind::Softirq;
        match found.last_mut() {
            Some((last, outside)) if span.start_ns <= last.end_ns + APART_NS => {
                last.end_ns = last.end_ns.max(span.end_ns);
                *outside |= from_outside;
            }
            _ => {
                let gap = Gap { start_ns: span.start_ns, end_ns: span.end_ns };
                found.push((gap, from_outside));
            }
        }
    }
    found.into_iter().filter(|(_, outside)| *outside).map(|(gap, _)| gap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupancy::CoreOccupancy;
    use clock::recorder::{Series, recorder};
    use std::time::SystemTime;

    #[test]
    fn what_is_the_subjects_own_doing_does_not_disturb_it() {
        let mut causes = Causes::default();
        let (any, blocked) = (causes.text("any"), causes.text(cause::BLOCKED));
        let span = |kind, start_ns, end_ns| Span {
            start_ns,
            end_ns,
            cause: if start_ns == 70_000 { blocked } else { any },
            kind,
            carries: None,
            covers_all: false,
        };
        let spans = [
            span(WorkKind::Softirq, 100, 900),
            span(WorkKind::Vector, 10_000, 11_000),
            span(WorkKind::Hrtimer, 10_100, 10_900),
            span(WorkKind::Softirq, 11_500, 14_000),
            span(WorkKind::Fault, 20_000, u64::MAX),
            span(WorkKind::Thread, 30_000, 40_000),
            span(WorkKind::Softirq, 60_000, 61_000),
            span(WorkKind::Thread, 70_000, 90_000),
            span(WorkKind::Vector, 80_000, 81_000),
        ];
        let found: Vec<_> =
            disturbances(&spans, blocked).iter().map(|gap| (gap.start_ns, gap.end_ns)).collect();
        assert_eq!(found, [(10_000, 14_000), (30_000, 40_000)]);
    }

    /// If events are readable, a thread on the core is visible under load.
    #[test]
    fn who_takes_a_core_under_load_is_kept_with_its_run() {
        let core = *host::thread::allowed().unwrap().last().unwrap();
        if !crate::injected_tests::is_quiet(core) {
            return;
        }
        let mut beside = DisturbanceCollector::open(&[core], true);
        let clock = Clock::calibrate();
        let directory = tempfile::tempdir().unwrap();
        let hlog = directory.path().join("001.hlog");
        let said = beside.during(3, "rust", clock, &hlog, || {
            // Its name once made it one of the measured threads.
            let intruder = std::thread::Builder::new().name("tickpath".to_owned());
            let busy = move || {
                host::thread::pin(core).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(20));
                let until_ns = clock.now_ns() + 30_000_000;
                while clock.now_ns() < until_ns {}
            };
            let (started, start_ns) = (SystemTime::now(), clock.now_ns());
            intruder.spawn(busy).unwrap().join().unwrap();
            // The measured part ends here; later events took nothing from a message.
            log(&hlog, started, clock.now_ns() - start_ns);
            let busy = move || {
                host::thread::pin(core).unwrap();
                let until_ns = clock.now_ns() + 300_000_000;
                while clock.now_ns() < until_ns {}
            };
            std::thread::Builder::new()
                .name("afterwards".to_owned())
                .spawn(busy)
                .unwrap()
                .join()
                .unwrap();
            "done"
        });
        assert_eq!(said, "done");
        let measured = CoreOccupancy { core, thread: Some(1), ..CoreOccupancy::default() };
        beside.attribute(&OccupancyResult { cores: vec![measured], ..OccupancyResult::default() });
        let noise = beside.finish();
        if !noise.attribution.traced {
            testing::skip!(Tracepoints, "{:?}", noise.attribution.missing);
        }
        let intruder = noise.under_load.iter().find(|cause| cause.cause == "thread.tickpath");
        // It shares the core with other programs of this machine.
        assert!(intruder.is_some_and(|cause| cause.lost_ns > 1_000_000), "{:?}", noise.under_load);
        assert!(noise.longest.iter().all(|stall| stall.run == 3 && stall.subject == "rust"));
        assert!(noise.causes.is_empty());
        // Once a stall of 371 ms was reported for a run whose largest latency was 29 ms, because it
        // came after the last message.
        let afterwards = noise.under_load.iter().find(|cause| cause.cause == "thread.afterwards");
        assert!(afterwards.is_none_or(|cause| cause.lost_ns < 50_000_000), "{afterwards:?}");
    }

    /// The log of a client that measured for `length_ns`.
    fn log(hlog: &Path, started: SystemTime, length_ns: u64) {
        let series = [Series::new("order", record::Kind::Response)];
        let (mut recorder, drain) = recorder(&series, 5.0);
        recorder.start(0);
        recorder.record(0, 1);
        recorder.finish(length_ns);
        let mut log = File::create(hlog).unwrap();
        drain.run("rust", &mut log, started, 0, &|| ()).unwrap();
    }
}
