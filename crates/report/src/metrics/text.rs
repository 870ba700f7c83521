//! OpenMetrics text, version 1.0.0.

use crate::metrics::{Family, FamilyKind, Metric, Value};
use std::fmt::Write;

/// The families as text. A histogram has classic buckets: the text knows no others.
pub fn text(families: &[Family]) -> String {
    let mut out = String::new();
    for family in families {
        let kind = match family.kind {
            FamilyKind::Gauge => "gauge",
            FamilyKind::Counter => "counter",
            FamilyKind::Histogram => "histogram",
        };
        let name = family.name;
        let _ = writeln!(out, "# TYPE {name} {kind}");
        if !family.unit.is_empty() {
            let _ = writeln!(out, "# UNIT {name} {}", family.unit);
        }
        let _ = writeln!(out, "# HELP {name} {}", escaped(family.help));
        family.metrics.iter().for_each(|metric| line(&mut out, family, metric));
    }
    out.push_str("# EOF\n");
    out
}

fn line(out: &mut String, family: &Family, metric: &Metric) {
    let name = family.name;
    let labels = |more: Option<String>| {
        let all = metric.labels.iter().map(|(name, text)| format!("{name}=\"{}\"", escaped(text)));
        let all: Vec<String> = all.chain(more).collect();
        if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) }
    };
    match &metric.value {
        Value::Number(value) => {
            let suffix = if family.kind == FamilyKind::Counter { "_total" } else { "" };
            let _ = writeln!(out, "{name}{suffix}{} {}", labels(None), number(*value));
        }
        Value::Latencies(latencies) => {
            for (bound, count) in latencies.classic() {
                let le = labels(Some(format!("le=\"{}\"", number(bound))));
                let _ = writeln!(out, "{name}_bucket{le} {count}");
            }
            let count = latencies.count();
            let infinity = labels(Some("le=\"+Inf\"".to_owned()));
            let _ = writeln!(out, "{name}_bucket{infinity} {count}");
            let _ = writeln!(out, "{name}_count{} {count}", labels(None));
            let sum = number(latencies.sum_seconds());
            let _ = writeln!(out, "{name}_sum{} {sum}", labels(None));
        }
    }
}

/// A number that reads back as itself; small ones with an exponent.
fn number(value: f64) -> String {
    match value {
        value if value != 0.0 && value.abs() < 1e-3 => format!("{value:e}"),
        value => format!("{value}"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::example;

    #[test]
    fn a_histogram_ends_in_infinity_and_everything_in_eof() {
        let text = text(&example());
        let has = |line: &str| assert!(text.lines().any(|one| one == line), "no {line} in {text}");
        has("# TYPE x_latency_seconds histogram");
        has("# UNIT x_latency_seconds seconds");
        has("x_latency_seconds_bucket{subject=\"ru\\\"st\",le=\"+Inf\"} 6");
        has("x_latency_seconds_count{subject=\"ru\\\"st\"} 6");
        has("x_latency_seconds_sum{subject=\"ru\\\"st\"} 7e-5");
        has("x_messages_total 7");
        has("x_up 1");
        assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1);
    }
}
