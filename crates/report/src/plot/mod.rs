//! Plots as SVG. Colours and dashes are CSS classes of [`crate::page`], so that they follow the
//! theme.

pub mod axis;
pub(crate) mod curves;
pub(crate) mod ladder;
pub(crate) mod over_time;

use self::axis::Axis;
use maud::{Markup, PreEscaped, html};
use std::fmt::Write;

/// How wide a plot is drawn; two halves stand side by side where there is room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// Half of the page.
    #[default]
    Half,
    /// All of the page; scrolls in its own box on a phone.
    Full,
}

/// A point that a reader may point at.
#[derive(Clone, Debug)]
pub struct Dot {
    /// Where it stands.
    pub x: f64,
    /// Where it stands.
    pub y: f64,
    /// Tooltip of the browser.
    pub title: String,
}

/// A curve. A point whose y is not a number interrupts it.
#[derive(Clone, Debug, Default)]
pub struct PlotLine {
    /// CSS classes: a colour `c0`…`c7`, `floor` or `noise`, and `dash1`…`dash3` or `faint`.
    pub class: String,
    /// In the order in which they are joined.
    pub points: Vec<(f64, f64)>,
    /// Points of it that are marked.
    pub dots: Vec<Dot>,
    /// Tooltip of the browser for the curve.
    pub title: String,
}

/// A vertical line, such as where a run ends.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Where it stands.
    pub x: f64,
    /// Shown at its top.
    pub label: String,
}

/// A rectangle of a heat map.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// From and to.
    pub x: (f64, f64),
    /// From and to.
    pub y: (f64, f64),
    /// 0 to [`HEAT_LEVELS`] - 1.
    pub level: usize,
}

/// How many colours a heat map has: classes `h0` to `h7`.
pub const HEAT_LEVELS: usize = 8;

/// A plot.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Stands above it.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// Drawn in this order, later ones over earlier ones.
    pub lines: Vec<PlotLine>,
    /// Drawn below the lines.
    pub cells: Vec<Cell>,
    /// Drawn below the lines.
    pub marks: Vec<Mark>,
    /// How wide it is.
    pub width: Width,
}

const HEIGHT: f64 = 270.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 40.0;

impl Plot {
    /// A plot without curves.
    pub fn new(title: &str, x: Axis, y: Axis) -> Plot {
        Plot {
            title: title.to_owned(),
            x,
            y,
            lines: Vec::new(),
            cells: Vec::new(),
            marks: Vec::new(),
            width: Width::Half,
        }
    }

    /// The plot as a figure with its title.
    pub fn figure(&self) -> Markup {
        let class = if self.width == Width::Full { "plot full" } else { "plot" };
        let width = self.canvas_width();
        let view = format!("0 0 {width} {HEIGHT}");
        html! {
            figure class=(class) {
                figcaption { (self.title) }
                div class="box" {
                    svg viewBox=(view) role="img" aria-label=(self.title) {
                        (self.grid())
                        (self.heat())
                        @for mark in &self.marks { (self.mark(mark)) }
                        @for line in &self.lines { (self.line(line)) }
                    }
                }
            }
        }
    }

    fn canvas_width(&self) -> f64 {
        if self.width == Width::Full { 940.0 } else { 460.0 }
    }

    fn at_x(&self, value: f64) -> f64 {
        LEFT + self.x.position(value) * (self.canvas_width() - LEFT - RIGHT)
    }

