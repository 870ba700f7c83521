use super::*;
use crate::{Action, Header, Side, TickKind};
use clock::Clock;
use clock::time_base::TimeBase;
use clock::utc::Utc;

const WALL_NS: u64 = 1_795_305_600_000_000_000;

fn log(records: &[Record]) -> Vec<u8> {
    let utc = Utc { bound_ns: Some(5_000), from: "chrony".to_owned(), ..Utc::default() };
    let wall = Pair { clock_ns: 1_000, wall_ns: WALL_NS, bound_ns: 40 };
    let header = Header {
        scenario: "tick-to-trade".to_owned(),
        subject: "rust".to_owned(),
        tool: "tickpath 9".to_owned(),
        time: TimeBase { boot_id: "b".to_owned(), clock: Clock::calibrate(), wall, utc },
        same_clock: true,
        exchange_time: None,
        reasons: vec!["too large".to_owned()],
    };
    let mut bytes = header.to_bytes().unwrap().to_vec();
    for (number, record) in (0..).zip(records) {
        bytes.extend(record.to_bytes(number));
    }
    bytes
}

fn tick(number: u64, read_ns: u64) -> Record {
    Record::Tick {
        number,
        kind: TickKind::Live,
        messages: 1,
        intended_ns: 0,
        acknowledged_ns: 0,
        published_ns: 0,
        kernel_ns: 0,
        read_ns,
        normalised_ns: read_ns + 10,
    }
}

fn decision(tick: u64, checked_ns: u64, refused: Option<u16>) -> Record {
    Record::Decision {
        tick,
        instrument: 0,
        side: Side::Buy,
        decided_ns: 0,
        checked_ns,
        price_ticks: 1,
        quantity_lots: 1,
        refused,
    }
}

fn order(order: u64, tick: u64, sent_ns: u64) -> Record {
    let (action, side) = (Action::New, Side::Sell);
    Record::Order {
        order,
        tick,
        action,
        instrument: 0,
        side,
        sent_ns,
        price_ticks: 1,
        quantity_lots: 1,
    }
}

fn summary(records: &[Record]) -> AuditSummary {
    let bytes = log(records);
    let mut seen = Vec::new();
    let reader = Reader::new(&bytes[..]).unwrap();
    let summary = summarise(reader, |number, record| seen.push((number, *record))).unwrap();
    assert!(seen.into_iter().eq((0..).zip(records.iter().copied())));
    summary
}

#[test]
fn everything_is_counted_and_measured() {
    let ack =
        Record::Ack { order: 7, order_id: 1, accepted: true, replied_ns: 9_000, stamps: [0; 4] };
    let audited = summary(&[
        Record::Session { feed: 1, run: 2 },
        tick(5, 2_000),
        decision(5, 2_300, None),
        order(7, 5, 2_400),
        tick(6, 3_000),
        decision(6, 3_500, Some(0)),
        decision(6, 3_600, Some(3)),
        // For a tick that is not in the log.
        decision(4, 3_700, None),
        ack,
        // For an order that is not in the log, and a second reply.
        ack,
        Record::Lost { noticed_ns: 9_500, count: 11 },
        Record::Wall { clock_ns: 1_001_000, wall_ns: WALL_NS + 2_000_000, bound_ns: 90, steps: 1 },
        Record::End { records: 12, lost: 11, clock_ns: 2_000_000 },
    ]);
    let counts: Vec<u64> = KINDS.iter().map(|kind| audited.records[*kind]).collect();
    assert_eq!(counts, [2, 4, 1, 2, 0, 1, 1, 1, 1]);
    assert_eq!((audited.lost, audited.end), (11, LogEnd::Finished));
    let decision = &audited.decision;
    assert_eq!((decision.count, decision.min, decision.max), (3, 300, 600));
    assert_eq!((audited.tick_to_trade.count, audited.tick_to_trade.max), (1, 400));
    assert_eq!(audited.order_to_ack.count, 1);
    let refused: Vec<(&str, u64)> =
        audited.refused.iter().map(|(why, count)| (why.as_str(), *count)).collect();
    assert_eq!(refused, [("reason 3", 1), ("too large", 1)]);
    // The wall clock ran twice as fast.
    let span = audited.span.unwrap();
    assert_eq!((span.begin_ns, span.begin_wall_ns), (2_010, WALL_NS + 2_020));
    assert_eq!((span.end_ns, span.end_wall_ns), (9_000, WALL_NS + 16_000));
    assert_eq!((span.wall_bound_ns, span.wall_steps, span.utc.bound_ns), (90, 1, Some(5_000)));
}

#[test]
fn a_log_without_readings_is_dated_by_its_header() {
    let audited = summary(&[tick(1, 990)]);
    let span = audited.span.unwrap();
    assert_eq!((span.begin_ns, span.begin_wall_ns), (1_000, WALL_NS));
    assert_eq!(audited.end, LogEnd::Unfinished);
    assert_eq!(summary(&[]).span, None);
}

#[test]
fn numbers_that_make_no_sense_break_nothing() {
    let wall = Record::Wall { clock_ns: u64::MAX, wall_ns: 0, bound_ns: u64::MAX, steps: u64::MAX };
    let lost = Record::Lost { noticed_ns: 0, count: u64::MAX };
    let most = u64::MAX;
    let records = [
        tick(most, most - 10),
        decision(most, most, Some(u16::MAX)),
        order(most, most, 0),
        wall,
        lost,
        lost,
    ];
    let audited = summary(&records);
    assert_eq!(audited.lost, u64::MAX);
}

/// The kernel had not taken it when it was logged: it has no stamp to measure from, and no time at
/// which the log began.
#[test]
fn an_order_that_had_not_left_is_measured_by_nobody() {
    let audited = summarise(
        Reader::new(&log(&[order(1, 0, 0), tick(7, 5_000), order(2, 7, 5_100)])[..]).unwrap(),
        |_, _| (),
    );
    let audited = audited.unwrap();
    assert_eq!(audited.records["order"], 2);
    assert_eq!((audited.tick_to_trade.min, audited.tick_to_trade.max), (100, 100));
    assert_eq!(audited.span.map(|span| (span.begin_ns, span.end_ns)), Some((5_010, 5_100)));
}
