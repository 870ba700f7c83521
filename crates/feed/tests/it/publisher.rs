//! The feed's messages for the engine's events, and how inputs become datagrams.

use crate::exchange::{CHANNELS, Exchange};
use engine::{
    AccountSettings, Amend, Cancel, Command, EngineLimits, Input, InstrumentSettings,
    InstrumentState, NewOrder, PRICE_TICKS_MAX, SelfTrade, Side, TimeInForce,
};
use feed::{
    Channel, DATAGRAM_BYTES_DEFAULT, DATAGRAM_BYTES_MIN, FeedMessage, Packet, PacketHeader,
    PacketKind, Publisher, PublisherSettings, PublisherSettingsError,
};

const LIMITS: EngineLimits = EngineLimits {
    open_orders_max: 1_000,
    price_levels_max: 100,
    stop_levels_max: 10,
    expiring_orders_max: 10,
    accounts_max: 3,
};

fn exchange() -> Exchange {
    Exchange::new(LIMITS, &Exchange::settings(LIMITS, 1, DATAGRAM_BYTES_DEFAULT))
}

fn apply(exchange: &mut Exchange, command: Command) {
    exchange.apply(&Input { time_ns: 0, command });
    assert_eq!(exchange.publisher.faults(), 0);
}

fn new(order_id: u64, side: Side, price_ticks: i64, quantity_lots: u64) -> NewOrder {
    NewOrder { order_id, account: 1, ..NewOrder::limit(side, price_ticks, quantity_lots) }
}

fn messages(datagram: &[u8]) -> Vec<FeedMessage> {
    Packet::decode(datagram).unwrap().messages().map(Result::unwrap).collect()
}

/// The messages of a command on a channel, in short: `+` new order, `-` end of an order, `<`
/// smaller quantity, `T` trade, `L` level, `S` state.
fn said(exchange: &mut Exchange, command: Command, channel: Channel) -> Vec<String> {
    for other in CHANNELS {
        exchange.datagrams(other);
    }
    apply(exchange, command);
    let side = |side| if side == Side::Buy { "buy" } else { "sell" };
    let line = |message| match message {
        FeedMessage::OrderAdded { order_id, side: s, price_ticks, quantity_lots, .. } => {
            format!("+{order_id} {} {quantity_lots}@{price_ticks}", side(s))
        }
        FeedMessage::OrderReduced { order_id, quantity_lots, .. } => {
            format!("<{order_id} {quantity_lots}")
        }
        FeedMessage::OrderDeleted { order_id, .. } => format!("-{order_id}"),
        FeedMessage::Trade {
            trade_id,
            order_id,
            aggressor_side,
            price_ticks,
            quantity_lots,
            ..
        } => {
            format!("T{trade_id} {order_id} {} {quantity_lots}@{price_ticks}", side(aggressor_side))
        }
        FeedMessage::Level { side: s, price_ticks, quantity_lots, orders, .. } => {
            format!("L {} {quantity_lots}@{price_ticks} in {orders}", side(s))
        }
        FeedMessage::State { state, .. } => format!("S {state:?}"),
        FeedMessage::Definition { .. } => "D".into(),
    };
    exchange.datagrams(channel).iter().flat_map(|datagram| messages(datagram)).map(line).collect()
}

fn orders(exchange: &mut Exchange, command: Command) -> Vec<String> {
    said(exchange, command, Channel::Orders)
}

fn amend(order_id: u64, price_ticks: i64, remaining_lots: u64) -> Command {
    let (account, tag, instrument) = (1, 0, 0);
    Command::Amend(Amend { order_id, account, tag, instrument, price_ticks, remaining_lots })
}

fn cancel(order_id: u64) -> Command {
    Command::Cancel(Cancel { order_id, account: 1, tag: 0, instrument: 0 })
}

fn state(state: InstrumentState) -> Command {
    Command::Instrument(InstrumentSettings {
        instrument: 0,
        tag: 0,
        state,
        band_low_ticks: 1,
        band_high_ticks: PRICE_TICKS_MAX,
        reference_ticks: 0,
    })
}