    fn at_y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.position(value) * (HEIGHT - TOP - BOTTOM)
    }

    fn grid(&self) -> Markup {
        let (right, bottom) = (self.canvas_width() - RIGHT, HEIGHT - BOTTOM);
        let middle = (LEFT + right) / 2.0;
        html! {
            @for tick in &self.y.ticks {
                @let y = short(self.at_y(tick.at));
                line class=(grid_class(&tick.label)) x1=(LEFT) x2=(right) y1=(y) y2=(y) {}
                @if !tick.label.is_empty() {
                    text class="tick" x=(LEFT - 6.0) y=(y) dy="0.33em" text-anchor="end" {
                        (tick.label)
                    }
                }
            }
            @for tick in &self.x.ticks {
                @let x = short(self.at_x(tick.at));
                line class=(grid_class(&tick.label)) x1=(x) x2=(x) y1=(TOP) y2=(bottom) {}
                @if !tick.label.is_empty() {
                    // A label at the right end would be cut off.
                    @let at_end = self.at_x(tick.at) > right - RIGHT;
                    @let (x, anchor) =
                        if at_end { (short(right + RIGHT), "end") } else { (x, "middle") };
                    text class="tick" x=(x) y=(bottom + 15.0) text-anchor=(anchor) { (tick.label) }
                }
            }
            rect class="frame" x=(LEFT) y=(TOP) width=(right - LEFT) height=(bottom - TOP) {}
            text class="axis" x=(short(middle)) y=(HEIGHT - 6.0) text-anchor="middle" {
                (self.x.label)
            }
            text class="axis" x=(LEFT) y=(TOP - 4.0) text-anchor="start" { (self.y.label) }
        }
    }

    fn mark(&self, mark: &Mark) -> Markup {
        let x = self.at_x(mark.x);
        html! {
            line class="mark" x1=(short(x)) x2=(short(x)) y1=(TOP) y2=(HEIGHT - BOTTOM) {}
            text class="mark" x=(short(x + 3.0)) y=(TOP + 11.0) { (mark.label) }
        }
    }

    fn line(&self, line: &PlotLine) -> Markup {
        let path = self.path(&line.points);
        html! {
            g class=(line.class) {
                @if !path.is_empty() {
                    path class="line" d=(path) {
                        @if !line.title.is_empty() { title { (line.title) } }
                    }
                }
                @for dot in line.dots.iter().filter(|dot| dot.y.is_finite()) {
                    circle class="dot" cx=(short(self.at_x(dot.x))) cy=(short(self.at_y(dot.y)))
                        r="2.2" {
                        title { (dot.title) }
                    }
                }
            }
        }
    }

    fn path(&self, points: &[(f64, f64)]) -> String {
        let mut path = String::new();
        for joined in points.split(|(x, y)| !(x.is_finite() && y.is_finite())) {
            for (index, (x, y)) in joined.iter().enumerate() {
                let command = if index == 0 { 'M' } else { 'L' };
                let _ = write!(path, "{command}{} {}", short(self.at_x(*x)), short(self.at_y(*y)));
            }
            // A point alone is a short stroke, so that it shows.
            if joined.len() == 1 {
                path.push_str("m-2 0h4");
            }
        }
        path
    }

    /// One path a level, neighbours of one level joined: a day of cells stays a few kilobytes.
    fn heat(&self) -> Markup {
        let mut cells = self.cells.clone();
        cells.sort_by(|a, b| {
            a.level
                .cmp(&b.level)
                .then(f64::total_cmp(&a.y.0, &b.y.0))
                .then(f64::total_cmp(&a.x.0, &b.x.0))
        });
        let mut joined: Vec<Cell> = Vec::new();
        for cell in cells {
            match joined.last_mut() {
                Some(last)
                    if last.level == cell.level
                        && (last.y.0 - cell.y.0).abs() < 1e-9
                        && last.x.1 >= cell.x.0 - 1e-9 =>
                {
                    last.x.1 = cell.x.1;
                }
                _ => joined.push(cell),
            }
        }
        let mut paths = vec![String::new(); HEAT_LEVELS];
        for cell in joined {
            let (left, right) = (self.at_x(cell.x.0), self.at_x(cell.x.1));
            let (bottom, top) = (self.at_y(cell.y.0), self.at_y(cell.y.1));
            let path = &mut paths[cell.level.min(HEAT_LEVELS - 1)];
            // Corners, not widths: neighbours that are rounded must still meet.
            let (left, right, top, bottom) = (short(left), short(right), short(top), short(bottom));
            let _ = write!(path, "M{left} {top}H{right}V{bottom}H{left}z");
        }
        html! {
            @for (level, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
                path class={ "heat h" (level) } d=(path) {}
            }
        }
    }
}

fn grid_class(label: &str) -> &'static str {
    if label.is_empty() { "grid minor" } else { "grid" }
}

/// A coordinate with one decimal: a tenth of a pixel is enough.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The colour and dash of the line with that number: eight colours, and three dashes for each.
pub(crate) fn class(at: usize) -> String {
    match at / 8 {
        0 => format!("c{at}"),
        dash => format!("c{} dash{dash}", at % 8),
    }
}

/// Legend of a plot's lines: class and name of each.
pub fn legend(entries: &[(String, String)]) -> Markup {
    html! {
        p class="legend" {
            @for (class, name) in entries {
                span {
                    svg viewBox="0 0 26 8" aria-hidden="true" {
                        g class=(class) { path class="line" d="M1 4H25" {} }
                    }
                    " " (name)
                }
                (PreEscaped(" "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot() -> Plot {
        let time = Axis::linear("s", 0.0, 10.0, |value| format!("{value:.0}"));
        Plot::new("a < b", time, Axis::latency("latency", 1_000.0, 1_000_000.0))
    }

    #[test]
    fn a_gap_interrupts_a_curve() {
        let mut plot = plot();
        let points = vec![(0.0, 1e4), (1.0, 2e4), (2.0, f64::NAN), (3.0, 1e4), (4.0, 1e4)];
        plot.lines.push(PlotLine { class: "c0".to_owned(), points, ..PlotLine::default() });
        let svg = plot.figure().into_string();
        let start = svg.find(r#"class="line" d=""#).unwrap();
        let path = svg[start + 16..].split('"').next().unwrap();
        assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 2), "{path}");
        assert!(svg.contains("a &lt; b") && !svg.contains("a < b"));
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn neighbouring_cells_of_a_level_are_one_rectangle() {
        let mut plot = plot();
        for column in 0..5 {
            let x = (f64::from(column), f64::from(column + 1));
            let level = usize::from(column == 3);
            plot.cells.push(Cell { x, y: (1e4, 2e4), level });
        }
        let svg = plot.figure().into_string();
        assert_eq!(svg.matches("class=\"heat h").count(), 2);
        assert_eq!(svg.matches("z").count(), 3, "columns 0 to 2, column 3, column 4");
    }
}
