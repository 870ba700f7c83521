//! A trader's orders as the exchange's journal has them.

use crate::audit::moment;
use crate::export::quoted;
use crate::text::number::latency;
use crate::text::terminal::{Terminal, wrap};
use record::Percentiles;
use record::delivery::DeliveryRaces;
use record::lifecycle::{
    Clocks, LifeEvent, LifeEventKind, Lifecycles, OrderLife, Races, RivalCount, SeenBook,
};
use record::text::counted;
use std::collections::BTreeMap;
use std::fmt::{Display, Write};

/// Column in which a line's text begins.
const SAYS: usize = 14;
/// Rivals in the text; JSON has all.
const RIVALS_SHOWN: usize = 5;

/// The columns of [`lifecycle_csv`].
const HEAD: &str = "number,client_id,order_id,account,instrument,side,price_ticks,quantity_lots,tick,\
     decided_utc_ns,sent_utc_ns,answered_utc_ns,exchange_ns,decided_to_arrived_ns,\
     decided_input,decided_bid_ticks,decided_bid_lots,decided_ask_ticks,decided_ask_lots,\
     decided_ahead_lots,decided_takeable_lots,\
     arrived_input,arrived_bid_ticks,arrived_bid_lots,arrived_ask_ticks,arrived_ask_lots,\
     arrived_ahead_lots,arrived_takeable_lots,\
     race,wanted_lots,traded_lots,joined_lots,outcome,why,\
     lost_to_input,lost_to_order_id,lost_to_account,lost_to_action,lost_by_ns";

/// The columns of [`life_events_csv`].
const EVENTS_HEAD: &str = "event,rts24_event,cat_event,sequence,order_id,client_id,account,instrument,side,price_ticks,\
     quantity_lots,remaining_lots,trader_time,trader_bound_ns,exchange_time,exchange_bound_ns,\
     within_100us_of_utc";
/// RTS 25's largest distance from UTC for high-frequency trading and fast gateways.
const RTS25_NS: u64 = 100_000;

/// The summary as text. Counts are exact.
pub fn lifecycle(joined: &Lifecycles, columns: usize) -> String {
    let mut out = Terminal::new(columns);
    let Lifecycles { log, journal, .. } = joined;
    let _ = writeln!(out, "audit · {log} · in the journal {journal}");
    let mut line = |name: &str, text: &str| wrap(&mut out, &format!("  {name:<SAYS$}"), text);
    line("orders", &orders(joined));
    for (race, aim) in [("take", "quantity shown"), ("queue", "place in the queue")] {
        match joined.races.get(race) {
            Some(races) => line(race, &result(races, aim)),
            None => line(race, &format!("no order was judged ({aim})")),
        }
    }
    if joined.nothing_wanted > 0 {
        let those = counted(joined.nothing_wanted, "order");
        line("no race", &format!("{those} crossed no price when decided, and don't rest"));
    }
    if !joined.rivals.is_empty() {
        line("faster", &rivals(&joined.rivals));
    }
    if let Some(races) = &joined.deliveries {
        line("delivery", &deliveries(races));
    }
    line("arrival", &arrival(&joined.decided_to_arrived, &joined.clocks));
    line("trader", &clock(joined.clocks.trader_bound_ns, &joined.clocks.trader_why));
    line("exchange", &clock(joined.clocks.exchange_bound_ns, &joined.clocks.exchange_why));
    for (name, reasons) in [
        ("NOT JUDGED", &joined.not_judged),
        ("ONLY IN LOG", &joined.only_in_log),
        ("NOT IN LOG", &joined.only_in_journal),
    ] {
        if !reasons.is_empty() {
            line(name, &by_reason(reasons));
        }
    }
    if joined.log_lost > 0 {
        line("LOG LOST", &counted(joined.log_lost, "record"));
    }
    if !joined.log_finished {
        line("LOG CUT", "the log has no end record: later orders are missing");
    }
    if joined.journal_cut_bytes > 0 {
        let bytes = counted(joined.journal_cut_bytes, "byte");
        line("JOURNAL CUT", &format!("{bytes} at its end are an incomplete record"));
    }
    out.into_text()
}

