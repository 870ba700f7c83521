//! A sweep as a page: latency against rate, with the objective and the knee.

use crate::page::{embedded, frame};
use crate::plot::axis::Axis;
use crate::plot::{Dot, Mark, Plot, PlotLine, Width, legend};
use crate::run::context::command;
use crate::sweep::table::{
    figures, has_floor, knee, measured, outcome, over_floor, series_name, state, why_void,
};
use crate::text::number::{count, latency, rate};
use crate::text::words::{US, interval};
use maud::{Markup, html};
use record::Unit;
use record::comparison::selector::Figure;
use record::sweep::{Outcome, Point, SweepRecord};
use record::{Kind, Subject};

/// A curve of a plot: class, kind and figure.
type Curve = (&'static str, Kind, Figure);

const P50: Figure = Figure::Percentile(0);
const P99: Figure = Figure::Percentile(3);
const CURVES: [Curve; 4] = [
    ("c0", Kind::Service, P50),
    ("c0 dash1", Kind::Service, P99),
    ("c1", Kind::Response, P50),
    ("c1 dash1", Kind::Response, P99),
];
const FLOOR: [Curve; 2] = [("floor", Kind::Service, P50), ("floor dash1", Kind::Service, P99)];
/// The class of the objective's line.
const BOUND: &str = "c3 dash3";

/// The sweep as one self-contained page.
pub fn page(sweep: &SweepRecord) -> String {
    let title = format!("{} sweep", sweep.scenario);
    let good = sweep.complete && sweep.knee().met.is_some();
    let body = html! {
        h1 { (title) }
        p class={ "verdict " (if good { "good" } else { "bad" }) } { (knee(sweep)) }
        p class="quiet" { (state(sweep)) }
        p class="quiet" { (sweep.tool) " " (sweep.started) }
        @for failure in &sweep.failures { p class="broken" { (failure) } }
        h2 { "Latency against rate" }
        div class="plots" {
            @for name in names(sweep) { (plot(sweep, name).figure()) }
        }
        (plot_legend(sweep))
        p class="quiet" {
            "Solid and dashed curves join the rates that are valid; thin ones go on to rates that are \
             not: what was measured there is no result. Response time counts from when a message was \
             due, service time from when it was sent."
        }
        h2 { "Figures" }
        (figures_table(sweep))
        (reasons(sweep))
        h2 { "How to repeat it" }
        pre { code { (command(&sweep.command)) } }
        p class="quiet" { "Each rate's run record stands beside this page." }
        (embedded("sweep", &serde_json::to_string(sweep).unwrap_or_default()))
    };
    frame(&title, &body)
}

/// The subjects in the order of the scenario.
fn names(sweep: &SweepRecord) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for subject in sweep.points.iter().flat_map(measured) {
        if !names.contains(&subject.name.as_str()) {
            names.push(&subject.name);
        }
    }
    names
}

/// p50, p99 and the objective's figure.
fn curves(sweep: &SweepRecord) -> Vec<Curve> {
    let mut curves = CURVES.to_vec();
    if let Some(objective) = &sweep.objective {
        let kind = objective.selector.kind.unwrap_or(Kind::Response);
        let figure = objective.selector.figure;
        if curves.iter().all(|curve| (curve.1, curve.2) != (kind, figure)) {
            curves.push(("c3", kind, figure));
        }
    }
    curves
}

fn name_of((class, kind, figure): &Curve) -> String {
    let whose = if class.starts_with("floor") { "floor, " } else { "" };
    format!("{whose}{} {}", kind.name(), figure.name())
}

/// The curves of one subject, over those of the first floor.
fn plot(sweep: &SweepRecord, name: &str) -> Plot {
    let subject = |point: &Point| -> Option<Subject> {
        point.subjects.iter().find(|subject| subject.name == name).cloned()
    };
    let floor = |point: &Point| point.subjects.iter().find(|one| one.is_floor()).cloned();
    let mut lines = Vec::new();
    for curve in FLOOR {
        lines.extend(curve_lines(sweep, &curve, &floor));
    }
    for curve in curves(sweep) {
        lines.extend(curve_lines(sweep, &curve, &subject));
    }
    let rates: Vec<f64> = sweep.points.iter().map(|point| point.rate_per_second_offered).collect();
    let in_time = sweep.objective.as_ref().filter(|objective| objective.unit == Unit::Ns);
    let limit = in_time.map(|objective| objective.limit as f64);
    let values = lines.iter().flat_map(|line| &line.points).map(|(_, y)| *y).chain(limit);
    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
    for value in values.filter(|value| value.is_finite()) {
        (low, high) = (low.min(value), high.max(value));
    }
    let (first, last) = (low_of(&rates), high_of(&rates));
    let x = Axis::log("messages a second", first, last, |rate| count(rate as u64));
    if let Some(limit) = limit {
        let ends = x.ticks.first().zip(x.ticks.last());
        let points = ends.map_or(Vec::new(), |(a, b)| vec![(a.at, limit), (b.at, limit)]);
        lines.push(PlotLine { class: BOUND.to_owned(), points, ..PlotLine::default() });
    }
    let title = format!("{name}, {}", series_name(sweep));
    let mut plot = Plot::new(&title, x, Axis::latency("latency", low, high));
    plot.width = Width::Full;
    plot.lines = lines;
    if let Some(met) = sweep.knee().met {
        let label = format!("knee: {}/s", rate(met.rate_per_second_offered));
        plot.marks.push(Mark { x: met.rate_per_second_offered, label });
    }
    plot
}

