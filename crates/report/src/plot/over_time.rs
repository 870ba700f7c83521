//! Latency over time: p50, p99 and maximum of each column, all runs one after the other; a heat map
//! where a run is long.

use crate::plot::axis::Axis;
use crate::plot::{Cell, HEAT_LEVELS, Mark, Plot, PlotLine, Width, legend};
use crate::text::number::{count, plain};
use crate::text::words::{is_measured, is_of_subscriber};
use maud::{Markup, html};
use plan::intensity::place_of_series;
use record::merge::pooling::series_of;
use record::timeline::{Column, OverTime, ROWS_PER_DECADE, Timeline};
use record::{Kind, RunRecord, Series, Subject};

/// From this many columns on there is a heat map.
const HEAT_COLUMNS_MIN: usize = 120;
/// Ends of runs are marked up to this number of runs.
const MARKS_MAX: usize = 60;
/// The marks have numbers up to this number of runs.
const MARKS_NUMBERED_MAX: usize = 12;

const LINES: [(&str, &str); 3] = [("c0", "p50"), ("c1 dash1", "p99"), ("floor dash2", "maximum")];

/// Panels of the subjects' orders, and the rest folded.
pub(crate) fn section(record: &RunRecord, timeline: Option<&Timeline>) -> Markup {
    let Some(timeline) = timeline.filter(|timeline| !timeline.series.is_empty()) else {
        return html! {};
    };
    let is_long = timeline.runs.iter().sum::<usize>() > HEAT_COLUMNS_MIN;
    let panels = panels(record, timeline);
    let (main, rest): (Vec<&Panel>, Vec<&Panel>) = panels.iter().partition(|panel| panel.is_main);
    let entries = LINES.map(|(class, name)| (class.to_owned(), name.to_owned()));
    html! {
        h2 { "Over time" }
        (legend(&entries))
        div class="plots" {
            @for panel in &main { (lines(timeline, panel).figure()) }
        }
        p class="quiet" {
            (seconds(timeline.column_seconds)) " a column"
            @if timeline.runs.len() > 1 { ", all runs one after the other; the gaps between them are left out" }
            ". A percentile is drawn where ten samples of its column lie beyond it."
        }
        @if is_long {
            h3 { "Density" }
            div class="plots" { @for panel in &main { (heat(timeline, panel)) } }
        }
        @if !rest.is_empty() {
            details {
                summary { "The other series over time: " (rest.len()) }
                div class="plots" { @for panel in &rest { (lines(timeline, panel).figure()) } }
            }
        }
    }
}

struct Panel<'a> {
    title: String,
    over_time: &'a OverTime,
    is_main: bool,
}

fn panels<'a>(record: &RunRecord, timeline: &'a Timeline) -> Vec<Panel<'a>> {
    let mut panels = Vec::new();
    for subject in &record.subjects {
        let is_drawn = |one: &&Series| {
            is_measured(subject, one)
                && !is_of_subscriber(subject, one)
                && place_of_series(&one.name).is_none()
        };
        for series in subject.series.iter().filter(is_drawn) {
            let tag = format!("{}.{}.{}", subject.name, series.name, series.kind.name());
            if let Some(over_time) = timeline.series.get(&tag) {
                let title = format!("{} {} {}", subject.name, series.name, series.kind.name());
                panels.push(Panel { title, over_time, is_main: is_main(subject, &tag) });
            }
        }
    }
    panels
}

/// Whether a series is drawn in front: the subject's own replies.
fn is_main(subject: &Subject, tag: &str) -> bool {
    let series = series_of(tag, &subject.name);
    let is_told = |(name, kind): (String, Kind)| {
        !matches!(name.as_str(), "cancel")
            && !matches!(kind, Kind::Noise | Kind::Lateness | Kind::Stage)
    };
    !subject.is_reference() && series.is_some_and(is_told)
}

/// A time on the axis: the unit's name and its seconds.
fn unit(all_seconds: f64) -> (&'static str, f64) {
    match all_seconds {
        ..180.0 => ("seconds", 1.0),
        ..10_800.0 => ("minutes", 60.0),
        ..259_200.0 => ("hours", 3_600.0),
        _ => ("days", 86_400.0),
    }
}

fn seconds(seconds: f64) -> String {
    format!("{} s", plain(seconds))
}

