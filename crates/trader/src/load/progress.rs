//! Progress of a second that has just ended.

use crate::load::rows::{CANCEL_SERVICE, ORDER_RESPONSE, ORDER_SERVICE, SEND_LATENESS};
use clock::recorder::{INTERVAL_NS, Interval};
use hdrhistogram::Histogram;
use plan::process::orders::Wire;
use plan::tables::load::Model;
use record::progress::Second;
use stats::buckets::buckets;
use stats::percentile;

/// Counts seconds.
#[derive(Default)]
pub(crate) struct Seconds {
    /// Start of the first second, ns.
    from_ns: Option<u64>,
}

impl Seconds {
    /// Progress of an interval with `messages` sent; `None` for a fragment at the end.
    pub(crate) fn second(
        &mut self,
        interval: &Interval,
        messages: u64,
        series: &str,
        values: &Histogram<u64>,
    ) -> Option<Second> {
        let from_ns = *self.from_ns.get_or_insert(interval.start_ns);
        let length_ns = interval.end_ns.saturating_sub(interval.start_ns);
        // The last interval may be a few microseconds long, and is not reported.
        (length_ns >= INTERVAL_NS / 2).then(|| Second {
            seconds: interval.end_ns.saturating_sub(from_ns) as f64 / 1e9,
            messages_per_second: messages as f64 / (length_ns as f64 / 1e9),
            series: series.to_owned(),
            p50_ns: percentile(values, 0.5),
            p99_ns: percentile(values, 0.99),
            buckets: buckets(values),
            sum_ns: (values.mean() * values.len() as f64) as u64,
            seconds_left: None,
        })
    }
}

/// Reports the seconds of a load.
pub(crate) struct Teller<'a> {
    model: Model,
    wire: Wire,
    seconds: Seconds,
    tell: &'a mut dyn FnMut(&Second),
}

impl<'a> Teller<'a> {
    pub(crate) fn new(model: Model, wire: Wire, tell: &'a mut dyn FnMut(&Second)) -> Teller<'a> {
        Teller { model, wire, seconds: Seconds::default(), tell }
    }

    pub(crate) fn tell(&mut self, interval: &Interval) {
        let count = |series: usize| interval.histograms[series].len();
        let (messages, name, series) = match self.model {
            Model::Open if self.wire.is_requests() => {
                (count(SEND_LATENESS), "request.response", ORDER_RESPONSE)
            }
            Model::Open => (count(SEND_LATENESS), "order.response", ORDER_RESPONSE),
            Model::PingPong => {
                let name = match self.wire.is_requests() {
                    true => "request.service",
                    false => "order.service",
                };
                (count(ORDER_SERVICE) + count(CANCEL_SERVICE), name, ORDER_SERVICE)
            }
        };
        let values = &interval.histograms[series];
        if let Some(second) = self.seconds.second(interval, messages, name, values) {
            (self.tell)(&second);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::rows::SERIES;
    use clock::recorder::histogram;

    fn interval(start_ns: u64, end_ns: u64, orders: u64) -> Interval {
        let mut histograms: Vec<_> = SERIES.iter().map(|_| histogram()).collect();
        for series in [ORDER_RESPONSE, ORDER_SERVICE, CANCEL_SERVICE] {
            histograms[series].record_n(1_000 * (series as u64 + 1), orders).unwrap();
        }
        histograms[SEND_LATENESS].record_n(1, 2 * orders).unwrap();
        Interval { start_ns, end_ns, histograms }
    }

    fn told(model: Model, intervals: &[Interval]) -> Vec<Second> {
        let mut told = Vec::new();
        let mut tell = |second: &Second| told.push(second.clone());
        let mut teller = Teller::new(model, Wire::WebsocketJson, &mut tell);
        intervals.iter().for_each(|interval| teller.tell(interval));
        told
    }

    #[test]
    fn a_second_has_its_rate_and_only_the_percentiles_that_its_sample_supports() {
        let second = 1_000_000_000;
        let intervals = [
            interval(5 * second, 6 * second, 999),
            interval(6 * second, 8 * second, 1_000),
            interval(8 * second, 8 * second + 9, 1),
        ];
        let open = told(Model::Open, &intervals);
        assert_eq!(open.len(), 2, "a crumb at the end is not told of");
        assert_eq!((open[0].seconds, open[0].messages_per_second), (1.0, 1998.0));
        assert_eq!((open[0].series.as_str(), open[0].p50_ns), ("order.response", Some(1_000)));
        assert_eq!(open[0].p99_ns, None);
        assert_eq!(open[0].buckets, [(stats::buckets::bucket(1_000), 999)]);
        assert_eq!(open[0].sum_ns, 999_000);
        assert_eq!((open[1].seconds, open[1].messages_per_second), (3.0, 1000.0));
        assert_eq!(open[1].p99_ns, Some(1_000));
        let ping_pong = told(Model::PingPong, &intervals);
        assert_eq!(
            (ping_pong[1].series.as_str(), ping_pong[1].p99_ns),
            ("order.service", Some(2_000))
        );
        assert_eq!(ping_pong[1].messages_per_second, 1000.0);
    }
}
