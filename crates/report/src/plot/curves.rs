//! Percentile curves: the subjects, their floor and the hiccup over each other, each only as far as
//! its sample supports.

use crate::plot::axis::Axis;
use crate::plot::{Dot, Plot, PlotLine, legend};
use crate::text::number::tick_ns;
use crate::text::words::{is_measured, shown};
use maud::{Markup, html};
use record::timeline::{OverTime, Timeline};
use record::{Kind, RunRecord, Series, Subject};
use stats::PERCENTILES;

/// Up to this number of runs each run is drawn.
const RUNS_DRAWN_MAX: usize = 24;

/// A panel for every kind of latency that was measured.
pub(crate) fn section(record: &RunRecord, timeline: Option<&Timeline>) -> Markup {
    let panels = panels(record);
    let curves = |kind: &Panel| drawn(record, timeline, kind);
    let all: Vec<Vec<Curve>> = panels.iter().map(curves).collect();
    let Some(bounds) = Bounds::of(all.iter().flatten()) else { return html! {} };
    let has_runs = all.iter().flatten().any(|curve| !curve.runs.is_empty());
    let mut entries: Vec<(String, String)> = Vec::new();
    for curve in all.iter().flatten() {
        if !entries.iter().any(|(class, _)| *class == curve.class) {
            entries.push((curve.class.clone(), curve.name.clone()));
        }
    }
    html! {
        h2 { "Percentiles" }
        (legend(&entries))
        div class="plots" {
            @for ((name, kind), curves) in panels.iter().zip(&all) {
                (bounds.plot(&format!("{name} {}", kind.name()), curves).figure())
            }
        }
        @let linear: Vec<Plot> = panels.iter().zip(&all).filter_map(|(panel, curves)| linear(panel, curves)).collect();
        p class="quiet" { "Both axes are logarithmic; a step to the right is ten times rarer." }
        @if !linear.is_empty() {
            h3 { "From p50 to p99, linear" }
            div class="plots" { @for plot in &linear { (plot.figure()) } }
        }
        p class="quiet" {
            @if timeline.is_some() { "Each curve ends where fewer than ten samples lie beyond it." }
            @else { "Without the logs the lines only join the percentiles of run.json." }
            @if has_runs { " Faint: each run alone." }
            @if record.subject("hiccup").is_some() { " The hiccup lines join the percentiles of run.json." }
        }
    }
}

/// Ranks between which a linear axis shows the distance of a subject to its floor.
const LINEAR: std::ops::RangeInclusive<f64> = 0.5..=0.99;

/// A panel with a linear axis, if a floor stands in it.
fn linear((name, kind): &Panel, curves: &[Curve]) -> Option<Plot> {
    let cut = |curve: &Curve| -> Vec<(f64, f64)> {
        curve.pooled.iter().copied().filter(|(rank, _)| LINEAR.contains(rank)).collect()
    };
    let shown = curves.iter().filter(|curve| !curve.class.starts_with("noise"));
    let lines: Vec<PlotLine> = shown
        .map(|curve| PlotLine {
            class: curve.class.clone(),
            points: cut(curve),
            title: curve.name.clone(),
            ..PlotLine::default()
        })
        .collect();
    let has = |floor: bool| {
        let of =
            |line: &&PlotLine| line.class.starts_with("floor") == floor && line.points.len() > 1;
        lines.iter().any(|line| of(&line))
    };
    if !(has(true) && has(false)) {
        return None;
    }
    let values = || lines.iter().flat_map(|line| &line.points).map(|(_, ns)| *ns);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let x = Axis::percentile("percentile", *LINEAR.end());
    let y = Axis::linear("latency", low.min(high * 0.5).floor(), high, tick_ns);
    let mut plot = Plot::new(&format!("{name} {}", kind.name()), x, y);
    plot.lines = lines;
    Some(plot)
}

/// Name and kind of the series that one panel shows.
type Panel = (String, Kind);

fn panels(record: &RunRecord) -> Vec<Panel> {
    let measured = |subject: &&Subject| !subject.is_reference() && subject.name != "hiccup";
    let mut panels: Vec<Panel> = Vec::new();
    for subject in record.subjects.iter().filter(measured) {
        for series in shown(subject) {
            let panel = (series.name.clone(), series.kind);
            if !panels.contains(&panel) {
                panels.push(panel);
            }
        }
    }
    panels
}

/// The colour and dash of a subject.
pub(crate) fn class_of(record: &RunRecord, subject: &Subject) -> String {
    let before = |wanted: fn(&Subject) -> bool| {
        let mut others = record.subjects.iter().filter(|other| wanted(other));
        others.position(|other| other.name == subject.name).unwrap_or(0)
    };
    if subject.is_floor() {
        return format!("floor dash{}", [1, 3][before(Subject::is_floor) % 2]);
    }
    if subject.is_bare() {
        return "floor dash2".to_owned();
    }
    let index = before(|other| !other.is_reference());
    // A dash tells lines apart that have the same colour.
    match index / 8 {
        0 => format!("c{index}"),
        _ => format!("c{} dash3", index % 8),
    }
}

/// A curve of a panel.
pub(crate) struct Curve {
    pub class: String,
    pub name: String,
    /// Quantile and ns.
    pub pooled: Vec<(f64, f64)>,
    pub runs: Vec<Vec<(f64, f64)>>,
    /// Percentiles of run.json: name, quantile, ns.
    pub named: Vec<(String, f64, u64)>,
}

