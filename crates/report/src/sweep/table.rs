//! A sweep as a table for a terminal, and in words.

use crate::text::grid::{Grid, cells};
use crate::text::number::{latency, rate};
use crate::text::terminal::{Terminal, shortened, wrap};
use crate::text::words::{self, US, cell, marks};
use record::sweep::{Outcome, Point, SweepRecord};
use record::{Kind, Subject};
use std::fmt::Write;

/// Columns of a subject's name.
const NAME_WIDTH: usize = 20;

/// The sweep as text: the highest good rate first, then a row a rate, then why rates are void.
pub fn table(sweep: &SweepRecord, columns: usize) -> String {
    let mut out = Terminal::new(columns);
    wrap(&mut out, "", &state(sweep));
    for failure in &sweep.failures {
        wrap(&mut out, "  ! ", failure);
    }
    wrap(&mut out, "  ", &knee(sweep));
    rows(&mut out, sweep);
    let reasons: Vec<String> = sweep.points.iter().filter_map(why_void).collect();
    if !reasons.is_empty() {
        out.push('\n');
    }
    for reason in reasons {
        wrap(&mut out, "  ! ", &reason);
    }
    out.into_text()
}

/// The swept scenario, and whether the sweep was finished.
pub(crate) fn state(sweep: &SweepRecord) -> String {
    let complete = if sweep.complete { "complete" } else { "INCOMPLETE" };
    let rates = sweep.points.len();
    let injected = match sweep.injected.is_empty() {
        true => String::new(),
        false => format!(" · faults injected: {}", sweep.injected.join("; ")),
    };
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    format!(
        "{} sweep · {complete} · {rates} rate{} · {} run{} each{injected}",
        sweep.scenario,
        plural(rates),
        sweep.runs,
        plural(sweep.runs as usize)
    )
}

/// The highest good rate, and the reason why the next one is not good.
pub(crate) fn knee(sweep: &SweepRecord) -> String {
    let goal = match (&sweep.objective, sweep.late_share_max) {
        (Some(objective), _) => format!("met {objective}"),
        (None, Some(share)) => format!("sent at most {:.0} % of its messages late", 100.0 * share),
        (None, None) => "was reached".to_owned(),
    };
    let at = |point: &Point| format!("{}/s", rate(point.rate_per_second_offered));
    let knee = sweep.knee();
    let mut text = match (knee.met, knee.next) {
        (Some(met), Some(next)) => {
            let (met, why) = (at(met), outcome(sweep, next));
            format!("highest rate that {goal}: {met} (next: {} {why})", at(next))
        }
        (Some(met), None) => format!("highest rate that {goal}: {}, the highest tried", at(met)),
        (None, Some(next)) => {
            format!("no rate {goal} (lowest tried: {} {})", at(next), outcome(sweep, next))
        }
        (None, None) => "nothing was measured".to_owned(),
    };
    if let Some(again) = knee.again {
        let _ = write!(
            text,
            "; but {} did again: between runs this machine changes more than between rates",
            at(again)
        );
    }
    text
}

/// Outcome of a rate, in a few words.
pub(crate) fn outcome(sweep: &SweepRecord, point: &Point) -> String {
    let over_floor = |ppm| format!("{:.2}x", ppm as f64 / 1e6);
    let value = point.objective_ns.map(latency).or(point.objective_ppm.map(over_floor));
    let figure = match (&sweep.objective, value) {
        (Some(objective), Some(value)) => format!(", {} {value}", objective.figure()),
        _ => String::new(),
    };
    match point.outcome {
        Outcome::Met if sweep.objective.is_none() => "reached".to_owned(),
        Outcome::Met => format!("met{figure}"),
        Outcome::Missed => format!("missed{figure}"),
        Outcome::Overloaded => match reached_percent(point) {
            Some(percent) => format!("overloaded ({percent:.1} %)"),
            None => "overloaded".to_owned(),
        },
        Outcome::Undecided => format!("undecided{figure}"),
        Outcome::Void => "VOID".to_owned(),
    }
}

