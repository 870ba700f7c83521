//! Progress of a run, and the stretches of a soak, computed from each second as it ends by the
//! thread that writes the log.

use crate::series::{SOAK_REFERENCE, SOAK_SERVICE};
use clock::recorder::{self, INTERVAL_NS, Interval};
use hdrhistogram::Histogram;
use host::Root;
use plan::process::engine::OPERATION;
use plan::process::engine::{EnginePlan, Task};
use record::engine::Stretch;
use record::progress::Second;
use record::{Kind, Load};
use stats::buckets::buckets;
use stats::percentile;

/// Stretches of a soak.
pub const STRETCHES: u32 = 10;

/// Receives each second as it ends.
pub(crate) struct Watch {
    series: String,
    /// Only for a soak.
    stretches: Option<Stretches>,
    /// Start of the first second, ns.
    from_ns: Option<u64>,
}

/// The stretches of a soak, which together last as long as planned.
struct Stretches {
    /// Number of operations, or 0.
    operations: u64,
    seconds: f64,
    /// Operations of this run so far.
    so_far: u64,
    /// Since the last stretch ended.
    service: Histogram<u64>,
    reference: Histogram<u64>,
    made: Vec<Stretch>,
    last_end_seconds: f64,
}

impl Watch {
    pub(crate) fn new(plan: &EnginePlan) -> Watch {
        let kind = match plan.task {
            Task::Open { .. } | Task::Journal { .. } => Kind::Response,
            Task::Passes { .. } | Task::Soak { .. } => Kind::Service,
        };
        let stretches = match plan.task {
            Task::Soak { operations, seconds, .. } => Some(Stretches {
                operations,
                seconds,
                so_far: 0,
                service: recorder::histogram(),
                reference: recorder::histogram(),
                made: Vec::new(),
                last_end_seconds: 0.0,
            }),
            _ => None,
        };
        Watch { series: format!("{OPERATION}.{}", kind.name()), stretches, from_ns: None }
    }

    /// Takes a second and returns its progress. The last second may be a few microseconds long, and
    /// is not reported.
    pub(crate) fn take(&mut self, interval: &Interval) -> Option<Second> {
        let from_ns = *self.from_ns.get_or_insert(interval.start_ns);
        let seconds = interval.end_ns.saturating_sub(from_ns) as f64 / 1e9;
        let left = self.stretches.as_mut().map(|stretches| stretches.take(interval, seconds));
        let length_ns = interval.end_ns.saturating_sub(interval.start_ns);
        let values = &interval.histograms[0];
        (length_ns >= INTERVAL_NS / 2).then(|| Second {
            seconds,
            messages_per_second: values.len() as f64 / (length_ns as f64 / 1e9),
            series: self.series.clone(),
            p50_ns: percentile(values, 0.5),
            p99_ns: percentile(values, 0.99),
            buckets: buckets(values),
            sum_ns: (values.mean() * values.len() as f64) as u64,
            seconds_left: left.flatten(),
        })
    }

    /// Adds the stretches of a soak to its load.
    pub(crate) fn finish(self, load: &mut Load) {
        if let (Some(mut stretches), Some(engine_run)) = (self.stretches, load.engine.first_mut()) {
            stretches.end();
            engine_run.stretches = stretches.made;
        }
    }
}

impl Stretches {
    /// Seconds that are left, if the number of operations tells.
    fn take(&mut self, interval: &Interval, seconds: f64) -> Option<f64> {
        let add = |to: &mut Histogram<u64>, series: usize| {
            to.add(&interval.histograms[series]).expect("the same bounds");
        };
        add(&mut self.service, SOAK_SERVICE);
        add(&mut self.reference, SOAK_REFERENCE);
        self.so_far += interval.histograms[SOAK_SERVICE].len();
        self.last_end_seconds = seconds;
        let share = match self.operations {
            0 => seconds / self.seconds,
            all => self.so_far as f64 / all as f64,
        };
        let ended = (share * f64::from(STRETCHES)).floor() as usize;
        if ended > self.made.len() {
            self.end();
        }
        (self.operations > 0 && share > 0.0).then(|| (seconds / share - seconds).max(0.0))
    }

    fn end(&mut self) {
        if self.service.is_empty() {
            return;
        }
        self.made.push(Stretch {
            end_seconds: self.last_end_seconds,
            operations: self.service.len(),
            p50_ns: percentile(&self.service, 0.5),
            p99_ns: percentile(&self.service, 0.99),
            reference_operations: self.reference.len(),
            reference_p50_ns: percentile(&self.reference, 0.5),
            reference_p99_ns: percentile(&self.reference, 0.99),
            resident_bytes: host::memory::resident_bytes(&Root::system()),
        });
        self.service.reset();
        self.reference.reset();
    }
}
