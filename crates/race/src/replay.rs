//! One contest of a market, message by message: who was first, and what the others found.

use crate::market::Race;
use crate::simulation::{new_engine, simulate};
use engine::{Command, DoneReason, Event, Input, Side};
use record::race::{Replay, ReplayedMessage, ReplayedTrade};
use std::collections::HashMap;

/// Messages within this time before and after the trade belong to its contest, ns.
const AROUND_NS: u64 = 1_000_000;
/// The most of them on each side.
const MESSAGES_MAX: usize = 12;

/// A message that arrived at the engine, and what became of it.
struct SeenMessage {
    time_ns: u64,
    who: u32,
    venue: u16,
    kind: &'static str,
    side: Option<Side>,
    price_ticks: i64,
    lots: u64,
    /// Account, lots and price of each trade.
    trades: Vec<(u32, u64, i64)>,
    end: &'static str,
}

/// The market's trade between two participants around which most participants sent something, the
/// first such; `None` if no two of them traded.
pub(crate) fn replay(race: &Race, seed: u64) -> Option<Replay> {
    let mut inputs = Vec::new();
    simulate(race, seed, &mut |input| inputs.push(*input));
    let seen = watched(race, &inputs);
    let participants = race.participants.len() as u32;
    let is_contest = |at: &usize| {
        let one: &SeenMessage = &seen[*at];
        one.who < participants && one.trades.iter().any(|(with, ..)| *with < participants)
    };
    let senders = |at: usize| {
        let mut senders: Vec<u32> = around(&seen, at).iter().map(|one| one.who).collect();
        senders.retain(|who| *who < participants);
        senders.sort_unstable();
        senders.dedup();
        senders.len()
    };
    // `max_by_key` returns the last of equals.
    let busiest = (0..seen.len()).rev().filter(is_contest).max_by_key(|at| senders(*at))?;
    let at_ns = seen[busiest].time_ns;
    let messages = around(&seen, busiest).iter().map(|one| message(race, one, at_ns));
    Some(Replay { seed, at_ns, messages: messages.collect() })
}

/// The messages around one of them.
fn around(seen: &[SeenMessage], at: usize) -> &[SeenMessage] {
    let time_ns = seen[at].time_ns;
    let is_near = |one: &&SeenMessage| one.time_ns.abs_diff(time_ns) <= AROUND_NS;
    let before = seen[..at].iter().rev().take(MESSAGES_MAX).take_while(is_near).count();
    let after = seen[at..].iter().take(MESSAGES_MAX + 1).take_while(is_near).count();
    &seen[at - before..at + after]
}

/// Runs an engine through the inputs.
fn watched(race: &Race, inputs: &[Input]) -> Vec<SeenMessage> {
    let mut engine = new_engine(race);
    let mut booked: HashMap<u64, (Side, i64)> = HashMap::new();
    let mut seen = Vec::with_capacity(inputs.len());
    for input in inputs {
        let Some((mut one, id)) = sent(input, &booked) else { continue };
        engine.apply(input, &mut |event| match event {
            Event::Trade { aggressor, resting, quantity_lots, price_ticks, .. }
                if aggressor.order_id == id =>
            {
                one.trades.push((resting.account, quantity_lots, price_ticks));
            }
            Event::Booked { order, side, price_ticks, .. } => {
                booked.insert(order.order_id, (side, price_ticks));
                if order.order_id == id {
                    (one.end, one.price_ticks) = ("rests", price_ticks);
                }
            }
            Event::Done { order, reason, .. } => {
                booked.remove(&order.order_id);
                if order.order_id == id {
                    one.end = end(reason);
                }
            }
            Event::Rejected { .. } => one.end = "rejected",
            _ => {}
        });
        seen.push(one);
    }
    seen
}

