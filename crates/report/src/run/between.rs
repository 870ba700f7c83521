//! The clocks of two hosts: how far their offset is known, and which figures are intervals for it.

use crate::text::number::{count, latency, one_or};
use crate::text::terminal::{Terminal, wrap};
use crate::text::words;
use maud::{Markup, html};
use record::between::HostClocks;
use record::{RunRecord, Series, Subject};
use std::collections::BTreeSet;

/// Appends what the runs between two clocks prove of them.
pub(crate) fn text(out: &mut Terminal, record: &RunRecord) {
    for line in lines(record) {
        wrap(out, "  ", &line);
    }
}

/// The same for the page.
pub(crate) fn section(record: &RunRecord) -> Markup {
    html! { @for line in lines(record) { p class="quiet" { (line) } } }
}

fn lines(record: &RunRecord) -> Vec<String> {
    let mut lines = Vec::new();
    for subject in record.subjects.iter().filter(|one| !one.load.between.is_empty()) {
        let name = words::subject(record, &subject.name);
        lines.push(format!("{name}: {}", clocks(&subject.load.between)));
        lines.extend(subject.series.iter().filter_map(|series| interval(&name, subject, series)));
    }
    lines
}

/// The widest brackets and the least certain estimate of all runs.
fn clocks(runs: &[HostClocks]) -> String {
    let brackets = || runs.iter().filter_map(|run| run.bracket.as_ref());
    let Some(width_ns) = brackets().map(|one| one.width_ns_p50).max() else {
        return "nothing is known of the offset of both ends' clocks".to_owned();
    };
    let widest_ns = brackets().map(|one| one.width_ns_max).max().unwrap_or(width_ns);
    let sum = |of: fn(&record::between::OffsetBracket) -> u64| {
        brackets().map(of).fold(0, u64::saturating_add)
    };
    let mut line = format!(
        "the datagrams of {} leave the offset of both ends' clocks open by {}, at most {} \
         ({}, {} of a clock, stamps: {})",
        one_or(runs.len() as u64, "run"),
        latency(width_ns),
        latency(widest_ns),
        one_or(sum(|one| one.windows), "window"),
        one_or(sum(|one| one.steps), "step"),
        stamps(runs),
    );
    let estimates = || runs.iter().filter_map(|run| run.estimate.as_ref());
    let half = |[low, high]: [i64; 2]| high.abs_diff(low).div_ceil(2);
    if let Some(error_ns) = estimates().map(|one| half(one.interval_ns)).max() {
        line += &format!(
            "; if both directions take equally long, which nothing proves, it is known to within {}",
            latency(error_ns)
        );
    }
    let wanders = estimates().filter_map(|one| one.wander_ns);
    if let Some(wander_ns) = wanders.reduce(f64::max) {
        line += &format!(" and wanders by {} (sigma)", latency(wander_ns.round() as u64));
    }
    line
}

/// The source of the runs' stamps.
fn stamps(runs: &[HostClocks]) -> String {
    let sources: BTreeSet<&str> = runs.iter().map(|run| run.stamps.as_str()).collect();
    sources.into_iter().collect::<Vec<_>>().join(", ")
}

/// The interval of a series' figures, if both clocks stamped it.
fn interval(name: &str, subject: &Subject, series: &Series) -> Option<String> {
    let tag = series.own_tag();
    let runs = &subject.load.between;
    let error_ns = runs.iter().filter_map(|run| run.errors_ns.get(&tag)).copied().max()?;
    let from = &runs.iter().find(|run| run.errors_ns.contains_key(&tag))?.error_from;
    let reaches = |figure: &str, ns: Option<u64>| {
        let ns = ns?;
        Some(format!(
            "{figure} is {} to {}",
            latency(ns.saturating_sub(error_ns)),
            latency(ns.saturating_add(error_ns))
        ))
    };
    let figures = [reaches("p50", series.pooled.p50), reaches("p99", series.pooled.p99)];
    let figures: Vec<String> = figures.into_iter().flatten().collect();
    Some(format!(
        "{name}: {tag} of {} values is known to within {} by {from}: {}",
        count(series.pooled.count),
        latency(error_ns),
        figures.join(", ")
    ))
}
