//! Counts the joined orders.

use crate::arrivals::{Arrival, Arrivals};
use crate::clocks::TraderClock;
use crate::logged::{Log, LoggedOrder};
use crate::race::JudgedLife;
use clock::recorder::{LATENCY_NS_MAX, histogram};
use engine::Side;
use record::Percentiles;
use record::lifecycle::{Lifecycles, OrderLife, Outcome, Race, Races, RivalCount, SCHEMA};
use stats::percentiles;
use std::collections::BTreeMap;

const NOT_SENT: &str = "the kernel had not taken it when it was logged, and no answer is logged";
const REJECTED: &str = "the exchange rejected it before its engine";
const ACCEPTED: &str = "the exchange accepted it, but this journal does not have it: it is \
                        another exchange's journal, or lost its end in a crash";
const UNANSWERED: &str = "no answer is logged: it may never have arrived";
const EARLIER: &str = "the journal begins later: older segments were removed";
const UNLOGGED: &str = "the log lost records";
const CUT_LOG: &str = "the log was cut off";
const UNKNOWN: &str = "the log does not have it";

/// Joins both parts of each order, and counts it.
pub(crate) fn summarise(
    log: &Log,
    arrivals: &Arrivals,
    clock: &TraderClock,
    judged: Vec<Option<JudgedLife>>,
) -> Lifecycles {
    let mut orders: Vec<OrderLife> = Vec::with_capacity(log.orders.len());
    for ((order, arrival), judged) in log.orders.iter().zip(&arrivals.of).zip(judged) {
        let life = logged(log, order, clock);
        orders.push(match (arrival, judged) {
            (Some(arrival), Some(judged)) => {
                let passed = clock.decided_to_arrived_ns(order, arrival);
                OrderLife { decided_to_arrived_ns: passed, ..arrived(life, arrival, judged) }
            }
            _ => missing(life, order, arrivals),
        });
    }
    let why = if log.lost > 0 {
        UNLOGGED
    } else if log.is_finished {
        UNKNOWN
    } else {
        CUT_LOG
    };
    for arrival in &arrivals.unlogged {
        let judged = JudgedLife {
            outcome: Outcome::OnlyInJournal,
            why: why.to_owned(),
            ..JudgedLife::default()
        };
        let life = arrived(OrderLife::default(), arrival, judged);
        // Its book was not looked at.
        orders.push(OrderLife { arrived: None, ..life });
    }
    let mut lifecycles = Lifecycles {
        schema: SCHEMA,
        scenario: log.header.scenario.clone(),
        subject: log.header.subject.clone(),
        clocks: clock.clocks.clone(),
        inputs: arrivals.inputs,
        journal_cut_bytes: arrivals.cut_bytes,
        log_lost: log.lost,
        log_finished: log.is_finished,
        orders_logged: log.orders.len() as u64,
        orders_arrived: arrivals.by_sequence.len() as u64,
        cancels: log.cancels,
        amendments: log.amendments,
        refused: log.refused,
        deliveries: arrivals.deliveries.clone(),
        ..Lifecycles::default()
    };
    count(&mut lifecycles, &orders);
    lifecycles.orders = orders;
    lifecycles
}

fn count(all: &mut Lifecycles, orders: &[OrderLife]) {
    let mut rivals: BTreeMap<Option<u32>, u64> = BTreeMap::new();
    for order in orders {
        let reasons = match order.outcome {
            Outcome::Won | Outcome::Lost => {
                count_race(all.races.entry(order.race.name().to_owned()).or_default(), order);
                continue;
            }
            Outcome::NothingWanted => {
                all.nothing_wanted += 1;
                continue;
            }
            Outcome::NotJudged => &mut all.not_judged,
            Outcome::OnlyInLog => &mut all.only_in_log,
            Outcome::OnlyInJournal => &mut all.only_in_journal,
        };
        *reasons.entry(order.why.clone()).or_default() += 1;
    }
    for rival in orders.iter().filter_map(|order| order.lost_to.as_ref()) {
        *rivals.entry(rival.account).or_default() += 1;
    }
    all.rivals = rivals
        .into_iter()
        .map(|(account, races)| RivalCount { account, name: None, races })
        .collect();
    all.rivals.sort_by_key(|rival| std::cmp::Reverse(rival.races));
    for race in [Race::Take, Race::Queue] {
        if let Some(races) = all.races.get_mut(race.name()) {
            let lost = orders.iter().filter(|order| order.race == race);
            races.lost_by = spread(lost.filter_map(|order| order.lost_by_ns));
        }
    }
    all.decided_to_arrived = spread(orders.iter().filter_map(|order| order.decided_to_arrived_ns));
}

fn count_race(races: &mut Races, order: &OrderLife) {
    let Some(rival) = &order.lost_to else {
        races.won += 1;
        return;
    };
    races.lost += 1;
    races.lost_to_own += u64::from(rival.account == order.account);
    races.lost_in_same_turn += u64::from(order.lost_by_ns == Some(0));
}

fn spread(values: impl Iterator<Item = u64>) -> Percentiles {
    let mut histogram = histogram();
    values.for_each(|ns| histogram.saturating_record(ns.min(LATENCY_NS_MAX)));
    percentiles(&histogram).0
}

/// The part of an order that the log knows.
fn logged(log: &Log, order: &LoggedOrder, clock: &TraderClock) -> OrderLife {
    OrderLife {
        number: Some(order.number),
        client_id: log
            .session
            .map_or_else(String::new, |session| audit::client_id(session.run, order.number)),
        order_id: order.answer.map_or(0, |answer| answer.order_id),
        instrument: order.instrument,
        buys: order.side == Side::Buy,
        price_ticks: order.price_ticks,
        quantity_lots: order.quantity_lots,
        tick: order.tick,
        decided_utc_ns: clock.utc_ns(order.decided_ns),
        sent_utc_ns: clock.utc_ns(order.sent_ns),
        answered_utc_ns: order.answer.and_then(|answer| clock.utc_ns(answer.replied_ns)),
        ..OrderLife::default()
    }
}

/// Adds the part that the journal knows.
fn arrived(life: OrderLife, arrival: &Arrival, judged: JudgedLife) -> OrderLife {
    let Arrival { time_ns, order, client_id, .. } = arrival;
    let lost_by_ns = judged.lost_to.as_ref().map(|rival| time_ns.saturating_sub(rival.exchange_ns));
    OrderLife {
        client_id: if client_id.is_empty() { life.client_id } else { client_id.clone() },
        order_id: order.order_id,
        account: Some(order.account),
        instrument: order.instrument,
        buys: order.side == Side::Buy,
        price_ticks: order.price_ticks,
        quantity_lots: order.quantity_lots,
        exchange_ns: Some(*time_ns),
        decided: judged.decided,
        arrived: Some(judged.arrived),
        race: judged.race,
        wanted_lots: judged.wanted_lots,
        traded_lots: judged.traded_lots,
        joined_lots: judged.joined_lots,
        outcome: judged.outcome,
        why: judged.why,
        lost_to: judged.lost_to,
        lost_by_ns,
        ..life
    }
}

/// An order that is not in the journal, and why.
fn missing(life: OrderLife, order: &LoggedOrder, arrivals: &Arrivals) -> OrderLife {
    let why = match order.answer {
        _ if arrivals.first > 0 => EARLIER,
        Some(answer) if answer.accepted => ACCEPTED,
        Some(_) => REJECTED,
        None if order.sent_ns == 0 => NOT_SENT,
        None => UNANSWERED,
    };
    OrderLife { outcome: Outcome::OnlyInLog, why: why.to_owned(), ..life }
}
