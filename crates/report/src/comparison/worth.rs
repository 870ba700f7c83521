//! Whether the candidates pay: a row for each, also for those that could not run.

use crate::comparison::published;
use crate::comparison::table::arms;
use crate::comparison::words;
use crate::text::grid::{Grid, cells};
use crate::text::number::{rate, share, us};
use crate::text::terminal::shortened;
use record::comparison::compared::ComparedFigure;
use record::comparison::{Arm, Comparison};
use record::cost::Cost;
use std::collections::BTreeSet;

/// Head of the column of processor time.
const PROCESSOR: &str = "processor";
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
    rows[0].splice(2..6, of_a(comparison));
    rows[0].splice(6.., costs(&comparison.a));
    let mut notes = Vec::new();
    for (letter, one) in comparison.candidates() {
        let Some(worth) = &one.worth else { continue };
        let mut row = row(format!("{letter} {}", label(&one.b.name)), worth.verdict.name());
        row.splice(2..6, of_candidate(one));
        row.splice(6.., costs(&one.b));
        rows.push(row);
        notes.push(format!("{letter}: {}", worth.why));
    }
    for missing in &comparison.not_run {
        rows.push(row(label(&missing.name), "could not run"));
        notes.push(format!("{}: {}", missing.name, missing.why));
    }
    notes.extend(cost_note(comparison));
    notes.extend(published::beside(comparison));
    let head =
        ["us", "verdict", "p50", "change", "p99", "change", PROCESSOR, "lost", "missed", "dropped"];
    let head = cells(head);
    Some(Grid { title, head, rows, notes, more_names: 1 })
}

/// A row without figures.
fn row(name: String, verdict: &str) -> Vec<String> {
    let mut row = vec![name, verdict.to_owned()];
    row.extend(cells(["-"; 8]));
    row
}

/// Processor time per message at the client and at the exchange, lost messages, messages of the
/// feed that did not arrive, dropped packets.
fn costs(arm: &Arm) -> [String; 4] {
    let none = || "-".to_owned();
    let count = |known: Option<u64>| known.map_or_else(none, |count| rate(count as f64));
    let Some(cost) = &arm.cost else { return [none(), none(), none(), none()] };
    let per_message = match cost.ns_per_message() {
        [None, _] => none(),
        ends => {
            let end = |ns: Option<f64>| ns.map_or_else(none, |ns| us(ns as u64));
            format!("{}{}", ends.map(end).join("+"), if spins(cost) { "*" } else { "" })
        }
    };
    let lost = count((cost.messages > 0).then_some(cost.lost));
    [per_message, lost, count(cost.missed), count(cost.packets_dropped)]
}

fn spins(cost: &Cost) -> bool {
    cost.processor.as_ref().is_some_and(|processor| !processor.spinning.is_empty())
}

/// The meaning of the columns of costs, if one of them has a figure.
fn cost_note(comparison: &Comparison) -> Option<String> {
    let arms = || arms(comparison).filter_map(|(_, arm)| arm.cost.as_ref());
    let has_one = arms().any(|cost| cost.processor.is_some() || cost.packets_dropped.is_some());
    let missed = "missed: messages of the feed whose datagrams did not arrive in time; ";
    let spinning = "*: a thread spins, which uses its core whether messages come or not";
    let said = format!(
        "{PROCESSOR}: processor time a message, user and system, of the client's threads + the \
         exchange's{}. lost: messages without a reply; {}dropped: packets, by the network devices \
         of both ends. All of them also in void runs",
        if arms().any(spins) { format!("; {spinning}") } else { String::new() },
        if arms().any(|cost| cost.missed.is_some()) { missed } else { "" }
    );
    has_one.then_some(said)
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
fn of_a(comparison: &Comparison) -> [String; 4] {
    let of = |figure: Option<&ComparedFigure>| match figure {
        Some(figure) => words::figures(comparison, figure)[0].clone(),
        None => "-".to_owned(),
    };
    match comparison.paying_figure() {
        None => not_judged(&comparison.a),
        paying => [of(paying), "-".to_owned(), of(tail(comparison)), "-".to_owned()],
    }
}

/// A candidate's figures, each with the range of its change.
fn of_candidate(one: &Comparison) -> [String; 4] {
    let paying = one.paying_figure();
    if paying.is_none() {
        return not_judged(&one.b);
    }
    let ([p50, of_p50], [p99, of_p99]) = (changed(one, paying), changed(one, tail(one)));
    [p50, of_p50, p99, of_p99]
}

/// As measured, without a change.
fn not_judged(arm: &Arm) -> [String; 4] {
    let [p50, p99] = words::not_judged(arm).unwrap_or_else(|| ["-", "-"].map(str::to_owned));
    [p50, "-".to_owned(), p99, "-".to_owned()]
}

/// A candidate's figure, and the range of its change.
fn changed(one: &Comparison, figure: Option<&ComparedFigure>) -> [String; 2] {
    let Some(figure) = figure else { return ["-".to_owned(), "-".to_owned()] };
    let [_, of_b] = words::figures(one, figure);
    let [low, high] = figure.range.unwrap_or(figure.effect.interval);
    [of_b, format!("{} … {}", share(low), share(high))]
}
