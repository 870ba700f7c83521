//! The table for a terminal, at most 100 columns wide.

use crate::number::{count, rate, us};
use measure::record::{Kind, Percentiles, RunRecord, Series, Subject, Verdict};
use measure::stats::median;
use std::fmt::Write;

const WIDTH: usize = 100;

/// The record as text: verdict, latencies, what the software adds to the floor, what to know.
pub fn table(record: &RunRecord) -> String {
    let mut out = String::new();
    headline(&mut out, record);
    latencies(&mut out, record);
    over_the_floor(&mut out, record);
    notes(&mut out, record);
    out
}

fn headline(out: &mut String, record: &RunRecord) {
    let verdict = match (record.valid, record.complete) {
        (true, _) => "valid",
        (false, true) => "INVALID, not a result",
        (false, false) => "INVALID AND INCOMPLETE, not a result",
    };
    let void = match record.runs_void {
        0 => String::new(),
        n => format!(", {n} void and repeated"),
    };
    let runs = if record.runs == 1 { "run" } else { "runs" };
    let injected = match record.injected.is_empty() {
        true => String::new(),
        false => format!(" · faults injected: {}", record.injected.join("; ")),
    };
    let line = format!("{} · {verdict} · {} {runs}{void}{injected}", record.scenario, record.runs);
    wrap(out, "", &line);
    for reason in &record.invalid_because {
        wrap(out, "  ! ", reason);
    }
    for subject in &record.subjects {
        let load = &subject.load;
        if load.model.is_empty() {
            continue;
        }
        let sent = match load.rate_per_second_offered {
            Some(offered) => format!(
                "{} of {} messages/s, {} sent",
                rate(load.rate_per_second_achieved),
                rate(offered),
                count(load.sent)
            ),
            None => format!(
                "{} messages/s, {} sent",
                rate(load.rate_per_second_achieved),
                count(load.sent)
            ),
        };
        let duplicated = match load.duplicated {
            0 => String::new(),
            n => format!(", {n} duplicated"),
        };
        let late =
            load.lateness_ns_p99.map_or(String::new(), |ns| format!(", late p99 {} us", us(ns)));
        let line = format!(
            "{}: {}, {}, {}, {sent}, {} lost{duplicated}{late}",
            subject.name,
            load.model,
            subject.backend,
            cores(&subject.cores),
            load.lost,
        );
        wrap(out, "  ", &line);
    }
}

fn cores(cores: &[usize]) -> String {
    let list: Vec<String> = cores.iter().map(usize::to_string).collect();
    match cores.len() {
        0 => "not pinned".to_owned(),
        1 => format!("core {}", list[0]),
        _ => format!("cores {}", list.join(" ")),
    }
}

