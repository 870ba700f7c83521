//! `report.html` of a comparison: the verdicts, an interval per figure, the curves of all arms over
//! each other.

use crate::comparison::table::{arms, figures_of};
use crate::comparison::words::{self, headline, short_verdict};
use crate::comparison::worth::worth;
use crate::page;
use crate::plot::curves::{Bounds, Curve};
use crate::plot::{class, legend};
use crate::text::number::share;
use maud::{Markup, PreEscaped, html};
use record::Percentiles;
use record::comparison::compared::ComparedFigure;
use record::comparison::gate::{GateOutcome, GateResult};
use record::comparison::{Arm, ArmSeries, Comparison};
use stats::verdict::Outcome;
use stats::{PERCENTILES, median};
use std::fmt::Write;

/// Height of a figure's row, where the bars begin, and the drawing's width, px.
const ROW: f64 = 20.0;
const LEFT: f64 = 250.0;
const WIDTH: f64 = 940.0;
/// Space right of the last tick, for half of its label.
const RIGHT: f64 = 30.0;
/// The axis of changes reaches at least this far to both sides, as a share.
const REACH_MIN: f64 = 0.02;
/// More runs are not drawn one by one, and none where there are more than two arms.
const RUNS_DRAWN_MAX: usize = 24;

/// The page of `comparison`, with `json`, the text of its compare.json, in it for programs.
pub fn comparison_page(comparison: &Comparison, json: &str) -> String {
    let is_pair = comparison.others.is_empty();
    let title = match comparison.candidates().last() {
        Some((last, _)) if !is_pair => format!("A against each of B to {last}"),
        _ => "A against B".to_owned(),
    };
    let differs: Vec<(char, &String)> = comparison
        .candidates()
        .flat_map(|(letter, one)| one.differs.iter().map(move |what| (letter, what)))
        .collect();
    let body = html! {
        h1 { (title) }
        @for (letter, one) in comparison.candidates() {
            p { span class=(verdict_class(one.outcome)) { (headline(letter, one, &comparison.a)) } ": " (one.why) "." }
        }
        p class="quiet" { (comparison.started) " · " (comparison.tool) }
        (arms_table(comparison))
        @if comparison.forced {
            @for because in &comparison.incomparable_because { p class="warn" { (because) } }
        }
        @if comparison.forced { p class="warn" { "Forced: void runs and other machines are compared, too." } }
        (gates(comparison))
        @if let Some(worth) = worth(comparison) { (worth.section()) }
        (figures(comparison, is_pair))
        (curves(comparison))
        @if !differs.is_empty() {
            h2 { "Differences" }
            ul { @for (letter, one) in differs { li { (of(letter, is_pair)) (one) } } }
        }
        @if !comparison.void_because.is_empty() {
            h2 { @if is_pair { "Void pairs" } @else { "Void rounds" } }
            ul { @for one in &comparison.void_because { li { (one) } } }
        }
        h2 { "Records" }
        @for (letter, arm) in arms(comparison) { (records(letter, arm)) }
        (page::embedded("comparison", json))
    };
    let first = headline('B', comparison, &comparison.a);
    page::frame(&format!("{title} · {first}"), &body)
}

fn verdict_class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Better => "verdict good",
        Outcome::Worse => "verdict bad",
        Outcome::NoDifference => "verdict",
        Outcome::NotKnown | Outcome::Inconclusive => "verdict warn",
    }
}

/// The name of a candidate, where there are several.
fn of(letter: char, is_pair: bool) -> String {
    if is_pair { String::new() } else { format!("{letter}: ") }
}

fn arms_table(comparison: &Comparison) -> Markup {
    html! {
        div class="box" {
            table {
                @for (at, (letter, arm)) in arms(comparison).enumerate() {
                    tr class=(class(at)) {
                        th scope="row" { (letter) }
                        td class="text" { code { (arm.name) } }
                        td class="n" { (arm.runs) " runs" }
                    }
                }
            }
        }
    }
}

