//! Races that are won and lost, events, and what can't be judged.

mod market;

use super::*;
use audit::{Action, Reader, Record};
use engine::{Amend, Command, NewOrder, Side};
use market::*;
use record::lifecycle::{LifeEventKind, Outcome, Race, RivalAction};

/// A rival takes most of the quantity that our order wants: the join names its input, its account
/// and its lead, and both books are those of the engine.
#[test]
fn the_rival_that_took_the_quantity_first_is_named() {
    let mut market = Market::new();
    market.order(1_000, 1, limit(Side::Sell, 100, 5)); // tick 1
    let (order_id, input) = market.order(1_500, RIVAL, ioc(Side::Buy, 100, 4));
    market.ours(2_750, 3, ioc(Side::Buy, 100, 3));
    let joined = market.join(&records(&[(3, 1, ioc(Side::Buy, 100, 3))]));
    let order = only(&joined);
    assert_eq!((order.outcome, order.race, order.why.as_str()), (Outcome::Lost, Race::Take, ""));
    assert_eq!((order.wanted_lots, order.traded_lots, order.lost_by_ns), (3, 1, Some(1_250)));
    let rival = order.lost_to.as_ref().unwrap();
    assert_eq!((rival.input, rival.order_id), (input, order_id));
    assert_eq!((rival.account, rival.action), (Some(RIVAL), RivalAction::Took));
    let (decided, arrived) = (order.decided.as_ref().unwrap(), order.arrived.as_ref().unwrap());
    assert_eq!((decided.bid, decided.ask), (Some((90, 5)), Some((100, 5))));
    assert_eq!((arrived.bid, arrived.ask), (Some((90, 5)), Some((100, 1))));
    assert_eq!((decided.takeable_lots, arrived.takeable_lots), (5, 1));
    assert_eq!(order.client_id, audit::client_id(RUN, 3));
    assert_eq!((order.account, order.exchange_ns), (Some(OURS), Some(SESSION + 2_750)));
    // By the exchange's stamp, which is on the trader's clock.
    assert_eq!(order.decided_to_arrived_ns, Some(5_000 - 2_003));
    assert_eq!(order.sent_utc_ns, Some(WALL_NS + 1_020));
    let races = &joined.races["take"];
    assert_eq!((races.won, races.lost, races.lost_to_own, races.lost_in_same_turn), (0, 1, 0, 0));
    assert_eq!((races.lost_by.count, races.lost_by.max), (1, 1_250));
    assert_eq!((joined.rivals[0].account, joined.rivals[0].races), (Some(RIVAL), 1));
    assert_eq!((joined.orders_logged, joined.orders_arrived), (1, 1));
}

/// Nobody came between; or the quantity was gone and came back.
#[test]
fn an_order_that_gets_all_that_it_saw_has_won() {
    for comes_back in [false, true] {
        let mut market = Market::new();
        market.order(1_000, 1, limit(Side::Sell, 100, 5));
        if comes_back {
            market.order(1_100, RIVAL, ioc(Side::Buy, 100, 5));
            market.order(1_200, 1, limit(Side::Sell, 99, 3));
        }
        market.ours(2_000, 0, ioc(Side::Buy, 100, 3));
        let joined = market.join(&records(&[(0, 1, ioc(Side::Buy, 100, 3))]));
        let order = only(&joined);
        assert_eq!((order.outcome, order.traded_lots), (Outcome::Won, 3), "{order:?}");
        assert_eq!((&order.lost_to, order.lost_by_ns), (&None, None));
        assert_eq!(joined.races["take"].won, 1);
    }
}

#[test]
fn a_quote_that_was_pulled_is_lost_to_its_owner() {
    let mut market = Market::new();
    let (quote, _) = market.order(1_000, RIVAL, limit(Side::Sell, 100, 5));
    let input = market.cancel(1_400, RIVAL, quote);
    // In the same turn of the exchange: only the sequence tells.
    market.ours(1_400, 0, ioc(Side::Buy, 100, 3));
    let joined = market.join(&records(&[(0, 1, ioc(Side::Buy, 100, 3))]));
    let order = only(&joined);
    let rival = order.lost_to.as_ref().unwrap();
    assert_eq!((rival.input, rival.action), (input, RivalAction::Pulled));
    assert_eq!((rival.account, order.lost_by_ns), (Some(RIVAL), Some(0)));
    assert_eq!(joined.races["take"].lost_in_same_turn, 1);
}

