//! Stages of a tick's path, as figures and as bars on one scale, and the stage that owns the tail.

use crate::text::grid::Grid;
use crate::text::number::{latency, ns, plain, short_ns};
use crate::text::terminal::shortened;
use crate::text::words::{cell, is_measured, samples};
use maud::{Markup, html};
use record::tick::attribution::{owner, tail};
use record::tick::{Attribution, STAGES};
use record::{Kind, RunRecord, Series, Subject};

/// Around the median and around the 99th percentile of one interval.
struct Pair<'a> {
    usual: &'a Attribution,
    slow: Option<&'a Attribution>,
}

/// Stages of each interval of a subject that was explained.
fn pairs(subject: &Subject) -> Vec<Pair<'_>> {
    let around =
        |name: &'static str| subject.attribution.iter().filter(move |one| one.around == name);
    let same =
        |one: &Attribution, other: &Attribution| (&one.of, one.kind) == (&other.of, other.kind);
    let pair = |usual| Pair { usual, slow: around("p99").find(|slow| same(usual, slow)) };
    around("p50").map(pair).collect()
}

/// The subjects that have stages.
fn staged(record: &RunRecord) -> impl Iterator<Item = &Subject> {
    let has = |subject: &&Subject| subject.series.iter().any(|series| series.kind == Kind::Stage);
    record.subjects.iter().filter(has)
}

/// Every stage of every subject, with its share of the whole around the percentiles.
pub(crate) fn grids(record: &RunRecord) -> Vec<Grid> {
    staged(record).map(grid).collect()
}

/// Columns before the means.
const COLUMNS_OF_SERIES: usize = 6;

fn grid(subject: &Subject) -> Grid {
    let pairs = pairs(subject);
    // The longest interval has all stages.
    let longest = pairs.iter().max_by_key(|pair| pair.usual.stages.len());
    let mean = |attribution: Option<&Attribution>, stage: &str| {
        let found = attribution.and_then(|one| one.stages.iter().find(|(name, _)| name == stage));
        found.map_or(String::new(), |(_, mean_ns)| signed(*mean_ns))
    };
    let series = |stage: &str| subject.series(stage, Kind::Stage);
    let mut names: Vec<String> = STAGES
        .iter()
        .map(|stage| stage.name.to_owned())
        .filter(|name| {
            series(name).is_some_and(|one| one.pooled.count > 0 && is_measured(subject, one))
        })
        .collect();
    // Two stages between which nothing was stamped are one.
    let joined = longest.iter().flat_map(|pair| &pair.usual.stages).map(|(name, _)| name);
    names.extend(joined.filter(|name| name.contains(" + ")).cloned());
    let row = |name: &String| {
        let percentile = |which: &str, of: fn(&Series) -> Option<u64>| {
            series(name).map_or(String::new(), |series| {
                cell(series, which, of(series), crate::text::words::NS)
            })
        };
        vec![
            name.clone(),
            owner(name).replace(" and ", ", "),
            percentile("p50", |series| series.pooled.p50),
            percentile("p99", |series| series.pooled.p99),
            percentile("p99_9", |series| series.pooled.p99_9),
            series(name).map_or(String::new(), |series| ns(series.pooled.max)),
            mean(longest.map(|pair| pair.usual), name),
            mean(longest.and_then(|pair| pair.slow), name),
        ]
    };
    let mut rows: Vec<Vec<String>> = names.iter().map(row).collect();
    if let Some(Pair { usual, slow }) = longest {
        let sum = |one: &Attribution| signed(one.stages.iter().map(|(_, mean)| mean).sum());
        let mut all = vec![format!("{}, mean", usual.of)];
        all.resize(COLUMNS_OF_SERIES, String::new());
        all.extend([sum(usual), slow.map_or(String::new(), sum)]);
        rows.push(all);
    }
    let head = ["", "whose time", "p50", "p99", "p99.9", "max", "around p50", "around p99"];
    let mut head = head.map(str::to_owned).to_vec();
    if longest.is_none() {
        // A merged record has no samples.
        rows.iter_mut().chain([&mut head]).for_each(|row| row.truncate(COLUMNS_OF_SERIES));
    }
    Grid {
        title: format!("Stages of {}, ns", shortened(&subject.name, 40)),
        head,
        rows,
        notes: sentences(&pairs),
        ..Grid::default()
    }
}

