//! The records of a directory as text, at most 100 columns wide: a line each, then each scenario over
//! time.

use crate::line::{WIDTH, clip, short, wrap};
use crate::number::{count, us};
use crate::words::{US, cell};
use measure::history::{
    Change, Entry, Headline, History, Summary, What, machine_changes, settings_changes,
};
use measure::stats::median;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Of a directory's name, which says when and what.
const NAME: usize = 38;
/// Bars of a sparkline; more records share them.
const BARS_MAX: usize = 30;
/// From the lowest bar to the highest is at least this share of the lowest, so that noise stays flat.
const RISE_MIN: f64 = 0.1;
/// Changes that a line names one by one.
const CHANGES_MAX: usize = 3;

/// The records, newest first, then their p50 over time.
pub fn history(history: &History) -> String {
    let mut out = String::new();
    let records = history.records().count();
    let others = history.entries.len() - records;
    let and = match others {
        0 => String::new(),
        1 => ", 1 other entry".to_owned(),
        n => format!(", {n} other entries"),
    };
    let noun = if records == 1 { "record" } else { "records" };
    wrap(&mut out, "", &format!("{} · {records} {noun}{and}, newest first", history.directory));
    if history.entries.is_empty() {
        out.push_str("  no records here; `tickpath run` makes one\n");
        return out;
    }
    let _ = writeln!(
        out,
        "\n{:<NAME$} {:<7} {:<15}{:>8}{:>8}{:>6}{:>5} {:<6}set",
        "us", "", "", "p50", "p99", "n", "runs", "mach"
    );
    for entry in &history.entries {
        line(&mut out, entry);
    }
    if history.left_out > 0 {
        let _ = writeln!(out, "  {} older ones were not looked at", history.left_out);
    }
    over_time(&mut out, history);
    letters(&mut out, history);
    out
}

/// One word for a record.
pub(crate) fn verdict(summary: &Summary) -> &'static str {
    match (summary.valid, summary.injected.is_empty()) {
        (false, _) => "INVALID",
        (true, false) => "faults",
        (true, true) => "valid",
    }
}

/// Whose figures a headline has: `rust response`; the series too where it isn't orders.
pub(crate) fn figure(headline: &Headline) -> String {
    let subject = short(&headline.subject);
    match headline.series.name.as_str() {
        "order" => format!("{subject} {}", headline.series.kind.name()),
        series => format!("{subject} {series}"),
    }
}

fn line(out: &mut String, entry: &Entry) {
    let mut name = entry.name.as_str();
    if name.chars().count() > NAME {
        let _ = writeln!(out, "{}", clip(name, WIDTH));
        name = "";
    }
    let summary = match &entry.what {
        What::Record(summary) => summary,
        What::Other { is } => return wrap(out, &format!("{name:<NAME$} "), is),
    };
    let (figure, p50, p99, n) = match &summary.headline {
        None => ("no latencies".to_owned(), "-".to_owned(), "-".to_owned(), "-".to_owned()),
        Some(headline) => (
            figure(headline),
            cell(&headline.series, "p50", headline.series.pooled.p50, US),
            cell(&headline.series, "p99", headline.series.pooled.p99, US),
            count(headline.series.pooled.count),
        ),
    };
    let row = format!(
        "{name:<NAME$} {:<7} {:<15}{p50:>8}{p99:>8}{n:>6}{:>5} {:<6}{}",
        verdict(summary),
        clip(&figure, 15),
        summary.runs,
        clip(summary.machine.as_deref().unwrap_or("-"), 5),
        summary.settings,
    );
    let _ = writeln!(out, "{}", clip(&row, WIDTH));
    if !says_all(entry, summary) {
        let _ = writeln!(
            out,
            "  {} started {}",
            clip(&summary.scenario, 60),
            clip(&summary.started, 24)
        );
    }
}

/// Whether the directory is still called what `tickpath run` called it: when, and what.
fn says_all(entry: &Entry, summary: &Summary) -> bool {
    let day = summary.started.get(..11).unwrap_or("?");
    entry.name.starts_with(day) && entry.name.contains(&format!("-{}", summary.scenario))
}

/// A record that has figures.
pub(crate) type Point<'a> = (&'a Summary, &'a Headline);

/// Records of one scenario, with the same settings on the same machine: what may be looked at over time.
pub(crate) struct Trend<'a> {
    pub scenario: &'a str,
    pub settings: &'a str,
    pub machine: &'a str,
    /// Oldest first, those with figures alone.
    pub records: Vec<Point<'a>>,
}

/// By scenario, settings and machine.
pub(crate) fn trends(history: &History) -> Vec<Trend<'_>> {
    let mut trends: BTreeMap<(&str, &str, &str), Vec<Point>> = BTreeMap::new();
    for summary in history.records().rev() {
        if let Some(headline) = &summary.headline {
            let machine = summary.machine.as_deref().unwrap_or("-");
            let key = (summary.scenario.as_str(), summary.settings.as_str(), machine);
            trends.entry(key).or_default().push((summary, headline));
        }
    }
    let trend =
        |((scenario, settings, machine), records)| Trend { scenario, settings, machine, records };
    trends.into_iter().map(trend).collect()
}

