//! The result of a race.

use crate::text::grid::Grid;
use crate::text::number::us;
use crate::text::terminal::{Terminal, wrap};
use record::race::{Estimate, RaceEffect, RaceParticipant, RaceRecord, Worth};
use record::text::counted;
use std::fmt::Write;

/// The cell of something unknown.
const UNKNOWN: &str = "-";

/// A race as text. After "+-" stands half the width of the mean's 95 % interval over seeds.
pub fn race(record: &RaceRecord, columns: usize) -> String {
    let mut out = Terminal::new(columns);
    let markets = counted(record.seeds, "market");
    let (race, currency, seconds) = (&record.race, &record.currency, record.seconds);
    let _ =
        writeln!(out, "race · {race} · {markets} of {seconds} s · money in {currency} per hour");
    if let Some(finding) = record.worth.as_ref().and_then(|worth| finding(worth, currency)) {
        wrap(&mut out, "", &finding);
    }
    participants(&record.participants).text(&mut out);
    mark_outs(&record.participants).text(&mut out);
    if let Some(worth) = &record.worth {
        slopes(worth).text(&mut out);
        ladder(worth).text(&mut out);
    }
    if !record.what_if.is_empty() {
        what_if(&record.what_if).text(&mut out);
    }
    out.push('\n');
    record.warnings.iter().for_each(|warning| wrap(&mut out, "warning: ", warning));
    let (inputs, hash) = (record.inputs, &record.state_hash);
    wrap(&mut out, "", &format!("state {hash} after {inputs} inputs; equal for equal races"));
    out.into_text()
}

/// The result in a sentence.
pub(crate) fn finding(worth: &Worth, currency: &str) -> Option<String> {
    let mean = worth.per_us.mean?;
    let subject = &worth.subject;
    let [low, high] = worth.per_us.interval?;
    let (low, high) = (money(low), money(high));
    Some(match worth.per_us.sign() {
        Some(0) => format!(
            "With these seeds, a microsecond is not seen to be worth anything to {subject}: {low} to \
             {high} {currency} per hour."
        ),
        _ => format!(
            "A microsecond less is worth {} {currency} per hour to {subject} ({low} to {high}).",
            money(mean)
        ),
    })
}

pub(crate) fn participants(participants: &[RaceParticipant]) -> Grid {
    let row = |one: &RaceParticipant| {
        let latency = |ns: fn(&record::race::RaceLatency) -> u64| {
            one.latency.as_ref().map_or(UNKNOWN.to_owned(), |latency| us(ns(latency)))
        };
        vec![
            one.name.clone(),
            one.kind.clone(),
            latency(|latency| latency.p50_ns),
            latency(|latency| latency.p99_ns),
            mean(&one.fill_rate, percent),
            mean(&one.picked_off, percent),
            mean(&one.edge_per_hour, money),
            half(&one.edge_per_hour, money),
            mean(&one.pnl_per_hour, money),
            half(&one.pnl_per_hour, money),
        ]
    };
    let head = [
        "participant",
        "kind",
        "p50 us",
        "p99 us",
        "filled",
        "picked off",
        "edge",
        "+-",
        "PnL",
        "+-",
    ];
    Grid {
        head: head.map(str::to_owned).to_vec(),
        rows: participants.iter().map(row).collect(),
        more_names: 1,
        ..Grid::default()
    }
}

pub(crate) fn mark_outs(participants: &[RaceParticipant]) -> Grid {
    let horizons = participants.first().map_or(&[][..], |one| &one.mark_out);
    let mut head = vec!["participant".to_owned(), "orders".to_owned()];
    for horizon in horizons {
        head.extend([short(horizon.after_ns), "+-".to_owned()]);
    }
    head.extend(["lots ahead", "rested us", "inventory"].map(str::to_owned));
    let row = |one: &RaceParticipant| {
        let mut cells = vec![one.name.clone(), mean(&one.orders, |orders| format!("{orders:.0}"))];
        for horizon in &one.mark_out {
            cells.extend([mean(&horizon.ticks, ticks), half(&horizon.ticks, ticks)]);
        }
        cells.push(mean(&one.lots_ahead, |lots| format!("{lots:.2}")));
        cells.push(mean(&one.resting_ns, |ns| us(ns as u64)));
        cells.push(mean(&one.inventory_lots, |lots| format!("{lots:.1}")));
        cells
    };
    Grid {
        title: "orders per market; gain of a fill some time later, ticks per lot".to_owned(),
        head,
        rows: participants.iter().map(row).collect(),
        ..Grid::default()
    }
}