fn gates(comparison: &Comparison) -> Markup {
    let is_pair = comparison.others.is_empty();
    let gates: Vec<(char, &GateResult)> = comparison
        .candidates()
        .flat_map(|(letter, one)| one.gates.iter().map(move |gate| (letter, gate)))
        .collect();
    let class = |outcome| match outcome {
        GateOutcome::Passed => "good",
        GateOutcome::Failed => "bad",
        GateOutcome::Inconclusive => "warn",
    };
    html! {
        @if !gates.is_empty() {
            h2 { "Gates" }
            div class="box" {
                table {
                    @for (letter, gate) in gates {
                        tr {
                            td class=(class(gate.outcome)) { (gate.outcome.name()) }
                            th scope="row" { (of(letter, is_pair)) code { (gate.gate) } }
                            td class="text" { (gate.why) }
                        }
                    }
                }
            }
        }
    }
}

fn figures(comparison: &Comparison, is_pair: bool) -> Markup {
    let figures: Vec<(String, &Comparison, &ComparedFigure)> = figures_of(comparison)
        .into_iter()
        .map(|(letter, one, figure)| {
            (format!("{}{}", of(letter, is_pair), figure.name()), one, figure)
        })
        .collect();
    let candidate = if is_pair { "B" } else { "candidate" };
    let whole = if is_pair { "B" } else { "Each candidate" };
    html! {
        @if !figures.is_empty() {
            h2 { "Change of each figure" }
            figure class="full" { (PreEscaped(intervals(&figures))) }
            p class="quiet" {
                (whole) " against A. The bar is the interval of the change, at least 95 %; the dot is its estimate; the shaded "
                "part is what A against A shows here. Filled bars are beyond chance, beyond that noise and beyond "
                "what disturbed the runs. A ? marks a figure that does not hold in half of its runs."
            }
            div class="box" {
                table {
                    thead {
                        tr {
                            th scope="col" { "us" }
                            @for name in ["A", candidate, "change", "interval", "with disturbance", "noise", "p"] {
                                th scope="col" class="n" { (name) }
                            }
                            th scope="col" { "verdict" }
                        }
                    }
                    tbody { @for (name, one, figure) in &figures { (row(name, one, figure)) } }
                }
            }
        }
    }
}

fn row(name: &str, one: &Comparison, figure: &ComparedFigure) -> Markup {
    let effect = &figure.effect;
    let [a, b] = words::figures(one, figure);
    let range = figure.range.map(|[low, high]| format!("{} … {}", share(low), share(high)));
    html! {
        tr {
            th scope="row" { (name) }
            td class="n" { (a) }
            td class="n" { (b) }
            td class="n" { (share(effect.change)) }
            td class="n" { (share(effect.interval[0])) " … " (share(effect.interval[1])) }
            td class="n" { (range.as_deref().unwrap_or("not judged")) }
            td class="n" { (share(effect.noise_floor).trim_start_matches('+')) }
            td class="n" { (format!("{:.4}", figure.p_adjusted)) }
            td { (short_verdict(figure)) }
        }
    }
}

/// A bar per figure on one linear axis of changes.
fn intervals(figures: &[(String, &Comparison, &ComparedFigure)]) -> String {
    let ends = figures.iter().flat_map(|(_, _, one)| {
        let [low, high] = one.effect.interval;
        [low.abs(), high.abs(), one.effect.noise_floor]
    });
    let reach = ends.filter(|end| end.is_finite()).fold(REACH_MIN, f64::max) * 1.05;
    let x = |change: f64| {
        let at = (change.clamp(-reach, reach) + reach) / (2.0 * reach);
        LEFT + at * (WIDTH - LEFT - RIGHT)
    };
    let bottom = figures.len() as f64 * ROW + 4.0;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"Interval of the change of each figure\">",
        bottom + 20.0
    );
    for tick in [-1.0, -0.5, 0.0, 0.5, 1.0].map(|part| part * reach) {
        let at = x(tick);
        let class = if tick == 0.0 { "frame" } else { "grid" };
        let _ = write!(
            svg,
            "<line class=\"{class}\" x1=\"{at:.1}\" y1=\"0\" x2=\"{at:.1}\" y2=\"{bottom:.0}\"/>\
             <text x=\"{at:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
            bottom + 14.0,
            share(tick)
        );
    }
    for (number, (name, _, one)) in figures.iter().enumerate() {
        let (y, effect) = (number as f64 * ROW, &one.effect);
        let name = html! { (name) }.into_string();
        let [low, high] = effect.interval.map(x);
        let noise = [x(-effect.noise_floor), x(effect.noise_floor)];
        let class = if one.outcome.is_difference() { "holds" } else { "disturbed" };
        let _ = write!(
            svg,
            "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>\
             <rect class=\"noise-band\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.0}\"/>\
             <rect class=\"bracket {class}\" x=\"{low:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"8\">\
             <title>{name}: {} … {}</title></rect>\
             <circle class=\"bracket\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.6\"/>",
            LEFT - 10.0,
            y + 14.0,
            noise[0],
            y + 2.0,
            noise[1] - noise[0],
            ROW - 4.0,
            y + 6.0,
            (high - low).max(2.0),
            share(effect.interval[0]),
            share(effect.interval[1]),
            x(effect.change),
            y + 10.0,
        );
    }
    svg.push_str("</svg>");
    svg
}

