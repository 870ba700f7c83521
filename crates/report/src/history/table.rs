//! The records of a directory as text, at most 100 columns wide: a line each, then each scenario
//! over time.

use crate::text::grid::{Grid, cells};
use crate::text::number::{count, us};
use crate::text::terminal::{Terminal, clip, shortened, wrap};
use crate::text::words::{self, US, cell};
use record::history::{
    Change, EntryContent, Headline, History, HistoryEntry, Summary, machine_changes,
    settings_changes,
};
use record::text::{counted, counted_as};
use stats::median;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Columns of a directory's name, which has time and scenario.
const NAME: usize = 38;
/// Columns of a scenario's name.
const SCENARIO: usize = 24;
/// Columns of a line that stay on a narrow terminal: names, p50 and p99.
const FIGURES_MIN: usize = 5;
/// Columns of a line over time that stay on a narrow terminal: names, bars and their number.
const TREND_MIN: usize = 5;
/// Columns that a line over time takes beside its bars, without the range.
const OVER_TIME: usize = 64;
/// Bars of a sparkline on a wide terminal; more records share them.
const BARS_MAX: usize = 30;
/// Bars of a sparkline on a narrow terminal: as many as the column's head is wide.
const BARS_MIN: usize = 16;
/// From the lowest bar to the highest is at least this share of the lowest, so that noise stays
/// flat.
const RISE_MIN: f64 = 0.1;
/// Changes that a line names one by one.
const CHANGES_MAX: usize = 3;

/// The records, newest first, then their p50 over time.
pub fn history(history: &History, columns: usize) -> String {
    let mut out = Terminal::new(columns);
    let records = history.records().count();
    let others = history.entries.len() - records;
    let and = match others {
        0 => String::new(),
        n => format!(", {}", counted_as(n, "other entry", "other entries")),
    };
    let records = counted(records, "record");
    wrap(&mut out, "", &format!("{} · {records}{and}, newest first", history.directory));
    if history.entries.is_empty() {
        out.push_str("  no records here; `tickpath run` makes one\n");
        return out.into_text();
    }
    list(&mut out, history);
    if history.left_out > 0 {
        let older = counted_as(history.left_out, "older entry was", "older entries were");
        let _ = writeln!(out, "  {older} not read");
    }
    over_time(&mut out, history);
    letters(&mut out, history);
    out.into_text()
}

/// A word or two for a record.
pub(crate) fn verdict(summary: &Summary) -> String {
    match &summary.headline {
        _ if !summary.void_because.is_empty() => "VOID".to_owned(),
        _ if summary.smoke_test => "smoke".to_owned(),
        _ if !summary.injected.is_empty() => "faults".to_owned(),
        Some(headline) if headline.series.holds(0.5) => {
            short_of(&words::holds_to(&headline.series))
        }
        Some(headline) if headline.series.holds_to.is_none() => "?".to_owned(),
        Some(_) => "no".to_owned(),
        None => "-".to_owned(),
    }
}

/// `holds to p95` as `to p95`.
fn short_of(holds: &str) -> String {
    holds.strip_prefix("holds ").unwrap_or(holds).to_owned()
}

/// Subject and kind of a headline's figures: `rust response`; also the series if it isn't orders.
pub(crate) fn figure(headline: &Headline) -> String {
    let subject = shortened(&headline.subject, 8);
    match headline.series.name.as_str() {
        "order" => format!("{subject} {}", headline.series.kind.name()),
        series => format!("{subject} {series}"),
    }
}

fn list(out: &mut Terminal, history: &History) {
    let head = cells(["us", "", "", "p50", "p99", "mach", "set", "runs", "n"]);
    let rows: Vec<Vec<String>> = history.entries.iter().filter_map(row).collect();
    if !rows.is_empty() {
        let grid = Grid { head, rows, more_names: 2, ..Grid::default() };
        cut(grid, out, FIGURES_MIN);
    }
    let mut is_first = true;
    for entry in &history.entries {
        let EntryContent::Other { is, .. } = &entry.what else { continue };
        if std::mem::take(&mut is_first) {
            out.push('\n');
        }
        wrap(out, &format!("  {}  ", shortened(&entry.name, NAME)), is);
    }
}

