//! Figures of an engine beside its latencies: throughput, outcomes of operations, the share below
//! a microsecond, and how a soak went on.

use crate::text::grid::Grid;
use crate::text::number::{count, duration, mebibytes, millions, ns, percent, rate, seconds};
use crate::text::terminal::{Terminal, shortened, wrap};
use crate::text::words;
use maud::{Markup, html};
use record::engine::{Counts, EngineRun, IDEAL, Storage, Stretch, operations_per_second};
use record::measure::Measure;
use record::{Kind, RunRecord, Series, Subject};

/// 463 000 operations a second for a day.
const A_DAYS_OPERATIONS: f64 = 40e9;
/// Columns of a name.
const NAME_WIDTH: usize = 13;

/// Columns of a file system's description.
const STORAGE_WIDTH: usize = 16;

fn grids(record: &RunRecord) -> Vec<Grid> {
    let of_kind = match words::measure(record) {
        Some(Measure::Engine) => vec![throughput(record), shares(record), became(record)],
        Some(Measure::Soak) => vec![became(record)],
        Some(Measure::Journal) => vec![became(record), storages(record)],
        _ => Vec::new(),
    };
    let mut grids: Vec<Grid> = of_kind.into_iter().filter(|grid| !grid.rows.is_empty()).collect();
    grids.extend(record.subjects.iter().flat_map(stretches));
    grids
}

/// The grids for a terminal, and how operations are timed.
pub(crate) fn text(out: &mut Terminal, record: &RunRecord) {
    let grids = grids(record);
    if let Some(note) = clock_note(record) {
        wrap(out, "  ", &note);
    }
    grids.iter().for_each(|grid| grid.text(out));
}

/// The grids for a page.
pub(crate) fn section(record: &RunRecord) -> Markup {
    let grids = grids(record);
    html! {
        @if let Some(note) = clock_note(record) { p class="quiet" { (note) } }
        @for grid in &grids { (grid.section()) }
    }
}

fn clock_note(record: &RunRecord) -> Option<String> {
    let is_short = matches!(words::measure(record), Some(Measure::Engine | Measure::Soak));
    is_short.then(|| format!(
        "Each operation is timed between two readings of the clock, of which one, {} ns, is in the figure: \
         nothing is subtracted.",
        record.clock.cost_ns
    ))
}

fn named(subject: &Subject) -> String {
    shortened(&subject.name, NAME_WIDTH)
}

/// Passes that were timed as a whole, beside those of the empty dispatch.
fn throughput(record: &RunRecord) -> Grid {
    let told = |subject: &Subject| operations_per_second(&subject.load.engine);
    let rows = record.subjects.iter().filter_map(|subject| {
        let (per_second, interval) = told(subject)?;
        let floors = record.subjects.iter().filter(|floor| floor.is_floor_of(subject));
        let of_floor = floors.filter_map(told).map(|(floor, _)| per_second / floor).next();
        let passes: usize = subject.load.engine.iter().map(|run| run.passes_ns.len()).sum();
        let interval = interval
            .map_or(String::new(), |[low, high]| format!("{}-{}", millions(low), millions(high)));
        let share = of_floor.filter(|_| !subject.is_floor());
        Some(vec![
            named(subject),
            millions(per_second),
            interval,
            format!("{:.1}", 1e9 / per_second),
            share.map_or(String::new(), |share| format!("{:.1} %", share * 100.0)),
            passes.to_string(),
            huge_pages(&subject.load.engine),
        ])
    });
    let head = ["", "Mops/s", "interval", "ns each", "of the floor", "passes", "in huge pages"];
    Grid {
        title: "Throughput: passes timed as a whole".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
        notes: vec![
            "The median pass of each run, and of these the median. The floor answers each operation with one \
             report, through the same loop, into the same memory."
                .to_owned(),
        ],
        ..Grid::default()
    }
}

/// The part of the process in huge pages, in the run with the smallest part.
fn huge_pages(runs: &[EngineRun]) -> String {
    let least = runs.iter().filter_map(|run| run.huge_page_bytes).min();
    least.map_or(String::new(), mebibytes)
}

/// Samples below a microsecond, beside the ideal server's of the same run.
fn shares(record: &RunRecord) -> Grid {
    let series = |subject: &'_ Subject| {
        subject.series.iter().find(|series| series.kind == Kind::Response).cloned()
    };
    let ideal = record.subjects.iter().find(|subject| subject.backend == IDEAL);
    let ideal_series = ideal.and_then(series);
    let mut rows = Vec::new();
    for subject in &record.subjects {
        let Some(own) = series(subject) else { continue };
        let Some(share) = own.pooled.share_below_1us() else { continue };
        let is_ideal = subject.backend == IDEAL;
        let points = ideal_series.as_ref().filter(|_| !is_ideal).map(|ideal| points(&own, ideal));
        let burns = subject.load.engine.iter().filter_map(|run| run.burn_ns).map(ns);
        rows.push(vec![
            named(subject),
            percent(share),
            points.flatten().map_or(String::new(), |points| format!("{points:+.3}")),
            burns.collect::<Vec<_>>().join(" "),
        ]);
    }
    let head = ["", "below 1 us", "to the ideal, points", "burns ns, by run"];
    Grid {
        title: "Response time below a microsecond".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows,
        notes: vec![
            "The ideal server burns the engine's p50 of service time for each operation, on the same schedule: \
             what it has above is the machine's. The difference is the median over runs, each within its run."
                .to_owned(),
        ],
        ..Grid::default()
    }
}