/// A panel for every series that A and a candidate have: each run faint, and the median over runs.
fn curves(comparison: &Comparison) -> Markup {
    let a = &comparison.a;
    let runs_drawn = if comparison.others.is_empty() { RUNS_DRAWN_MAX } else { 0 };
    let mut panels: Vec<(String, Vec<Curve>)> = Vec::new();
    for of_a in &a.series {
        let in_arm = |(at, (letter, arm)): (usize, (char, &Arm))| {
            let alone = a.subjects() == 1 && arm.subjects() == 1;
            let same = |one: &&ArmSeries| {
                (&of_a.series, of_a.kind) == (&one.series, one.kind)
                    && (alone || of_a.subject == one.subject)
            };
            arm.series.iter().find(same).map(|one| curve(letter, &class(at), one, runs_drawn))
        };
        let all: Vec<Curve> = arms(comparison).enumerate().filter_map(in_arm).collect();
        if all.len() > 1 {
            let title = format!("{} {} {}", of_a.subject, of_a.series, of_a.kind.name());
            panels.push((title, all));
        }
    }
    let Some(bounds) = Bounds::of(panels.iter().flat_map(|(_, curves)| curves)) else {
        return html! {};
    };
    let entries: Vec<(String, String)> = arms(comparison)
        .enumerate()
        .map(|(at, (letter, _))| (class(at), letter.to_string()))
        .collect();
    html! {
        h2 { "Percentiles" }
        (legend(&entries))
        div class="plots" {
            @for (title, curves) in &panels { (bounds.plot(title, curves).figure()) }
        }
        p class="quiet" {
            @if runs_drawn > 0 { "Bold: the median over runs of each percentile. Faint: each run. " }
            @else { "The median over runs of each percentile. " }
            "Percentiles that a run can't support are left out. Both axes are logarithmic."
        }
    }
}

fn curve(letter: char, class: &str, series: &ArmSeries, runs_drawn: usize) -> Curve {
    let points = |run: &Percentiles| -> Vec<(f64, f64)> {
        let all = PERCENTILES.iter().zip(run.values());
        all.filter_map(|((_, quantile), ns)| Some((*quantile, ns? as f64))).collect()
    };
    let middle = PERCENTILES.iter().enumerate().filter_map(|(index, (name, quantile))| {
        let values: Option<Vec<u64>> = series.runs.iter().map(|run| run.values()[index]).collect();
        Some((name.replace('_', "."), *quantile, median(&values?)?))
    });
    let named: Vec<(String, f64, u64)> = middle.collect();
    Curve {
        class: class.to_owned(),
        name: letter.to_string(),
        pooled: named.iter().map(|(_, quantile, ns)| (*quantile, *ns as f64)).collect(),
        runs: series.runs.iter().take(runs_drawn).map(points).collect(),
        named,
    }
}

fn records(letter: char, arm: &Arm) -> Markup {
    html! {
        @if !arm.records.is_empty() {
            details {
                summary { (letter) ": " (arm.records.len()) " records" }
                ul { @for path in &arm.records { li { code { (path) } } } }
            }
        }
    }
}
