//! Published figures as context: other machines, other methods.

use crate::plot::axis::Axis;
use crate::text::number::short_ns;
use maud::{Markup, html};
use record::{Kind, RunRecord};
use serde::Deserialize;

/// The figures of others, with source and the month in which they were read.
const PUBLISHED_JSON: &str = include_str!("../../data/published.json");

/// The content of `data/published.json`.
#[derive(Deserialize)]
struct PublishedFigures {
    sources: Vec<Source>,
    figures: Vec<Figure>,
}

/// A publisher.
#[derive(Deserialize)]
struct Source {
    /// The letter of its footnote.
    letter: char,
    title: String,
    /// When the figures were read there, year and month.
    read: String,
}

/// A published figure: single values without runs or intervals, as they were published.
#[derive(Deserialize)]
struct Figure {
    what: String,
    statistic: String,
    low_us: f64,
    high_us: f64,
    /// A letter of [`PublishedFigures::sources`].
    source: char,
}

impl PublishedFigures {
    fn read() -> PublishedFigures {
        serde_json::from_str(PUBLISHED_JSON).expect("a test reads the same file")
    }
}

/// A row of the ladder, published or ours.
struct Row {
    what: String,
    statistic: String,
    low_ns: f64,
    high_ns: f64,
    source: String,
    is_own: bool,
}

/// Our figures among the published ones.
pub(crate) fn section(record: &RunRecord) -> Markup {
    let PublishedFigures { sources, figures } = PublishedFigures::read();
    let mut rows = own(record);
    rows.extend(figures.into_iter().map(|figure| Row {
        what: figure.what,
        statistic: figure.statistic,
        low_ns: figure.low_us * 1e3,
        high_ns: figure.high_us * 1e3,
        source: figure.source.to_string(),
        is_own: false,
    }));
    rows.sort_by(|a, b| a.low_ns.total_cmp(&b.low_ns));
    let low = rows.iter().map(|row| row.low_ns).fold(f64::INFINITY, f64::min);
    let high = rows.iter().map(|row| row.high_ns).fold(0.0, f64::max);
    let axis = Axis::latency("", low, high);
    html! {
        h2 { "Published figures, as context" }
        p {
            strong { "Other machines, other methods, other definitions: a scale to find one's place on, not a comparison." }
            " Most are single values without runs or intervals."
        }
        div class="box" {
            table {
                thead {
                    tr {
                        th scope="col" {} th scope="col" {} th scope="col" class="n" {}
                        th scope="col" class="scale" { (scale(&axis)) }
                        th scope="col" { "source" }
                    }
                }
                tbody {
                    @for row in &rows {
                        tr class=[row.is_own.then_some("own")] {
                            th scope="row" { (row.what) }
                            td { (row.statistic) }
                            td class="n" { (range(row)) }
                            td class="scale" { (bar(&axis, row)) }
                            td { (row.source) }
                        }
                    }
                }
            }
        }
        p class="quiet" {
            @for source in sources {
                (source.letter) ". " (source.title) " Read in " (source.read) ". "
            }
        }
    }
}

/// Our own round trips, p50 to p99.9 or as far as the sample goes.
fn own(record: &RunRecord) -> Vec<Row> {
    let mut rows = Vec::new();
    for subject in record.subjects.iter().filter(|subject| !subject.is_reference()) {
        for series in &subject.series {
            let is_round_trip = matches!(series.name.as_str(), "order" | "cycle")
                && matches!(series.kind, Kind::Service);
            let pooled = &series.pooled;
            let deepest = [("p99.9", pooled.p99_9), ("p99", pooled.p99), ("p50", pooled.p50)];
            let deepest = deepest.into_iter().find_map(|(name, ns)| Some((name, ns?)));
            if let (true, Some(p50), Some((name, high))) = (is_round_trip, pooled.p50, deepest) {
                let verdict = if record.is_void() { ", VOID" } else { "" };
                rows.push(Row {
                    what: format!("{} {} service", subject.name, series.name),
                    statistic: if name == "p50" {
                        name.to_owned()
                    } else {
                        format!("p50 to {name}")
                    },
                    low_ns: p50 as f64,
                    high_ns: high as f64,
                    source: format!("this record{verdict}"),
                    is_own: true,
                });
            }
        }
    }
    rows
}

fn range(row: &Row) -> String {
    if row.low_ns < row.high_ns {
        format!("{} to {}", short_ns(row.low_ns), short_ns(row.high_ns))
    } else {
        short_ns(row.low_ns)
    }
}

/// Width of the scale, and the space on each side of it for labels.
const SCALE: f64 = 260.0;
const SIDE: f64 = 22.0;

fn at(axis: &Axis, ns: f64) -> f64 {
    let at = SIDE + axis.position(ns) * (SCALE - 2.0 * SIDE);
    (at * 10.0).round() / 10.0
}

fn decades(axis: &Axis) -> impl Iterator<Item = (f64, &str)> {
    let is_decade = |ns: f64| (ns.log10() - ns.log10().round()).abs() < 1e-6;
    let ticks = axis.ticks.iter().filter(move |tick| is_decade(tick.at));
    ticks.map(|tick| (at(axis, tick.at), tick.label.as_str()))
}

fn scale(axis: &Axis) -> Markup {
    html! {
        svg viewBox="0 0 260 16" role="img" aria-label="logarithmic scale of latency" {
            @for (x, label) in decades(axis) {
                text x=(x) y="11" text-anchor="middle" { (label) }
            }
        }
    }
}

fn bar(axis: &Axis, row: &Row) -> Markup {
    let (low, high) = (at(axis, row.low_ns), at(axis, row.high_ns));
    html! {
        svg viewBox="0 0 260 16" aria-hidden="true" {
            @for (x, _) in decades(axis) { line class="grid" x1=(x) x2=(x) y1="0" y2="16" {} }
            g class=(if row.is_own { "c0" } else { "floor" }) {
                line class="line" x1=(low) x2=(high) y1="8" y2="8" {}
                circle class="dot" cx=(low) cy="8" r="3" {}
                @if high > low { circle class="dot" cx=(high) cy="8" r="2" {} }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_published_figure_is_a_range_with_a_source() {
        let PublishedFigures { sources, figures } = PublishedFigures::read();
        assert!(!figures.is_empty());
        for figure in figures {
            assert!(0.0 < figure.low_us && figure.low_us <= figure.high_us, "{}", figure.what);
            assert!(sources.iter().any(|source| source.letter == figure.source), "{}", figure.what);
        }
    }
}
