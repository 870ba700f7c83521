//! A market with planted rivals: a real journal, and a log as a trader writes it.

use crate::join;
use audit::{Action, Header, Reader, Record};
use clock::time_base::TimeBase;
use clock::utc::Utc;
use clock::{Clock, Pair};
use engine::{Cancel, Command, EngineLimits, Input, NewOrder, Side, TimeInForce};
use journal::{Appender, ClientIdText, Identity, Options};
use record::lifecycle::{Lifecycles, OrderLife};
use tempfile::TempDir;

pub const RUN: u64 = 0xab;
/// The exchange's start.
pub const SESSION: u64 = 1_000_000;
pub const OURS: u32 = 7;
pub const RIVAL: u32 = 9;
pub const WALL_NS: u64 = 1_795_305_600_000_000_000;

/// An exchange's journal that is being written.
pub struct Market {
    place: TempDir,
    appender: Option<Appender>,
    orders: u64,
}

pub fn identity() -> Identity {
    Identity { instruments: 1, limits: EngineLimits::matching_only(100, 50) }
}

impl Market {
    /// With a start book: bid 90 for 5 and ask 110 for 5, before the feed's session.
    pub fn new() -> Market {
        let place = tempfile::tempdir().unwrap();
        let options = Options { segment_bytes: 1 << 16, reserve_inputs: 10, ..Options::default() };
        let (appender, _) = journal::open(place.path(), identity(), options).unwrap();
        let mut market = Market { place, appender: Some(appender), orders: 0 };
        market.order(0, 1, limit(Side::Buy, 90, 5));
        market.order(0, 1, limit(Side::Sell, 110, 5));
        market
    }

    pub fn append(&mut self, time_ns: u64, command: Command, client_id: Option<&str>) -> u64 {
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
    pub fn order(&mut self, time: u64, account: u32, order: NewOrder) -> (u64, u64) {
        self.orders += 1;
        let order = NewOrder { order_id: self.orders, account, ..order };
        let time_ns = if time == 0 { 0 } else { SESSION + time };
        (self.orders, self.append(time_ns, Command::New(order), None))
    }

    /// Our order with this number.
    pub fn ours(&mut self, time: u64, number: u64, order: NewOrder) {
        self.orders += 1;
        let order = NewOrder { order_id: self.orders, account: OURS, ..order };
        let client_id = audit::client_id(RUN, number);
        self.append(SESSION + time, Command::New(order), Some(&client_id));
    }

    pub fn cancel(&mut self, time: u64, account: u32, order_id: u64) -> u64 {
        let cancel = Cancel { order_id, account, tag: 0, instrument: 0 };
        self.append(SESSION + time, Command::Cancel(cancel), None)
    }

    pub fn join(&mut self, records: &[Record]) -> Lifecycles {
        self.appender.take().unwrap().close().unwrap();
        let bytes = log(records);
        join(Reader::new(&bytes[..]).unwrap(), self.place.path()).unwrap()
    }
}

pub fn limit(side: Side, price_ticks: i64, lots: u64) -> NewOrder {
    NewOrder::limit(side, price_ticks, lots)
}

pub fn ioc(side: Side, price_ticks: i64, lots: u64) -> NewOrder {
    NewOrder { time_in_force: TimeInForce::ImmediateOrCancel, ..limit(side, price_ticks, lots) }
}

pub fn header() -> Header {
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

pub fn log(records: &[Record]) -> Vec<u8> {
    let mut bytes = header().to_bytes().unwrap().to_vec();
    for (number, record) in (0..).zip(records) {
        bytes.extend(record.to_bytes(number));
    }
    bytes
}

pub const BEGIN: Record = Record::Session { feed: SESSION, run: RUN };

/// An order that answers a tick.
pub fn sent(number: u64, tick: u64, of: NewOrder) -> [Record; 2] {
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

pub fn answer(order: u64, order_id: u64, accepted: bool) -> Record {
    Record::Ack {
        order,
        order_id,
        accepted,
        replied_ns: 9_000,
        stamps: [5_000, 5_100, 5_200, 5_300],
    }
}

/// A log of these orders, all of which were accepted.
pub fn records(orders: &[(u64, u64, NewOrder)]) -> Vec<Record> {
    let mut all = vec![BEGIN];
    for (number, tick, order) in orders {
        all.extend(sent(*number, *tick, *order));
        all.push(answer(*number, 0, true));
    }
    all
}

#[track_caller]
pub fn only(joined: &Lifecycles) -> &OrderLife {
    assert_eq!(joined.orders.len(), 1, "{joined:?}");
    &joined.orders[0]
}
