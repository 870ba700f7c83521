//! Disturbances of the measured cores and their causes: for a terminal and for the page.

use crate::text::grid::Grid;
use crate::text::number::{count, latency, us};
use crate::text::terminal::{Terminal, wrap};
use maud::{Markup, html};
use record::RunRecord;
use record::noise::{Cause, Core, Noise, PeriodSource, Stall, Stretch};

/// Causes that stand in the terminal's table; the page and the record have all.
const CAUSES_MAX: usize = 16;
/// The longest gaps that are shown.
const STALLS_MAX: usize = 5;
/// Columns of a cause's id.
const ID_WIDTH: usize = 34;

/// Appends the cores, the causes, the longest gaps and notes.
pub(crate) fn text(out: &mut Terminal, record: &RunRecord) {
    let Some(noise) = &record.noise else { return };
    cores(out, &noise.cores);
    causes(out, "lost by", &noise.causes);
    causes(out, "under load, lost by", &noise.under_load);
    longest(out, &noise.longest);
    for line in knowledge(noise) {
        wrap(out, "  ", &line);
    }
}

const CORE_COLUMNS: [&str; 9] =
    ["look ns", "gaps", ">= 1 us", ">= 10 us", ">= 100 us", ">= 1 ms", "max us", "lost", "of time"];

fn core_cells(core: &Core) -> [String; 9] {
    [
        format!("{:.1}", core.look_ns),
        count(core.gaps),
        count(core.gaps_1us),
        count(core.gaps_10us),
        count(core.gaps_100us),
        count(core.gaps_1ms),
        us(core.max_ns),
        latency(core.lost_ns),
        percent(core.lost_ns as f64 / (core.seconds * 1e9).max(1.0)),
    ]
}

fn cores(out: &mut Terminal, cores: &[Core]) {
    if cores.is_empty() {
        return;
    }
    let row = |core: &Core| line(format!("core {}", core.core), core_cells(core));
    let head = line("gaps".to_owned(), CORE_COLUMNS.map(str::to_owned));
    Grid { head, rows: cores.iter().map(row).collect(), ..Grid::default() }.text(out);
}

/// A row of a table: its name, then its figures.
fn line<const N: usize>(name: String, figures: [String; N]) -> Vec<String> {
    std::iter::once(name).chain(figures).collect()
}

const CAUSE_COLUMNS: [&str; 6] = ["count", "of lost", "lost", "p50 us", "max us", "period"];

fn cause_cells(cause: &Cause) -> [String; 6] {
    [
        count(cause.count),
        percent(cause.share),
        latency(cause.lost_ns),
        cause.p50_ns.map_or("-".to_owned(), us),
        us(cause.max_ns),
        period(cause),
    ]
}

fn causes(out: &mut Terminal, title: &str, causes: &[Cause]) {
    if causes.is_empty() {
        return;
    }
    let row = |cause: &Cause| line(shorten(&cause.cause), cause_cells(cause));
    let rest = causes.get(CAUSES_MAX..).filter(|rest| !rest.is_empty()).map(|rest| {
        let share = percent(rest.iter().map(|cause| cause.share).sum());
        format!("and {} more, {share} of the lost time: run.json has them", rest.len())
    });
    Grid {
        head: line(title.to_owned(), CAUSE_COLUMNS.map(str::to_owned)),
        rows: causes.iter().take(CAUSES_MAX).map(row).collect(),
        notes: rest.into_iter().collect(),
        ..Grid::default()
    }
    .text(out);
}

/// Shortens an id to its column in the middle, because ids differ at either end.
fn shorten(id: &str) -> String {
    let length = id.chars().count();
    if length < ID_WIDTH {
        return id.to_owned();
    }
    let tail = id.chars().skip(length - 12);
    id.chars().take(ID_WIDTH - 14).chain(['~']).chain(tail).collect()
}

/// The distance of a period and its name, if it has one, shortened to the column.
fn period(cause: &Cause) -> String {
    let Some(period_ns) = cause.period_ns else { return "-".to_owned() };
    let what = match cause.period_is {
        Some(PeriodSource::OurTick) => ", our tick",
        Some(PeriodSource::HostTick) => ", host's tick?",
        None if cause.period_share < 0.9 => ", most",
        None => "",
    };
    format!("{}{what}", latency(period_ns))
}

fn longest(out: &mut Terminal, stalls: &[Stall]) {
    if stalls.is_empty() {
        return;
    }
    out.push_str("\nlongest\n");
    for stall in stalls.iter().take(STALLS_MAX) {
        let lead = format!("  {:>8}  ", latency(stall.length_ns));
        wrap(out, &lead, &format!("{}: {}", place(stall), parts(stall)));
    }
}