impl Curve {
    fn of(class: String, name: String, series: &Series, over_time: Option<&OverTime>) -> Curve {
        let named: Vec<(String, f64, u64)> = PERCENTILES
            .iter()
            .zip(series.pooled.values())
            .filter_map(|((name, quantile), ns)| {
                Some((crate::run::percentile_name(name), *quantile, ns?))
            })
            .collect();
        let in_ns = |points: &Vec<(f64, u64)>| {
            points.iter().map(|(quantile, ns)| (*quantile, *ns as f64)).collect::<Vec<_>>()
        };
        let pooled = match over_time {
            Some(over_time) => in_ns(&over_time.pooled),
            None => named.iter().map(|(_, quantile, ns)| (*quantile, *ns as f64)).collect(),
        };
        let runs = match over_time {
            Some(over_time) if (2..=RUNS_DRAWN_MAX).contains(&over_time.curves.len()) => {
                over_time.curves.iter().map(|(_, points)| in_ns(points)).collect()
            }
            _ => Vec::new(),
        };
        Curve { class, name, pooled, runs, named }
    }
}

fn drawn(record: &RunRecord, timeline: Option<&Timeline>, (name, kind): &Panel) -> Vec<Curve> {
    let curve = |subject: &Subject, series: &Series, class: String, shown: String| {
        let tag = format!("{}.{}.{}", subject.name, series.name, series.kind.name());
        Curve::of(class, shown, series, timeline.and_then(|timeline| timeline.series.get(&tag)))
    };
    let mut curves = Vec::new();
    for subject in &record.subjects {
        if subject.name == "hiccup" {
            for (index, series) in shown(subject).enumerate() {
                let class = format!("noise dash{}", [2, 3][index % 2]);
                let mut hiccup = curve(subject, series, class, format!("hiccup {}", series.name));
                hiccup.runs.clear();
                curves.push(hiccup);
            }
        } else if let Some(series) =
            subject.series(name, *kind).filter(|series| is_measured(subject, series))
        {
            let class = class_of(record, subject);
            curves.push(curve(subject, series, class, subject.name.clone()));
        }
    }
    curves.sort_by_key(|curve| !curve.class.starts_with("noise"));
    curves
}

/// One pair of axes for all panels, so that they can be compared.
pub(crate) struct Bounds {
    deepest: f64,
    low_ns: f64,
    high_ns: f64,
}

impl Bounds {
    pub(crate) fn of<'a>(curves: impl Iterator<Item = &'a Curve>) -> Option<Bounds> {
        let mut bounds = Bounds { deepest: 0.9, low_ns: f64::INFINITY, high_ns: 0.0 };
        for curve in curves {
            for (quantile, ns) in curve.pooled.iter().chain(curve.runs.iter().flatten()) {
                bounds.deepest = bounds.deepest.max(*quantile);
                bounds.high_ns = bounds.high_ns.max(*ns);
                // A hiccup begins at some ns; its curve enters the plot from below.
                if !curve.class.starts_with("noise") {
                    bounds.low_ns = bounds.low_ns.min(*ns);
                }
            }
        }
        bounds.low_ns.is_finite().then_some(bounds)
    }

    pub(crate) fn plot(&self, title: &str, curves: &[Curve]) -> Plot {
        let x = Axis::percentile("percentile", self.deepest);
        let y = Axis::latency("latency", self.low_ns, self.high_ns);
        let low_ns = y.low();
        let mut plot = Plot::new(title, x, y);
        let visible = |points: &[(f64, f64)]| from_the_axis(points, low_ns);
        for curve in curves {
            let class = format!("{} faint", curve.class);
            plot.lines.extend(curve.runs.iter().map(|points| PlotLine {
                class: class.clone(),
                points: visible(points),
                ..PlotLine::default()
            }));
        }
        for curve in curves {
            let named = curve.named.iter().filter(|(_, _, ns)| *ns as f64 >= low_ns);
            let dots = named.map(|(percentile, quantile, ns)| Dot {
                x: *quantile,
                y: *ns as f64,
                title: format!("{} {title} {percentile}: {}", curve.name, tick_ns(*ns as f64)),
            });
            plot.lines.push(PlotLine {
                class: curve.class.clone(),
                points: visible(&curve.pooled),
                dots: dots.collect(),
                title: curve.name.clone(),
            });
        }
        plot
    }
}

/// The part of an ascending curve at and above `low_ns`: a hiccup of some
/// ns enters the plot where it becomes as long as a latency.
fn from_the_axis(points: &[(f64, f64)], low_ns: f64) -> Vec<(f64, f64)> {
    let hidden = points.partition_point(|(_, ns)| *ns < low_ns);
    let mut visible = points[hidden..].to_vec();
    if let (Some((before, below)), Some((after, above))) =
        (points[..hidden].last(), visible.first().copied())
    {
        let nines = |quantile: f64| (1.0 - quantile).ln();
        let share = (low_ns / below.max(1.0)).ln() / (above / below.max(1.0)).ln();
        let crossing = nines(*before) + share * (nines(after) - nines(*before));
        visible.insert(0, (1.0 - crossing.exp(), low_ns));
    }
    visible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_comes_into_the_plot_where_it_crosses_its_floor() {
        let curve = [(0.5, 10.0), (0.9, 100.0), (0.999, 10_000.0)];
        let visible = from_the_axis(&curve, 1_000.0);
        assert!((visible[0].0 - 0.99).abs() < 1e-9, "{visible:?}");
        assert_eq!((visible[0].1, visible[1]), (1_000.0, (0.999, 10_000.0)));
        assert_eq!(from_the_axis(&curve, 1.0), curve);
        assert!(from_the_axis(&curve, 1e6).is_empty());
    }
}