/// The last input that took something need not be the one that mattered: with 5 shown and 3 wanted,
/// the second taker is the one that an order would have had to overtake.
#[test]
fn the_rival_is_the_one_to_overtake() {
    let mut market = Market::new();
    market.order(1_000, 1, limit(Side::Sell, 100, 5));
    market.order(1_100, 2, ioc(Side::Buy, 100, 1));
    let (_, input) = market.order(1_200, 3, ioc(Side::Buy, 100, 2));
    market.order(1_300, 4, ioc(Side::Buy, 100, 1));
    market.ours(2_000, 0, ioc(Side::Buy, 100, 3));
    let joined = market.join(&records(&[(0, 1, ioc(Side::Buy, 100, 3))]));
    let order = only(&joined);
    assert_eq!(order.lost_to.as_ref().map(|rival| rival.input), Some(input));
    assert_eq!((order.traded_lots, order.lost_by_ns), (1, Some(800)));
}

/// One joiner stays ahead of our quote, another leaves again; our own earlier quote is counted as
/// ours.
#[test]
fn a_quote_loses_to_those_that_joined_its_queue_first() {
    for account in [RIVAL, OURS] {
        let mut market = Market::new();
        market.order(1_000, 1, limit(Side::Buy, 95, 2)); // tick 1
        let (gone, _) = market.order(1_100, 4, limit(Side::Buy, 95, 9));
        let (_, input) = market.order(1_200, account, limit(Side::Buy, 95, 4));
        market.order(1_250, 5, limit(Side::Buy, 94, 4));
        market.cancel(1_300, 4, gone);
        market.ours(1_700, 0, limit(Side::Buy, 95, 1));
        let joined = market.join(&records(&[(0, 1, limit(Side::Buy, 95, 1))]));
        let order = only(&joined);
        assert_eq!((order.race, order.outcome), (Race::Queue, Outcome::Lost));
        let ahead = |book: &Option<record::lifecycle::SeenBook>| book.as_ref().unwrap().ahead_lots;
        assert_eq!((ahead(&order.decided), ahead(&order.arrived)), (2, 6));
        assert_eq!((order.joined_lots, order.lost_by_ns), (4, Some(500)));
        let rival = order.lost_to.as_ref().unwrap();
        assert_eq!((rival.input, rival.action), (input, RivalAction::Joined));
        assert_eq!(joined.races["queue"].lost_to_own, u64::from(account == OURS));
    }
}

#[test]
fn a_quote_with_nobody_new_ahead_has_won_and_an_order_beside_the_market_wants_nothing() {
    let mut market = Market::new();
    market.order(1_000, 1, limit(Side::Buy, 95, 2));
    market.ours(1_700, 0, limit(Side::Buy, 95, 1)); // tick 2
    market.ours(1_800, 1, ioc(Side::Buy, 80, 1));
    let orders = [(0, 1, limit(Side::Buy, 95, 1)), (1, 2, ioc(Side::Buy, 80, 1))];
    let joined = market.join(&records(&orders));
    let outcomes: Vec<Outcome> = joined.orders.iter().map(|order| order.outcome).collect();
    assert_eq!(outcomes, [Outcome::Won, Outcome::NothingWanted]);
    assert_eq!((joined.races["queue"].won, joined.nothing_wanted), (1, 1));
}

