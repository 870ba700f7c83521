//! Latency against the length of messages: a line through the p50 of subjects that differ in their
//! length only.

use crate::{Kind, Subject};
use serde::{Deserialize, Serialize};

/// Messages up to this length are one packet on any Ethernet, bytes. The line goes through them.
pub const ONE_PACKET_BYTES: u64 = 1_400;
/// Lengths that a line must have.
const LENGTHS_MIN: usize = 3;

/// `p50 = per_message_ns + per_byte_ns x bytes`, by least squares over messages of one packet. A
/// round trip carries two of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SizeFit {
    /// The round trip of a message without bytes, ns: two packets and all system calls.
    pub per_message_ns: f64,
    /// Time for each byte of a request that comes back, ns.
    pub per_byte_ns: f64,
    /// The largest distance of a p50 from the line, as a share of that p50.
    pub deviation: f64,
    /// Mean time that each packet beyond the first adds to the line, ns, over longer messages;
    /// `None` where none is longer than a packet of this network, or its packets are unknown.
    pub per_further_packet_ns: Option<f64>,
}

impl SizeFit {
    /// Fits the p50 of the round trips of `subjects`. `packets` gives a message's number of packets
    /// by its length in bytes, if that is known. `None` with fewer than three lengths of one
    /// packet.
    pub fn of(subjects: &[Subject], packets: impl Fn(u64) -> Option<u64>) -> Option<SizeFit> {
        let point = |subject: &Subject| {
            let bytes = subject.load.message_bytes;
            let p50 = subject.series("request", Kind::Service)?.pooled.p50?;
            (bytes.order == bytes.order_reply).then_some((bytes.order, p50 as f64))
        };
        let subjects = subjects.iter().filter(|subject| !subject.is_reference());
        let points: Vec<(u64, f64)> = subjects.filter_map(point).collect();
        let is_short = |point: &&(u64, f64)| point.0 <= ONE_PACKET_BYTES;
        let (per_message_ns, per_byte_ns) = line(points.iter().filter(is_short).copied())?;
        let on_line = |bytes: u64| per_message_ns + per_byte_ns * bytes as f64;
        let short = points.iter().filter(is_short);
        let deviation =
            short.map(|(bytes, p50)| (p50 - on_line(*bytes)).abs() / p50).fold(0.0, f64::max);
        let further: Vec<f64> = points
            .iter()
            .filter_map(|(bytes, p50)| {
                let more = packets(*bytes)?.checked_sub(1).filter(|more| *more > 0)?;
                Some((p50 - on_line(*bytes)) / more as f64)
            })
            .collect();
        let mean = || further.iter().sum::<f64>() / further.len() as f64;
        let per_further_packet_ns = (!further.is_empty()).then(mean);
        Some(SizeFit { per_message_ns, per_byte_ns, deviation, per_further_packet_ns })
    }
}

/// Intercept and slope by least squares; `None` with too few lengths.
fn line(points: impl Iterator<Item = (u64, f64)> + Clone) -> Option<(f64, f64)> {
    let mut lengths: Vec<u64> = points.clone().map(|(bytes, _)| bytes).collect();
    lengths.sort_unstable();
    lengths.dedup();
    if lengths.len() < LENGTHS_MIN {
        return None;
    }
    let n = points.clone().count() as f64;
    let mean_x = points.clone().map(|(x, _)| x as f64).sum::<f64>() / n;
    let mean_y = points.clone().map(|(_, y)| y).sum::<f64>() / n;
    let covariance: f64 = points.clone().map(|(x, y)| (x as f64 - mean_x) * (y - mean_y)).sum();
    let variance: f64 = points.map(|(x, _)| (x as f64 - mean_x).powi(2)).sum();
    let slope = covariance / variance;
    Some((mean_y - slope * mean_x, slope))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Load, MessageBytes, Percentiles, Series};

    fn subject(bytes: u64, p50: u64) -> Subject {
        let message_bytes =
            MessageBytes { order: bytes, order_reply: bytes, cancel: bytes, cancel_reply: bytes };
        let pooled = Percentiles { count: 1_000, p50: Some(p50), ..Percentiles::default() };
        let series = serde_json::json!({
            "name": "request", "kind": "service", "unit": "ns", "pooled": pooled,
        });
        let series: Series = serde_json::from_value(series).unwrap();
        let load = Load { message_bytes, ..Load::default() };
        Subject { name: format!("b{bytes}"), load, series: vec![series], ..Subject::default() }
    }

    #[test]
    fn a_line_is_found_again_and_further_packets_lie_above_it() {
        let exact = |bytes: u64| subject(bytes, 10_000 + 2 * bytes);
        let mut subjects: Vec<Subject> = [16, 256, 1_000].map(exact).into();
        let none = SizeFit::of(&subjects, |_| Some(1)).unwrap();
        assert!((none.per_message_ns - 10_000.0).abs() < 1e-6, "{none:?}");
        assert!((none.per_byte_ns - 2.0).abs() < 1e-9 && none.deviation < 1e-9, "{none:?}");
        assert_eq!(none.per_further_packet_ns, None);
        // Three packets, each of the two further ones 500 ns.
        subjects.push(subject(4_000, 10_000 + 8_000 + 1_000));
        let with = SizeFit::of(&subjects, |bytes| Some(bytes.div_ceil(1_480))).unwrap();
        assert!((with.per_further_packet_ns.unwrap() - 500.0).abs() < 1e-6, "{with:?}");
        assert_eq!(SizeFit::of(&subjects, |_| None).unwrap().per_further_packet_ns, None);
    }

    #[test]
    fn two_lengths_or_replies_of_another_length_are_no_line() {
        let mut subjects = vec![subject(16, 100), subject(256, 200), subject(256, 210)];
        assert_eq!(SizeFit::of(&subjects, |_| Some(1)), None);
        let mut unequal = subject(900, 300);
        unequal.load.message_bytes.order_reply = 16;
        subjects.push(unequal);
        assert_eq!(SizeFit::of(&subjects, |_| Some(1)), None);
        // Messages longer than a packet don't bend the line.
        subjects.push(subject(8_000, 900));
        assert_eq!(SizeFit::of(&subjects, |_| Some(1)), None);
    }
}
