//! Published figures as context: other machines, other methods.

use crate::axis::Axis;
use crate::number::short_ns;
use Source::{Collected, OneTrading, TickToTrade};
use maud::{Markup, html};
use measure::record::{Kind, RunRecord};

/// A published figure.
struct Rung {
    what: &'static str,
    statistic: &'static str,
    low_ns: f64,
    high_ns: f64,
    source: Source,
}

/// Who published it.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    TickToTrade,
    OneTrading,
    Collected,
}

impl Source {
    const ALL: [Source; 3] = [Source::TickToTrade, Source::OneTrading, Source::Collected];

    /// The letter of its footnote.
    fn letter(self) -> &'static str {
        match self {
            Source::TickToTrade => "a",
            Source::OneTrading => "b",
            Source::Collected => "c",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Source::TickToTrade => {
                "AWS Web3 Blog: Optimize tick-to-trade latency for digital assets exchanges and trading \
                 platforms on AWS, Part 2, and the benchmark's repository. Loopback on one instance, \
                 WebSocket and JSON, tuned and untuned operating system."
            }
            Source::OneTrading => {
                "One Trading: One Trading and AWS, Cloud-native colocation for crypto trading. LSE and CME \
                 as cited there."
            }
            Source::Collected => {
                "Public figures collected from several places; orders of magnitude."
            }
        }
    }
}

const fn rung(
    what: &'static str,
    statistic: &'static str,
    (low_us, high_us): (f64, f64),
    source: Source,
) -> Rung {
    Rung { what, statistic, low_ns: low_us * 1e3, high_ns: high_us * 1e3, source }
}

/// Single values without runs or intervals, as they were published.
const RUNGS: [Rung; 15] = [
    rung("WebSocket loopback, m8azn.metal, tuned", "p50 to p99.9", (17.7, 19.4), TickToTrade),
    rung("WebSocket loopback, m8azn.metal, untuned", "p50 to p99.9", (17.9, 20.1), TickToTrade),
    rung("WebSocket loopback, c7i.metal, tuned", "p50 to p99.9", (20.3, 22.0), TickToTrade),
    rung("WebSocket loopback, c7i.metal, untuned", "p50 to p99.9", (28.0, 33.5), TickToTrade),
    rung("WebSocket loopback, c8g.metal, tuned", "p50 to p99.9", (21.4, 23.4), TickToTrade),
    rung("WebSocket loopback, c7a.48xlarge, tuned", "p50 to p99.9", (28.2, 38.9), TickToTrade),
    rung("WebSocket loopback, m5zn.metal, untuned", "p50 to p99.9", (30.3, 37.5), TickToTrade),
    rung("One Trading F.A.S.T., round trip", "below", (74.0, 74.0), OneTrading),
    rung("One Trading F.A.S.T., create + cancel, 400 000/s", "p95", (112.0, 112.0), OneTrading),
    rung("LSE Group Turquoise (LSE, 2022)", "as cited", (126.0, 126.0), OneTrading),
    rung("CME global matching engine (Lambert, 2023)", "as cited", (1e3, 3e3), OneTrading),
    rung("Round trip, Tokyo, good placements", "p50", (102.0, 122.0), Collected),
    rung("Round trip, Tokyo, typical placement", "p50", (213.0, 213.0), Collected),
    rung("Round trip, same zone", "range", (200.0, 400.0), Collected),
    rung("Round trip, between zones", "range", (250.0, 3_400.0), Collected),
];

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
    let published = RUNGS.iter().map(|rung| Row {
        what: rung.what.to_owned(),
        statistic: rung.statistic.to_owned(),
        low_ns: rung.low_ns,
        high_ns: rung.high_ns,
        source: rung.source.letter().to_owned(),
        is_own: false,
    });
    let mut rows: Vec<Row> = own(record).into_iter().chain(published).collect();
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
            @for source in Source::ALL { (source.letter()) ". " (source.title()) " " }
        }
    }
}

/// Our own round trips, p50 to p99.9 or as far as the sample goes.
fn own(record: &RunRecord) -> Vec<Row> {
    let mut rows = Vec::new();
    for subject in record.subjects.iter().filter(|subject| !subject.is_floor()) {
        for series in &subject.series {
            let is_round_trip = matches!(series.name.as_str(), "order" | "cycle")
                && matches!(series.kind, Kind::Service);
            let pooled = &series.pooled;
            let deepest = [("p99.9", pooled.p99_9), ("p99", pooled.p99), ("p50", pooled.p50)];
            let deepest = deepest.into_iter().find_map(|(name, ns)| Some((name, ns?)));
            if let (true, Some(p50), Some((name, high))) = (is_round_trip, pooled.p50, deepest) {
                let verdict = if record.valid { "" } else { ", INVALID" };
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

/// Width of the scale, and what is left free on each side of it for labels.
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
