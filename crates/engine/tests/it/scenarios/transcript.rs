//! Plays a transcript: lines that begin with `>` are commands, the others are answers.

use std::fmt::Write;

use engine::*;

use super::script::{Line, Words, read};
use crate::side_by_side::SideBySide;

const INSTRUMENTS: u16 = 2;

/// Executes the commands of a transcript and returns the new transcript.
pub fn play(limits: EngineLimits, transcript: &str) -> String {
    let mut both = SideBySide::new(INSTRUMENTS, limits);
    let mut time_ns = 0;
    let mut played = String::new();
    for line in transcript.lines().filter_map(|line| line.trim_start().strip_prefix('>')) {
        let line = line.trim();
        writeln!(played, "> {line}").unwrap();
        time_ns = Words::new(line).time_ns("at").unwrap_or(time_ns);
        match read(line) {
            Line::Tell(command) => {
                for event in both.apply(&Input { time_ns, command }) {
                    writeln!(played, "  {}", told(&event)).unwrap();
                }
                both.check_state();
                both.restore();
            }
            Line::ShowBook(instrument) => played += &book(&both, instrument),
            Line::ShowPositions => played += &positions(&both, limits.accounts_max),
        }
    }
    played
}

fn book(both: &SideBySide, instrument: u16) -> String {
    let mut shown = String::new();
    for side in [Side::Sell, Side::Buy] {
        let mut levels: Vec<_> = both.engine().levels(instrument, side).collect();
        if side == Side::Sell {
            levels.reverse();
        }
        for (price_ticks, quantity_lots, orders) in levels {
            writeln!(
                shown,
                "  {} {quantity_lots}@{price_ticks}, orders: {orders}",
                side_word(side)
            )
            .unwrap();
        }
    }
    if shown.is_empty() { "  empty\n".into() } else { shown }
}

fn positions(both: &SideBySide, accounts: u32) -> String {
    let mut shown = String::new();
    for account in 0..accounts {
        for instrument in 0..INSTRUMENTS {
            let position_lots = both.engine().position_lots(account, instrument);
            if position_lots != 0 {
                writeln!(shown, "  account {account} on {instrument}: {position_lots:+}").unwrap();
            }
        }
    }
    if shown.is_empty() { "  none\n".into() } else { shown }
}

fn side_word(side: Side) -> &'static str {
    match side {
        Side::Buy => "buy",
        Side::Sell => "sell",
    }
}

/// The fields of an order, except those that are zero.
fn who(party: &Party, instrument: u16) -> String {
    let mut who = party.order_id.to_string();
    for (name, value) in [("by", party.account), ("on", instrument.into()), ("tag", party.tag)] {
        if value != 0 {
            write!(who, " {name}={value}").unwrap();
        }
    }
    who
}

fn left(party: &Party, instrument: u16) -> String {
    format!("{} ({} left)", who(party, instrument), party.remaining_lots)
}

/// A resting order, and its shown quantity if less than all.
fn at(instrument: u16, order: &Party, side: Side, price_ticks: i64, visible_lots: u64) -> String {
    let (who, lots) = (who(order, instrument), order.remaining_lots);
    let shows = if visible_lots == lots { String::new() } else { format!(" shows {visible_lots}") };
    format!("{who}: {} {lots}@{price_ticks}{shows}", side_word(side))
}

fn met(
    instrument: u16,
    (quantity_lots, price_ticks): (u64, i64),
    aggressor_side: Side,
    [aggressor, resting]: [&Party; 2],
) -> String {
    let (own, other) = (side_word(aggressor_side), side_word(aggressor_side.opposite()));
    format!(
        "{quantity_lots}@{price_ticks}: {own} {} meets {other} {}",
        left(aggressor, instrument),
        left(resting, instrument)
    )
}

fn told(event: &Event) -> String {
    match event {
        Event::Booked { instrument, order, side, price_ticks, visible_lots } => {
            format!("booked {}", at(*instrument, order, *side, *price_ticks, *visible_lots))
        }
        Event::Replenished { instrument, order, side, price_ticks, visible_lots } => {
            format!("replenished {}", at(*instrument, order, *side, *price_ticks, *visible_lots))
        }
        Event::Amended { instrument, order, side, price_ticks, kept_place, visible_lots } => {
            let place = if *kept_place { "keeps" } else { "loses" };
            let order = at(*instrument, order, *side, *price_ticks, *visible_lots);
            format!("amended {order}, {place} its place")
        }
        Event::Trade {
            instrument,
            price_ticks,
            quantity_lots,
            aggressor_side,
            aggressor,
            resting,
        } => {
            let parties = [aggressor, resting];
            let what = (*quantity_lots, *price_ticks);
            format!("trade {}", met(*instrument, what, *aggressor_side, parties))
        }
        Event::Decremented {
            instrument,
            price_ticks,
            quantity_lots,
            aggressor_side,
            aggressor,
            resting,
        } => {
            let parties = [aggressor, resting];
            let what = (*quantity_lots, *price_ticks);
            format!("decremented {}", met(*instrument, what, *aggressor_side, parties))
        }
        Event::Waiting { instrument, order, side, stop_ticks } => {
            let (who, lots) = (who(order, *instrument), order.remaining_lots);
            format!("waiting {who}: {} {lots}, stop {stop_ticks}", side_word(*side))
        }
        Event::Triggered { instrument, order } => {
            format!("triggered {}", left(order, *instrument))
        }
        Event::Done { instrument, order, reason } => {
            format!("done {}: {reason:?}", left(order, *instrument))
        }
        Event::Applied { tag, orders } => format!("applied, tag={tag}, orders: {orders}"),
        Event::Rejected { instrument, order_id, account, tag, reason } => {
            let party =
                Party { order_id: *order_id, account: *account, tag: *tag, remaining_lots: 0 };
            format!("rejected {}: {}", who(&party, *instrument), reason.as_str())
        }
    }
}
