//! A real day, order by order: a CME future as Databento recorded it (MBO, DBN). Every record goes
//! to the engine as the command that an exchange would have received, and to a book that copies the
//! recorder. Both must have the same top after every batch, and the same queues at the end.
//!
//! Trades and fills change nothing themselves; the cancels and modifications after them do
//! (<https://databento.com/docs/schemas-and-data-formats/mbo>). The data contain two states that a
//! book which trades at once can't have: within a batch an order may come before the removal of the
//! one that it has used up; and for some minutes before the opening, resting orders cross. Such an
//! order is held back and enters as soon as it crosses nothing, which is allowed only while the
//! recorded book is crossed.
//! recorded book is crossed itself.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use dbn::decode::{DbnDecoder, DecodeRecordRef, DynReader};
use dbn::{Action, MboMsg};
use engine::*;

/// The first is the snapshot before the day; the second also begins with it.
const FILES: [&str; 2] =
    ["esh4-glbx-mdp3-20231224.mbo.dbn.zst", "esh4-glbx-mdp3-20231225.mbo.dbn.zst"];
/// A quarter of an index point, in DBN's 10^-9.
const TICK: i64 = 250_000_000;

const LIMITS: EngineLimits = EngineLimits {
    open_orders_max: 1 << 15,
    price_levels_max: 1 << 12,
    stop_levels_max: 0,
    expiring_orders_max: 0,
    accounts_max: 1,
};

