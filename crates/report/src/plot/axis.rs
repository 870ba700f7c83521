//! The axes of a plot: where a value stands, and which values get a tick.

use crate::text::number;
use clock::calendar::utc;

/// How an axis maps values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Linear,
    /// Equal ratios are equally far apart.
    Log,
    /// A quantile p stands at `log10(1 / (1 - p))`: each further nine is equally far.
    Percentile,
}

/// A tick and, unless it is a minor one, its label.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The value that it stands at.
    pub at: f64,
    /// Empty for a minor tick.
    pub label: String,
}

/// One axis of a plot.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Quantity with its unit.
    pub label: String,
    /// Ascending.
    pub ticks: Vec<Tick>,
    scale: Scale,
    low: f64,
    high: f64,
}

/// An axis has about this many labelled ticks.
const TICKS: f64 = 6.0;
/// A logarithmic axis spans at least this ratio, so that noise does not fill it.
const RATIO_MIN: f64 = 2.0;
/// Beyond this ratio only powers of ten have labels on a logarithmic axis.
const RATIO_OF_DECADES: f64 = 300.0;
/// Seconds between ticks of a time axis, below a day.
const TIME_STEPS: [u64; 9] = [60, 120, 300, 600, 1800, 3600, 7200, 21_600, 43_200];
/// The last second that is written with four digits for the year.
const SECONDS_MAX: u64 = 253_402_300_799 - 60;
/// The deepest quantile of the percentile axis has this many nines.
const NINES_MAX: i32 = 12;

/// As many nines have a label each.
const LABELLED_NINES_MAX: f64 = 5.5;

impl Axis {
    /// Latencies in ns on a logarithmic axis, labelled in the unit that fits.
    pub fn latency(label: &str, low_ns: f64, high_ns: f64) -> Axis {
        Axis::log(label, low_ns.max(1.0), high_ns.max(1.0), number::tick_ns)
    }

    /// A logarithmic axis from at most `low` to at least `high`, both above 0.
    pub fn log(label: &str, low: f64, high: f64, shown: fn(f64) -> String) -> Axis {
        let low = if low.is_finite() && low > 0.0 { low } else { 1.0 };
        let high = if high.is_finite() { high.max(low * RATIO_MIN) } else { low * RATIO_MIN };
        let steps: Vec<f64> = one_two_five(low, high);
        let (low, high) = (steps[0], steps[steps.len() - 1]);
        let decades_only = high / low > RATIO_OF_DECADES;
        let is_decade = |value: f64| (value.log10() - value.log10().round()).abs() < 1e-6;
        let label_of = |value: f64| {
            if decades_only && !is_decade(value) { String::new() } else { shown(value) }
        };
        let ticks = steps.into_iter().map(|at| Tick { at, label: label_of(at) }).collect();
        Axis { label: label.to_owned(), ticks, scale: Scale::Log, low, high }
    }

    /// A linear axis from `low` to `high`.
    pub fn linear(label: &str, low: f64, high: f64, shown: fn(f64) -> String) -> Axis {
        let low = if low.is_finite() { low } else { 0.0 };
        let high = if high.is_finite() && high > low { high } else { low + 1.0 };
        let step = step_of((high - low) / TICKS);
        let first = (low / step).ceil();
        let count = ((high / step + 1e-9).floor() - first).clamp(0.0, 4.0 * TICKS) as usize;
        let at = |index: usize| (first + index as f64) * step;
        let ticks = (0..=count).map(|index| Tick { at: at(index), label: shown(at(index)) });
        Axis { label: label.to_owned(), ticks: ticks.collect(), scale: Scale::Linear, low, high }
    }

    /// Moments in seconds since the epoch, UTC, with ticks at whole minutes, hours or days.
    pub fn time(label: &str, from_s: u64, to_s: u64) -> Axis {
        // A year beyond every calendar is no moment.
        let from = from_s.min(SECONDS_MAX);
        let to = to_s.clamp(from + 60, SECONDS_MAX + 60);
        let width = (to - from) / TICKS as u64;
        let days = || (1..).map(|days| days * 86_400);
        let step = TIME_STEPS.into_iter().chain(days()).find(|step| *step >= width);
        let step = step.unwrap_or(86_400);
        let at = (from.div_ceil(step)..=to / step).map(|index| index * step);
        let mut day = None;
        let ticks = at.map(|seconds| {
            let text = utc(seconds * 1000);
            // The day only where it changes.
            let is_new = day.replace(seconds / 86_400) != Some(seconds / 86_400);
            let label = match (is_new, step % 86_400 == 0) {
                (_, true) => text[..10].to_owned(),
                (true, false) => format!("{} {}", &text[..10], &text[11..16]),
                (false, false) => text[11..16].to_owned(),
            };
            Tick { at: seconds as f64, label }
        });
        let (low, high) = (from as f64, to as f64);
        Axis { label: label.to_owned(), ticks: ticks.collect(), scale: Scale::Linear, low, high }
    }