#[test]
fn orders_that_rest_shrink_and_go() {
    let e = &mut exchange();
    assert_eq!(orders(e, Command::New(new(1, Side::Buy, 100, 5))), ["+1 buy 5@100"]);
    assert_eq!(orders(e, amend(1, 100, 3)), ["<1 3"]);
    assert_eq!(orders(e, amend(1, 100, 3)), [""; 0]);
    assert_eq!(orders(e, amend(1, 100, 4)), ["-1", "+1 buy 4@100"]);
    assert_eq!(orders(e, amend(1, 99, 4)), ["-1", "+1 buy 4@99"]);
    assert_eq!(orders(e, cancel(1)), ["-1"]);
    assert_eq!(orders(e, cancel(1)), [""; 0]);
}

#[test]
fn a_trade_is_all_that_is_said_of_an_order_that_is_used_up() {
    let e = &mut exchange();
    apply(e, Command::New(new(1, Side::Sell, 100, 5)));
    apply(e, Command::New(new(2, Side::Sell, 100, 5)));
    apply(e, Command::New(new(3, Side::Sell, 101, 5)));
    let taker = new(4, Side::Buy, 101, 12);
    assert_eq!(
        orders(e, Command::New(taker)),
        ["T1 1 buy 5@100", "T2 2 buy 5@100", "T3 3 buy 2@101"]
    );
    // The remainder of an incoming order rests; an order that may not rest is never shown.
    assert_eq!(
        orders(e, Command::New(new(5, Side::Buy, 101, 4))),
        ["T4 3 buy 3@101", "+5 buy 1@101"]
    );
    let time_in_force = TimeInForce::ImmediateOrCancel;
    let ioc = NewOrder { time_in_force, ..new(6, Side::Sell, 101, 9) };
    assert_eq!(orders(e, Command::New(ioc)), ["T5 5 sell 1@101"]);
    assert_eq!(orders(e, Command::New(NewOrder { order_id: 7, ..ioc })), [""; 0]);
}

#[test]
fn an_iceberg_shows_itself_part_by_part() {
    let e = &mut exchange();
    let iceberg = NewOrder { display_lots: 2, ..new(1, Side::Sell, 100, 5) };
    assert_eq!(orders(e, Command::New(iceberg)), ["+1 sell 2@100"]);
    apply(e, Command::New(new(2, Side::Sell, 100, 1)));
    // It loses its hidden quantity, then moves behind the other.
    assert_eq!(orders(e, amend(1, 100, 4)), [""; 0]);
    assert_eq!(
        orders(e, Command::New(new(3, Side::Buy, 100, 3))),
        ["T1 1 buy 2@100", "+1 sell 2@100", "T2 2 buy 1@100"]
    );
    assert_eq!(orders(e, amend(1, 100, 1)), ["<1 1"]);
    assert_eq!(orders(e, cancel(1)), ["-1"]);
}

#[test]
fn a_stop_is_not_seen_before_it_rests() {
    let e = &mut exchange();
    apply(e, Command::New(new(1, Side::Sell, 100, 1)));
    apply(e, Command::New(new(2, Side::Sell, 101, 1)));
    let stop = NewOrder { stop_ticks: 100, ..new(3, Side::Buy, 101, 3) };
    assert_eq!(orders(e, Command::New(stop)), [""; 0]);
    assert_eq!(orders(e, amend(3, 101, 2)), [""; 0]);
    assert_eq!(
        orders(e, Command::New(new(4, Side::Buy, 100, 1))),
        ["T1 1 buy 1@100", "T2 2 buy 1@101", "+3 buy 1@101"]
    );
    apply(e, Command::New(NewOrder { stop_ticks: 200, ..new(5, Side::Buy, 101, 3) }));
    assert_eq!(orders(e, cancel(5)), [""; 0]);
}