/// Median difference of the shares of the same runs, in percentage points.
fn points(own: &Series, ideal: &Series) -> Option<f64> {
    let pairs = own.per_run.iter().zip(&ideal.per_run);
    let mut points: Vec<f64> = pairs
        .filter_map(|(own, ideal)| Some(own.share_below_1us()? - ideal.share_below_1us()?))
        .map(|share| share * 100.0)
        .collect();
    points.sort_unstable_by(f64::total_cmp);
    let (low, high) = (points.len().checked_sub(1)? / 2, points.len() / 2);
    Some(f64::midpoint(points[low], points[high]))
}

/// A column of the table of counts: its heading and its value.
type CountColumn = (&'static str, fn(&Counts) -> u64);

const COUNT_COLUMNS: [CountColumn; 8] = [
    ("acks", |counts| counts.acks),
    ("trades", |counts| counts.trades),
    ("cancelled", |counts| counts.cancel_acks),
    ("expired", |counts| counts.expired),
    ("amended", |counts| counts.modify_acks),
    ("late cancels", |counts| counts.cancel_rejects),
    ("late amends", |counts| counts.modify_rejects),
    ("refused", |counts| counts.refused),
];

/// Outcomes of the operations of a pass.
fn became(record: &RunRecord) -> Grid {
    let mut operations = None;
    let mut rows = Vec::new();
    for subject in &record.subjects {
        let Some(first) = subject.load.engine.first() else { continue };
        let same =
            |run: &EngineRun| (run.counts, run.operations) == (first.counts, first.operations);
        if first.counts == Counts::default() {
            continue;
        }
        let mut row = vec![named(subject)];
        if subject.load.engine.iter().all(same) {
            row.extend(COUNT_COLUMNS.iter().map(|(_, of)| of(&first.counts).to_string()));
            operations.get_or_insert(first.operations);
        } else {
            row.push("its runs differ: see run.json".to_owned());
        }
        rows.push(row);
    }
    let names = COUNT_COLUMNS.iter().map(|(name, _)| (*name).to_owned());
    Grid {
        title: format!("Outcomes of {} operations", rate(operations.unwrap_or(0) as f64)),
        head: std::iter::once(String::new()).chain(names).collect(),
        rows,
        notes: vec![
            "Late: the order was done already, as the flow means it to happen. Published counts of cancels \
             hold the expired."
                .to_owned(),
        ],
        ..Grid::default()
    }
}

/// Storage that held the journals.
fn storages(record: &RunRecord) -> Grid {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for subject in &record.subjects {
        let Some(storage) = subject.load.engine.iter().find_map(|run| run.storage.as_ref()) else {
            continue;
        };
        let turns = match storage.is_rotational {
            Some(true) => "turns",
            Some(false) => "does not turn",
            None => "-",
        };
        let Storage { file_system, device, mount_point, .. } = storage;
        let cells = [file_system, device, mount_point].map(|cell| shortened(cell, STORAGE_WIDTH));
        let mut row = vec![named(subject)];
        row.extend(cells);
        row.extend([turns.to_owned(), shortened(&storage.mount_options, STORAGE_WIDTH)]);
        rows.push(row);
    }
    let head = ["", "file system", "device", "mounted on", "disk", "options"];
    Grid {
        title: "Disks under the journals".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows,
        notes: vec!["run.json has the directories and all options.".to_owned()],
        ..Grid::default()
    }
}

/// Stretches of a soak.
fn stretches(subject: &Subject) -> Option<Grid> {
    let engine_run = subject.load.engine.first().filter(|run| !run.stretches.is_empty())?;
    let shown = |value: Option<u64>| value.map_or("-".to_owned(), ns);
    let row = |stretch: &Stretch| {
        vec![
            duration(stretch.end_seconds),
            count(stretch.operations),
            shown(stretch.p50_ns),
            shown(stretch.p99_ns),
            shown(stretch.reference_p50_ns),
            shown(stretch.reference_p99_ns),
            stretch.resident_bytes.map_or("-".to_owned(), mebibytes),
        ]
    };
    let head = ["until", "operations", "p50", "p99", "reference p50", "p99", "resident MiB"];
    Some(Grid {
        title: format!("{} over time, ns", subject.name),
        head: head.map(str::to_owned).to_vec(),
        rows: engine_run.stretches.iter().map(row).collect(),
        notes: vec![
            "The reference is a fresh shallow engine that does the same 20 000 operations once a second: what \
             moves with it is the machine's."
                .to_owned(),
            soaked(subject, engine_run),
        ],
        ..Grid::default()
    })
}

fn soaked(subject: &Subject, engine_run: &EngineRun) -> String {
    let achieved = subject.load.rate_per_second_achieved;
    let before = match engine_run.operations_before {
        0 => String::new(),
        before => format!(" after {} of an earlier run", rate(before as f64)),
    };
    let projected = match achieved > 0.0 {
        true => format!(
            " At this rate 40 000 000 000 would take {}.",
            duration(A_DAYS_OPERATIONS / achieved)
        ),
        false => String::new(),
    };
    format!(
        "{} operations{before}, of which the engine was busy {} s; state {}.{projected}",
        rate(engine_run.operations as f64),
        seconds(engine_run.busy_ns as f64 / 1e9),
        engine_run.state_hash
    )
}
