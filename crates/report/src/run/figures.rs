//! The tables of figures: latencies, what the software adds to the floor, the load.

use crate::run::over_floor;
use crate::text::number::{count, rate, us};
use crate::text::words::{self, cell, cores, gateways, interval, shown, title};
use maud::{Markup, html};
use record::measure::Measure;
use record::runtime::Runtime;
use record::{Load, RunRecord, Series, Subject, Unavailable};
use stats::PERCENTILES;

/// `p99_9` as a person writes it.
pub(crate) fn percentile_name(name: &str) -> String {
    name.replace('_', ".")
}

/// Every series of every subject, pooled over runs.
pub(crate) fn latencies(record: &RunRecord) -> Markup {
    let columns = Columns::of(record);
    let has_interval = columns.has_interval;
    let unit = words::unit(record);
    html! {
        h2 { "Latency, " (unit.name) }
        div class="box" {
            table {
                thead {
                    tr {
                        th scope="col" {} th scope="col" {}
                        @for (name, _) in columns.percentiles() { th scope="col" class="n" { (percentile_name(name)) } }
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
                            (row(record, subject, series, index == 0, &columns))
                        }
                    }
                    @for Unavailable { subject, why } in &record.unavailable {
                        tr class="group" {
                            th scope="row" { (subject) }
                            td { (words::UNAVAILABLE) }
                            td class="text" colspan=(columns.count()) { (why) }
                        }
                    }
                }
            }
        }
        p class="quiet" {
            "All runs merged by histogram. " @if let Some(marks) = words::marks(record.subjects.iter().flat_map(words::shown)) { (marks) ". " }
            @if has_interval { "The interval is for the median over runs, at least 95 %." }
            @else { "Fewer than six runs give no interval." }
            @if record.subjects.iter().any(Subject::is_floor) {
                " floor: " (words::of_kind(record).floor) "."
            }
            @if record.subjects.iter().any(Subject::is_bare) { " bare: " (words::BARE) "." }
            @if record.subject("hiccup").is_some() {
                " hiccup: an idle thread that looks at the clock on the same schedule."
            }
        }
    }
}

/// The columns of the table of latencies: those that have a figure in some row.
struct Columns {
    /// Number of [`PERCENTILES`] that have a column, from the first.
    percentiles: usize,
    has_interval: bool,
}

impl Columns {
    fn of(record: &RunRecord) -> Columns {
        let all = || record.subjects.iter().flat_map(shown);
        let figures = |series: &Series| series.pooled.values().iter().flatten().count();
        Columns {
            percentiles: all().map(figures).max().unwrap_or(0),
            has_interval: all().any(|series| !series.interval.is_empty()),
        }
    }

    /// Columns behind the name of a series.
    fn count(&self) -> usize {
        self.percentiles + 2 + if self.has_interval { 2 } else { 0 }
    }

    fn percentiles(&self) -> impl Iterator<Item = &'static (&'static str, f64)> {
        PERCENTILES.iter().take(self.percentiles)
    }
}

fn row(
    record: &RunRecord,
    subject: &Subject,
    series: &Series,
    is_first: bool,
    columns: &Columns,
) -> Markup {
    let unit = words::unit(record);
    let tag = format!("{}.{}.{}", subject.name, series.name, series.kind.name());
    let number = |name: &str, ns: Option<u64>, text: String| {
        html! {
            td class="n" data-series=(tag) data-percentile=(name) data-ns=[ns] { (text) }
        }
    };
    html! {
        tr class=[is_first.then_some("group")] {
            th scope="row" { @if is_first { (words::subject(record, &subject.name)) } }
            td { (title(series)) }
            @for ((name, _), value) in columns.percentiles().zip(series.pooled.values()) {
                (number(name, value, cell(series, name, value, unit)))
            }
            (number("max", Some(series.pooled.max), (unit.show)(series.pooled.max)))
            td class="n" data-series=(tag) data-count=(series.pooled.count) { (count(series.pooled.count)) }
            @if columns.has_interval {
                td class="n" { (interval(series, "p50", unit)) }
                td class="n" { (interval(series, "p99", unit)) }
            }
        }
    }
}