/// Rounded down: 99.87 % must not read as the 99.9 % that were asked.
fn reached_percent(point: &Point) -> Option<f64> {
    let share = point.rate_per_second_achieved? / point.rate_per_second_offered;
    Some((share * 1000.0).floor() / 10.0)
}

/// The first reason why a rate is no result, and the place of the others; empty for a result.
pub(crate) fn why_void(point: &Point) -> Option<String> {
    let first = point.void_because.first()?;
    let others = match point.void_because.len() - 1 {
        0 => String::new(),
        n => format!(" ({n} more in {}/run.json)", point.record),
    };
    Some(format!("{}/s: {first}{others}", rate(point.rate_per_second_offered)))
}

/// Subjects of a point, without floors.
pub(crate) fn measured(point: &Point) -> impl Iterator<Item = &Subject> {
    point.subjects.iter().filter(|subject| !subject.is_reference())
}

/// The series that the objective is about, or else the first series of the first subject.
pub(crate) fn series_name(sweep: &SweepRecord) -> &str {
    let mut series = sweep.points.iter().flat_map(measured).flat_map(|subject| &subject.series);
    match &sweep.objective {
        Some(objective) => &objective.selector.series,
        None => series.next().map_or("order", |series| &series.name),
    }
}

/// Whether a subject has a floor.
pub(crate) fn has_floor(sweep: &SweepRecord) -> bool {
    let series = sweep.points.iter().flat_map(measured).flat_map(|subject| &subject.series);
    series.into_iter().any(|series| series.over_floor.is_some())
}

/// p50 of service time over that of the floor at the same rate.
pub(crate) fn over_floor(sweep: &SweepRecord, subject: &Subject) -> String {
    let series = subject.series(series_name(sweep), Kind::Service);
    series.map_or("-".to_owned(), words::over_floor)
}

/// p50 and p99 of service, then of response time.
pub(crate) fn figures(sweep: &SweepRecord, subject: &Subject) -> [String; 4] {
    let cells = |kind| match subject.series(series_name(sweep), kind) {
        Some(series) => {
            [cell(series, "p50", series.pooled.p50, US), cell(series, "p99", series.pooled.p99, US)]
        }
        None => ["-".to_owned(), "-".to_owned()],
    };
    let ([a, b], [c, d]) = (cells(Kind::Service), cells(Kind::Response));
    [a, b, c, d]
}

fn rows(out: &mut Terminal, sweep: &SweepRecord) {
    let has_floor = has_floor(sweep);
    let several = sweep.points.iter().any(|point| measured(point).count() > 1);
    let mut rows = Vec::new();
    for point in &sweep.points {
        let mut offered = rate(point.rate_per_second_offered);
        let mut verdict = outcome(sweep, point);
        // A rate at which no latency was measured has a row too.
        let nobody = Subject::default();
        let mut subjects: Vec<&Subject> = measured(point).collect();
        if subjects.is_empty() {
            subjects.push(&nobody);
        }
        for subject in subjects {
            let name = if several { subject.name.as_str() } else { "" };
            let mut row = vec![shortened(name, NAME_WIDTH), std::mem::take(&mut offered)];
            row.push(rate(subject.load.rate_per_second_achieved));
            row.extend(figures(sweep, subject));
            row.extend(has_floor.then(|| over_floor(sweep, subject)));
            row.push(std::mem::take(&mut verdict));
            rows.push(row);
        }
    }
    let mut notes = vec![format!("Latencies of {}s.", series_name(sweep))];
    notes.extend(marks(sweep.points.iter().flat_map(measured).flat_map(|one| &one.series)));
    let mut head =
        cells(["us", "messages/s", "achieved", "service p50", "p99", "response p50", "p99"]);
    if has_floor {
        head.push("/ floor".to_owned());
        notes.push(
            "/ floor: service p50 against the raw echo of the same run at the same rate; ? does not hold."
                .to_owned(),
        );
    }
    head.push("verdict".to_owned());
    Grid { head, rows, notes, ..Grid::default() }.text(out);
}