/// The two files, or `None` after counting the test as skipped.
fn files() -> Option<Vec<PathBuf>> {
    FILES.into_iter().map(testing::market_data).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Live {
    side: Side,
    price_ticks: i64,
    lots: u64,
    /// The order with the lower number trades first at a price.
    priority: u64,
}

/// The book that copies the recorder.
#[derive(Debug, Default)]
struct Recorded {
    orders: HashMap<u64, Live>,
    /// Quantity by price.
    bids: BTreeMap<i64, u64>,
    asks: BTreeMap<i64, u64>,
    changes: u64,
}

impl Recorded {
    fn side_mut(&mut self, side: Side) -> &mut BTreeMap<i64, u64> {
        if side == Side::Buy { &mut self.bids } else { &mut self.asks }
    }

    /// Removes an order, and inserts its new state.
    fn replace(&mut self, order_id: u64, new: Option<Live>) {
        if let Some(old) = self.orders.remove(&order_id) {
            let side = self.side_mut(old.side);
            let lots = side.get_mut(&old.price_ticks).expect("it was put in");
            *lots -= old.lots;
            if *lots == 0 {
                side.remove(&old.price_ticks);
            }
        }
        if let Some(new) = new {
            *self.side_mut(new.side).entry(new.price_ticks).or_default() += new.lots;
            self.orders.insert(order_id, new);
        }
    }

    /// The order that a record changes.
    fn hear(&mut self, record: &MboMsg) -> Option<u64> {
        self.changes += 1;
        let priority = self.changes;
        let (order_id, lots) = (record.order_id, u64::from(record.size));
        let old = self.orders.get(&order_id).copied();
        let new = match (record.action().expect("an action"), old) {
            (Action::Add, _) => {
                assert_eq!(record.price % TICK, 0, "{record:?}");
                let side = if record.side as u8 == b'B' { Side::Buy } else { Side::Sell };
                Some(Live { side, price_ticks: record.price / TICK, lots, priority })
            }
            (Action::Modify, Some(old)) => {
                let price_ticks = record.price / TICK;
                let keeps = price_ticks == old.price_ticks && lots <= old.lots;
                let priority = if keeps { old.priority } else { priority };
                Some(Live { price_ticks, lots, priority, ..old })
            }
            (Action::Cancel, Some(old)) if lots < old.lots => {
                Some(Live { lots: old.lots - lots, ..old })
            }
            (Action::Cancel, Some(_)) => None,
            (Action::Trade | Action::Fill | Action::None, _) => return None,
            other => panic!("{other:?}: {record:?}"),
        };
        self.replace(order_id, new);
        Some(order_id)
    }

    fn top(&self) -> Top {
        let quote = |(price_ticks, lots): (&i64, &u64)| Quote {
            price_ticks: *price_ticks,
            quantity_lots: *lots,
        };
        Top {
            bid: self.bids.last_key_value().map(quote),
            ask: self.asks.first_key_value().map(quote),
        }
    }

    fn is_crossed(&self) -> bool {
        let Top { bid, ask } = self.top();
        bid.zip(ask).is_some_and(|(bid, ask)| bid.price_ticks >= ask.price_ticks)
    }

    /// A side's orders in the order in which they would trade.
    fn queue(&self, side: Side) -> Vec<(u64, i64, u64)> {
        let mut live: Vec<_> = self.orders.iter().filter(|(_, live)| live.side == side).collect();
        let sign = if side == Side::Buy { -1 } else { 1 };
        live.sort_unstable_by_key(|(_, live)| (sign * live.price_ticks, live.priority));
        live.into_iter().map(|(id, live)| (*id, live.price_ticks, live.lots)).collect()
    }
}

struct Replay {
    engine: Engine,
    recorded: Recorded,
    /// The engine's orders, in the recorder's state.
    entered: HashMap<u64, Live>,
    /// Orders that would trade in the engine but did not in the recording, by priority.
    held: BTreeSet<(u64, u64)>,
    ever_held: HashSet<u64>,
}

impl Replay {
    fn tell(&mut self, time_ns: u64, command: Command) {
        self.engine.apply(&Input { time_ns, command }, &mut |event| {
            let expected = matches!(event, Event::Booked { .. } | Event::Amended { .. })
                || matches!(event, Event::Done { reason: DoneReason::Cancelled, .. });
            assert!(expected, "{command:?}: {event:?}");
        });
    }

    fn would_trade(&self, live: &Live) -> bool {
        let top = self.engine.top(0);
        match live.side {
            Side::Buy => top.ask.is_some_and(|ask| live.price_ticks >= ask.price_ticks),
            Side::Sell => top.bid.is_some_and(|bid| live.price_ticks <= bid.price_ticks),
        }
    }

    /// Brings an order to the recorder's state in the engine, or holds it back.
    fn bring(&mut self, time_ns: u64, order_id: u64) {
        self.held.retain(|held| held.1 != order_id);
        let (account, tag, instrument) = (0, 0, 0);
        let now = self.recorded.orders.get(&order_id).copied();
        let held = now.filter(|now| self.would_trade(now));
        if let Some(live) = held {
            self.held.insert((live.priority, order_id));
            self.ever_held.insert(order_id);
        }
        let goal = if held.is_some() { None } else { now };
        let entered = self.entered.remove(&order_id);
        match (entered, goal) {
            (None, Some(Live { side, price_ticks, lots, .. })) => {
                let limit = NewOrder::limit(side, price_ticks, lots);
                self.tell(time_ns, Command::New(NewOrder { order_id, account, ..limit }));
            }
            (Some(old), Some(Live { side, price_ticks, lots: remaining_lots, .. })) => {
                assert_eq!(old.side, side, "{order_id}");
                let amend =
                    Amend { order_id, account, tag, instrument, price_ticks, remaining_lots };
                self.tell(time_ns, Command::Amend(amend));
            }
            (Some(_), None) => {
                let cancel = Cancel { order_id, account, tag, instrument };
                self.tell(time_ns, Command::Cancel(cancel));
            }
            (None, None) => {}
        }
        if let Some(goal) = goal {
            self.entered.insert(order_id, goal);
        }
    }

    /// Ends a batch: orders may now be held back only because the recorded book is crossed.
    fn end_batch(&mut self, time_ns: u64) {
        for (_, order_id) in self.held.clone() {
            self.bring(time_ns, order_id);
        }
        if self.held.is_empty() {
            assert_eq!(self.engine.top(0), self.recorded.top());
        } else {
            assert!(self.recorded.is_crossed(), "{:?} are held back", self.held);
        }
    }

    fn check_queues(&self) {
        let mut queues = [Vec::new(), Vec::new()];
        self.engine.save(&mut |piece| {
            if let SavedItem::Order { order, .. } = piece {
                let queue = &mut queues[order.side as usize];
                queue.push((order.order_id, order.price_ticks, order.quantity_lots));
            }
        });
        for side in [Side::Buy, Side::Sell] {
            assert_eq!(queues[side as usize], self.recorded.queue(side));
        }
    }
}

#[test]
fn a_recorded_day_gives_the_recorded_top_after_every_batch() {
    let Some(files) = files() else { return };
    let mut replay = Replay {
        engine: Engine::new(1, LIMITS),
        recorded: Recorded::default(),
        entered: HashMap::new(),
        held: BTreeSet::new(),
        ever_held: HashSet::new(),
    };
    let (mut records, mut batches, mut crossed) = (0, 0, 0);
    for file in files {
        let reader = DynReader::from_file(&file).expect("a DBN file");
        let mut decoder = DbnDecoder::new(reader).expect("a DBN file");
        while let Some(record) = decoder.decode_record_ref().expect("a record") {
            let record = record.get::<MboMsg>().expect("a record of schema mbo");
            let time_ns = record.hd.ts_event;
            records += 1;
            // The second file's snapshot repeats the first file's.
            let known =
                record.flags.is_snapshot() && replay.recorded.orders.contains_key(&record.order_id);
            if !known && let Some(order_id) = replay.recorded.hear(record) {
                replay.bring(time_ns, order_id);
            }
            if record.flags.is_last() || record.flags.is_snapshot() {
                replay.end_batch(time_ns);
                batches += 1;
                crossed += u32::from(!replay.held.is_empty());
            }
        }
        replay.check_queues();
    }
    println!(
        "{records} records in {batches} batches, {crossed} with a crossed book; {} orders were held back; {} are open",
        replay.ever_held.len(),
        replay.engine.open_orders()
    );
    assert!(crossed < batches / 10, "most of the day was not compared");
}