fn orders(joined: &Lifecycles) -> String {
    let Lifecycles { orders_logged, orders_arrived, inputs, cancels, amendments, refused, .. } =
        joined;
    format!(
        "{} logged, {orders_arrived} found among {}; not judged as such: {}, {}; {} stopped by the \
         trader's own risk check",
        counted(*orders_logged, "new order"),
        counted(*inputs, "input"),
        counted(*cancels, "cancel"),
        counted(*amendments, "amendment"),
        counted(*refused, "decision"),
    )
}

fn result(races: &Races, aim: &str) -> String {
    let Races { won, lost, lost_to_own, lost_in_same_turn, lost_by } = races;
    let mut text = format!("{won} won, {lost} lost ({aim})");
    if *lost > 0 {
        let _ = write!(text, "; lost by {}", spread(lost_by));
    }
    if *lost_in_same_turn > 0 {
        let _ = write!(text, "; {lost_in_same_turn} in the same turn of the exchange");
    }
    if *lost_to_own > 0 {
        let _ = write!(text, "; {lost_to_own} to the trader's own account");
    }
    text
}

/// The races that a delivery window decided, against the order of arrival.
fn deliveries(races: &DeliveryRaces) -> String {
    let all = races.races.len() as u64;
    let mut text = format!(
        "window {}: {} for a tick; by arrival another order would have been first in {} of them, \
         and the order another in {}",
        latency(races.window_ns),
        counted(all, "race"),
        races.first_changed,
        races.order_changed,
    );
    let orders: Vec<String> = races
        .orders
        .iter()
        .map(|(fate, orders)| format!("{orders} {}", fate.replace('_', " ")))
        .collect();
    let _ = write!(text, "; orders: {}", orders.join(", "));
    text
}

/// Percentiles that the count supports, and the extremes.
fn spread(of: &Percentiles) -> String {
    let mut text = String::new();
    for (name, value) in [("p50", of.p50), ("p99", of.p99)] {
        if let Some(value) = value {
            let _ = write!(text, "{name} {}, ", latency(value));
        }
    }
    format!("{text}min {}, max {}", latency(of.min), latency(of.max))
}

fn rivals(rivals: &[RivalCount]) -> String {
    let shown = rivals.iter().take(RIVALS_SHOWN).map(|rival| {
        let owner = match (rival.account, &rival.name) {
            (None, _) => "an operator".to_owned(),
            (Some(0), _) => "the exchange's own flow".to_owned(),
            (Some(account), Some(name)) => format!("account {account} ({name})"),
            (Some(account), None) => format!("account {account}"),
        };
        format!("{owner} {}", rival.races)
    });
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if let Some(more) = rivals.len().checked_sub(RIVALS_SHOWN).filter(|more| *more > 0) {
        let _ = write!(text, ", {more} more");
    }
    text
}

fn arrival(passed: &Percentiles, clocks: &Clocks) -> String {
    if passed.count == 0 {
        return format!("unknown (decision to the exchange's read; clocks: {})", clocks.arrival);
    }
    let clocks = match clocks.arrival_bound_ns {
        Some(bound_ns) if bound_ns > 0 => {
            format!("{}, within {}", clocks.arrival, latency(bound_ns))
        }
        _ => clocks.arrival.clone(),
    };
    format!("{}, of {} (decision to arrival; {clocks})", spread(passed), passed.count)
}

fn clock(bound_ns: Option<u64>, why: &str) -> String {
    match bound_ns {
        Some(bound_ns) => format!("clock within {} of UTC ({why})", latency(bound_ns)),
        None => format!("clock's distance from UTC unknown: {why}"),
    }
}

fn by_reason(reasons: &BTreeMap<String, u64>) -> String {
    let list: Vec<String> = reasons.iter().map(|(why, count)| format!("{count}: {why}")).collect();
    list.join("; ")
}

/// Comma-separated values (RFC 4180), one row per order. An empty field is unknown.
pub fn lifecycle_csv(joined: &Lifecycles) -> String {
    let mut out = format!("{HEAD}\r\n");
    for order in &joined.orders {
        let _ = write!(out, "{}\r\n", row(order));
    }
    out
}

