//! Prometheus' protobuf: `io.prometheus.client.MetricFamily`, each with its length in front. Only
//! this format has native histograms. A histogram has its classic buckets too.
//!
//! The few messages that we need are written by hand: field numbers are those of metrics.proto.

use crate::metrics::{Family, FamilyKind, Latencies, Metric, Value};
use stats::buckets::SCHEMA;

/// How the value of a field is written.
const VARINT: u32 = 0;
const FIXED: u32 = 1;
const BYTES: u32 = 2;

/// The families as protobuf.
pub fn protobuf(families: &[Family]) -> Vec<u8> {
    let mut out = Message::default();
    for family in families {
        let message = family_message(family);
        out.varint(message.0.len() as u64);
        out.0.extend(message.0);
    }
    out.0
}

/// A message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn tag(&mut self, field: u32, wire: u32) {
        self.varint(u64::from(field << 3 | wire));
    }

    fn unsigned(&mut self, field: u32, value: u64) {
        self.tag(field, VARINT);
        self.varint(value);
    }

    /// `sint32` and `sint64`.
    fn signed(&mut self, field: u32, value: i64) {
        self.unsigned(field, zigzag(value));
    }

    fn double(&mut self, field: u32, value: f64) {
        self.tag(field, FIXED);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn message(&mut self, field: u32, message: &Message) {
        self.bytes(field, &message.0);
    }
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn family_message(family: &Family) -> Message {
    let mut message = Message::default();
    let (name, kind) = match family.kind {
        FamilyKind::Counter => (format!("{}_total", family.name), 0),
        FamilyKind::Gauge => (family.name.to_owned(), 1),
        FamilyKind::Histogram => (family.name.to_owned(), 4),
    };
    message.bytes(1, name.as_bytes());
    message.bytes(2, family.help.as_bytes());
    message.unsigned(3, kind);
    family.metrics.iter().for_each(|one| message.message(4, &metric(family.kind, one)));
    message
}

fn metric(kind: FamilyKind, metric: &Metric) -> Message {
    let mut message = Message::default();
    for (name, text) in &metric.labels {
        let mut label = Message::default();
        label.bytes(1, name.as_bytes());
        label.bytes(2, text.as_bytes());
        message.message(1, &label);
    }
    match &metric.value {
        Value::Number(value) => {
            let mut number = Message::default();
            number.double(1, *value);
            message.message(if kind == FamilyKind::Counter { 3 } else { 2 }, &number);
        }
        Value::Latencies(latencies) => message.message(7, &histogram(latencies)),
    }
    message
}

fn histogram(latencies: &Latencies) -> Message {
    let mut message = Message::default();
    message.unsigned(1, latencies.count());
    message.double(2, latencies.sum_seconds());
    for (bound, count) in latencies.classic() {
        let mut bucket = Message::default();
        bucket.unsigned(1, count);
        bucket.double(2, bound);
        message.message(3, &bucket);
    }
    message.signed(5, i64::from(SCHEMA));
    // No latency is 0. Without a threshold a reader takes an empty histogram for a classic one.
    message.double(6, 1e-12);
    message.unsigned(7, 0);
    let (spans, deltas) = spans(latencies);
    for (offset, length) in spans {
        let mut span = Message::default();
        span.signed(1, i64::from(offset));
        span.unsigned(2, u64::from(length));
        message.message(12, &span);
    }
    let mut packed = Message::default();
    deltas.iter().for_each(|delta| packed.varint(zigzag(*delta)));
    if !deltas.is_empty() {
        message.bytes(13, &packed.0);
    }
    message
}

/// Stretches of neighbouring buckets: where each begins, counted from the end of the one before it,
/// and its length. Then the counts, each as the change from the one before it.
fn spans(latencies: &Latencies) -> (Vec<(i32, u32)>, Vec<i64>) {
    let (mut spans, mut deltas): (Vec<(i32, u32)>, Vec<i64>) = (Vec::new(), Vec::new());
    let (mut next, mut before) = (0, 0i64);
    for (bucket, count) in &latencies.buckets {
        match spans.last_mut() {
            Some((_, length)) if *bucket == next => *length += 1,
            _ => spans.push((*bucket - next, 1)),
        }
        next = bucket + 1;
        let count = i64::try_from(*count).unwrap_or(i64::MAX);
        deltas.push(count - before);
        before = count;
    }
    (spans, deltas)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::example;

    #[test]
    fn neighbours_are_one_span_and_counts_are_changes() {
        let Value::Latencies(latencies) = &example()[0].metrics[0].value else { unreachable!() };
        assert_eq!(spans(latencies), (vec![(-132, 2), (10, 1)], vec![3, -1, -1]));
    }

    /// Bytes by the encoding's own documentation: 150 as a varint is 96 01, -1 as sint is 1.
    #[test]
    fn fields_are_encoded_as_protobuf_says() {
        let mut message = Message::default();
        message.unsigned(1, 150);
        message.signed(2, -1);
        message.bytes(3, b"testing");
        message.double(4, 1.0);
        let mut expected = vec![0x08, 0x96, 0x01, 0x10, 0x01, 0x1a, 0x07];
        expected.extend(b"testing");
        expected.extend([0x21, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
        assert_eq!(message.0, expected);
    }

    #[test]
    fn every_family_has_its_length_in_front() {
        let bytes = protobuf(&example());
        let mut rest = bytes.as_slice();
        let mut families = 0;
        while !rest.is_empty() {
            let mut length = 0usize;
            for shift in (0..).step_by(7) {
                let byte = rest[0];
                rest = &rest[1..];
                length |= usize::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    break;
                }
            }
            rest = &rest[length..];
            families += 1;
        }
        assert_eq!(families, 3);
        assert!(bytes.windows(16).any(|part| part == b"x_messages_total"));
    }
}