/// Prints `grid` in one block, without the last columns that a narrow terminal has no place for.
fn cut(mut grid: Grid, out: &mut Terminal, least: usize) {
    let left_out = grid.cut_to(out.columns, least);
    if !left_out.is_empty() {
        let left_out = left_out.join(", ");
        grid.notes.push(format!("A wider terminal also shows {left_out}; so does --json."));
    }
    grid.text(out);
}

fn row(entry: &HistoryEntry) -> Option<Vec<String>> {
    let EntryContent::Record(summary) = &entry.what else { return None };
    // The name of a renamed directory has neither time nor scenario.
    let name = match says_all(entry, summary) {
        true => entry.name.clone(),
        false => format!("{} ({}, {})", entry.name, summary.scenario, clip(&summary.started, 10)),
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
    let machine = summary.machine.as_deref().unwrap_or("-");
    Some(vec![
        shortened(&name, NAME),
        verdict(summary),
        figure,
        p50,
        p99,
        clip(machine, 5),
        summary.settings.clone(),
        summary.runs.to_string(),
        n,
    ])
}

/// Whether the directory still has the name that `tickpath run` gave it: time and scenario.
fn says_all(entry: &HistoryEntry, summary: &Summary) -> bool {
    let day = summary.started.get(..11).unwrap_or("?");
    entry.name.starts_with(day) && entry.name.contains(&format!("-{}", summary.scenario))
}

/// A record that has figures.
pub(crate) type Point<'a> = (&'a Summary, &'a Headline);

/// Records of one scenario, with the same settings on the same machine: they are comparable over
/// time.
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

fn over_time(out: &mut Terminal, history: &History) {
    let trends: Vec<Trend> =
        trends(history).into_iter().filter(|trend| trend.records.len() > 1).collect();
    if trends.is_empty() {
        return;
    }
    let bars_max = out.columns.saturating_sub(OVER_TIME).clamp(BARS_MIN, BARS_MAX);
    let row = |trend: Trend<'_>| {
        let valid: Vec<u64> = trend
            .records
            .iter()
            .filter(|(summary, _)| summary.is_result())
            .filter_map(|(_, headline)| headline.series.pooled.p50)
            .collect();
        let shown = |value: Option<&u64>| value.map_or("-".to_owned(), |ns| us(*ns));
        let range = match (valid.iter().min(), valid.iter().max()) {
            (Some(low), Some(high)) if valid.len() > 1 => format!("{}-{}", us(*low), us(*high)),
            _ => String::new(),
        };
        vec![
            shortened(trend.scenario, SCENARIO),
            clip(trend.machine, 5),
            trend.settings.to_owned(),
            bars(&trend, bars_max),
            trend.records.len().to_string(),
            shown(valid.first()),
            shown(valid.last()),
            range,
        ]
    };
    let head =
        ["p50 over time, us", "mach", "set", "oldest to newest", "n", "oldest", "newest", "range"];
    let grid = Grid {
        head: cells(head),
        rows: trends.into_iter().map(row).collect(),
        notes: vec![
            "A bar is a record, or several where there are many; · is void, or its p50 does not hold."
                .to_owned(),
        ],
        more_names: 3,
        ..Grid::default()
    };
    cut(grid, out, TREND_MIN);
}

/// One character per record; if there are many, one per median of several neighbours.
fn bars(trend: &Trend, bars_max: usize) -> String {
    let values: Vec<Option<u64>> = trend
        .records
        .iter()
        .map(|(summary, headline)| headline.series.pooled.p50.filter(|_| summary.is_result()))
        .collect();
    let per_bar = values.len().div_ceil(bars_max).max(1);
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

/// Explains the letters: how the other lines differ from the newest.
fn letters(out: &mut Terminal, history: &History) {
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