#[test]
fn what_self_trade_prevention_takes_away_is_no_trade() {
    let e = &mut exchange();
    let prevention = |self_trade| {
        Command::Account(AccountSettings { self_trade, ..AccountSettings::unlimited(1) })
    };
    apply(e, prevention(SelfTrade::Decrement));
    apply(e, Command::New(new(1, Side::Sell, 100, 5)));
    assert_eq!(orders(e, Command::New(new(2, Side::Buy, 100, 2))), ["<1 3"]);
    assert_eq!(orders(e, Command::New(new(3, Side::Buy, 100, 3))), ["-1"]);
    let iceberg = NewOrder { display_lots: 2, ..new(4, Side::Sell, 100, 5) };
    apply(e, Command::New(iceberg));
    assert_eq!(orders(e, Command::New(new(5, Side::Buy, 100, 3))), ["-4", "+4 sell 2@100", "<4 1"]);
    apply(e, prevention(SelfTrade::CancelOldest));
    assert_eq!(orders(e, Command::New(new(6, Side::Buy, 100, 3))), ["-4", "+6 buy 3@100"]);
}

#[test]
fn a_state_is_said_once_behind_what_it_ended() {
    let e = &mut exchange();
    apply(e, Command::New(new(1, Side::Sell, 100, 5)));
    assert_eq!(orders(e, state(InstrumentState::Open)), [""; 0]);
    assert_eq!(orders(e, state(InstrumentState::Halted)), ["S Halted"]);
    assert_eq!(orders(e, state(InstrumentState::Closed)), ["-1", "S Closed"]);
    apply(e, state(InstrumentState::Open));
    apply(e, Command::New(new(1, Side::Sell, 100, 5)));
    let closed = said(e, state(InstrumentState::Closed), Channel::Levels);
    assert_eq!(closed, ["L sell 0@100 in 0", "S Closed"]);
}

#[test]
fn a_level_is_said_once_behind_the_trades_there() {
    let e = &mut exchange();
    let level = |e: &mut Exchange, command| said(e, command, Channel::Levels);
    assert_eq!(level(e, Command::New(new(1, Side::Sell, 100, 5))), ["L sell 5@100 in 1"]);
    assert_eq!(level(e, Command::New(new(2, Side::Sell, 100, 4))), ["L sell 9@100 in 2"]);
    apply(e, Command::New(new(3, Side::Sell, 101, 5)));
    assert_eq!(
        level(e, Command::New(new(4, Side::Buy, 101, 11))),
        [
            "T1 1 buy 5@100",
            "T2 2 buy 4@100",
            "L sell 0@100 in 0",
            "T3 3 buy 2@101",
            "L sell 3@101 in 1"
        ]
    );
    assert_eq!(level(e, amend(3, 102, 3)), ["L sell 0@101 in 0", "L sell 3@102 in 1"]);
    // The order is removed and added again: one message with the final level.
    assert_eq!(level(e, amend(3, 102, 4)), ["L sell 4@102 in 1"]);
}

fn header(datagram: &[u8]) -> PacketHeader {
    *Packet::decode(datagram).unwrap().header()
}

#[test]
fn inputs_that_wait_share_a_datagram() {
    let e = &mut exchange();
    // Due at 10, 20, 30, acknowledged 5 later: see `Exchange::apply`.
    apply(e, Command::New(new(1, Side::Buy, 100, 5)));
    apply(e, cancel(9));
    apply(e, Command::New(new(2, Side::Buy, 100, 5)));
    let datagrams = e.datagrams(Channel::Orders);
    assert_eq!(datagrams.len(), 1);
    let PacketHeader { sequence, count, intended_ns, acknowledged_ns, kind, .. } =
        header(&datagrams[0]);
    assert_eq!((sequence, count, kind), (1, 2, PacketKind::Live));
    assert_eq!((intended_ns, acknowledged_ns), (10, 35));
    apply(e, cancel(2));
    let header = header(&e.datagrams(Channel::Orders)[0]);
    assert_eq!((header.sequence, header.count), (3, 1));
    assert_eq!((header.intended_ns, header.acknowledged_ns), (40, 45));
}