/// Both directions, each with its reason; nothing becomes a zero.
#[test]
fn orders_of_one_side_alone_are_listed_with_their_reason() {
    let mut market = Market::new();
    market.order(1_000, 1, limit(Side::Buy, 95, 2));
    market.ours(1_700, 9, limit(Side::Buy, 95, 1));
    let other = audit::client_id(RUN + 1, 0);
    let order = NewOrder { order_id: 50, ..limit(Side::Buy, 95, 1) };
    market.append(SESSION + 1_800, Command::New(order), Some(&other));
    let mut records = vec![BEGIN];
    let order = limit(Side::Buy, 94, 1);
    for number in 0..3 {
        records.extend(sent(number, 1, order));
    }
    records.extend([answer(0, 0, false), answer(1, 77, true)]);
    let joined = market.join(&records);
    let listed: Vec<(Option<u64>, Outcome, &str)> = joined
        .orders
        .iter()
        .map(|order| (order.number, order.outcome, &order.why[..order.why.len().min(21)]))
        .collect();
    let expected = [
        (Some(0), Outcome::OnlyInLog, "the exchange rejected"),
        (Some(1), Outcome::OnlyInLog, "the exchange accepted"),
        (Some(2), Outcome::OnlyInLog, "no answer is logged: "),
        (None, Outcome::OnlyInJournal, "the log was cut off"),
    ];
    assert_eq!(listed, expected);
    assert_eq!(joined.only_in_log.values().sum::<u64>(), 3);
    assert_eq!(joined.only_in_journal.values().sum::<u64>(), 1);
    assert_eq!((joined.orders_arrived, joined.races.len(), joined.log_finished), (0, 0, false));
    assert!(
        joined.orders.iter().all(|order| order.lost_by_ns.is_none() && order.decided.is_none())
    );
}

/// A log of version 1: found by the exchange's order id, not judged, and the book at its arrival
/// known. An order id that is another order's in this journal finds nothing.
#[test]
fn a_log_without_a_session_is_joined_by_order_id_and_not_judged() {
    let mut market = Market::new();
    market.order(1_000, 1, limit(Side::Buy, 95, 2)); // order 3
    market.ours(1_700, 0, limit(Side::Buy, 95, 1)); // order 4
    let order = limit(Side::Buy, 95, 1);
    let mut records: Vec<Record> = (0..2).flat_map(|number| sent(number, 1, order)).collect();
    records.extend([answer(0, 4, true), answer(1, 3, true)]);
    let joined = market.join(&records);
    let found = &joined.orders[0];
    assert_eq!((found.outcome, found.decided.is_none()), (Outcome::NotJudged, true));
    assert!(found.why.contains("earlier version"), "{}", found.why);
    assert_eq!(found.arrived.as_ref().unwrap().ahead_lots, 2);
    assert_eq!(joined.orders[1].outcome, Outcome::OnlyInLog);
}

/// Numbers of ticks begin anew with each start of the exchange, whose journal goes on.
#[test]
fn ticks_are_counted_from_the_start_of_their_session() {
    let mut market = Market::new();
    for time in 1..20 {
        let earlier = NewOrder { order_id: 1_000 + time, ..limit(Side::Sell, 120, 1) };
        market.append(time, Command::New(earlier), None);
    }
    market.order(1_000, 1, limit(Side::Sell, 100, 5)); // tick 1 of the session
    market.order(1_500, RIVAL, ioc(Side::Buy, 100, 5));
    market.ours(2_750, 3, ioc(Side::Buy, 100, 3));
    let joined = market.join(&records(&[(3, 1, ioc(Side::Buy, 100, 3))]));
    let order = only(&joined);
    assert_eq!((order.outcome, order.lost_by_ns), (Outcome::Lost, Some(1_250)));
}

/// Unknown is not judged: no tick, a tick that the journal has later, a tick amid an input, another
/// session; and an order that the engine rejected.
#[test]
fn an_order_whose_book_is_unknown_is_not_judged() {
    let order = ioc(Side::Buy, 100, 3);
    let why = |records: Vec<Record>| {
        let mut market = Market::new();
        market.order(1_000, 1, limit(Side::Sell, 100, 1)); // tick 1
        market.order(1_100, 1, limit(Side::Sell, 100, 1)); // tick 2
        market.order(1_200, 1, ioc(Side::Buy, 100, 2)); // ticks 3 and 4, two trades
        market.ours(2_750, 3, order);
        let joined = market.join(&records);
        let life = only(&joined);
        assert_eq!((life.outcome, &life.decided), (Outcome::NotJudged, &None));
        assert_eq!(joined.not_judged[&life.why], 1);
        life.why.clone()
    };
    assert!(why(records(&[(3, 0, order)])).contains("no tick"));
    assert!(why(records(&[(3, 3, order)])).contains("within an input"));
    assert!(why(records(&[(3, 5, order)])).contains("before the tick"));
    let mut later = records(&[(3, 1, order)]);
    later[0] = Record::Session { feed: SESSION * 9, run: RUN };
    assert!(why(later).contains("no input of the feed's session"));
    let mut market = Market::new();
    market.order(1_000, 1, limit(Side::Sell, 100, 1));
    market.ours(2_750, 3, limit(Side::Buy, 100, 0));
    let joined = market.join(&records(&[(3, 1, limit(Side::Buy, 100, 0))]));
    assert!(only(&joined).why.contains("BAD_QUANTITY"), "{joined:?}");
}