fn row(order: &OrderLife) -> String {
    let lost = order.lost_to.as_ref();
    let fields = [
        or_empty(order.number),
        quoted(&order.client_id),
        or_empty(Some(order.order_id).filter(|id| *id > 0)),
        or_empty(order.account),
        order.instrument.to_string(),
        side(order).to_owned(),
        order.price_ticks.to_string(),
        order.quantity_lots.to_string(),
        or_empty(Some(order.tick).filter(|tick| *tick > 0)),
        or_empty(order.decided_utc_ns),
        or_empty(order.sent_utc_ns),
        or_empty(order.answered_utc_ns),
        or_empty(order.exchange_ns),
        or_empty(order.decided_to_arrived_ns),
        book(order.decided.as_ref()),
        book(order.arrived.as_ref()),
        order.race.name().to_owned(),
        order.wanted_lots.to_string(),
        order.traded_lots.to_string(),
        order.joined_lots.to_string(),
        order.outcome.name().to_owned(),
        quoted(&order.why),
        or_empty(lost.map(|rival| rival.input)),
        or_empty(lost.map(|rival| rival.order_id)),
        or_empty(lost.and_then(|rival| rival.account)),
        lost.map_or("", |rival| rival.action.name()).to_owned(),
        or_empty(order.lost_by_ns),
    ];
    fields.join(",")
}

/// Seven fields.
fn book(seen: Option<&SeenBook>) -> String {
    let Some(SeenBook { input, bid, ask, ahead_lots, takeable_lots }) = seen else {
        return ",".repeat(6);
    };
    let quote = |quote: &Option<(i64, u64)>| match quote {
        Some((price_ticks, lots)) => format!("{price_ticks},{lots}"),
        None => ",".to_owned(),
    };
    format!("{input},{},{},{ahead_lots},{takeable_lots}", quote(bid), quote(ask))
}

/// Comma-separated values (RFC 4180), one row per event of an order's life, with the times of both
/// ends in UTC and their bounds. An empty field is unknown.
pub fn life_events_csv(joined: &Lifecycles) -> String {
    let Clocks { trader_bound_ns, exchange_bound_ns, .. } = joined.clocks;
    let within = trader_bound_ns.zip(exchange_bound_ns);
    let within = or_empty(within.map(|(trader, exchange)| trader.max(exchange) <= RTS25_NS));
    let mut out = format!("{EVENTS_HEAD}\r\n");
    for event in &joined.events {
        let LifeEvent { price_ticks, quantity_lots, remaining_lots, .. } = event;
        let Some(order) = joined.orders.get(event.order as usize) else { continue };
        let (rts24, cat) = codes(event.event);
        let _ = write!(
            out,
            "{},{rts24},{cat},{},{},{},{},{},{},{price_ticks},{quantity_lots},{remaining_lots},\
             {},{},{},{},{within}\r\n",
            event.event.name(),
            event.input,
            order.order_id,
            quoted(&order.client_id),
            or_empty(order.account),
            order.instrument,
            side(order),
            or_empty(event.trader_utc_ns.map(moment)),
            or_empty(trader_bound_ns),
            moment(event.exchange_ns),
            or_empty(exchange_bound_ns),
        );
    }
    out
}

/// The event's code in ESMA's RTS 24, and that of an industry member's report to CAT, to which the
/// exchange reports trades and rejections itself.
fn codes(event: LifeEventKind) -> (&'static str, &'static str) {
    match event {
        LifeEventKind::New => ("NEWO", "MENO"),
        LifeEventKind::Rejected => ("REMO", ""),
        LifeEventKind::Replaced => ("REME", "MEOM"),
        LifeEventKind::PartiallyFilled => ("PARF", ""),
        LifeEventKind::Filled => ("FILL", ""),
        LifeEventKind::Cancelled => ("CAME", "MEOC"),
        LifeEventKind::CancelledByExchange => ("CAMO", ""),
        LifeEventKind::Expired => ("EXPI", ""),
    }
}

fn side(order: &OrderLife) -> &'static str {
    if order.buys { "BUY" } else { "SELL" }
}

fn or_empty(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

#[cfg(test)]
#[path = "lifecycle_tests.rs"]
mod tests;