#[test]
fn an_input_that_fills_datagrams_stamps_each() {
    let e = &mut exchange();
    for order_id in 1..=100 {
        apply(e, Command::New(new(order_id, Side::Sell, 100, 1)));
    }
    e.datagrams(Channel::Orders);
    // A resting order, and then one that trades with all.
    apply(e, Command::New(new(101, Side::Sell, 110, 1)));
    apply(e, Command::New(new(102, Side::Buy, 100, 100)));
    let datagrams = e.datagrams(Channel::Orders);
    let headers: Vec<_> = datagrams.iter().map(|datagram| header(datagram)).collect();
    let counts: Vec<_> = headers.iter().map(|header| header.count).collect();
    // 56 bytes of header, 35 for the order, 43 for each trade.
    assert_eq!(counts, [1 + 32, 32, 32, 4]);
    let stamps: Vec<_> =
        headers.iter().map(|header| (header.intended_ns, header.acknowledged_ns)).collect();
    assert_eq!(stamps, [(1010, 1025), (1020, 1025), (1020, 1025), (1020, 1025)]);
    assert!(
        headers.windows(2).all(|two| two[0].sequence + u64::from(two[0].count) == two[1].sequence)
    );
}

#[test]
fn an_input_is_not_sent_before_it_has_ended() {
    let settings = Exchange::settings(LIMITS, 1, DATAGRAM_BYTES_MIN);
    let mut publisher = Publisher::new(&settings).unwrap();
    let mut engine = engine::Engine::new(1, LIMITS);
    for order_id in 1..=5 {
        let command = Command::New(new(order_id, Side::Buy, 100, 1));
        engine.apply(&Input { time_ns: 0, command }, &mut |event| publisher.event(&event, 0));
        assert!(publisher.next(Channel::Orders).is_none());
    }
    publisher.end_of_input(1, 2);
    let sent = std::iter::from_fn(|| publisher.next(Channel::Orders).map(|d| header(d).count));
    assert_eq!(sent.collect::<Vec<_>>(), [2, 2, 1]);
}

#[test]
fn what_is_overwritten_before_it_is_sent_is_counted() {
    let settings = PublisherSettings {
        replay_packets_max: 3,
        channels: vec![Channel::Orders],
        ..Exchange::settings(LIMITS, 1, DATAGRAM_BYTES_MIN)
    };
    let mut e = Exchange::new(LIMITS, &settings);
    // Two per datagram.
    for order_id in 1..=9 {
        apply(&mut e, Command::New(new(order_id, Side::Buy, 100, 1)));
    }
    assert_eq!(e.publisher.overrun(), 2);
    let left: Vec<_> = e.datagrams(Channel::Orders).iter().map(|d| header(d).sequence).collect();
    assert_eq!(left, [5, 7, 9]);
}

#[test]
fn what_is_not_published_is_not_there() {
    let settings = PublisherSettings {
        channels: vec![Channel::Levels],
        ..Exchange::settings(LIMITS, 1, DATAGRAM_BYTES_MIN)
    };
    let mut e = Exchange::new(LIMITS, &settings);
    apply(&mut e, Command::New(new(1, Side::Buy, 100, 1)));
    assert_eq!(e.publisher.sequence(Channel::Orders), 0);
    assert_eq!(e.publisher.sequence(Channel::Levels), 1);
    assert!(e.publisher.next(Channel::Orders).is_none());
    assert!(e.publisher.snapshot(Channel::Orders).is_none());
    assert!(e.publisher.heartbeat(Channel::Orders, 1).is_none());
    assert!(e.publisher.replay(Channel::Orders, 1, 1).is_err());
    assert_eq!(e.publisher.top(0), e.engine.top(0));
    assert_eq!(e.publisher.top(7), engine::Top::default());
}