/// A message without what becomes of it, and its order's id; `None` for settings.
fn sent(input: &Input, booked: &HashMap<u64, (Side, i64)>) -> Option<(SeenMessage, u64)> {
    let place = |id: u64| booked.get(&id).map_or((None, 0), |(side, price)| (Some(*side), *price));
    let (id, who, venue, kind, (side, price_ticks), lots) = match input.command {
        Command::New(new) => {
            let place = (Some(new.side), new.price_ticks);
            (new.order_id, new.account, new.instrument, "order", place, new.quantity_lots)
        }
        Command::Amend(amend) => {
            let place = (place(amend.order_id).0, amend.price_ticks);
            let lots = amend.remaining_lots;
            (amend.order_id, amend.account, amend.instrument, "change", place, lots)
        }
        Command::Cancel(cancel) => {
            let id = cancel.order_id;
            (id, cancel.account, cancel.instrument, "cancel", place(id), 0)
        }
        _ => return None,
    };
    let (time_ns, trades) = (input.time_ns, Vec::new());
    Some((SeenMessage { time_ns, who, venue, kind, side, price_ticks, lots, trades, end: "" }, id))
}

fn end(reason: DoneReason) -> &'static str {
    match reason {
        DoneReason::Filled => "filled",
        DoneReason::Cancelled => "cancelled",
        DoneReason::Expired => "expired",
        _ => "ended",
    }
}

fn message(race: &Race, one: &SeenMessage, at_ns: u64) -> ReplayedMessage {
    let trade = |(with, lots, price_ticks): &(u32, u64, i64)| ReplayedTrade {
        with: name(race, *with),
        lots: *lots,
        price_ticks: *price_ticks,
    };
    ReplayedMessage {
        after_ns: one.time_ns.cast_signed() - at_ns.cast_signed(),
        who: name(race, one.who),
        venue: one.venue,
        kind: one.kind.to_owned(),
        side: one.side.map(|side| if side == Side::Buy { "buy" } else { "sell" }.to_owned()),
        price_ticks: (one.price_ticks > 0).then_some(one.price_ticks),
        lots: (one.lots > 0).then_some(one.lots),
        trades: one.trades.iter().map(trade).collect(),
        end: one.end.to_owned(),
    }
}

/// The name of an account.
fn name(race: &Race, account: u32) -> String {
    let noise = race.participants.len();
    match race.participants.get(account as usize) {
        Some(participant) => participant.name.clone(),
        None if account as usize == noise => "noise".to_owned(),
        None => "others".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::File;

    /// Two snipers, of whom one is always 10 us earlier, and a maker that is slower than both: the
    /// first one gets the quote, the second finds nothing.
    #[test]
    fn the_first_sniper_trades_and_the_second_finds_nothing() {
        let text = r#"
            name = "two snipers"
            seconds = 5
            seeds = 6

            [market]
            noise_per_second = 0.0

            [[participant]]
            name = "maker"
            kind = "maker"
            latency.constant_us = 50

            [[participant]]
            name = "slow"
            kind = "sniper"
            latency.constant_us = 30

            [[participant]]
            name = "fast"
            kind = "sniper"
            latency.constant_us = 20
        "#;
        let prepared = File::parse(text).and_then(File::prepare).unwrap();
        let replay = super::replay(&prepared.race, 1).unwrap();
        let of = |name: &str| replay.messages.iter().find(|one| one.who == name).unwrap();
        let (fast, slow) = (of("fast"), of("slow"));
        assert_eq!((fast.after_ns, slow.after_ns), (0, 10_000));
        assert_eq!((fast.end.as_str(), fast.trades[0].with.as_str()), ("filled", "maker"));
        assert_eq!((slow.end.as_str(), slow.trades.len()), ("expired", 0));
        // The maker quotes anew 30 us after the loss; the other side leaves first.
        let cancel = replay.messages.iter().find(|one| one.kind == "cancel").unwrap();
        assert_eq!((cancel.who.as_str(), cancel.after_ns), ("maker", 30_000));
        assert!(replay.messages.is_sorted_by_key(|one| one.after_ns));
        assert_eq!(super::replay(&prepared.race, 1).unwrap(), replay);
    }

    #[test]
    fn without_a_trade_of_two_participants_there_is_none() {
        let text = r#"
            name = "a maker"
            seconds = 1
            seeds = 6

            [[participant]]
            name = "maker"
            kind = "maker"
            latency.constant_us = 50
        "#;
        let prepared = File::parse(text).and_then(File::prepare).unwrap();
        assert_eq!(super::replay(&prepared.race, 1), None);
    }
}
