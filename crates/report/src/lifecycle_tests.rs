use super::*;
use expect_test::expect;
use record::delivery::{DeliveryRace, DeliveryRaces};
use record::lifecycle::{LifeEvent, LifeEventKind, Outcome, Race, Rival, RivalAction};

fn joined() -> Lifecycles {
    let lost_by = Percentiles { count: 2, min: 1_250, max: 4_000, ..Percentiles::default() };
    let rival = Rival {
        input: 12,
        exchange_ns: 1_000,
        order_id: 8,
        account: Some(9),
        action: RivalAction::Took,
    };
    let lost = OrderLife {
        number: Some(3),
        client_id: "c".to_owned(),
        order_id: 10,
        account: Some(7),
        buys: true,
        price_ticks: 100,
        quantity_lots: 3,
        tick: 1,
        exchange_ns: Some(2_250),
        decided: Some(SeenBook {
            input: 11,
            bid: None,
            ask: Some((100, 5)),
            takeable_lots: 5,
            ahead_lots: 0,
        }),
        race: Race::Take,
        wanted_lots: 3,
        traded_lots: 1,
        outcome: Outcome::Lost,
        lost_to: Some(rival),
        lost_by_ns: Some(1_250),
        ..OrderLife::default()
    };
    let missing = OrderLife {
        number: Some(4),
        outcome: Outcome::OnlyInLog,
        why: "gone, or \"lost\"".to_owned(),
        ..OrderLife::default()
    };
    Lifecycles {
        log: "1.audit".to_owned(),
        journal: "log".to_owned(),
        orders_logged: 4,
        orders_arrived: 3,
        inputs: 20,
        races: [(
            "take".to_owned(),
            Races { won: 1, lost: 2, lost_to_own: 0, lost_in_same_turn: 1, lost_by },
        )]
        .into(),
        rivals: vec![
            RivalCount { account: Some(9), name: Some("fund".to_owned()), races: 1 },
            RivalCount { account: Some(0), name: None, races: 1 },
        ],
        deliveries: Some(DeliveryRaces {
            window_ns: 200_000,
            orders: [("held".to_owned(), 4), ("unknown_tick".to_owned(), 1)].into(),
            first_changed: 1,
            order_changed: 1,
            races: vec![DeliveryRace::default(); 2],
        }),
        only_in_log: [("no answer is logged".to_owned(), 1)].into(),
        clocks: Clocks {
            trader_bound_ns: Some(5_000),
            trader_why: "chrony".to_owned(),
            exchange_why: "the exchange did not say it".to_owned(),
            arrival: "unknown".to_owned(),
            ..Clocks::default()
        },
        orders: vec![lost, missing],
        ..Lifecycles::default()
    }
}

#[test]
fn the_summary_says_who_was_faster_and_what_is_unknown() {
    expect![[r#"
        audit · 1.audit · in the journal log
          orders        4 new orders logged, 3 found among 20 inputs; not judged as such: 0 cancels, 0
                        amendments; 0 decisions stopped by the trader's own risk check
          take          1 won, 2 lost (quantity shown); lost by min 1.25 us, max 4.00 us; 1 in the same turn
                        of the exchange
          queue         no order was judged (place in the queue)
          faster        account 9 (fund) 1, the exchange's own flow 1
          delivery      window 200 us: 2 races for a tick; by arrival another order would have been first in
                        1 of them, and the order another in 1; orders: 4 held, 1 unknown tick
          arrival       unknown (decision to the exchange's read; clocks: unknown)
          trader        clock within 5.00 us of UTC (chrony)
          exchange      clock's distance from UTC unknown: the exchange did not say it
          ONLY IN LOG   1: no answer is logged
          LOG CUT       the log has no end record: later orders are missing
    "#]].assert_eq(&lifecycle(&joined(), 100));
}

/// Every row has the head's number of fields, and an unknown field is empty.
#[test]
fn a_row_per_order() {
    let csv = lifecycle_csv(&joined());
    let lines: Vec<&str> = csv.split_terminator("\r\n").collect();
    let fields = HEAD.split(',').count();
    assert_eq!(lines[0], HEAD);
    assert_eq!(lines[1].split(',').count(), fields);
    let of = |name: &str| HEAD.split(',').position(|one| one == name).unwrap();
    let lost: Vec<&str> = lines[1].split(',').collect();
    for (name, value) in [
        ("outcome", "lost"),
        ("lost_to_input", "12"),
        ("lost_to_account", "9"),
        ("lost_by_ns", "1250"),
        ("decided_ask_lots", "5"),
        ("decided_bid_lots", ""),
        ("arrived_bid_lots", ""),
        ("decided_to_arrived_ns", ""),
    ] {
        assert_eq!(lost[of(name)], value, "{name}: {}", lines[1]);
    }
    assert!(lines[2].contains("only_in_log,\"gone, or \"\"lost\"\"\",,,,,"), "{}", lines[2]);
}

/// With both bounds: whether they are good enough for RTS 25; without one: unknown.
#[test]
fn a_row_per_event_of_a_life() {
    let event = LifeEvent {
        order: 0,
        event: LifeEventKind::New,
        input: 12,
        exchange_ns: 1_795_305_600_000_002_250,
        trader_utc_ns: None,
        price_ticks: 100,
        quantity_lots: 3,
        remaining_lots: 3,
    };
    let mut joined = Lifecycles { events: vec![event], ..joined() };
    let row = |joined: &Lifecycles| life_events_csv(joined).lines().nth(1).unwrap().to_owned();
    let time = "2026-11-22T00:00:00.000002250Z";
    let begin = "new,NEWO,MENO,12,10,c,7,0,BUY,100,3,3";
    assert_eq!(row(&joined), format!("{begin},,5000,{time},,"));
    joined.events[0].trader_utc_ns = Some(1_795_305_600_000_002_250);
    joined.clocks.exchange_bound_ns = Some(100_000);
    assert_eq!(row(&joined), format!("{begin},{time},5000,{time},100000,true"));
    joined.clocks.exchange_bound_ns = Some(100_001);
    assert!(row(&joined).ends_with(",100001,false"));
    assert_eq!(row(&joined).split(',').count(), EVENTS_HEAD.split(',').count());
}