/// Time that the software adds to the raw echo.
pub(crate) fn over_the_floor(record: &RunRecord) -> Markup {
    let rows = over_floor::added(record);
    let unit = words::unit(record);
    html! {
        @if !rows.is_empty() {
            h2 { "Added by the software to the floor, " (unit.name) }
            div class="box" {
                table {
                    thead {
                        tr {
                            th scope="col" {} th scope="col" {}
                            @for name in over_floor::HEAD { th scope="col" class="n" { (name) } }
                        }
                    }
                    tbody {
                        @for (index, row) in rows.iter().enumerate() {
                            @let is_first = index == 0 || rows[index - 1].subject != row.subject;
                            tr class=[is_first.then_some("group")] {
                                th scope="row" { @if is_first { (words::subject(record, row.subject)) } }
                                td { (title(row.series)) }
                                @for cell in row.cells(unit) { td class="n" { (cell) } }
                            }
                        }
                    }
                }
            }
            p class="quiet" { (over_floor::notes(&rows)) }
        }
    }
}

/// A row of the table of loads: its name and its value.
type LoadRow = (&'static str, fn(&Load) -> String);

const LOAD_ROWS: [LoadRow; 18] = [
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
    ("processor time of client and exchange, us/message", |load| {
        load.processor.as_ref().map_or("-".to_owned(), |processor| {
            let per_message = |ns: u64| us(ns / load.sent.max(1));
            let exchange = processor.exchange_ns.map_or("-".to_owned(), per_message);
            format!("{}, {exchange}", per_message(processor.client_ns))
        })
    }),
    ("packets dropped by network devices", |load| {
        load.packets_dropped.map_or("-".to_owned(), |packets| rate(packets as f64))
    }),
    ("page faults", |load| rate(load.page_faults as f64)),
    ("bytes: order, ack, cancel, ack", |load| {
        let bytes = &load.message_bytes;
        format!("{} {} {} {}", bytes.order, bytes.order_reply, bytes.cancel, bytes.cancel_reply)
    }),
];

/// Rows of a record with a client on a virtual machine.
const RUNTIME_ROWS: [LoadRow; 4] = [
    ("runtime", |load| {
        load.runtime
            .first()
            .map_or("-".to_owned(), |one| format!("{}, {}", one.name, one.transport))
    }),
    ("allocated, bytes/message", |load| {
        let bytes: u64 = load.runtime.iter().map(|one| one.allocated_bytes).sum();
        match (load.runtime.is_empty(), load.sent) {
            (true, _) | (_, 0) => "-".to_owned(),
            _ => format!("{:.2}", bytes as f64 / load.sent as f64),
        }
    }),
    ("collections, ms", |load| {
        of_runtime(load, |one| one.collections) + ", " + &of_runtime(load, |one| one.collecting_ms)
    }),
    ("compiling, ms", |load| of_runtime(load, |one| one.compiling_ms)),
];

/// The sum over all runs.
fn of_runtime(load: &Load, part: fn(&Runtime) -> u64) -> String {
    if load.runtime.is_empty() {
        return "-".to_owned();
    }
    rate(load.runtime.iter().map(part).sum::<u64>() as f64)
}

/// Offered, sent and answered load.
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
                            @for subject in loaded() { th scope="col" class="n" { (words::subject(record, &subject.name)) } }
                        }
                    }
                    tbody {
                        tr {
                            th scope="row" { "backend" }
                            @for subject in loaded() { td class="n" { (subject.backend) } }
                        }
                        tr {
                            th scope="row" { (words::of_kind(record).cores) }
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
                        @if loaded().any(|subject| !subject.load.runtime.is_empty()) {
                            @for (name, value) in RUNTIME_ROWS {
                                tr {
                                    th scope="row" { (name) }
                                    @for subject in loaded() { td class="n" { (value(&subject.load)) } }
                                }
                            }
                        }
                    }
                }
            }
            p class="quiet" { "Over all runs, without the warm-up."
                @if words::measure(record) == Some(Measure::Orders) { " A message is an order or a cancel." } }
        }
    }
}
