//! The result of a race as a page: what a microsecond is worth, the ranking of effects, and one
//! race message by message.

use crate::page::{embedded, frame};
use crate::plot::axis::Axis;
use crate::plot::{Dot, Plot, PlotLine, Width};
use crate::race::{finding, ladder, mark_outs, money, participants, slopes, what_if};
use crate::text::grid::{Grid, cells};
use crate::text::number::us;
use maud::{Markup, html};
use record::race::{RaceRecord, Replay, ReplayedMessage, Rung, Worth};
use record::text::counted;

/// The race as one self-contained page.
pub fn race_page(record: &RaceRecord) -> String {
    let title = format!("race · {}", record.race);
    let (currency, seconds) = (&record.currency, record.seconds);
    let state = format!(
        "{} of {seconds} s from seed {}; money in {currency} per hour; after +- stands half the width \
         of the mean's 95 % interval",
        counted(record.seeds, "market"),
        record.first_seed
    );
    let found = record.worth.as_ref().and_then(|worth| finding(worth, currency));
    let body = html! {
        h1 { (title) }
        @if let Some(found) = found { p class="verdict" { (found) } }
        p class="quiet" { (state) }
        @for warning in &record.warnings { p class="broken" { (warning) } }
        @if let Some(worth) = &record.worth {
            h2 { "The slope" }
            @if let Some(plot) = slope(worth, currency) { div class="plots" { (plot.figure()) } }
            @for grid in [slopes(worth), ladder(worth)] { (untitled(&grid)) }
        }
        @if !record.what_if.is_empty() {
            h2 { "The ranking: measured effects by money" }
            (untitled(&what_if(&record.what_if)))
        }
        h2 { "Participants" }
        (untitled(&participants(&record.participants)))
        (untitled(&mark_outs(&record.participants)))
        @if let Some(replay) = &record.replay {
            h2 { "One race, message by message" }
            (untitled(&replayed(replay)))
        }
        p class="quiet" {
            (record.tool) ". State " (record.state_hash) " after " (record.inputs)
            " inputs; equal for equal races. The result is embedded in this page as JSON ("
            code { "script#race" } ")."
        }
        (embedded("race", &serde_json::to_string(record).unwrap_or_default()))
    };
    frame(&title, &body)
}

/// A grid below a heading that the page gives.
fn untitled(grid: &Grid) -> Markup {
    html! {
        @if !grid.title.is_empty() { p class="quiet" { (grid.title) } }
        (grid.table())
        @for note in &grid.notes { p class="quiet" { (note) } }
    }
}

/// The subject's edge by its median latency, with the interval of each rung; `None` without a rung
/// that has a value.
fn slope(worth: &Worth, currency: &str) -> Option<Plot> {
    let known: Vec<(&Rung, f64)> =
        worth.ladder.iter().filter_map(|rung| Some((rung, rung.edge_per_hour.mean?))).collect();
    let at = |rung: &Rung| rung.p50_ns as f64 / 1e3;
    let ends = |rung: &Rung, mean: f64| rung.edge_per_hour.interval.unwrap_or([mean, mean]);
    let all = || known.iter().flat_map(|(rung, mean)| ends(rung, *mean));
    let (low, high) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
    let slowest = known.iter().map(|(rung, _)| at(rung)).reduce(f64::max)?;
    let x = Axis::linear("median latency, us", 0.0, slowest.max(1.0), money);
    let y = Axis::linear(&format!("{currency} per hour"), low.min(0.0), high.max(0.0), money);
    let mut plot = Plot::new(&format!("{}: edge by latency", worth.subject), x, y);
    plot.width = Width::Full;
    for (rung, mean) in &known {
        let points = ends(rung, *mean).map(|end| (at(rung), end)).to_vec();
        plot.lines.push(PlotLine { class: "c0 faint".to_owned(), points, ..PlotLine::default() });
    }
    let dot = |(rung, mean): &(&Rung, f64)| {
        let [low, high] = ends(rung, *mean).map(money);
        let title =
            format!("x {}: {} us, {} ({low} to {high})", rung.times, at(rung), money(*mean));
        Dot { x: at(rung), y: *mean, title }
    };
    plot.lines.push(PlotLine {
        class: "c0".to_owned(),
        points: known.iter().map(|(rung, mean)| (at(rung), *mean)).collect(),
        dots: known.iter().map(dot).collect(),
        title: worth.subject.clone(),
    });
    Some(plot)
}

