//! Whether the candidates pay: a row for each, also for those that could not run.

use crate::comparison::words;
use crate::text::grid::{Grid, cells};
use crate::text::number::share;
use crate::text::terminal::shortened;
use record::comparison::Comparison;
use record::comparison::compared::ComparedFigure;
use std::collections::BTreeSet;

/// Columns of a treatment's name. Whole names stand above the table and in the notes.
const NAME_WIDTH: usize = 28;

/// The table; `None` if no margin was given.
pub(crate) fn worth(comparison: &Comparison) -> Option<Grid> {
    let margin = &comparison.worth.as_ref()?.margin;
    let title = match comparison.paying_figure() {
        Some(one) => {
            format!("Does it save {margin} of A's {} {} p50?", one.series, one.kind.name())
        }
        None => format!("Does it save {margin}?"),
    };
    let mut rows = vec![row(format!("A {}", label(&comparison.a.name)), "(baseline)")];
    if let Some(figures) = of_a(comparison) {
        rows[0].splice(2.., figures);
    }
    let mut notes = Vec::new();
    for (letter, one) in comparison.candidates() {
        let Some(worth) = &one.worth else { continue };
        let mut row = row(format!("{letter} {}", label(&one.b.name)), worth.verdict.name());
        let p50 = changed(one, one.paying_figure());
        row.splice(2.., p50.into_iter().chain(changed(one, tail(one))));
        rows.push(row);
        notes.push(format!("{letter}: {}", worth.why));
    }
    for missing in &comparison.not_run {
        rows.push(row(label(&missing.name), "could not run"));
        notes.push(format!("{}: {}", missing.name, missing.why));
    }
    let head = cells(["us", "verdict", "p50", "change", "p99", "change"]);
    Some(Grid { title, head, rows, notes, more_names: 1 })
}

/// A row without figures.
fn row(name: String, verdict: &str) -> Vec<String> {
    let mut row = vec![name, verdict.to_owned()];
    row.extend(cells(["-", "-", "-", "-"]));
    row
}

/// The name in a table: the one value that all its settings have, or all of it.
fn label(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    let values = words.iter().map(|word| word.split_once('=').map(|(_, value)| value));
    match values.collect::<Option<BTreeSet<&str>>>() {
        Some(values) if values.len() == 1 && words.len() > 1 => values.into_iter().collect(),
        _ => shortened(name, NAME_WIDTH),
    }
}

/// The p99 of the series whose p50 decides.
fn tail(one: &Comparison) -> Option<&ComparedFigure> {
    one.beside(one.paying_figure()?, "p99")
}

/// The baseline's figures beside the first candidate's.
fn of_a(comparison: &Comparison) -> Option<[String; 4]> {
    let of = |figure: Option<&ComparedFigure>| match figure {
        Some(figure) => words::figures(comparison, figure)[0].clone(),
        None => "-".to_owned(),
    };
    let paying = comparison.paying_figure()?;
    Some([of(Some(paying)), "-".to_owned(), of(tail(comparison)), "-".to_owned()])
}

/// A candidate's figure, and the range of its change.
fn changed(one: &Comparison, figure: Option<&ComparedFigure>) -> [String; 2] {
    let Some(figure) = figure else { return ["-".to_owned(), "-".to_owned()] };
    let [_, of_b] = words::figures(one, figure);
    let [low, high] = figure.range.unwrap_or(figure.effect.interval);
    [of_b, format!("{} … {}", share(low), share(high))]
}