#[test]
fn settings_out_of_range_are_rejected() {
    let settings = Exchange::settings(LIMITS, 1, DATAGRAM_BYTES_MIN);
    for bytes in [0, DATAGRAM_BYTES_MIN - 1, 65_508] {
        let settings = PublisherSettings { datagram_bytes_max: bytes, ..settings.clone() };
        let error = PublisherSettingsError::DatagramBytes(bytes);
        assert_eq!(Publisher::new(&settings).err(), Some(error));
        assert!(error.to_string().contains("128 to 65507"), "{error}");
    }
    let one = PublisherSettings { replay_packets_max: 1, ..settings.clone() };
    assert_eq!(Publisher::new(&one).err(), Some(PublisherSettingsError::ReplayPackets(1)));
    let large = PublisherSettings { orders_max: 1 << 22, ..settings };
    let Err(error @ PublisherSettingsError::SnapshotParts(_)) = Publisher::new(&large) else {
        panic!("it has room for all")
    };
    assert!(error.to_string().contains("lower open_orders_max or price_levels_max"), "{error}");
}

/// Orders are counted over all books, so many instruments don't make a snapshot longer.
#[test]
fn a_snapshot_has_room_for_all_orders_wherever_they_rest() {
    let settings = PublisherSettings {
        definitions: vec![crate::exchange::definitions(1)[0]; 100],
        orders_max: 2_000,
        levels_max: 2_000,
        ..Exchange::settings(LIMITS, 1, 200)
    };
    // All in one book, then spread over all; then more than the limit, which is cut.
    for (books, orders, fits) in [(1, 2_000, true), (100, 2_000, true), (100, 20_000, false)] {
        let mut publisher = Publisher::new(&settings).unwrap();
        for order_id in 1..=orders {
            let instrument = order_id as u16 % books;
            let order = NewOrder { instrument, ..new(order_id, Side::Buy, order_id as i64, 1) };
            publisher.restore(&engine::SavedItem::Order { order, visible_lots: 1 });
        }
        for channel in CHANNELS {
            let mut sending = publisher.snapshot(channel).unwrap();
            let mut entries = 0;
            while let Some(datagram) = publisher.next_of(&mut sending) {
                let is_entry = |message: &&FeedMessage| {
                    matches!(message, FeedMessage::OrderAdded { .. } | FeedMessage::Level { .. })
                };
                entries += messages(datagram).iter().filter(is_entry).count();
            }
            assert_eq!(entries == orders as usize, fits, "{entries} of {orders}");
        }
        assert_eq!(publisher.faults(), 0);
    }
}

#[test]
fn a_place_in_the_queue_is_known() {
    let e = &mut exchange();
    apply(e, Command::New(new(1, Side::Sell, 100, 5)));
    apply(e, Command::New(NewOrder { display_lots: 2, ..new(2, Side::Sell, 100, 9) }));
    apply(e, Command::New(new(3, Side::Sell, 100, 7)));
    apply(e, Command::New(new(4, Side::Sell, 99, 1)));
    let ahead = |e: &Exchange, id| e.publisher.book(0).unwrap().ahead_of(id);
    assert_eq!(ahead(e, 3), Some((2, 7)));
    assert_eq!(ahead(e, 1), Some((0, 0)));
    assert_eq!(ahead(e, 5), None);
    let book = e.publisher.book(0).unwrap();
    assert_eq!(book.levels(Side::Sell).collect::<Vec<_>>(), [(99, 1, 1), (100, 14, 3)]);
    assert_eq!(book.orders(Side::Sell).map(|o| o.order_id).collect::<Vec<_>>(), [4, 1, 2, 3]);
    assert_eq!((book.level(Side::Sell, 100), book.level(Side::Sell, 101)), ((14, 3), (0, 0)));
    assert_eq!(book.order(2).map(|order| order.quantity_lots), Some(2));
    apply(e, Command::New(new(5, Side::Buy, 100, 8)));
    // The last one traded in part, and the iceberg moved behind it.
    assert_eq!((ahead(e, 3), ahead(e, 2)), (Some((0, 0)), Some((1, 7))));
}
