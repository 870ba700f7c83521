//! The table for a terminal, at most 100 columns wide.

use crate::core_matrix;
use crate::engine;
use crate::figures::percentile_name;
use crate::line::{clip, shortened, wrap};
use crate::noise;
use crate::number::{count, rate, us};
use crate::over_floor::{Over, added};
use crate::tick;
use crate::words::{self, About, cell, cores, interval, not_checked, shown, title};
use measure::record::{Percentiles, RunRecord};
use measure::stats::PERCENTILES;
use std::fmt::Write;

/// The record as text: verdict, latencies, what the software adds to the floor, what to know.
pub fn table(record: &RunRecord) -> String {
    let mut out = String::new();
    headline(&mut out, record);
    match core_matrix::matrices(record).is_empty() {
        true => latencies(&mut out, record),
        false => core_matrix::text(&mut out, record),
    }
    engine::text(&mut out, record);
    over_the_floor(&mut out, record);
    tick::text(&mut out, record);
    noise::text(&mut out, record);
    notes(&mut out, record);
    out
}

fn headline(out: &mut String, record: &RunRecord) {
    let injected = match record.injected.is_empty() {
        true => String::new(),
        false => format!(" · faults injected: {}", record.injected.join("; ")),
    };
    let line = format!(
        "{} · {} · {}{injected}",
        record.scenario,
        words::verdict(record),
        words::runs(record)
    );
    wrap(out, "", &line);
    for reason in &record.invalid_because {
        wrap(out, "  ! ", reason);
    }
    merged_from(out, record);
    if let Some(flow) = words::flow(record) {
        wrap(out, "  ", &flow);
    }
    let messages = words::messages(record);
    for subject in &record.subjects {
        let load = &subject.load;
        if load.model.is_empty() {
            continue;
        }
        let sent = match load.rate_per_second_offered {
            Some(offered) => format!(
                "{} of {} {messages}/s, {} sent",
                rate(load.rate_per_second_achieved),
                rate(offered),
                count(load.sent)
            ),
            None => format!(
                "{} {messages}/s, {} sent",
                rate(load.rate_per_second_achieved),
                count(load.sent)
            ),
        };
        let duplicated = match load.duplicated {
            0 => String::new(),
            n => format!(", {n} duplicated"),
        };
        let gateways =
            words::gateways(record).map_or(String::new(), |some| format!(", exchange with {some}"));
        let late =
            load.lateness_ns_p99.map_or(String::new(), |ns| format!(", late p99 {} us", us(ns)));
        let line = format!(
            "{}: {}, {}, {}{gateways}, {sent}, {} lost{duplicated}{late}",
            subject.name,
            load.model,
            subject.backend,
            cores(&subject.cores),
            load.lost,
        );
        wrap(out, "  ", &line);
    }
}

fn merged_from(out: &mut String, record: &RunRecord) {
    if let Some(sources) = words::merged_from(record) {
        wrap(out, "  ", &sources);
    }
}

/// What the table of latencies shows beside max and n: there is no room for everything.
struct Columns {
    name_width: usize,
    title_width: usize,
    /// Percentile and width.
    percentiles: &'static [(&'static str, usize)],
}

const COLUMNS: Columns = Columns {
    name_width: 9,
    title_width: 16,
    percentiles: &[("p50", 7), ("p90", 7), ("p95", 7), ("p99", 7), ("p99_9", 8), ("p99_99", 8)],
};
/// Of messages between threads, of which there are more and whose tail matters.
const COLUMNS_IPC: Columns = Columns {
    name_width: 9,
    title_width: 21,
    percentiles: &[("p50", 7), ("p99", 7), ("p99_9", 8), ("p99_99", 8), ("p99_999", 8)],
};
/// Of operations through an engine, whose subjects are told apart by their names.
const COLUMNS_ENGINE: Columns = Columns {
    name_width: 14,
    title_width: 19,
    percentiles: &[("p50", 7), ("p90", 7), ("p99", 7), ("p99_9", 7), ("p99_99", 8)],
};

/// Of answers from a journal.
const COLUMNS_JOURNAL: Columns =
    Columns { name_width: 9, title_width: 19, percentiles: COLUMNS.percentiles };

/// Of intervals on a tick's way, which have long names.
const COLUMNS_TICKS: Columns = Columns {
    name_width: 9,
    title_width: 25,
    percentiles: &[("p50", 7), ("p90", 7), ("p99", 7), ("p99_9", 8), ("p99_99", 8)],
};