/// The stage that owns the tail of each interval, and the basis of that.
fn sentences(pairs: &[Pair<'_>]) -> Vec<String> {
    let mut sentences: Vec<String> = pairs.iter().map(sentence).collect();
    let incomplete = pairs.iter().filter(|pair| pair.usual.left_out > 0).map(|pair| {
        format!(
            "Left out of {} {}: {} without a stamp that others have, or with one before the one it must follow.",
            pair.usual.of,
            pair.usual.kind.name(),
            samples(pair.usual.left_out)
        )
    });
    sentences.extend(incomplete);
    if let Some((pair, slow)) = pairs.iter().find_map(|pair| Some((pair, pair.slow?))) {
        sentences.push(format!(
            "Means over {} around p50 and {} around p99, within {} % of rank: percentiles of stages don't add up, means \
             do.",
            samples(pair.usual.samples),
            samples(slow.samples),
            plain(slow.within_rank * 100.0)
        ));
    }
    sentences
}

fn sentence(pair: &Pair<'_>) -> String {
    let Pair { usual, slow } = pair;
    let whole = format!("{} {}, p50 {}", usual.of, usual.kind.name(), latency(usual.total_ns));
    let Some(slow) = slow else {
        return format!("{whole}: too few samples for what p99 is made of.");
    };
    let verdict = match tail(usual, slow) {
        None => "no stage grew from one to the other".to_owned(),
        Some(tail) => format!(
            "{} owns the tail ({}): it grew by {}, the whole by {}",
            tail.stage,
            owner(&tail.stage),
            amount(tail.grew_ns),
            amount(tail.whole_grew_ns)
        ),
    };
    format!("{whole} and p99 {}: {verdict}.", latency(slow.total_ns))
}

/// A mean in whole nanoseconds; below 0 where two clocks disagree by less than their bound.
fn signed(mean_ns: f64) -> String {
    let sign = if mean_ns <= -0.5 { "-" } else { "" };
    format!("{sign}{}", ns(mean_ns.abs().round() as u64))
}

fn amount(of_ns: f64) -> String {
    let sign = if of_ns < 0.0 { "-" } else { "" };
    format!("{sign}{}", latency(of_ns.abs().round() as u64))
}

/// The owners of stages, each with its colour.
const OWNERS: [(&str, &str); 4] = [
    ("exchange", "c0"),
    ("kernel and network", "floor"),
    ("kernel and trader", "c4"),
    ("trader", "c1"),
];

fn class(stage: &str) -> &'static str {
    let owner = owner(stage);
    // Stages that are one because nothing lies between them.
    OWNERS.iter().find(|(known, _)| *known == owner).map_or("noise", |(_, class)| class)
}

/// The shade of a stage: neighbours of one owner differ, and a stage has one shade in all bars,
/// also where others are missing.
fn shade(stage: &str) -> &'static str {
    let is_it = |known: &record::tick::Stage| stage.split(" + ").next() == Some(known.name);
    let place = STAGES.iter().position(is_it).unwrap_or(0);
    if place % 2 == 0 { "even" } else { "odd" }
}

/// The bars of every subject and interval.
pub(crate) fn figures(record: &RunRecord) -> Markup {
    html! {
        @for subject in staged(record).filter(|subject| !pairs(subject).is_empty()) {
            h2 { "Where " (subject.name) "'s time went" }
            @for pair in &pairs(subject) { (figure(pair)) }
            p class="legend" {
                @for (owner, class) in OWNERS {
                    span {
                        svg class="swatch" viewBox="0 0 10 10" aria-hidden="true" {
                            rect class=(format!("stage {class}")) width="10" height="10" {}
                        }
                        (owner)
                    }
                    " "
                }
            }
            @for sentence in sentences(&pairs(subject)) { p { (sentence) } }
        }
    }
}