fn low_of(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn high_of(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// One curve: through the valid points, and faintly through all of them.
fn curve_lines(
    sweep: &SweepRecord,
    curve: &Curve,
    of: &dyn Fn(&Point) -> Option<Subject>,
) -> Vec<PlotLine> {
    let (class, kind, figure) = curve;
    let name = name_of(curve);
    let mut valid =
        PlotLine { class: (*class).to_owned(), title: name.clone(), ..PlotLine::default() };
    let mut all = PlotLine { class: format!("{class} faint"), ..PlotLine::default() };
    for point in &sweep.points {
        let offered = point.rate_per_second_offered;
        let subject = of(point);
        let series = subject.as_ref().and_then(|one| one.series(series_name(sweep), *kind));
        let Some((series, ns)) = series.and_then(|one| Some((one, figure.of(&one.pooled)?))) else {
            continue;
        };
        let interval = match interval(series, &figure.name().replace('.', "_"), US) {
            text if text.is_empty() => text,
            text => format!(", median over runs within {text} us"),
        };
        let at = format!("{name} at {}/s", rate(offered));
        if let ([fast, slow], P50) = (series.regimes.as_slice(), *figure) {
            for (name, regime) in [("fast", fast), ("slow", slow)] {
                let Some(ns) = regime.figures.p50 else { continue };
                let title = format!("{at} in the {name} regime: {}", latency(ns));
                valid.dots.push(Dot { x: offered, y: ns as f64, title });
            }
            continue;
        }
        let at = format!("{at}: {}{interval}", latency(ns));
        let dot = |title| Dot { x: offered, y: ns as f64, title };
        all.points.push((offered, ns as f64));
        if point.is_decided() {
            valid.points.push((offered, ns as f64));
            valid.dots.push(dot(at));
        } else {
            all.dots.push(dot(format!("{at}, {}", outcome(sweep, point))));
        }
    }
    if all.points.is_empty() && valid.dots.is_empty() { Vec::new() } else { vec![all, valid] }
}

fn plot_legend(sweep: &SweepRecord) -> Markup {
    let has_floor = sweep.points.iter().flat_map(|point| &point.subjects).any(Subject::is_floor);
    let mut entries: Vec<(String, String)> = curves(sweep)
        .iter()
        .chain(FLOOR.iter().filter(|_| has_floor))
        .map(|curve| (curve.0.to_owned(), name_of(curve)))
        .collect();
    if let Some(objective) = sweep.objective.as_ref().filter(|one| one.unit == Unit::Ns) {
        entries.push((BOUND.to_owned(), objective.to_string()));
    }
    legend(&entries)
}

fn figures_table(sweep: &SweepRecord) -> Markup {
    let several = names(sweep).len() > 1;
    html! {
        div class="box" { table {
            thead { tr {
                @if several { th { "us" } }
                th class="n" { "messages/s" }
                @for column in ["achieved", "service p50", "p99", "response p50", "p99"] {
                    th class="n" { (column) }
                }
                @if has_floor(sweep) { th class="n" { "service p50 / floor" } }
                th { "verdict" }
                th { "record" }
            } }
            tbody {
                @for point in &sweep.points {
                    @for (index, subject) in measured(point).enumerate() {
                        tr class=[(several && index == 0).then_some("group")] {
                            @if several { th { (subject.name) } }
                            (row(sweep, point, subject))
                        }
                    }
                }
            }
        } }
        p class="quiet" {
            "Latencies in us. ~ fewer than 100 samples lie beyond it; - fewer than 10; a/b in the \
             machine's fast and in its slow regime, drawn as two points without a curve."
        }
    }
}

fn row(sweep: &SweepRecord, point: &Point, subject: &Subject) -> Markup {
    let offered = point.rate_per_second_offered;
    let names = ["service.p50", "service.p99", "response.p50", "response.p99"];
    let class = match point.outcome {
        Outcome::Met => "good",
        Outcome::Missed | Outcome::Undecided => "warn",
        Outcome::Overloaded | Outcome::Void => "bad",
    };
    html! {
        td class="n" { (rate(offered)) }
        td class="n" { (rate(subject.load.rate_per_second_achieved)) }
        @for (name, text) in names.iter().zip(figures(sweep, subject)) {
            td class="n" data-rate=(offered) data-figure=(name) { (text) }
        }
        @if has_floor(sweep) { td class="n" { (over_floor(sweep, subject)) } }
        td class=(class) { (outcome(sweep, point)) }
        td { a href={ (point.record) "/report.html" } { (point.record) } }
    }
}

fn reasons(sweep: &SweepRecord) -> Markup {
    let reasons: Vec<String> = sweep.points.iter().filter_map(why_void).collect();
    html! {
        @if !reasons.is_empty() {
            h3 { "Why rates are no result" }
            ul { @for reason in &reasons { li { (reason) } } }
        }
        @if !sweep.injected.is_empty() {
            p class="warn" { "Faults were injected on purpose: " (sweep.injected.join("; ")) "." }
        }
    }
}
