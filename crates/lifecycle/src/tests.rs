//! Markets with planted rivals: a real journal, and a log as a trader writes it.

use super::*;
use audit::{Action, Header, Reader, Record};
use clock::time_base::TimeBase;
use clock::utc::Utc;
use clock::{Clock, Pair};
use engine::{Cancel, Command, EngineLimits, Input, NewOrder, Side, TimeInForce};
use journal::{Appender, ClientIdText, Identity, Options};
use record::lifecycle::{OrderLife, Outcome, Race, RivalAction};
use tempfile::TempDir;

const RUN: u64 = 0xab;
/// The exchange's start.
const SESSION: u64 = 1_000_000;
const OURS: u32 = 7;
const RIVAL: u32 = 9;
const WALL_NS: u64 = 1_795_305_600_000_000_000;

/// An exchange's journal that is being written.
struct Market {
    place: TempDir,
    appender: Option<Appender>,
    orders: u64,
}

fn identity() -> Identity {
    Identity { instruments: 1, limits: EngineLimits::matching_only(100, 50) }
}

impl Market {
    /// With a start book: bid 90 for 5 and ask 110 for 5, before the feed's session.
    fn new() -> Market {
        let place = tempfile::tempdir().unwrap();
        let options = Options { segment_bytes: 1 << 16, reserve_inputs: 10, ..Options::default() };
        let (appender, _) = journal::open(place.path(), identity(), options).unwrap();
        let mut market = Market { place, appender: Some(appender), orders: 0 };
        market.order(0, 1, limit(Side::Buy, 90, 5));
        market.order(0, 1, limit(Side::Sell, 110, 5));
        market
    }

    fn append(&mut self, time_ns: u64, command: Command, client_id: Option<&str>) -> u64 {
        let input = Input { time_ns, command };
        let appender = self.appender.as_mut().unwrap();
        match client_id {
            Some(of) => {
                let byte = |byte| of.as_bytes().get(byte).copied().unwrap_or(0);
                let text: ClientIdText = std::array::from_fn(byte);
                appender.try_append_named(&text, &input).unwrap()
            }
            None => appender.try_append(&input).unwrap(),
        }
    }

    /// An order at a time of the session, or at 0 before it. Returns its id and its input.
    fn order(&mut self, time: u64, account: u32, order: NewOrder) -> (u64, u64) {
        self.orders += 1;
        let order = NewOrder { order_id: self.orders, account, ..order };
        let time_ns = if time == 0 { 0 } else { SESSION + time };
        (self.orders, self.append(time_ns, Command::New(order), None))
    }

    /// Our order with this number.
    fn ours(&mut self, time: u64, number: u64, order: NewOrder) {
        self.orders += 1;
        let order = NewOrder { order_id: self.orders, account: OURS, ..order };
        let client_id = audit::client_id(RUN, number);
        self.append(SESSION + time, Command::New(order), Some(&client_id));
    }

    fn cancel(&mut self, time: u64, account: u32, order_id: u64) -> u64 {
        let cancel = Cancel { order_id, account, tag: 0, instrument: 0 };
        self.append(SESSION + time, Command::Cancel(cancel), None)
    }

    fn join(&mut self, records: &[Record]) -> Lifecycles {
        self.appender.take().unwrap().close().unwrap();
        let bytes = log(records);
        join(Reader::new(&bytes[..]).unwrap(), self.place.path()).unwrap()
    }
}

fn limit(side: Side, price_ticks: i64, lots: u64) -> NewOrder {
    NewOrder::limit(side, price_ticks, lots)
}

fn ioc(side: Side, price_ticks: i64, lots: u64) -> NewOrder {
    NewOrder { time_in_force: TimeInForce::ImmediateOrCancel, ..limit(side, price_ticks, lots) }
}

fn header() -> Header {
    let utc = Utc { bound_ns: Some(5_000), from: "chrony".to_owned(), ..Utc::default() };
    let wall = Pair { clock_ns: 1_000, wall_ns: WALL_NS, bound_ns: 40 };
    Header {
        scenario: "tick-to-trade".to_owned(),
        subject: "rust".to_owned(),
        tool: "tickpath 9".to_owned(),
        time: TimeBase { boot_id: "b".to_owned(), clock: Clock::calibrate(), wall, utc },
        same_clock: true,
        exchange_time: None,
        reasons: Vec::new(),
    }
}

fn log(records: &[Record]) -> Vec<u8> {
    let mut bytes = header().to_bytes().unwrap().to_vec();
    for (number, record) in (0..).zip(records) {
        bytes.extend(record.to_bytes(number));
    }
    bytes
}

const BEGIN: Record = Record::Session { feed: SESSION, run: RUN };

/// An order that answers a tick.
fn sent(number: u64, tick: u64, of: NewOrder) -> [Record; 2] {
    let side = if of.side == Side::Buy { audit::Side::Buy } else { audit::Side::Sell };
    let NewOrder { price_ticks, quantity_lots, .. } = of;
    [
        Record::Decision {
            tick,
            instrument: 0,
            side,
            decided_ns: 2_000 + number,
            checked_ns: 2_010,
            price_ticks,
            quantity_lots,
            refused: None,
        },
        Record::Order {
            order: number,
            tick,
            action: Action::New,
            instrument: 0,
            side,
            sent_ns: 2_020,
            price_ticks,
            quantity_lots,
        },
    ]
}

fn answer(order: u64, order_id: u64, accepted: bool) -> Record {
    Record::Ack {
        order,
        order_id,
        accepted,
        replied_ns: 9_000,
        stamps: [5_000, 5_100, 5_200, 5_300],
    }
}

/// A log of these orders, all of which were accepted.
fn records(orders: &[(u64, u64, NewOrder)]) -> Vec<Record> {
    let mut all = vec![BEGIN];
    for (number, tick, order) in orders {
        all.extend(sent(*number, *tick, *order));
        all.push(answer(*number, 0, true));
    }
    all
}

#[track_caller]
fn only(joined: &Lifecycles) -> &OrderLife {
    assert_eq!(joined.orders.len(), 1, "{joined:?}");
    &joined.orders[0]
}

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
