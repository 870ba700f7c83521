//! Bulk flows that ran beside the requests of a `network` scenario.

use serde::{Deserialize, Serialize};
use stats::{median, median_interval};

/// One run: its flows together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BulkRun {
    /// Each flow.
    pub flows: Vec<BulkFlow>,
}

/// The measured part of one flow. Rates are of payload, without any header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BulkFlow {
    /// Rate at which the sender's kernel took it, bits a second, by the sender's clock.
    pub sent_bits_per_second: f64,
    /// Rate at which the sink received it, bits a second: over TCP by the sink's clock, over UDP in
    /// the time in which it was sent.
    pub received_bits_per_second: f64,
    /// Datagrams sent, and those of them that did not arrive; `None` over TCP.
    pub datagrams: Option<BulkDatagrams>,
}

/// Datagrams of a flow. The sink counts them: one that arrives twice hides one that is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BulkDatagrams {
    /// Sent.
    pub sent: u64,
    /// Sent, and not received.
    pub lost: u64,
}

impl BulkRun {
    /// Rate of all flows together at the sender, bits a second.
    pub fn sent_bits_per_second(&self) -> f64 {
        self.flows.iter().map(|flow| flow.sent_bits_per_second).sum()
    }

    /// Rate of all flows together at the sink, bits a second.
    pub fn received_bits_per_second(&self) -> f64 {
        self.flows.iter().map(|flow| flow.received_bits_per_second).sum()
    }
}

/// Throughput of all flows together over several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throughput {
    /// Bits a second that the sink received: the median run.
    pub received: f64,
    /// Its interval; `None` with fewer than six runs.
    pub interval: Option<[f64; 2]>,
    /// Bits a second that were sent: the median run.
    pub sent: f64,
    /// The share of datagrams that was lost, of all runs; `None` over TCP.
    pub lost: Option<f64>,
}

impl Throughput {
    /// `None` without a run.
    pub fn of(runs: &[BulkRun]) -> Option<Throughput> {
        let bits = |part: fn(&BulkRun) -> f64| -> Vec<u64> {
            runs.iter().map(|run| part(run).round() as u64).collect()
        };
        let received = bits(BulkRun::received_bits_per_second);
        let datagrams = || runs.iter().flat_map(|run| &run.flows).filter_map(|one| one.datagrams);
        let sum = |part: fn(BulkDatagrams) -> u64| datagrams().map(part).sum::<u64>() as f64;
        let sent = sum(|one| one.sent);
        Some(Throughput {
            received: median(&received)? as f64,
            interval: median_interval(&received).map(|both| both.map(|bits| bits as f64)),
            sent: median(&bits(BulkRun::sent_bits_per_second))? as f64,
            lost: (sent > 0.0).then(|| sum(|one| one.lost) / sent),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(received: [f64; 2], datagrams: Option<BulkDatagrams>) -> BulkRun {
        let flow = |received_bits_per_second| BulkFlow {
            sent_bits_per_second: 10.0,
            received_bits_per_second,
            datagrams,
        };
        BulkRun { flows: received.map(flow).to_vec() }
    }

    #[test]
    fn flows_add_up_and_runs_give_an_interval() {
        assert_eq!(Throughput::of(&[]), None);
        let mut runs: Vec<BulkRun> = (1..=5).map(|n| run([f64::from(n), 1.0], None)).collect();
        let five = Throughput { received: 4.0, interval: None, sent: 20.0, lost: None };
        assert_eq!(Throughput::of(&runs), Some(five));
        runs.push(run([6.0, 1.0], None));
        assert_eq!(Throughput::of(&runs).unwrap().interval, Some([2.0, 7.0]));
    }

    #[test]
    fn a_loss_is_a_share_of_what_was_sent() {
        let lossy = run([1.0, 1.0], Some(BulkDatagrams { sent: 100, lost: 5 }));
        assert_eq!(Throughput::of(&[lossy.clone(), lossy]).unwrap().lost, Some(0.05));
    }
}