#[test]
fn what_can_not_be_read_is_an_error() {
    let bytes = log(&[]);
    let nowhere = Path::new("/nowhere/at/all");
    let error = join(Reader::new(&bytes[..]).unwrap(), nowhere).unwrap_err();
    assert!(!error.is_damage() && error.to_string().contains("no journal"), "{error}");
    let mut damaged = log(&[BEGIN, BEGIN]);
    damaged[audit::HEADER_BYTES + 9] ^= 1;
    let error = join(Reader::new(&damaged[..]).unwrap(), nowhere).unwrap_err();
    assert!(error.is_damage(), "{error}");
}

/// A quote that is partly filled, amended and cancelled; an IOC; one that the engine rejects: each
/// event once, with the journal's time and the trader's.
#[test]
fn every_event_has_the_times_of_both_ends() {
    let mut market = Market::new();
    market.ours(1_000, 0, limit(Side::Buy, 95, 5)); // order 3
    market.order(1_100, RIVAL, ioc(Side::Sell, 95, 2));
    let amend = Amend {
        order_id: 3,
        account: OURS,
        tag: 0,
        instrument: 0,
        price_ticks: 96,
        remaining_lots: 4,
    };
    market.append(SESSION + 1_200, Command::Amend(amend), None);
    market.cancel(1_300, OURS, 3);
    market.ours(1_400, 1, ioc(Side::Buy, 80, 1));
    market.ours(1_500, 2, limit(Side::Buy, 80, 0));
    market.ours(1_600, 3, ioc(Side::Buy, 110, 5));
    let action = |action, sent_ns| match sent(0, 1, limit(Side::Buy, 95, 5))[1] {
        Record::Order { order, tick, instrument, side, price_ticks, quantity_lots, .. } => {
            Record::Order {
                order,
                tick,
                action,
                instrument,
                side,
                sent_ns,
                price_ticks,
                quantity_lots,
            }
        }
        other => other,
    };
    let fill = Record::Fill {
        order: 0,
        order_id: 3,
        instrument: 0,
        side: audit::Side::Buy,
        read_ns: 3_000,
        price_ticks: 95,
        quantity_lots: 2,
        trade_id: 1,
    };
    let orders = [
        (0, 0, limit(Side::Buy, 95, 5)),
        (1, 0, ioc(Side::Buy, 80, 1)),
        (2, 0, limit(Side::Buy, 80, 0)),
        (3, 0, ioc(Side::Buy, 110, 5)),
    ];
    let mut records = records(&orders);
    records.extend([fill, action(Action::Amend, 4_000), action(Action::Cancel, 5_000)]);
    let joined = market.join(&records);
    let told: Vec<_> = joined
        .events
        .iter()
        .map(|one| {
            let trader_ns = one.trader_utc_ns.map(|ns| ns - WALL_NS + 1_000);
            let lots = (one.quantity_lots, one.remaining_lots);
            (one.order, one.event, one.exchange_ns - SESSION, trader_ns, one.price_ticks, lots)
        })
        .collect();
    let sent = Some(2_020);
    let expected = [
        (0, LifeEventKind::New, 1_000, sent, 95, (5, 5)),
        (0, LifeEventKind::PartiallyFilled, 1_100, Some(3_000), 95, (2, 3)),
        (0, LifeEventKind::Replaced, 1_200, Some(4_000), 96, (4, 4)),
        (0, LifeEventKind::Cancelled, 1_300, Some(5_000), 96, (4, 0)),
        (1, LifeEventKind::New, 1_400, sent, 80, (1, 1)),
        (1, LifeEventKind::Expired, 1_400, None, 80, (1, 0)),
        (2, LifeEventKind::Rejected, 1_500, sent, 80, (0, 0)),
        (3, LifeEventKind::New, 1_600, sent, 110, (5, 5)),
        (3, LifeEventKind::Filled, 1_600, None, 110, (5, 0)),
    ];
    assert_eq!(told, expected);
    assert_eq!((joined.cancels, joined.amendments), (1, 1));
}