    /// Quantiles from 0 to `deepest`, which is below 1, on an axis of nines.
    pub fn percentile(label: &str, deepest: f64) -> Axis {
        let nines = nines(deepest).max(1.0);
        // Deep labels are long: every second or third is enough.
        let step = (nines / LABELLED_NINES_MAX).ceil() as i32;
        let median = if step == 1 { "50 %".to_owned() } else { String::new() };
        let mut ticks = vec![Tick { at: 0.5, label: median }];
        for power in 1..=(nines + 0.01).floor() as i32 {
            let decimals = (power - 2).max(0) as usize;
            let at = 1.0 - 10f64.powi(-power);
            let is_labelled = power % step == 0;
            let label = is_labelled.then(|| format!("{:.decimals$} %", at * 100.0));
            ticks.push(Tick { at, label: label.unwrap_or_default() });
        }
        Axis { label: label.to_owned(), ticks, scale: Scale::Percentile, low: 0.0, high: deepest }
    }

    /// The lowest value on it.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// Where `value` stands: 0 at the low end, 1 at the high one; values beyond stand at the end.
    /// NaN if `value` is NaN.
    pub fn position(&self, value: f64) -> f64 {
        let map = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Log => value.max(f64::MIN_POSITIVE).log10(),
            Scale::Percentile => nines(value),
        };
        let (low, high) = (map(self.low), map(self.high));
        ((map(value) - low) / (high - low)).clamp(0.0, 1.0)
    }
}

/// `log10(1 / (1 - quantile))`: 2 for 0.99.
fn nines(quantile: f64) -> f64 {
    -(1.0 - quantile).max(10f64.powi(-NINES_MAX)).log10()
}

/// 1, 2 and 5 times the powers of ten, from the last at or below `low` to the first at or above
/// `high`.
fn one_two_five(low: f64, high: f64) -> Vec<f64> {
    let from = low.log10().floor() as i32;
    let to = high.log10().ceil() as i32;
    let steps =
        (from..=to).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
    let steps: Vec<f64> = steps.collect();
    let slack = 1.0 + 1e-9;
    let first = steps.iter().rposition(|step| *step <= low * slack).unwrap_or(0);
    let last = steps.iter().position(|step| *step * slack >= high).unwrap_or(steps.len() - 1);
    steps[first..=last.max(first + 1).min(steps.len() - 1)].to_vec()
}

/// 1, 2 or 5 times a power of ten, at least `width`.
fn step_of(width: f64) -> f64 {
    let power = 10f64.powf(width.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= width * (1.0 - 1e-9));
    digit.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::calendar::seconds;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn a_latency_axis_is_rounded_outwards() {
        let axis = Axis::latency("", 14_300.0, 88_000.0);
        assert_eq!(labels(&axis), ["10 us", "20 us", "50 us", "100 us"]);
        assert_eq!((axis.position(10_000.0), axis.position(1e9)), (0.0, 1.0));
        let wide = Axis::latency("", 900.0, 3e9);
        assert!(labels(&wide).contains(&"1 ms") && !labels(&wide).contains(&"5 ms"), "{wide:?}");
    }

    #[test]
    fn each_nine_is_equally_far() {
        let axis = Axis::percentile("", 0.9999);
        assert_eq!(labels(&axis), ["50 %", "90 %", "99 %", "99.9 %", "99.99 %"]);
        let at = |value| axis.position(value);
        assert!((at(0.99) - at(0.9) - (at(0.999) - at(0.99))).abs() < 1e-9);
    }

    #[test]
    fn deep_percentiles_are_labelled_sparsely() {
        let axis = Axis::percentile("", 1.0 - 1e-9);
        let shown: Vec<&str> =
            labels(&axis).into_iter().filter(|label| !label.is_empty()).collect();
        assert_eq!(shown, ["99 %", "99.99 %", "99.9999 %", "99.999999 %"]);
    }

    #[test]
    fn ticks_of_a_linear_axis_are_round_and_within_it() {
        let axis = Axis::linear("", 3.0, 24.0, |value| format!("{value:.0}"));
        assert_eq!(labels(&axis), ["5", "10", "15", "20"]);
    }

    #[test]
    fn ticks_of_time_are_whole_and_name_the_day_once() {
        let evening = 1_795_300_000;
        assert_eq!(seconds("2026-11-21T22:26:40Z"), Some(evening));
        let axis = Axis::time("", evening, evening + 7200);
        assert_eq!(labels(&axis), ["2026-11-21 22:30", "23:00", "23:30", "2026-11-22 00:00"]);
        let weeks = Axis::time("", evening, evening + 20 * 86_400);
        assert_eq!(labels(&weeks)[..2], ["2026-11-23", "2026-11-27"]);
        for (from, to) in [(0, 0), (evening, 0), (0, u64::MAX), (u64::MAX, u64::MAX)] {
            let axis = Axis::time("", from, to);
            assert!(axis.ticks.len() < 20, "{axis:?}");
            assert!(axis.position(7.0).is_finite());
        }
    }

    /// Figures of damaged or empty records end up here.
    #[test]
    fn any_bounds_make_an_axis() {
        for low in [f64::NAN, 0.0, -1.0, 1e300, 5.0] {
            for high in [f64::NAN, 0.0, f64::INFINITY, 5.0] {
                for axis in [
                    Axis::latency("", low, high),
                    Axis::linear("", low, high, |value| value.to_string()),
                    Axis::percentile("", high),
                ] {
                    assert!(axis.ticks.len() < 2000);
                    assert!(axis.position(7.0).is_finite(), "{low} {high}");
                }
            }
        }
    }
}