/// Time and core of a stall.
fn place(stall: &Stall) -> String {
    let run = match (stall.run, stall.subject.as_str()) {
        (0, _) => String::new(),
        (run, "") => format!(", run {run}"),
        (run, subject) => format!(", run {run}, {subject}"),
    };
    format!("core {}{run} at {:.3} s", stall.core, stall.at_seconds)
}

/// Disturbers of a stall, with the time of each.
fn parts(stall: &Stall) -> String {
    match stall.parts.as_slice() {
        [one] => one.cause.clone(),
        parts => {
            let part = |part: &record::noise::GapPart| {
                format!("{} {}", part.cause, latency(part.length_ns))
            };
            parts.iter().map(part).collect::<Vec<_>>().join(", ")
        }
    }
}

/// Basis of the figures: totals, the meter's own cost, time that could not be attributed.
fn knowledge(noise: &Noise) -> Vec<String> {
    let mut lines = Vec::new();
    let attribution = &noise.attribution;
    if let Some(core) = noise.cores.first() {
        let lost_ns: u64 = noise.cores.iter().map(|core| core.lost_ns).sum();
        let seconds: f64 = noise.cores.iter().map(|core| core.seconds).sum();
        let off: i64 = noise.cores.iter().map(|core| core.unaccounted_ns).sum();
        let share = percent(lost_ns as f64 / (seconds * 1e9).max(1.0));
        // Below 0 the usual look was estimated a little too long.
        let others = match u64::try_from(off) {
            Ok(off_ns) if off_ns > 0 => format!("took {} more than usual", latency(off_ns)),
            _ => "took no longer than usual".to_owned(),
        };
        lines.push(format!(
            "lost together {}, {share} of the time; a gap is longer than {}; looks that were no gaps {others}",
            latency(lost_ns),
            latency(core.gap_from_ns),
        ));
    }
    if let Some(cost) = &attribution.cost {
        lines.push(format!(
            "the same with tracing off: {}; on: {}",
            stretch(&cost.off),
            stretch(&cost.on)
        ));
    }
    if let Some(share) = attribution.aligned_share.filter(|share| *share < ALIGNED_SHARE_MIN) {
        lines.push(format!(
            "! only {} of the kernel's events lie in gaps: its stamps and the meter's disagree, and causes \
             are not to be trusted",
            percent(share)
        ));
    }
    lines.extend(attribution.missing.iter().map(|missing| format!("* {missing}")));
    lines
}

/// With a smaller share of the kernel's events in gaps, the two timelines don't match.
const ALIGNED_SHARE_MIN: f64 = 0.9;

fn stretch(stretch: &Stretch) -> String {
    let seconds = stretch.seconds.max(1e-9);
    let p50 = stretch.p50_ns.map_or(String::new(), |ns| format!(", p50 {}", latency(ns)));
    format!(
        "{} gaps/s, {} of the time{p50}",
        count((stretch.gaps as f64 / seconds) as u64),
        percent(stretch.lost_ns as f64 / (seconds * 1e9))
    )
}

/// A share of a whole.
fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 0.01 => "<0.01%".to_owned(),
        percent if percent < 9.995 => format!("{percent:.2}%"),
        percent => format!("{percent:.1}%"),
    }
}

/// The same for the page.
pub(crate) fn section(record: &RunRecord) -> Markup {
    let Some(noise) = &record.noise else { return html! {} };
    html! {
        h2 { "Time taken by others" }
        (table("core", CORE_COLUMNS, noise.cores.iter().map(|core| line(core.core.to_string(), core_cells(core)))))
        (table("cause", CAUSE_COLUMNS, noise.causes.iter().map(|cause| line(cause.cause.clone(), cause_cells(cause)))))
        @if !noise.under_load.is_empty() {
            h3 { "While subjects were measured" }
            (table("cause", CAUSE_COLUMNS, noise.under_load.iter().map(|cause| line(cause.cause.clone(), cause_cells(cause)))))
        }
        @if !noise.longest.is_empty() {
            h3 { "The longest" }
            div class="box" {
                table {
                    @for stall in &noise.longest {
                        tr {
                            th scope="row" class="n" { (latency(stall.length_ns)) }
                            td class="text" { (place(stall)) }
                            td class="text" { (parts(stall)) }
                        }
                    }
                }
            }
        }
        @for line in knowledge(noise) { p class="quiet" { (line) } }
    }
}

fn table<const N: usize>(
    name: &str,
    columns: [&str; N],
    rows: impl Iterator<Item = Vec<String>>,
) -> Markup {
    let head = line(name.to_owned(), columns.map(str::to_owned));
    Grid { head, rows: rows.collect(), ..Grid::default() }.table()
}
