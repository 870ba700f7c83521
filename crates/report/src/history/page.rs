//! The records of a directory as a page: each scenario over time, then the list.

use crate::history::table::{Trend, figure, letters_explained, trends, verdict};
use crate::page;
use crate::plot::axis::Axis;
use crate::plot::{self, Dot, Plot, PlotLine, Width};
use crate::text::number::{count, us};
use crate::text::words;
use clock::calendar::seconds;
use maud::{Markup, html};
use record::Percentiles;
use record::history::{EntryContent, Headline, History, HistoryEntry, Summary};
use record::text::{counted, counted_as};

/// Colours of lines: classes `c0` to `c7`.
const COLOURS: usize = 8;
/// The percentiles that are drawn: name, class of the line, value.
type DrawnPercentile = (&'static str, &'static str, fn(&Percentiles) -> Option<u64>);
const DRAWN: [DrawnPercentile; 2] =
    [("p50", "", |pooled| pooled.p50), ("p99", " dash1", |pooled| pooled.p99)];

/// The page of `history`, with `json`, the same as text, in it for programs. `base` is what stands
/// before the name of a record in a link to its page: empty if this page lies beside the records.
pub fn history_page(history: &History, json: &str, base: &str) -> String {
    let title = format!("Records of {}", history.directory);
    let trends = trends(history);
    let plots: Vec<&[Trend]> = trends
        .chunk_by(|one, next| (one.scenario, one.settings) == (next.scenario, next.settings))
        .filter(|group| group.iter().map(|trend| trend.records.len()).sum::<usize>() > 1)
        .collect();
    let mut machines: Vec<&str> = trends.iter().map(|trend| trend.machine).collect();
    machines.sort_unstable();
    machines.dedup();
    let letters = letters_explained(history);
    let body = html! {
        h1 { (title) }
        p class="quiet" {
            (counted(history.records().count(), "record")) "; their figures are "
            "the first subject's orders, in response time or, in ping-pong, service time."
        }
        h2 { "Over time" }
        p class="quiet" {
            "A point is a record, all its runs pooled; the bar through it reaches from the lowest to the highest "
            "of its runs. Hollow points are records that are no result. Lines join results of the same "
            "machine with the same settings (letters: see below); p50 is drawn whole, p99 dashed. The "
            "plot leaves out a scenario that was measured only once; the list has it."
        }
        @for group in &plots { (scenario(group, &machines)) }
        @if !letters.is_empty() {
            h2 { "Meaning of the letters" }
            ul { @for line in &letters { li { (line) } } }
        }
        h2 { "Records, newest first" }
        (list(history, base))
        (page::embedded("history", json))
    };
    page::frame(&title, &body)
}

/// One scenario with the same settings; a machine has the same colour in all plots.
fn scenario(group: &[Trend], machines: &[&str]) -> Markup {
    let points: Vec<(u64, &Headline)> = group
        .iter()
        .flat_map(|trend| &trend.records)
        .filter_map(|(summary, headline)| Some((seconds(&summary.started)?, *headline)))
        .collect();
    let values = || {
        points.iter().flat_map(|(_, headline)| {
            let pooled = &headline.series.pooled;
            let over_runs = headline.over_runs.values().flatten().copied();
            over_runs.chain(DRAWN.into_iter().filter_map(|(_, _, value)| value(pooled)))
        })
    };
    let moments = || points.iter().map(|(moment, _)| *moment);
    let (Some(from), Some(to)) = (moments().min(), moments().max()) else { return html! {} };
    let (Some(low), Some(high)) = (values().min(), values().max()) else { return html! {} };
    // A little space, so that no point stands on the frame.
    let room = (to - from) / 30 + 30;
    let x = Axis::time("UTC", from.saturating_sub(room), to.saturating_add(room));
    let what = figure(points[0].1);
    let title = format!("{} · {what} · settings {}", group[0].scenario, group[0].settings);
    let mut plot = Plot::new(&title, x, Axis::latency("latency", low as f64, high as f64));
    plot.width = Width::Full;
    let mut legend = Vec::new();
    for trend in group {
        let index = machines.iter().position(|machine| *machine == trend.machine).unwrap_or(0);
        let colour = format!("c{}", index % COLOURS);
        for (name, dash, value) in DRAWN {
            lines(&mut plot, trend, name, &format!("{colour}{dash}"), value);
            legend.push((format!("{colour}{dash}"), format!("{name}, machine {}", trend.machine)));
        }
    }
    html! {
        (plot.figure())
        (plot::legend(&legend))
    }
}

