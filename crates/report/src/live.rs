//! The histogram of a watch on the terminal.

use crate::metrics::Latencies;
use crate::text::number::{count, short_ns};
use crate::text::words::{US, cell, title, verdict};
use record::RunRecord;
use stats::buckets::{PER_DOUBLING, bound_seconds};

/// Lines at most.
const LINES_MAX: i32 = 16;
/// Columns of a bar.
const BAR_MAX: usize = 60;

/// A line for each range of latencies, from the shortest to the longest: its bounds, a bar, and the
/// number of latencies. Ranges are wide enough to keep the lines few.
pub fn live_histogram(latencies: &Latencies, columns: usize) -> Vec<String> {
    let buckets = &latencies.buckets;
    let ends = buckets.keys().next().zip(buckets.keys().next_back());
    let Some((first, last)) = ends else { return Vec::new() };
    let wide =
        (1..).map(|n| n * PER_DOUBLING / 4).find(|wide| (last - first) / wide < LINES_MAX - 1);
    let wide = wide.unwrap_or(PER_DOUBLING);
    let line_of = |bucket: i32| (bucket - 1).div_euclid(wide);
    let mut lines: Vec<(i32, u64)> =
        (line_of(*first)..=line_of(*last)).map(|line| (line, 0)).collect();
    for (bucket, n) in buckets {
        lines[(line_of(*bucket) - line_of(*first)) as usize].1 += n;
    }
    let most = lines.iter().map(|(_, n)| *n).max().unwrap_or(1).max(1);
    let all = latencies.count().max(1);
    let bar_wide = columns.saturating_sub(40).clamp(8, BAR_MAX);
    let ns = |bucket: i32| short_ns(bound_seconds(bucket) * 1e9);
    let draw = |(line, n): (i32, u64)| {
        let bounds = format!("{} - {}", ns(line * wide), ns((line + 1) * wide));
        let filled = (n as f64 / most as f64 * bar_wide as f64).round() as usize;
        let bar = match (n, filled) {
            (0, _) => String::new(),
            (_, 0) => "▏".to_owned(),
            (_, filled) => "█".repeat(filled),
        };
        let percent = n as f64 / all as f64 * 100.0;
        format!("{bounds:>19}  {bar:<bar_wide$} {:>5} {percent:6.2} %", count(n))
    };
    lines.into_iter().map(draw).collect()
}

/// A record in one line: its time, how far it holds, its main figures, its directory.
pub fn record_line(record: &RunRecord, path: &str) -> String {
    let main = record.main_series();
    let figures = main.map_or("no latencies".to_owned(), |series| {
        let shown = |name, value| cell(series, name, value, US);
        let (p50, p99) = (shown("p50", series.pooled.p50), shown("p99", series.pooled.p99));
        format!("{} p50 {p50} us, p99 {p99} us, n {}", title(series), count(series.pooled.count))
    });
    format!("{}  {} · {figures} · {path}", record.started, verdict(record))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::buckets::bucket;

    #[test]
    fn few_lines_hold_every_latency() {
        let mut latencies = Latencies::default();
        for (ns, n) in [(8_000, 10), (9_000, 900), (12_000, 400), (90_000, 3), (40_000_000, 1)] {
            latencies.add(&[(bucket(ns), n)], 0);
        }
        let lines = live_histogram(&latencies, 80);
        assert!((2..=LINES_MAX as usize).contains(&lines.len()), "{lines:#?}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
        let counted = |line: &String| -> u64 {
            let words: Vec<&str> = line.split_whitespace().collect();
            words[words.len() - 3].parse().unwrap()
        };
        assert_eq!(lines.iter().map(counted).sum::<u64>(), 1314, "{lines:#?}");
        assert!(lines.last().unwrap().contains('▏'), "one is not nothing: {lines:#?}");
        assert!(live_histogram(&Latencies::default(), 80).is_empty());
    }
}
