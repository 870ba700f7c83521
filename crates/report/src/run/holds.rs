//! How far the figures of a record hold: the bracket of each, drawn.

use crate::plot::axis::Axis;
use crate::text::number::latency;
use crate::text::words::{shown, title};
use maud::{Markup, PreEscaped, html};
use record::{Kind, RunRecord, Series};
use stats::PERCENTILES;
use std::fmt::Write;

/// Height of a percentile's row, and where the bars begin, px.
const ROW: f64 = 16.0;
const LEFT: f64 = 190.0;
const WIDTH: f64 = 760.0;
/// Space right of the last tick, for half of its label.
const RIGHT: f64 = 30.0;

/// The brackets of response and service times; nothing where none was judged.
pub(crate) fn section(record: &RunRecord) -> Markup {
    let judged: Vec<(&str, &Series)> = record
        .subjects
        .iter()
        .flat_map(|subject| shown(subject).map(move |series| (subject.name.as_str(), series)))
        .filter(|(_, series)| matches!(series.kind, Kind::Response | Kind::Service))
        .filter(|(_, series)| !series.bracket.is_empty())
        .collect();
    if judged.is_empty() {
        return html! {};
    }
    html! {
        h2 { "How far each figure holds" }
        p class="quiet" {
            "The undisturbed percentile lies between the two ends of its bar. A figure holds if its bar is shorter than "
            "a tenth of it (filled); the dot is the figure as it was measured. Each figure has a scale of its own."
        }
        @for (index, of_subject) in judged.chunk_by(|(a, _), (b, _)| a == b).enumerate() {
            @if index == 0 { (figure(of_subject)) }
            @else {
                details {
                    summary { "The same for " (of_subject[0].0) }
                    (figure(of_subject))
                }
            }
        }
        details {
            summary { "How much of each run was disturbed" }
            div class="box" { (shares(&judged)) }
        }
    }
}

/// The brackets of one subject; those of all on one scale were 2 500 px tall.
fn figure(judged: &[(&str, &Series)]) -> Markup {
    html! { figure class="full" { (PreEscaped(drawn(judged))) } }
}

fn drawn(judged: &[(&str, &Series)]) -> String {
    let ends = || judged.iter().flat_map(|(_, series)| series.bracket.values()).flatten().copied();
    let (low, high) = (ends().min().unwrap_or(1) as f64, ends().max().unwrap_or(1) as f64);
    let axis = Axis::latency("", low, high);
    let x = |ns: u64| LEFT + axis.position((ns as f64).max(1.0)) * (WIDTH - LEFT - RIGHT);
    let rows: usize = judged.iter().map(|(_, series)| series.bracket.len() + 1).sum();
    let height = rows as f64 * ROW + 26.0;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"The bracket of each percentile\">"
    );
    for tick in axis.ticks.iter().filter(|tick| !tick.label.is_empty()) {
        let at = LEFT + axis.position(tick.at) * (WIDTH - LEFT - RIGHT);
        let bottom = height - 20.0;
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{at:.1}\" y1=\"0\" x2=\"{at:.1}\" y2=\"{bottom:.0}\"/>\
             <text x=\"{at:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
            height - 6.0,
            tick.label
        );
    }
    let mut y = 0.0;
    for (subject, series) in judged {
        let name = html! { (subject) " " (title(series)) }.into_string();
        let _ = write!(svg, "<text class=\"axis\" x=\"0\" y=\"{:.1}\">{name}</text>", y + 12.0);
        y += ROW;
        for ((name, quantile), value) in PERCENTILES.iter().zip(series.pooled.values()) {
            let (Some(&[low, high]), Some(value)) = (series.bracket.get(*name), value) else {
                continue;
            };
            let name = name.replace('_', ".");
            let class = if series.holds(*quantile) { "holds" } else { "disturbed" };
            let (from, to) = (x(low), x(high).max(x(low) + 2.0));
            let _ = write!(
                svg,
                "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>\
                 <rect class=\"bracket {class}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"8\">\
                 <title>{name}: between {} and {}</title></rect>\
                 <circle class=\"bracket\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.4\"/>",
                LEFT - 8.0,
                y + 11.0,
                y + 3.0,
                to - from,
                latency(low),
                latency(high),
                x(value),
                y + 7.0,
            );
            y += ROW;
        }
    }
    svg.push_str("</svg>");
    svg
}

fn shares(judged: &[(&str, &Series)]) -> Markup {
    let percent = |share: Option<f64>| match share {
        Some(share) => format!("{:.2} %", share * 100.0),
        None => "not measured".to_owned(),
    };
    html! {
        table {
            thead {
                tr {
                    th scope="col" {} th scope="col" class="n" { "run" }
                    @for name in ["disturbed", "late", "preempted", "page faults", "interrupted"] {
                        th scope="col" class="n" { (name) }
                    }
                }
            }
            @for (subject, series) in judged {
                @for (run, one) in series.disturbed.iter().enumerate() {
                    tr class=[(run == 0).then_some("group")] {
                        th scope="row" { @if run == 0 { (subject) " " (title(series)) } }
                        td class="n" { (run + 1) }
                        @for share in [one.known(), one.late, one.preempted, one.faulted, one.interrupted] {
                            td class="n" { (percent(share)) }
                        }
                    }
                }
            }
        }
    }
}