fn over_time(out: &mut String, history: &History) {
    let trends: Vec<Trend> =
        trends(history).into_iter().filter(|trend| trend.records.len() > 1).collect();
    if trends.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\n{:<20}{:<6}{:<5}{:>4} {:<BARS_MAX$}{:>7}{:>7}  range",
        "p50 over time, us", "mach", "set", "n", "oldest to newest", "oldest", "newest"
    );
    for trend in trends {
        let valid: Vec<u64> = trend
            .records
            .iter()
            .filter(|(summary, _)| summary.valid)
            .filter_map(|(_, headline)| headline.series.pooled.p50)
            .collect();
        let shown = |value: Option<&u64>| value.map_or("-".to_owned(), |ns| us(*ns));
        let range = match (valid.iter().min(), valid.iter().max()) {
            (Some(low), Some(high)) if valid.len() > 1 => format!("{}-{}", us(*low), us(*high)),
            _ => String::new(),
        };
        let row = format!(
            "{:<20}{:<6}{:<5}{:>4} {:<BARS_MAX$}{:>7}{:>7}  {range}",
            clip(trend.scenario, 19),
            clip(trend.machine, 5),
            trend.settings,
            trend.records.len(),
            bars(&trend),
            shown(valid.first()),
            shown(valid.last()),
        );
        let _ = writeln!(out, "{}", clip(row.trim_end(), WIDTH));
    }
    out.push_str("  a bar is a record, or several where there are many; · is no valid result\n");
}

/// One character a record, or, of many, one for the median of so many neighbours.
fn bars(trend: &Trend) -> String {
    let values: Vec<Option<u64>> = trend
        .records
        .iter()
        .map(|(summary, headline)| headline.series.pooled.p50.filter(|_| summary.valid))
        .collect();
    let per_bar = values.len().div_ceil(BARS_MAX).max(1);
    let values: Vec<Option<u64>> = values
        .chunks(per_bar)
        .map(|some| median(&some.iter().flatten().copied().collect::<Vec<u64>>()))
        .collect();
    let known = || values.iter().flatten().copied();
    let (Some(low), Some(high)) = (known().min(), known().max()) else {
        return "·".repeat(values.len());
    };
    let rise = ((high - low) as f64).max(low as f64 * RISE_MIN).max(1.0);
    let bar = |value: Option<u64>| {
        let levels = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        value.map_or('·', |ns| {
            let share = (ns - low) as f64 / rise;
            levels[(share * (levels.len() - 1) as f64).round() as usize]
        })
    };
    values.into_iter().map(bar).collect()
}

/// What the letters stand for: in what the others differ from the newest.
fn letters(out: &mut String, history: &History) {
    let lines = letters_explained(history);
    if !lines.is_empty() {
        out.push('\n');
    }
    for line in lines {
        wrap(out, "  ", &line);
    }
}

/// A sentence for every letters that differ from those of the newest record.
pub(crate) fn letters_explained(history: &History) -> Vec<String> {
    let mut lines = Vec::new();
    let mut settings: BTreeMap<&str, Vec<&Summary>> = BTreeMap::new();
    let mut machines: Vec<&Summary> = Vec::new();
    for summary in history.records() {
        let known = settings.entry(&summary.scenario).or_default();
        if !known.iter().any(|other| other.settings == summary.settings) {
            known.push(summary);
        }
        let of_one_machine = summary.fixed.is_some() && summary.machine.as_deref() != Some("mixed");
        if of_one_machine && !machines.iter().any(|other| other.machine == summary.machine) {
            machines.push(summary);
        }
    }
    for (scenario, known) in settings {
        let newest = known[0];
        for other in &known[1..] {
            let changes = changes(&settings_changes(other, newest), &newest.settings);
            lines.push(format!("{scenario} set {}, {changes}", other.settings));
        }
    }
    if let Some((newest, others)) = machines.split_first() {
        let name = |summary: &Summary| summary.machine.clone().unwrap_or_default();
        for other in others {
            let changes = changes(&machine_changes(other, newest), &name(newest));
            lines.push(format!("mach {}, {changes}", name(other)));
        }
    }
    lines
}

fn changes(changes: &[Change], newest: &str) -> String {
    let (named, more) = changes.split_at(changes.len().min(CHANGES_MAX));
    let named = named.iter().map(|(key, here, there)| format!("{key} {here}, not {there}"));
    let more = (!more.is_empty()).then(|| format!("{} more", more.len()));
    format!("beside {newest}: {}", named.chain(more).collect::<Vec<_>>().join("; "))
}
