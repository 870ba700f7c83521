//! Figures of a run as the static latency model of nautilus_trader: the time from an order's
//! command until the simulated exchange acts on it. Its answers come back at once.

use crate::error::RaceError;
use record::RunRecord;
use record::comparison::selector::Selector;
use serde::Serialize;

/// The arguments of nautilus_trader's `LatencyModelConfig`, by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StaticLatency {
    /// Added to each of the others; a run has no such part.
    pub base_latency_nanos: u64,
    /// Latency of a new order.
    pub insert_latency_nanos: u64,
    /// Latency of a change.
    pub update_latency_nanos: u64,
    /// Latency of a cancel.
    pub cancel_latency_nanos: u64,
}

impl StaticLatency {
    /// The figure, such as `p99`, of `series`: `subject.series.kind`. That is a round trip, of
    /// which the way to the exchange takes half; `is_one_way`: it is that way itself. Cancels take
    /// the figure of `cancel`, if the series is `order` and cancels were measured.
    ///
    /// # Errors
    /// If the run is void, or has no such figure.
    pub fn of(
        record: &RunRecord,
        series: &str,
        figure: &str,
        is_one_way: bool,
    ) -> Result<StaticLatency, RaceError> {
        let cannot = |why: String| RaceError::Run { path: record.scenario.clone(), why };
        if record.is_void() {
            return Err(cannot("the run is void; measure again".to_owned()));
        }
        let selector: Selector =
            format!("{series}.{figure}").parse().map_err(|error| cannot(format!("{error}")))?;
        if let Some(why) = selector.lacking(record) {
            return Err(cannot(why));
        }
        let too_few = || cannot(format!("{series} has too few samples for {figure}"));
        let share = |ns: u64| if is_one_way { ns } else { ns / 2 };
        let order = share(selector.value(record).ok_or_else(too_few)?);
        let of_cancels = Selector { series: "cancel".to_owned(), ..selector.clone() };
        let cancel = of_cancels.value(record).filter(|_| selector.series == "order");
        Ok(StaticLatency {
            base_latency_nanos: 0,
            insert_latency_nanos: order,
            update_latency_nanos: order,
            cancel_latency_nanos: cancel.map_or(order, share),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(void: bool) -> RunRecord {
        let series = |name: &str, p50: u64| {
            json!({"name": name, "kind": "service", "unit": "ns",
                "pooled": {"count": 200, "min": 1, "p50": p50, "max": 9_000}})
        };
        let all = [series("order", 8_000), series("cancel", 6_000), series("way", 3_000)];
        let mut record = json!({"schema": 3, "tool": "", "scenario": "s", "complete": true, "runs": 1,
            "warnings": [], "subjects": [{"name": "rust", "series": all}]});
        if void {
            record["void_because"] = json!(["it was void"]);
        }
        RunRecord::from_json(&record.to_string()).unwrap()
    }

    fn latency(insert: u64, cancel: u64) -> StaticLatency {
        StaticLatency {
            base_latency_nanos: 0,
            insert_latency_nanos: insert,
            update_latency_nanos: insert,
            cancel_latency_nanos: cancel,
        }
    }

    #[test]
    fn half_of_a_round_trip_or_all_of_a_way() {
        let of = |series: &str, is_one_way: bool| {
            StaticLatency::of(&record(false), series, "p50", is_one_way).unwrap()
        };
        assert_eq!(of("rust.order.service", false), latency(4_000, 3_000));
        assert_eq!(of("rust.order.service", true), latency(8_000, 6_000));
        assert_eq!(of("rust.way.service", true), latency(3_000, 3_000));
    }

    #[test]
    fn what_is_no_figure_of_a_result_is_an_error() {
        let error = |void: bool, series: &str, figure: &str| {
            StaticLatency::of(&record(void), series, figure, false).unwrap_err().to_string()
        };
        let order = "rust.order.service";
        assert!(error(true, order, "p50").contains("the run is void"));
        assert!(error(false, order, "p99").contains("too few samples for p99"));
        assert!(error(false, order, "p98").contains("no percentile"));
        assert!(error(false, "rust.oder.service", "p50").contains("there is no series"));
    }
}