pub(crate) fn slopes(worth: &Worth) -> Grid {
    let row = |name: &str, estimate: &Estimate| {
        vec![name.to_owned(), mean(estimate, money), half(estimate, money)]
    };
    Grid {
        title: format!("{}, money per hour", worth.subject),
        head: ["change", "gain", "+-"].map(str::to_owned).to_vec(),
        rows: vec![
            row("all latencies, per us less", &worth.per_us),
            row("those up to the p99, per us less", &worth.per_us_body),
            row("those above the p99, per us less", &worth.per_us_tail),
            row("those above the p99 cut to it", &worth.without_tail),
        ],
        ..Grid::default()
    }
}

pub(crate) fn ladder(worth: &Worth) -> Grid {
    let row = |rung: &record::race::Rung| {
        vec![
            format!("x {}", rung.times),
            us(rung.p50_ns),
            mean(&rung.edge_per_hour, money),
            half(&rung.edge_per_hour, money),
            mean(&rung.gain, money),
            half(&rung.gain, money),
        ]
    };
    let note = match worth.stops_paying_ns {
        Some(ns) => format!(
            "Faster stops paying at a median of {} us: beyond it, these seeds show no gain.",
            us(ns)
        ),
        None => "Faster pays down to no latency at all.".to_owned(),
    };
    Grid {
        head: ["latency", "p50 us", "edge", "+-", "gain", "+-"].map(str::to_owned).to_vec(),
        rows: worth.ladder.iter().map(row).collect(),
        notes: vec![note],
        ..Grid::default()
    }
}

pub(crate) fn what_if(effects: &[RaceEffect]) -> Grid {
    let row = |effect: &RaceEffect| {
        let [low, high] = match effect.range {
            Some(range) => range.map(money),
            None => [UNKNOWN; 2].map(str::to_owned),
        };
        vec![
            effect.name.clone(),
            effect.body_ns.to_string(),
            effect.tail_ns.map_or(UNKNOWN.to_owned(), |ns| ns.to_string()),
            mean(&effect.gain, money),
            low,
            high,
        ]
    };
    Grid {
        title: "measured effects, by money per hour".to_owned(),
        head: ["effect", "p50 ns", "p99 ns", "gain", "from", "to"].map(str::to_owned).to_vec(),
        rows: effects.iter().map(row).collect(),
        notes: vec![
            "From and to: the ends of the measured interval, each with its interval over seeds."
                .to_owned(),
        ],
        ..Grid::default()
    }
}

fn mean(estimate: &Estimate, show: impl Fn(f64) -> String) -> String {
    estimate.mean.map_or(UNKNOWN.to_owned(), show)
}

/// Half the width of the interval.
fn half(estimate: &Estimate, show: impl Fn(f64) -> String) -> String {
    estimate.interval.map_or(UNKNOWN.to_owned(), |[low, high]| show((high - low) / 2.0))
}

pub(crate) fn money(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 || size == 0.0 => 2,
        _ => 4,
    };
    format!("{value:.digits$}")
}

fn ticks(value: f64) -> String {
    format!("{value:.3}")
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn short(ns: u64) -> String {
    match ns {
        1_000_000_000.. => format!("{} s", ns / 1_000_000_000),
        _ => format!("{} ms", ns / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(mean: f64, half: f64) -> Estimate {
        Estimate { mean: Some(mean), interval: Some([mean - half, mean + half]), seeds: 9 }
    }

    #[test]
    fn a_microsecond_that_is_not_seen_to_be_worth_anything_is_called_so() {
        let worth = |per_us| Worth { subject: "maker".to_owned(), per_us, ..Worth::default() };
        let said = |per_us| finding(&worth(per_us), "USD");
        assert_eq!(
            said(estimate(120.0, 20.0)).unwrap(),
            "A microsecond less is worth 120 USD per hour to maker (100 to 140)."
        );
        assert!(said(estimate(10.0, 20.0)).unwrap().contains("not seen to be worth anything"));
        assert!(said(estimate(-120.0, 20.0)).unwrap().contains("worth -120 USD"));
        assert_eq!(said(Estimate { mean: Some(1.0), interval: None, seeds: 2 }), None);
    }

    #[test]
    fn the_unknown_is_not_zero() {
        let of = |name: &str, fill_rate, pnl_per_hour| RaceParticipant {
            name: name.to_owned(),
            fill_rate,
            pnl_per_hour,
            ..RaceParticipant::default()
        };
        let participants = vec![
            of("maker", Estimate::default(), estimate(-3.5, 0.25)),
            of("sniper", estimate(0.5, 0.1), Estimate::default()),
        ];
        let record = RaceRecord { participants, ..RaceRecord::default() };
        let text = race(&record, 100);
        let row = text.lines().find(|line| line.starts_with("maker")).unwrap();
        assert!(row.contains(" - ") && row.ends_with("-3.50  0.2500"), "{text}");
        assert!(!row.contains(" 0 ") && !row.contains("0.0 %"), "{text}");
    }
}
