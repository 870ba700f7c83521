//! Several records side by side: one table, a block for each subject, a line for each group.

use crate::text::grid::Grid;
use crate::text::number::{count, share, us};
use crate::text::terminal::{Terminal, shortened, wrap};
use crate::text::words::times;
use record::side_by_side::{Figure, Group, Row, SideBySide};

/// Columns of a value.
const VALUE_WIDTH: usize = 28;
/// Columns of a subject's name with its series.
const NAME_WIDTH: usize = 32;
/// Percentiles that have a column.
const SHOWN: [&str; 4] = ["p50", "p90", "p99", "p99_9"];

/// The records as text.
pub fn side_by_side(all: &SideBySide, columns: usize) -> String {
    let mut out = Terminal::new(columns);
    wrap(&mut out, "", &title(all));
    if !all.groups.is_empty() {
        grid(all).text(&mut out);
    }
    if !all.left_out.is_empty() {
        out.push('\n');
    }
    all.left_out.iter().for_each(|why| wrap(&mut out, "  ! left out: ", why));
    out.into_text()
}

/// Number of records, and the settings in which they differ.
pub(crate) fn title(all: &SideBySide) -> String {
    let records: usize = all.groups.iter().map(|group| group.records.len()).sum();
    let noun = if records == 1 { "record" } else { "records" };
    format!("{records} {noun} side by side · by {}", all.by.join(", "))
}

/// The whole table.
pub(crate) fn grid(all: &SideBySide) -> Grid {
    let mut head = vec!["us".to_owned()];
    head.extend(all.by.iter().cloned());
    head.extend(SHOWN.map(|name| name.replace('_', ".")));
    head.extend(["max", "n", "p50 over runs", "runs", "p50 beside the first"].map(str::to_owned));
    let has_floor =
        all.groups.iter().flat_map(|group| &group.rows).any(|row| row.over_floor.is_some());
    head.extend(has_floor.then(|| "p50 / floor".to_owned()));
    let mut rows = Vec::new();
    for subject in subjects(all) {
        let of: Vec<(&Group, &Row)> = rows_of(all, &subject).collect();
        let first = of.first().and_then(|(_, row)| row.figure("p50"));
        for (place, (group, row)) in of.iter().enumerate() {
            let name = if place == 0 { title_of(row) } else { String::new() };
            let mut line = vec![shortened(&name, NAME_WIDTH)];
            line.extend(group.values.iter().map(|value| shortened(value, VALUE_WIDTH)));
            line.extend(SHOWN.map(|name| row.figure(name).map_or("-".to_owned(), cell)));
            line.extend([us(row.max), count(row.count), over_runs(group, row)]);
            line.extend([group.runs.to_string(), beside(first, row, place)]);
            line.extend(has_floor.then(|| over_floor(row)));
            rows.push(line);
        }
    }
    let mut notes = vec![
        "A figure is the record's, over all of its runs; of several records the median of theirs. p50 over runs: \
         from the lowest run to the highest. ? does not hold, ~ fewer than 100 samples lie beyond it, - fewer \
         than 10."
            .to_owned(),
        "No verdict: records of different times and machines differ by more than their settings. `tickpath compare` \
         judges two."
            .to_owned(),
    ];
    let figures = all.groups.iter().flat_map(|group| &group.rows).flat_map(|row| &row.figures);
    if figures.into_iter().any(|figure| figure.regimes.is_some()) {
        notes.push("a/b: in the machine's fast and in its slow regime.".to_owned());
    }
    if has_floor {
        notes.push(
            "p50 / floor: the median over pairs, each run against the raw echo of the same run. It may hold where \
             p50 does not."
                .to_owned(),
        );
    }
    notes.extend(all.notes.iter().cloned());
    Grid { title: String::new(), head, rows, notes, more_names: all.by.len() }
}

/// Subjects in the order of the records; a floor has rows of its own.
pub(crate) fn subjects(all: &SideBySide) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in all.groups.iter().flat_map(|group| &group.rows) {
        if !names.contains(&row.subject) {
            names.push(row.subject.clone());
        }
    }
    names
}

/// The rows of a subject, each with its group.
pub(crate) fn rows_of<'a>(
    all: &'a SideBySide,
    subject: &'a str,
) -> impl Iterator<Item = (&'a Group, &'a Row)> {
    let rows = all.groups.iter().flat_map(|group| group.rows.iter().map(move |row| (group, row)));
    rows.filter(move |(_, row)| row.subject == subject)
}

/// Series and subject of a row, such as `order response` of `rust`.
pub(crate) fn title_of(row: &Row) -> String {
    format!("{} {} {}", row.subject, row.series, row.kind.name())
}

fn cell(figure: &Figure) -> String {
    if let Some([fast, slow]) = figure.regimes {
        return format!("{}/{}", us(fast), us(slow));
    }
    let before = if figure.is_uncertain { "~" } else { "" };
    let behind = if figure.holds { "" } else { "?" };
    format!("{before}{}{behind}", us(figure.value))
}

fn over_runs(group: &Group, row: &Row) -> String {
    match row.figure("p50") {
        Some(figure) if group.runs > 1 => {
            let [low, high] = figure.over_runs;
            format!("{}-{}", us(low), us(high))
        }
        _ => "-".to_owned(),
    }
}

fn over_floor(row: &Row) -> String {
    row.over_floor.map_or("-".to_owned(), |ratio| times(ratio.value, ratio.holds))
}

/// The change of p50 from the first group's, where both hold.
fn beside(first: Option<&Figure>, row: &Row, place: usize) -> String {
    match (first, row.figure("p50")) {
        (Some(first), Some(here)) if place > 0 && first.holds && here.holds && first.value > 0 => {
            share(here.value as f64 / first.value as f64 - 1.0)
        }
        _ => "-".to_owned(),
    }
}
