//! The tables of figures: latencies, what the software adds to the floor, the load.

use crate::number::{count, rate, us};
use crate::over_floor::{Over, added};
use crate::words::{self, About, Unit, cell, cores, gateways, interval, shown, title};
use maud::{Markup, html};
use measure::record::{Load, RunRecord, Series, Subject};
use measure::stats::PERCENTILES;

/// `p99_9` as a person writes it.
pub(crate) fn percentile_name(name: &str) -> String {
    name.replace('_', ".")
}

/// Every series of every subject, pooled over runs.
pub(crate) fn latencies(record: &RunRecord) -> Markup {
    let mut all = record.subjects.iter().flat_map(shown);
    let has_interval = all.any(|series| !series.interval.is_empty());
    let unit = words::unit(record);
    html! {
        h2 { "Latency, " (unit.name) }
        div class="box" {
            table {
                thead {
                    tr {
                        th scope="col" {} th scope="col" {}
                        @for (name, _) in PERCENTILES { th scope="col" class="n" { (percentile_name(name)) } }
                        th scope="col" class="n" { "max" }
                        th scope="col" class="n" { "n" }
                        @if has_interval {
                            th scope="col" class="n" { "p50 interval" }
                            th scope="col" class="n" { "p99 interval" }
                        }
                    }
                }
                tbody {
                    @for subject in &record.subjects {
                        @for (index, series) in shown(subject).enumerate() {
                            (row(subject, series, index == 0, has_interval, unit))
                        }
                    }
                }
            }
        }
        p class="quiet" {
            "All runs merged by histogram. ~ fewer than 100 samples lie beyond it; - fewer than 10, not shown. "
            @if has_interval { "The interval is for the median over runs, at least 95 %." }
            @else { "Fewer than six runs give no interval." }
            @if record.subjects.iter().any(Subject::is_floor) {
                " floor: " (words::floor(record)) "."
            }
            @if record.subject("hiccup").is_some() {
                " hiccup: an idle thread that looks at the clock on the same schedule."
            }
        }
    }
}

fn row(
    subject: &Subject,
    series: &Series,
    is_first: bool,
    has_interval: bool,
    unit: Unit,
) -> Markup {
    let tag = format!("{}.{}.{}", subject.name, series.name, series.kind.name());
    let number = |name: &str, ns: Option<u64>, text: String| {
        html! {
            td class="n" data-series=(tag) data-percentile=(name) data-ns=[ns] { (text) }
        }
    };
    html! {
        tr class=[is_first.then_some("group")] {
            th scope="row" { @if is_first { (subject.name) } }
            td { (title(series)) }
            @for ((name, _), value) in PERCENTILES.iter().zip(series.pooled.values()) {
                (number(name, value, cell(series, name, value, unit)))
            }
            (number("max", Some(series.pooled.max), (unit.show)(series.pooled.max)))
            td class="n" data-series=(tag) data-count=(series.pooled.count) { (count(series.pooled.count)) }
            @if has_interval {
                td class="n" { (interval(series, "p50", unit)) }
                td class="n" { (interval(series, "p99", unit)) }
            }
        }
    }
}

/// What the software adds to the raw echo.
pub(crate) fn over_the_floor(record: &RunRecord) -> Markup {
    let rows = added(record);
    let unit = words::unit(record);
    let cells = |over: &Option<Over>| {
        over.as_ref().map_or([(); 3].map(|()| "-".to_owned()), |over| over.cells(unit))
    };
    html! {
        @if rows.iter().any(|row| row.p50.is_some()) {
            h2 { "What the software adds to the floor, " (unit.name) }
            div class="box" {
                table {
                    thead {
                        tr {
                            th scope="col" {} th scope="col" {}
                            @for name in ["p90-p50", "floor p50", "added", "", "floor p99", "added", ""] {
                                th scope="col" class="n" { (name) }
                            }
                        }
                    }
                    tbody {
                        @for (index, row) in rows.iter().enumerate() {
                            @let is_first = index == 0 || rows[index - 1].subject != row.subject;
                            tr class=[is_first.then_some("group")] {
                                th scope="row" { @if is_first { (row.subject) } }
                                td { (title(row.series)) }
                                td class="n" { (row.spread_ns.map_or("-".to_owned(), unit.show)) }
                                @for cell in cells(&row.p50).iter().chain(&cells(&row.p99)) {
                                    td class="n" { (cell) }
                                }
                            }
                        }
                    }
                }
            }
            p class="quiet" { "Medians over runs, each run against the floor of the same run." }
        }
    }
}

/// A row of the table of loads: its name, and what it says of a load.
type LoadRow = (&'static str, fn(&Load) -> String);

const LOAD_ROWS: [LoadRow; 17] = [
    ("model", |load| load.model.clone()),
    ("offered, messages/s", |load| load.rate_per_second_offered.map_or("-".to_owned(), rate)),
    ("achieved, messages/s", |load| rate(load.rate_per_second_achieved)),
    ("sent", |load| rate(load.sent as f64)),
    ("received", |load| rate(load.received as f64)),
    ("lost", |load| rate(load.lost as f64)),
    ("duplicated", |load| rate(load.duplicated as f64)),
    ("out of order", |load| rate(load.out_of_order as f64)),
    ("cancels that overtook the ack", |load| rate(load.overtakes as f64)),
    ("rejected", |load| rate(load.rejected as f64)),
    ("unexpected", |load| rate(load.unexpected as f64)),
    ("held back", |load| rate(load.held_back as f64)),
    ("late, p99, us", |load| load.lateness_ns_p99.map_or("-".to_owned(), us)),
    ("taken off its core, times", |load| rate(load.context_switches_involuntary as f64)),
    ("waited for its core", |load| format!("{:.3} %", load.core_waited_share * 100.0)),
    ("page faults", |load| rate(load.page_faults as f64)),
    ("bytes: order, ack, cancel, ack", |load| {
        let bytes = &load.message_bytes;
        format!("{} {} {} {}", bytes.order, bytes.order_reply, bytes.cancel, bytes.cancel_reply)
    }),
];

/// What was offered, sent and answered.
pub(crate) fn load(record: &RunRecord) -> Markup {
    let loaded = || record.subjects.iter().filter(|subject| !subject.load.model.is_empty());
    html! {
        @if loaded().next().is_some() {
            h2 { "Load" }
            div class="box" {
                table {
                    thead {
                        tr {
                            th scope="col" {}
                            @for subject in loaded() { th scope="col" class="n" { (subject.name) } }
                        }
                    }
                    tbody {
                        tr {
                            th scope="row" { "backend" }
                            @for subject in loaded() { td class="n" { (subject.backend) } }
                        }
                        tr {
                            th scope="row" { @if matches!(words::about(record), About::Orders | About::Ticks) { "exchange and trader on" } @else { "on" } }
                            @for subject in loaded() { td class="n" { (cores(&subject.cores)) } }
                        }
                        @if let Some(gateways) = gateways(record) {
                            tr {
                                th scope="row" { "exchange with" }
                                @for _ in loaded() { td class="n" { (gateways) } }
                            }
                        }
                        tr {
                            th scope="row" { "scheduling" }
                            @for subject in loaded() { td class="n" { (subject.scheduling) } }
                        }
                        @for (name, value) in LOAD_ROWS {
                            tr {
                                th scope="row" { (name) }
                                @for subject in loaded() { td class="n" { (value(&subject.load)) } }
                            }
                        }
                    }
                }
            }
            p class="quiet" { "Over all runs, without the warm-up."
                @if words::about(record) == About::Orders { " A message is an order or a cancel." } }
        }
    }
}