/// Size of the drawing, in its own units.
const WIDTH: f64 = 1_000.0;
/// Space left of the bars.
const SIDE: f64 = 96.0;
const BAR: f64 = 34.0;
/// Distance between the tops of two bars: a bar and its caption.
const STEP: f64 = 62.0;
/// A character's width in the larger type of a narrow page, and the space beside a label.
const CHARACTER: f64 = 7.5;
const MARGIN: f64 = 8.0;
/// A bar that is shorter than this share of the other is drawn once more, enlarged.
const ENLARGED_BELOW: f64 = 0.34;

/// One bar: its name, the width of a nanosecond, and its stages.
struct Bar<'a> {
    name: String,
    scale: f64,
    of: &'a Attribution,
}

fn figure(pair: &Pair<'_>) -> Markup {
    let Pair { usual, slow } = pair;
    let room = WIDTH - SIDE - 70.0;
    let longest = slow.map_or(length(usual), |slow| length(slow).max(length(usual)));
    let scale = room / longest.max(1.0);
    let around = |one: &Attribution| format!("around {}", one.around);
    let bar = |of| Bar { name: around(of), scale, of };
    let mut bars = vec![bar(*usual)];
    bars.extend(slow.map(bar));
    if length(usual) < longest * ENLARGED_BELOW {
        let times = longest / length(usual).max(1.0);
        let name = format!("p50, x{}", plain((times * 10.0).round() / 10.0));
        bars.push(Bar { name, scale: scale * times, of: usual });
    }
    let height = bars.len() as f64 * STEP;
    html! {
        figure class="full" {
            figcaption { (usual.of) " " (usual.kind.name()) ": what the way was made of, to scale" }
            svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label="stages of the way of a tick" {
                @for (index, bar) in bars.iter().enumerate() { (drawn(bar, index as f64 * STEP)) }
            }
        }
    }
}

fn length(attribution: &Attribution) -> f64 {
    attribution.stages.iter().map(|(_, mean_ns)| mean_ns.max(0.0)).sum()
}

fn drawn(bar: &Bar<'_>, top: f64) -> Markup {
    let mut x = SIDE;
    let mut parts = Vec::new();
    for (name, mean_ns) in &bar.of.stages {
        let width = mean_ns.max(0.0) * bar.scale;
        parts.push((name.as_str(), *mean_ns, x, width));
        x += width;
    }
    let end = x;
    // Names that don't fit inside stand below, each as far left as the name before it allows.
    let mut free = SIDE;
    let mut below = Vec::new();
    for &(name, mean_ns, x, width) in &parts {
        let wide = name.chars().count() as f64 * CHARACTER;
        if wide + MARGIN > width && width >= 3.0 && free.max(x) + wide <= WIDTH {
            let at = free.max(x);
            below.push((name, mean_ns, x + width / 2.0, at));
            free = at + wide + MARGIN;
        }
    }
    let round = |value: f64| (value * 10.0).round() / 10.0;
    html! {
        text class="axis" x=(SIDE - 8.0) y=(top + BAR * 0.62) text-anchor="end" { (bar.name) }
        @for (name, mean_ns, x, width) in &parts {
            rect class=(format!("stage {} {}", class(name), shade(name))) x=(round(*x)) y=(top) width=(round(*width)) height=(BAR)
                data-stage=(name) data-ns=(mean_ns.round()) {
                title { (name) ": " (amount(*mean_ns)) ", " (owner(name)) }
            }
            @if name.chars().count() as f64 * CHARACTER + MARGIN <= *width {
                text class="inside" x=(round(x + width / 2.0)) y=(top + BAR * 0.62) text-anchor="middle" { (name) }
            }
        }
        @for (name, _, from, at) in &below {
            line class="grid" x1=(round(*from)) y1=(top + BAR) x2=(round(at + 4.0)) y2=(top + BAR + 6.0) {}
            text class="beside" x=(round(*at)) y=(top + BAR + 15.0) { (name) }
        }
        text x=(round(end + 6.0)) y=(top + BAR * 0.62) { (short_ns(length(bar.of))) }
    }
}