/// A percentile of a trend: the line through its valid records, hollow points, bars over runs.
fn lines(
    plot: &mut Plot,
    trend: &Trend,
    name: &str,
    class: &str,
    value: fn(&Percentiles) -> Option<u64>,
) {
    let mut joined = PlotLine { class: class.to_owned(), ..PlotLine::default() };
    let mut hollow = PlotLine { class: format!("{class} hollow"), ..PlotLine::default() };
    for (summary, headline) in &trend.records {
        let moment = seconds(&summary.started);
        let (Some(moment), Some(ns)) = (moment, value(&headline.series.pooled)) else { continue };
        if let ([fast, slow], "p50") = (headline.series.regimes.as_slice(), name) {
            // Between two regimes lies no figure.
            for ns in [fast, slow].into_iter().filter_map(|regime| regime.figures.p50) {
                let title = told(trend, summary, headline, name, ns);
                hollow.dots.push(Dot { x: moment as f64, y: ns as f64, title });
            }
            continue;
        }
        let (x, y) = (moment as f64, ns as f64);
        let dot = Dot { x, y, title: told(trend, summary, headline, name, ns) };
        if summary.is_result() {
            joined.points.push((x, y));
            joined.dots.push(dot);
        } else {
            hollow.dots.push(dot);
        }
        if let Some([low, high]) = headline.over_runs.get(name) {
            plot.lines.push(PlotLine {
                class: format!("{class} bar"),
                points: vec![(x, *low as f64), (x, *high as f64)],
                ..PlotLine::default()
            });
        }
    }
    let drawn = [joined, hollow].into_iter().filter(|line| !line.dots.is_empty());
    plot.lines.extend(drawn);
}

fn told(trend: &Trend, summary: &Summary, headline: &Headline, name: &str, ns: u64) -> String {
    let over_runs = headline
        .over_runs
        .get(name)
        .map_or(String::new(), |[low, high]| format!(", runs {} to {} us", us(*low), us(*high)));
    let verdict = verdict(summary);
    format!("{}: {name} {} us{over_runs}; {verdict}, {}", summary.started, us(ns), trend.machine)
}

fn list(history: &History, base: &str) -> Markup {
    html! {
        div class="box" {
            table {
                thead {
                    tr {
                        th { "record" } th { "scenario" } th { "verdict" } th { "us" }
                        th class="n" { "p50" } th class="n" { "p99" } th class="n" { "n" }
                        th class="n" { "runs" } th { "machine" } th { "settings" }
                    }
                }
                tbody {
                    @for entry in &history.entries { (row(entry, base)) }
                }
            }
        }
        @if history.left_out > 0 {
            p class="quiet" { (counted_as(history.left_out, "older entry was", "older entries were")) " not read." }
        }
    }
}

/// The name of a directory, with a link to its page.
fn name(entry: &HistoryEntry, base: &str, has_page: bool) -> Markup {
    html! {
        @if has_page { a href={ (base) (entry.name) "/report.html" } { (entry.name) } }
        @else { (entry.name) }
    }
}

fn row(entry: &HistoryEntry, base: &str) -> Markup {
    let summary = match &entry.what {
        EntryContent::Record(summary) => summary,
        EntryContent::Other { is, has_page } => {
            return html! {
                tr {
                    td { (name(entry, base, *has_page)) }
                    td class="text quiet" colspan="9" { (is) }
                }
            };
        }
    };
    let class = match (summary.is_result(), &summary.headline) {
        (true, _) => "good",
        (false, None) if summary.void_because.is_empty() => "quiet",
        (false, _) => "bad",
    };
    let reasons = summary.void_because.join("; ");
    html! {
        tr data-record=(entry.name) {
            td { (name(entry, base, true)) }
            td { (summary.scenario) }
            td class=(class) title=(reasons) { (verdict(summary)) }
            @if let Some(headline) = &summary.headline {
                @let pooled = &headline.series.pooled;
                td { (figure(headline)) }
                @for (name, _, value) in DRAWN {
                    td class="n" data-percentile=(name) data-ns=[value(pooled)] {
                        (words::cell(&headline.series, name, value(pooled), words::US))
                    }
                }
                td class="n" { (count(pooled.count)) }
            } @else {
                td { "no latencies" } td {} td {} td {}
            }
            td class="n" { (summary.runs) }
            td { (summary.machine.as_deref().unwrap_or("-")) }
            td { (summary.settings) }
        }
    }
}
