//! Figures of a fan-out beside its latencies: how far apart the arrivals are, whose copy comes
//! first and last, the hold that makes it fair, and each subscriber.

use crate::run::fan_out_hosts;
use crate::text::grid::{Grid, cells};
use crate::text::number::{count, latency};
use crate::text::terminal::{Terminal, shortened};
use crate::text::words::{self, US, cell};
use maud::{Markup, html};
use plan::process::fan_out::{
    ARRIVAL, HOP_1, HOP_2, LATE, RELEASE, RELEASE_SPREAD, REPLICATOR, SPREAD, series_of,
};
use record::fan_out::{FanOutHeld, FanOutRun, FanOutSubscriber};
use record::measure::Measure;
use record::{Kind, RunRecord, Series, Subject};

/// Columns of a subject's name.
pub(super) const NAME_WIDTH: usize = 14;

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
    let mut grids = vec![parts(record), fairness(record), released(record), target(record)];
    grids.extend(fan_out_hosts::grids(record));
    grids.extend(record.subjects.iter().map(subscribers));
    grids.retain(|grid| !grid.rows.is_empty());
    grids
}

/// A row for each of these series of each subject, under the name that the pair gives it.
fn rows(record: &RunRecord, series: &[(&str, Kind, &str)]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for subject in &record.subjects {
        let own = series.iter().filter_map(|(name, kind, title)| {
            subject.series(name, *kind).map(|series| (series, title))
        });
        for (index, (series, title)) in own.enumerate() {
            let name =
                if index == 0 { shortened(&subject.name, NAME_WIDTH) } else { String::new() };
            let mut row = vec![name, (*title).to_owned()];
            row.extend(figures(series));
            rows.push(row);
        }
    }
    rows
}

/// The spread, and the parts of the way.
fn parts(record: &RunRecord) -> Grid {
    let own = [
        (SPREAD, Kind::Stage, "spread"),
        (HOP_1, Kind::Stage, "hop 1"),
        (REPLICATOR, Kind::Stage, "replicator"),
        (HOP_2, Kind::Stage, "hop 2"),
    ];
    Grid {
        title: "Spread, and the parts of the way".to_owned(),
        head: cells([US.name, "", "p50", "p99", "p99.9", "max", "n"]),
        rows: rows(record, &own),
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

pub(super) fn share(part: u64, whole: u64) -> String {
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
            (if first.order.is_empty() { "its own" } else { &first.order }).to_owned(),
            ranks.len().to_string(),
            share(most(|one| one.first), whole),
            share(least, whole),
            share(most(|one| one.last), whole),
            fair,
            match (&first.hosts, holds.and_then(median)) {
                (Some(_), _) => "-".to_owned(),
                (None, hold) => hold.map_or("never".to_owned(), latency),
            },
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

/// The runs of a subject that held something, or tried to.
fn held(subject: &Subject) -> impl Iterator<Item = (&FanOutRun, FanOutHeld)> {
    subject.load.fan_out.iter().filter_map(|run| Some((run, run.held?)))
}

/// With a hold: what it does to the spread, and what it costs.
fn released(record: &RunRecord) -> Grid {
    let own = [
        (SPREAD, Kind::Stage, "spread of arrivals"),
        (RELEASE_SPREAD, Kind::Stage, "spread of releases"),
        (ARRIVAL, Kind::Service, "until arrival"),
        (RELEASE, Kind::Service, "until release"),
        (LATE, Kind::Stage, "late by"),
    ];
    let is_held = record.subjects.iter().any(|subject| held(subject).next().is_some());
    Grid {
        title: "Hold and release: the spread before and after, and the cost".to_owned(),
        head: cells([US.name, "", "p50", "p99", "p99.9", "max", "n"]),
        rows: if is_held { rows(record, &own) } else { Vec::new() },
        notes: vec![
            "One thread hands on the copies of all subscribers at their release, one after the \
             other. A late copy arrived after its release and was handed on at once: `late by` has \
             these only, by the kernel's stamp."
                .to_owned(),
        ],
        more_names: 1,
    }
}

/// With a hold: whether it was long enough.
fn target(record: &RunRecord) -> Grid {
    let rows = record.subjects.iter().filter_map(|subject| {
        let mut holds = Vec::new();
        let (mut met, mut runs, mut none, mut searched) = (0, 0, 0, false);
        let (mut messages, mut simultaneous, mut late) = (0, 0, 0);
        for (run, held) in held(subject) {
            runs += 1;
            searched |= held.searched.is_some();
            match held.hold_ns {
                Some(hold_ns) => holds.push(hold_ns),
                None => none += 1,
            }
            messages += run.messages;
            simultaneous += held.simultaneous;
            late += held.late;
            met += u32::from(is_fair(run, held));
        }
        let fair = subject.load.fan_out.first()?.fair;
        (runs > 0).then(|| {
            vec![
                shortened(&subject.name, NAME_WIDTH),
                (if searched { "searched" } else { "given" }).to_owned(),
                median(holds).map_or("none".to_owned(), latency),
                format!("{}", fair * 100.0),
                fine_share(simultaneous, messages),
                if none > 0 { format!("{none} of {runs} no hold") } else { "-".to_owned() },
                format!("{met} of {runs}"),
                count(late),
            ]
        })
    });
    Grid {
        title: "Hold and release: messages that everybody got at once".to_owned(),
        head: cells(["", "hold is", "hold", "fair %", "found", "without", "runs met", "late"]),
        rows: rows.collect(),
        notes: vec![
            "Found: the share of all messages of which every copy arrived by the release. A hold \
             that is searched for comes from messages before the measured ones, so it misses the \
             target by chance in about every other run. Late: copies."
                .to_owned(),
        ],
        ..Grid::default()
    }
}

/// Whether a run's hold met its target.
fn is_fair(run: &FanOutRun, held: FanOutHeld) -> bool {
    held.hold_ns.is_some() && held.simultaneous as f64 >= run.fair * run.messages as f64
}

/// A share of which the third digit counts.
fn fine_share(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.3} %", part as f64 * 100.0 / whole as f64) }
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
    #[test]
    fn a_run_meets_its_target_if_enough_messages_reached_everybody_at_once() {
        let run = FanOutRun { messages: 1_000, fair: 0.999, ..FanOutRun::default() };
        let with = |hold_ns, simultaneous| {
            is_fair(&run, FanOutHeld { hold_ns, simultaneous, ..FanOutHeld::default() })
        };
        assert!(with(Some(1), 999) && !with(Some(1), 998));
        assert!(!with(None, 1_000), "nothing was held");
        assert_eq!(fine_share(999, 1_000), "99.900 %");
    }
}