/// The percentile of that name.
fn percentile(percentiles: &Percentiles, name: &str) -> Option<u64> {
    let index = PERCENTILES.iter().position(|(known, _)| *known == name)?;
    percentiles.values()[index]
}

fn latencies(out: &mut String, record: &RunRecord) {
    // Of a profile of noise alone the lengths of gaps stand by cause below.
    let about = words::about(record);
    if about == About::Noise {
        return;
    }
    let Columns { name_width, title_width, percentiles } = match about {
        About::Threads => COLUMNS_IPC,
        About::Engine | About::Soak => COLUMNS_ENGINE,
        About::Orders | About::Cores | About::Noise => COLUMNS,
        About::Journal => COLUMNS_JOURNAL,
        About::Ticks => COLUMNS_TICKS,
    };
    let unit = words::unit(record);
    let _ = write!(out, "\n{:<name_width$}{:<title_width$}", unit.name, "");
    for (name, width) in percentiles {
        let _ = write!(out, "{:>width$}", percentile_name(name));
    }
    let _ = writeln!(out, "{:>8}{:>6}  p50 interval", "max", "n");
    for subject in &record.subjects {
        let mut name = subject.name.as_str();
        for series in shown(subject) {
            let title = title(series);
            let mut row = format!(
                "{:<name_width$}{:<title_width$}",
                shortened(name, name_width - 1),
                clip(&title, title_width - 1)
            );
            for (name, width) in percentiles {
                let value = cell(series, name, percentile(&series.pooled, name), unit);
                let _ = write!(row, "{value:>width$}");
            }
            let (max, n) = ((unit.show)(series.pooled.max), count(series.pooled.count));
            let _ = write!(row, "{max:>8}{n:>6}  {}", interval(series, "p50", unit));
            let _ = writeln!(out, "{}", row.trim_end());
            name = "";
        }
    }
    let uncertain = record
        .subjects
        .iter()
        .flat_map(|subject| &subject.series)
        .any(|series| !series.uncertain.is_empty());
    if uncertain {
        out.push_str("  ~ fewer than 100 samples lie beyond it; - fewer than 10, not shown\n");
    }
}

/// How wide each subject's latencies spread, and what it adds to the raw echo of the same bytes on
/// the same cores.
fn over_the_floor(out: &mut String, record: &RunRecord) {
    let added = added(record);
    if added.iter().all(|row| row.p50.is_none() && row.p99.is_none()) {
        return;
    }
    let unit = words::unit(record);
    let (name_width, title_width) = match words::about(record) {
        About::Engine => (COLUMNS_ENGINE.name_width, COLUMNS_ENGINE.title_width),
        About::Ticks => (COLUMNS_TICKS.name_width, COLUMNS_TICKS.title_width),
        _ => (COLUMNS.name_width, COLUMNS.title_width),
    };
    let _ = writeln!(
        out,
        "\n{:<name_width$}{:<title_width$}{:>9}{:>11}{:>9}{:>8}{:>12}{:>9}",
        unit.name, "over the floor", "p90-p50", "floor p50", "we add", "", "floor p99", "we add"
    );
    for row in added {
        let cells = |over: &Option<Over>| {
            over.as_ref().map_or([(); 3].map(|()| "-".to_owned()), |over| over.cells(unit))
        };
        let ([floor_p50, added_p50, times_p50], [floor_p99, added_p99, times_p99]) =
            (cells(&row.p50), cells(&row.p99));
        let spread = row.spread_ns.map_or("-".to_owned(), unit.show);
        let _ = writeln!(
            out,
            "{:<name_width$}{:<title_width$}{spread:>9}{floor_p50:>11}{added_p50:>9}{times_p50:>8}\
             {floor_p99:>12}{added_p99:>9}{times_p99:>8}",
            shortened(row.subject, name_width - 1),
            clip(&title(row.series), title_width - 1),
        );
    }
    out.push_str("  medians over runs, each run against the floor of the same run\n");
}

fn notes(out: &mut String, record: &RunRecord) {
    let rules = not_checked(record).filter(|rule| !rule.rule.starts_with("floor"));
    let skipped: Vec<String> = words::not_checked_because(rules)
        .into_iter()
        .map(|(names, why)| format!("{names} ({why})"))
        .collect();
    if !skipped.is_empty() || !record.warnings.is_empty() {
        out.push('\n');
    }
    if !skipped.is_empty() {
        wrap(out, "  not checked: ", &skipped.join("; "));
    }
    for warning in &record.warnings {
        wrap(out, "  * ", warning);
    }
}
