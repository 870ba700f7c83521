//! Figures of a fan-out beside its latencies: how far apart the arrivals are, whose copy comes
//! first and last, the hold that makes it fair, and each subscriber.

use crate::text::grid::{Grid, cells};
use crate::text::number::{count, latency};
use crate::text::terminal::{Terminal, shortened};
use crate::text::words::{self, US, cell};
use maud::{Markup, html};
use plan::process::fan_out::{HOP_1, HOP_2, REPLICATOR, SPREAD, series_of};
use record::fan_out::{FanOutRun, FanOutSubscriber};
use record::measure::Measure;
use record::{Kind, RunRecord, Series, Subject};

/// Columns of a subject's name.
const NAME_WIDTH: usize = 14;

/// The grids for a terminal.
pub(crate) fn text(out: &mut Terminal, record: &RunRecord) {
    grids(record).iter().for_each(|grid| grid.text(out));
}

/// The grids for a page.
pub(crate) fn section(record: &RunRecord) -> Markup {
    html! { @for grid in grids(record) { (grid.section()) } }
}

fn grids(record: &RunRecord) -> Vec<Grid> {
    if words::measure(record) != Some(Measure::FanOut) {
        return Vec::new();
    }
    let mut grids = vec![parts(record), fairness(record)];
    grids.extend(record.subjects.iter().map(subscribers));
    grids.retain(|grid| !grid.rows.is_empty());
    grids
}

/// The spread, and the parts of the way.
fn parts(record: &RunRecord) -> Grid {
    let mut rows = Vec::new();
    for subject in &record.subjects {
        let own = [SPREAD, HOP_1, REPLICATOR, HOP_2];
        let own = own.iter().filter_map(|name| subject.series(name, Kind::Stage));
        for (index, series) in own.enumerate() {
            let name =
                if index == 0 { shortened(&subject.name, NAME_WIDTH) } else { String::new() };
            let mut row = vec![name, series.name.replace('_', " ")];
            row.extend(figures(series));
            rows.push(row);
        }
    }
    Grid {
        title: "Spread, and the parts of the way".to_owned(),
        head: cells([US.name, "", "p50", "p99", "p99.9", "max", "n"]),
        rows,
        notes: vec![
            "Spread: from the first arrival of a message to the last. Hop 2 begins when the \
             replicator hands all copies to the kernel, so it includes a copy's turn."
                .to_owned(),
        ],
        more_names: 1,
    }
}

fn figures(series: &Series) -> Vec<String> {
    let pooled = &series.pooled;
    let of = |name, value| cell(series, name, value, US);
    vec![
        of("p50", pooled.p50),
        of("p99", pooled.p99),
        of("p99_9", pooled.p99_9),
        (US.show)(pooled.max),
        count(pooled.count),
    ]
}

/// The sums of all runs of each subscriber.
fn summed(runs: &[FanOutRun]) -> Vec<FanOutSubscriber> {
    let most = runs.iter().map(|run| run.subscribers.len()).max().unwrap_or(0);
    let mut sums = vec![FanOutSubscriber::default(); most];
    for run in runs {
        for (sum, one) in sums.iter_mut().zip(&run.subscribers) {
            sum.received += one.received;
            sum.lost += one.lost;
            sum.first += one.first;
            sum.last += one.last;
        }
    }
    sums
}

fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1} %", part as f64 * 100.0 / whole as f64) }
}

/// Ranks, and the hold of each subject.
fn fairness(record: &RunRecord) -> Grid {
    let rows = record.subjects.iter().filter_map(|subject| {
        let runs = &subject.load.fan_out;
        let first = runs.first()?;
        let whole: u64 = runs.iter().map(|run| run.whole).sum();
        let ranks = summed(runs);
        let most = |of: fn(&FanOutSubscriber) -> u64| ranks.iter().map(of).max().unwrap_or(0);
        let least = ranks.iter().map(|one| one.first).min().unwrap_or(0);
        let holds: Option<Vec<u64>> = runs.iter().map(|run| run.hold_ns).collect();
        let held: Option<Vec<f64>> = runs.iter().map(|run| run.held_ns_mean).collect();
        let held = held.map(|held| held.iter().sum::<f64>() / held.len() as f64);
        let fair = format!("{}", first.fair * 100.0);
        Some(vec![
            shortened(&subject.name, NAME_WIDTH),
            first.order.clone(),
            ranks.len().to_string(),
            share(most(|one| one.first), whole),
            share(least, whole),
            share(most(|one| one.last), whole),
            fair,
            holds.and_then(median).map_or("never".to_owned(), latency),
            held.map_or("-".to_owned(), |ns| latency(ns as u64)),
        ])
    });
    Grid {
        title: "Fairness: whose copy comes first, and the hold that hides it".to_owned(),
        head: cells([
            "",
            "order",
            "of",
            "most first",
            "least first",
            "most last",
            "fair %",
            "hold",
            "adds",
        ]),
        rows: rows.collect(),
        notes: vec![
            "Most and least first: the shares of the subscribers that got the first copy most and \
             least often; even would be one of all. Hold: the shortest time after sending by which \
             that share of messages has reached everybody, the median of runs; adds: what waiting \
             for it adds to a copy, on average."
                .to_owned(),
        ],
        ..Grid::default()
    }
}

fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// One row for each subscriber.
fn subscribers(subject: &Subject) -> Grid {
    let runs = &subject.load.fan_out;
    let whole: u64 = runs.iter().map(|run| run.whole).sum();
    let rows = summed(runs).into_iter().enumerate().map(|(at, one)| {
        let series = subject.series(&series_of(at + 1), Kind::Service);
        let mut row = vec![(at + 1).to_string()];
        row.extend(match series {
            Some(series) => figures(series),
            None => vec!["-".to_owned(); 5],
        });
        row.extend([one.lost.to_string(), share(one.first, whole), share(one.last, whole)]);
        row
    });
    Grid {
        title: format!("{}: arrival at each subscriber, us", subject.name),
        head: cells(["", "p50", "p99", "p99.9", "max", "n", "lost", "first", "last"]),
        rows: rows.collect(),
        ..Grid::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up_also_where_one_has_fewer_subscribers() {
        let one = |first| FanOutSubscriber { received: 10, lost: 1, first, last: 0 };
        let run = |all: &[u64]| FanOutRun {
            subscribers: all.iter().map(|first| one(*first)).collect(),
            ..FanOutRun::default()
        };
        let sums = summed(&[run(&[1, 2]), run(&[3])]);
        assert_eq!(sums[0], FanOutSubscriber { received: 20, lost: 2, first: 4, last: 0 });
        assert_eq!(sums[1], one(2));
        assert_eq!((share(1, 8), share(0, 0)), ("12.5 %".to_owned(), "-".to_owned()));
        assert_eq!((median(vec![9, 1, 5]), median(vec![])), (Some(5), None));
    }
}
