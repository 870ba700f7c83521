use super::*;
use crate::logged::Answer;
use audit::Header;
use clock::Clock;
use clock::time_base::TimeBase;
use engine::NewOrder;

const WALL_NS: u64 = 1_795_305_600_000_000_000;

fn time(bound_ns: Option<u64>) -> TimeBase {
    let utc = Utc { bound_ns, from: "chrony".to_owned(), ..Utc::default() };
    let wall = Pair { clock_ns: 1_000, wall_ns: WALL_NS, bound_ns: 40 };
    TimeBase { boot_id: String::new(), clock: Clock::calibrate(), wall, utc }
}

fn log(exchange: Option<TimeBase>) -> Log {
    let header = Header {
        scenario: String::new(),
        subject: String::new(),
        tool: String::new(),
        time: time(Some(5_000)),
        same_clock: exchange.is_none(),
        exchange_time: exchange,
        reasons: Vec::new(),
    };
    let bytes = header.to_bytes().unwrap();
    let mut log = Log::read(audit::Reader::new(&bytes[..]).unwrap()).unwrap();
    // The clock is 1 % slow in the second half.
    log.walls.push(Pair { clock_ns: 101_000, wall_ns: WALL_NS + 100_000, bound_ns: 60 });
    log.walls.push(Pair { clock_ns: 201_000, wall_ns: WALL_NS + 201_000, bound_ns: 50 });
    log
}

fn order() -> (LoggedOrder, Arrival) {
    let answer = Answer { order_id: 1, accepted: true, replied_ns: 9_000, gateway_in_ns: 7_000 };
    let order = LoggedOrder {
        number: 0,
        tick: 1,
        instrument: 0,
        side: engine::Side::Buy,
        price_ticks: 1,
        quantity_lots: 1,
        decided_ns: 2_000,
        sent_ns: 3_000,
        answer: Some(answer),
        fills_ns: Vec::new(),
        amended_ns: Vec::new(),
        cancelled_ns: Vec::new(),
    };
    let new = NewOrder::limit(engine::Side::Buy, 1, 1);
    let time_ns = WALL_NS + 4_000;
    (order, Arrival { sequence: 0, time_ns, order: new, client_id: String::new() })
}

#[test]
fn a_time_is_on_the_line_of_the_readings_around_it() {
    let clock = TraderClock::new(&log(None));
    assert_eq!(clock.utc_ns(0), None);
    let after = |clock_ns| clock.utc_ns(clock_ns).unwrap() as i64 - WALL_NS as i64;
    assert_eq!(
        [500, 1_000, 51_000, 101_000, 151_000, 201_000, 301_000].map(after),
        [-500, 0, 50_000, 100_000, 150_500, 201_000, 302_000]
    );
    assert_eq!(clock.clocks.trader_bound_ns, Some(5_060));
    let mut stepped = log(None);
    stepped.wall_steps = 1;
    assert_eq!(TraderClock::new(&stepped).clocks.trader_bound_ns, None);
}

/// By one clock exactly; by two within the sum of their bounds; by an unknown one not at all.
#[test]
fn the_way_to_the_exchange_has_a_bound_or_is_unknown() {
    let (order, arrival) = order();
    let way = |exchange: Option<TimeBase>| {
        let clock = TraderClock::new(&log(exchange));
        let passed = clock.decided_to_arrived_ns(&order, &arrival);
        (passed, clock.clocks.arrival.clone(), clock.clocks.arrival_bound_ns)
    };
    assert_eq!(way(None), (Some(5_000), "one clock".to_owned(), Some(0)));
    let two = Some(5_060 + 100 + 40);
    assert_eq!(way(Some(time(Some(100)))), (Some(3_000), "two clocks".to_owned(), two));
    assert_eq!(way(Some(time(None))), (None, "unknown".to_owned(), None));
    let unstamped = LoggedOrder { answer: None, ..order.clone() };
    assert_eq!(TraderClock::new(&log(None)).decided_to_arrived_ns(&unstamped, &arrival), None);
}
