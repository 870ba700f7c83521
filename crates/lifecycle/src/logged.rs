//! The orders of an audit log, from decision to answer.

use audit::{Action, Header, LogTail, ReadError, Reader, Record, Side};
use clock::Pair;
use std::collections::HashMap;
use std::io::Read;

/// The exchange's first answer to an order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// 0 if unknown.
    pub order_id: u64,
    pub accepted: bool,
    pub replied_ns: u64,
    /// When the exchange read the order, on its clock; 0 if it did not say.
    pub gateway_in_ns: u64,
}

/// A new order. Times are on the log's clock, 0 if unknown.
#[derive(Clone, Debug)]
pub(crate) struct LoggedOrder {
    pub number: u64,
    /// The tick that caused it; 0 if none did.
    pub tick: u64,
    pub instrument: u16,
    pub side: engine::Side,
    pub price_ticks: i64,
    pub quantity_lots: u64,
    pub decided_ns: u64,
    pub sent_ns: u64,
    pub answer: Option<Answer>,
    /// Reads of its fills' reports, and writes of its amendments and cancels.
    pub fills_ns: Vec<u64>,
    pub amended_ns: Vec<u64>,
    pub cancelled_ns: Vec<u64>,
}

/// The feed's session, and the run in the client ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session {
    pub feed: u64,
    pub run: u64,
}

/// A log, read to its end.
#[derive(Debug)]
pub(crate) struct Log {
    pub header: Header,
    pub session: Option<Session>,
    pub orders: Vec<LoggedOrder>,
    /// Places in `orders` by number.
    by_number: HashMap<u64, usize>,
    pub cancels: u64,
    pub amendments: u64,
    /// Decisions that risk rejected.
    pub refused: u64,
    /// Readings of the wall clock, the header's first.
    pub walls: Vec<Pair>,
    /// How often the wall clock was set.
    pub wall_steps: u64,
    pub lost: u64,
    pub is_finished: bool,
}

impl Log {
    /// Reads a log to its end, also one that was cut off.
    pub fn read(mut reader: Reader<impl Read>) -> Result<Log, ReadError> {
        let header = reader.header().clone();
        let mut log = Log {
            walls: vec![header.time.wall],
            header,
            session: None,
            orders: Vec::new(),
            by_number: HashMap::new(),
            cancels: 0,
            amendments: 0,
            refused: 0,
            wall_steps: 0,
            lost: 0,
            is_finished: false,
        };
        let mut decided = (0, 0);
        for record in reader.by_ref() {
            log.add(&record?, &mut decided);
        }
        log.is_finished = reader.tail() == Some(LogTail::Finished);
        Ok(log)
    }

    /// `decided` is the tick and the time of the latest decision.
    fn add(&mut self, record: &Record, decided: &mut (u64, u64)) {
        match *record {
            Record::Session { feed, run } => self.session = Some(Session { feed, run }),
            Record::Decision { tick, decided_ns, refused, .. } => {
                *decided = (tick, decided_ns);
                self.refused += u64::from(refused.is_some());
            }
            Record::Order { action: Action::Cancel, order, sent_ns, .. } => {
                self.cancels += 1;
                if let Some(order) = self.order_mut(order) {
                    order.cancelled_ns.push(sent_ns);
                }
            }
            Record::Order { action: Action::Amend, order, sent_ns, .. } => {
                self.amendments += 1;
                if let Some(order) = self.order_mut(order) {
                    order.amended_ns.push(sent_ns);
                }
            }
            Record::Fill { order, read_ns, .. } => {
                if let Some(order) = self.order_mut(order) {
                    order.fills_ns.push(read_ns);
                }
            }
            Record::Order {
                order,
                tick,
                instrument,
                side,
                sent_ns,
                price_ticks,
                quantity_lots,
                ..
            } => {
                let decided_ns = if decided.0 == tick { decided.1 } else { 0 };
                self.by_number.insert(order, self.orders.len());
                self.orders.push(LoggedOrder {
                    number: order,
                    tick,
                    instrument,
                    side: of_engine(side),
                    price_ticks,
                    quantity_lots,
                    decided_ns,
                    sent_ns,
                    answer: None,
                    fills_ns: Vec::new(),
                    amended_ns: Vec::new(),
                    cancelled_ns: Vec::new(),
                });
            }
            Record::Ack { order, order_id, accepted, replied_ns, stamps } => {
                if let Some(order) = self.order_mut(order) {
                    let answer =
                        Answer { order_id, accepted, replied_ns, gateway_in_ns: stamps[0] };
                    order.answer.get_or_insert(answer);
                }
            }
            Record::Wall { clock_ns, wall_ns, bound_ns, steps } => {
                self.walls.push(Pair { clock_ns, wall_ns, bound_ns });
                self.wall_steps = steps;
            }
            Record::Lost { count, .. } => self.lost = self.lost.saturating_add(count),
            Record::Tick { .. } | Record::End { .. } => {}
        }
    }

    fn order_mut(&mut self, number: u64) -> Option<&mut LoggedOrder> {
        self.by_number.get(&number).map(|place| &mut self.orders[*place])
    }

    /// The place of an order in `orders`.
    pub fn place(&self, number: u64) -> Option<usize> {
        self.by_number.get(&number).copied()
    }
}

fn of_engine(side: Side) -> engine::Side {
    match side {
        Side::Buy => engine::Side::Buy,
        Side::Sell => engine::Side::Sell,
    }
}