fn latencies(out: &mut String, record: &RunRecord) {
    let _ = writeln!(
        out,
        "\n{:<9}{:<16}{:>7}{:>7}{:>7}{:>7}{:>8}{:>8}{:>8}{:>6}  p50 interval",
        "us", "", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max", "n"
    );
    for subject in &record.subjects {
        let mut name = subject.name.as_str();
        for series in subject.series.iter().filter(|series| series.kind != Kind::Lateness) {
            let p = &series.pooled;
            let title = match series.kind {
                Kind::Noise => series.name.clone(),
                kind => format!("{} {}", series.name, kind.name()),
            };
            let row = format!(
                "{:<9}{:<16}{:>7}{:>7}{:>7}{:>7}{:>8}{:>8}{:>8}{:>6}  {}",
                short(name),
                clip(&title, 15),
                cell(series, "p50", p.p50),
                cell(series, "p90", p.p90),
                cell(series, "p95", p.p95),
                cell(series, "p99", p.p99),
                cell(series, "p99_9", p.p99_9),
                cell(series, "p99_99", p.p99_99),
                us(p.max),
                count(p.count),
                interval(series, "p50"),
            );
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

pub(crate) fn cell(series: &Series, name: &str, value: Option<u64>) -> String {
    let uncertain = series.uncertain.iter().any(|uncertain| uncertain == name);
    match value {
        None => "-".to_owned(),
        Some(ns) if uncertain => format!("~{}", us(ns)),
        Some(ns) => us(ns),
    }
}

fn interval(series: &Series, name: &str) -> String {
    series
        .interval
        .get(name)
        .map_or(String::new(), |[low, high]| format!("{}-{}", us(*low), us(*high)))
}

/// At most eight characters; of a longer name both ends, since names differ at either.
pub(crate) fn short(name: &str) -> String {
    let count = name.chars().count();
    if count <= 8 {
        return name.to_owned();
    }
    name.chars().take(3).chain(['~']).chain(name.chars().skip(count - 4)).collect()
}

fn clip(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

pub(crate) fn is_floor(subject: &Subject) -> bool {
    subject.name.starts_with("floor")
}

fn is_floor_of(floor: &Subject, subject: &Subject) -> bool {
    is_floor(floor)
        && (&floor.backend, &floor.cores, &floor.scheduling)
            == (&subject.backend, &subject.cores, &subject.scheduling)
}

/// How wide each subject's latencies spread, and what it adds to the raw echo of the same bytes on
/// the same cores. Run by run, because a machine may change its regime between runs, and the median
/// over them.
fn over_the_floor(out: &mut String, record: &RunRecord) {
    let mut rows = String::new();
    for subject in record.subjects.iter().filter(|subject| !is_floor(subject)) {
        let floor = record.subjects.iter().find(|floor| is_floor_of(floor, subject));
        let timed = |series: &&Series| matches!(series.kind, Kind::Response | Kind::Service);
        for series in subject.series.iter().filter(timed) {
            let under = floor.and_then(|floor| floor.series(&series.name, series.kind));
            let over = |percentile: fn(&Percentiles) -> Option<u64>| {
                let over = under.and_then(|under| Over::paired(series, under, percentile));
                over.map_or([(); 3].map(|()| "-".to_owned()), |over| over.cells())
            };
            let ([floor_p50, added_p50, times_p50], [floor_p99, added_p99, times_p99]) =
                (over(|percentiles| percentiles.p50), over(|percentiles| percentiles.p99));
            let spread = match (series.pooled.p50, series.pooled.p90) {
                (Some(p50), Some(p90)) => us(p90 - p50),
                _ => "-".to_owned(),
            };
            let title = clip(&format!("{} {}", series.name, series.kind.name()), 15);
            let _ = writeln!(
                rows,
                "{:<9}{title:<16}{spread:>9}{floor_p50:>11}{added_p50:>9}{times_p50:>8}\
                 {floor_p99:>12}{added_p99:>9}{times_p99:>8}",
                short(&subject.name),
            );
        }
    }
    if !rows.is_empty() {
        let _ = writeln!(
            out,
            "\n{:<9}{:<16}{:>9}{:>11}{:>9}{:>8}{:>12}{:>9}",
            "us", "over the floor", "p90-p50", "floor p50", "we add", "", "floor p99", "we add"
        );
        out.push_str(&rows);
        out.push_str("  medians over runs, each run against the floor of the same run\n");
    }
}

/// A percentile against the floor's.
struct Over {
    floor: u64,
    added_ns: i64,
    ratio: f64,
}

impl Over {
    fn paired(
        ours: &Series,
        floor: &Series,
        percentile: fn(&Percentiles) -> Option<u64>,
    ) -> Option<Over> {
        let pairs: Option<Vec<(u64, u64)>> = ours
            .per_run
            .iter()
            .zip(&floor.per_run)
            .map(|(ours, floor)| Some((percentile(ours)?, percentile(floor)?)))
            .collect();
        let pairs = pairs.filter(|pairs| pairs.iter().all(|(_, floor)| *floor > 0))?;
        let floors: Vec<u64> = pairs.iter().map(|(_, floor)| *floor).collect();
        let mut added: Vec<i64> =
            pairs.iter().map(|(ours, floor)| ours.cast_signed() - floor.cast_signed()).collect();
        let mut ratios: Vec<f64> =
            pairs.iter().map(|(ours, floor)| *ours as f64 / *floor as f64).collect();
        added.sort_unstable();
        ratios.sort_unstable_by(f64::total_cmp);
        let (low, high) = ((pairs.len().checked_sub(1)?) / 2, pairs.len() / 2);
        Some(Over {
            floor: median(&floors)?,
            added_ns: added[low].midpoint(added[high]),
            ratio: f64::midpoint(ratios[low], ratios[high]),
        })
    }

    /// The floor, what is added to it, and how many times it that makes.
    fn cells(&self) -> [String; 3] {
        let sign = if self.added_ns < 0 { '-' } else { '+' };
        let added = format!("{sign}{}", us(self.added_ns.unsigned_abs()));
        [us(self.floor), added, format!("{:.2}x", self.ratio)]
    }
}

fn notes(out: &mut String, record: &RunRecord) {
    let skipped: Vec<String> = record
        .rules
        .iter()
        .filter(|rule| rule.verdict == Verdict::NotApplicable && !rule.rule.starts_with("floor"))
        .map(|rule| format!("{} ({})", rule.rule, rule.detail))
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

/// Appends `text` behind `lead`, broken at spaces, later lines indented as far as `lead`.
pub(crate) fn wrap(out: &mut String, lead: &str, text: &str) {
    let indent = " ".repeat(lead.chars().count());
    let mut line = lead.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "{}", line.trim_end());
            line.clone_from(&indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    let _ = writeln!(out, "{}", line.trim_end());
}