/// The messages of a contest, in the order in which they arrived.
fn replayed(replay: &Replay) -> Grid {
    let at = replay.at_ns as f64 / 1e9;
    let note = format!(
        "Arrivals at the matching engine within a millisecond of the trade at 0, {at:.6} s after the \
         start of the market with seed {}. It is the trade between two participants around which \
         most of them sent something.",
        replay.seed
    );
    Grid {
        head: cells(["us", "who", "venue", "message", "price", "lots", "what became of it"]),
        rows: replay.messages.iter().map(row).collect(),
        notes: vec![note],
        ..Grid::default()
    }
}

fn row(one: &ReplayedMessage) -> Vec<String> {
    let sign = if one.after_ns < 0 { "-" } else { "" };
    let what = [Some(one.kind.clone()), one.side.clone()];
    let trades = one.trades.iter();
    let traded = trades.map(|one| format!("{} with {} at {}", one.lots, one.with, one.price_ticks));
    let became: Vec<String> = traded.chain([one.end.clone()]).collect();
    vec![
        format!("{sign}{}", us(one.after_ns.unsigned_abs())),
        one.who.clone(),
        one.venue.to_string(),
        what.into_iter().flatten().collect::<Vec<_>>().join(", "),
        one.price_ticks.map_or(String::new(), |ticks| ticks.to_string()),
        one.lots.map_or(String::new(), |lots| lots.to_string()),
        became.join("; "),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::race::{Estimate, ReplayedTrade};

    #[test]
    fn slope_ranking_and_race_stand_on_the_page() {
        let estimate = |mean: f64| Estimate {
            mean: Some(mean),
            interval: Some([mean - 5.0, mean + 5.0]),
            seeds: 9,
        };
        let rung = |times: f64, edge: f64| Rung {
            times,
            p50_ns: (times * 50e3) as u64,
            edge_per_hour: estimate(edge),
            ..Rung::default()
        };
        let trade = ReplayedTrade { with: "maker".into(), lots: 2, price_ticks: 101 };
        let message = ReplayedMessage {
            after_ns: -10_000,
            who: "<fast>".into(),
            kind: "order".into(),
            side: Some("buy".into()),
            trades: vec![trade],
            end: "filled".into(),
            ..ReplayedMessage::default()
        };
        let record = RaceRecord {
            race: "mine".into(),
            currency: "USD".into(),
            worth: Some(Worth {
                subject: "maker".into(),
                per_us: estimate(20.0),
                ladder: vec![rung(2.0, -40.0), rung(1.0, 10.0), rung(0.0, 60.0)],
                ..Worth::default()
            }),
            replay: Some(Replay { seed: 7, at_ns: 1_500_000_000, messages: vec![message] }),
            ..RaceRecord::default()
        };
        let page = race_page(&record);
        for expected in [
            "worth 20.0 USD per hour to maker (15.0 to 25.0)",
            "maker: edge by latency",
            "<circle",
            "x 2: 100 us, -40.0 (-45.0 to -35.0)",
            "&lt;fast&gt;",
            "-10.0",
            "order, buy",
            "2 with maker at 101; filled",
            "1.500000 s after the start of the market with seed 7",
        ] {
            assert!(page.contains(expected), "{expected}: {page}");
        }
        assert!(!page.contains("The ranking"), "{page}");
        let none = race_page(&RaceRecord::default());
        assert!(!none.contains("The slope") && !none.contains("One race"), "{none}");
    }
}
