//! The progress of a client during its run: one line of JSON a second on stdout
//! (clients/CONTRACT.md). No part of a record comes from it.
//!
//! See docs/decisions/004-report-page-and-live-view.md.

use serde::{Deserialize, Serialize};

/// The latest second of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Seconds of the measured part so far, including this one.
    pub seconds: f64,
    /// Messages per second sent in it.
    pub messages_per_second: f64,
    /// Series of the percentiles, `order.response` or `order.service`.
    pub series: String,
    /// Median of this second, ns; `None` if it has too few samples.
    #[serde(default)]
    pub p50_ns: Option<u64>,
    /// 99th percentile of this second, ns; `None` if it has too few samples.
    #[serde(default)]
    pub p99_ns: Option<u64>,
    /// Its latencies by bucket ([`stats::buckets`]), if the client reports them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<(i32, u64)>,
    /// Sum of the latencies in `buckets`, ns.
    #[serde(default, skip_serializing_if = "stats::is_zero")]
    pub sum_ns: u64,
    /// The remaining seconds of the measured part, if the client knows better than its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<f64>,
}

/// The line: `{"progress":{"seconds":3.0,…}}`. A client's result has no such key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgressLine {
    /// The second.
    pub progress: Second,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientResult;

    #[test]
    fn a_line_survives_the_pipe_and_a_result_is_none() {
        let second = Second {
            seconds: 3.0,
            messages_per_second: 9_999.5,
            series: "order.response".into(),
            p50_ns: Some(41_000),
            p99_ns: None,
            buckets: vec![(-132, 7)],
            sum_ns: 70_000,
            seconds_left: None,
        };
        let text = serde_json::to_string(&ProgressLine { progress: second.clone() }).unwrap();
        assert_eq!(serde_json::from_str::<ProgressLine>(&text).unwrap().progress, second);
        let result = serde_json::to_string(&ClientResult::default()).unwrap();
        assert!(serde_json::from_str::<ProgressLine>(&result).is_err());
    }
}