/// The empty plot of a panel, and the width of a column on its axis of time.
fn canvas(timeline: &Timeline, panel: &Panel<'_>) -> (Plot, f64) {
    let columns = timeline.runs.iter().sum::<usize>().max(1) as f64;
    let (unit, unit_seconds) = unit(columns * timeline.column_seconds);
    let width = timeline.column_seconds / unit_seconds;
    let low = |column: &Column| {
        let lowest = column.summary.p50.or(column.summary.p99).unwrap_or(column.summary.max);
        lowest.min(column.summary.max)
    };
    let columns_of = &panel.over_time.columns;
    let low_ns = columns_of.iter().map(low).min().unwrap_or(1);
    let high_ns = columns_of.iter().map(|column| column.summary.max).max().unwrap_or(1);
    let x = Axis::linear(unit, 0.0, columns * width, plain);
    let y = Axis::latency("latency", low_ns as f64, high_ns as f64);
    let mut plot = Plot::new(&panel.title, x, y);
    let runs = timeline.runs.len();
    if (2..=MARKS_MAX).contains(&runs) {
        let mut first = 0;
        for (run, columns) in timeline.runs.iter().enumerate() {
            let is_numbered = runs <= MARKS_NUMBERED_MAX;
            let label = if is_numbered { (run + 1).to_string() } else { String::new() };
            plot.marks.push(Mark { x: first as f64 * width, label });
            first += columns;
        }
    }
    (plot, width)
}

fn lines(timeline: &Timeline, panel: &Panel<'_>) -> Plot {
    let (mut plot, width) = canvas(timeline, panel);
    let values: [fn(&Column) -> Option<u64>; 3] = [
        |column| column.summary.p50,
        |column| column.summary.p99,
        |column| Some(column.summary.max),
    ];
    for ((class, name), value) in LINES.iter().zip(values).rev() {
        let points = points(timeline, panel.over_time, width, value);
        let (class, title) = ((*class).to_owned(), (*name).to_owned());
        plot.lines.push(PlotLine { class, points, title, ..PlotLine::default() });
    }
    plot
}

/// A point in the middle of each column, with a gap where a run ends or a value is missing.
fn points(
    timeline: &Timeline,
    over_time: &OverTime,
    width: f64,
    value: fn(&Column) -> Option<u64>,
) -> Vec<(f64, f64)> {
    let ends: Vec<usize> = timeline
        .runs
        .iter()
        .scan(0, |sum, columns| {
            *sum += columns;
            Some(*sum)
        })
        .collect();
    let run_of = |index: usize| ends.partition_point(|end| *end <= index);
    let mut points = Vec::new();
    let mut last_run = None;
    for column in &over_time.columns {
        let x = (column.index as f64 + 0.5) * width;
        let run = run_of(column.index);
        if last_run.is_some_and(|last| last != run) {
            points.push((x, f64::NAN));
        }
        last_run = Some(run);
        points.push((x, value(column).map_or(f64::NAN, |ns| ns as f64)));
    }
    points
}

fn heat(timeline: &Timeline, panel: &Panel<'_>) -> Markup {
    let (mut plot, width) = canvas(timeline, panel);
    plot.width = Width::Full;
    let columns = &panel.over_time.columns;
    let counts = || columns.iter().flat_map(|column| &column.rows);
    let edge = |row: u16| 10f64.powf(f64::from(row) / ROWS_PER_DECADE as f64);
    let (Some(low), Some(high)) =
        (counts().map(|(row, _)| *row).min(), counts().map(|(row, _)| *row).max())
    else {
        return html! {};
    };
    plot.y = Axis::latency("latency", edge(low), edge(high + 1));
    let most = counts().map(|(_, count)| *count).max().unwrap_or(1);
    let level = |count: u64| {
        let share = (count as f64).ln() / (most as f64).ln().max(f64::MIN_POSITIVE);
        ((share * HEAT_LEVELS as f64) as usize).min(HEAT_LEVELS - 1)
    };
    for column in columns {
        let x = (column.index as f64 * width, (column.index + 1) as f64 * width);
        for (row, count) in &column.rows {
            let y = (edge(*row), edge(*row + 1));
            plot.cells.push(Cell { x, y, level: level(*count) });
        }
    }
    html! {
        (plot.figure())
        p class="legend quiet full" {
            span { "samples a cell, logarithmic: 1" }
            span {
                @for level in 0..HEAT_LEVELS {
                    svg class="swatch" viewBox="0 0 10 10" aria-hidden="true" {
                        rect class={ "h" (level) } width="10" height="10" {}
                    }
                }
            }
            span { (count(most)) }
        }
    }
}
