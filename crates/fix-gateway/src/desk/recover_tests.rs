//! A store that was cut after any report, and the journal that has them all.

use super::super::Shared;
use super::*;
use crate::desk::orders::Order;
use crate::desk::{Securities, Security};
use clock::random::SplitMix64;
use fix::dictionary::Dictionary;
use fix::store::{FileStore, Kept};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use wire::Decimal;
use wire::reply::{
    self, DoneStatus, Fill, OrderAmended, OrderBooked, OrderDone, Reply, StopTriggered, StopWaiting,
};
use wire::request::{CreateOrder, Side, TimeInForce};

const NOW: Now = Now { steady_ns: 1, utc_ns: 1_790_000_000_000_000_000 };
const SYMBOL: &str = "BTC_USDT";

fn number(n: i64) -> Decimal {
    Decimal::new(n, 0).unwrap()
}

fn open(path: &Path) -> Desk {
    let tick = Decimal::new(1, 2).unwrap();
    let security = Security { symbol: SYMBOL.into(), tick, lot: tick, amount_min: tick };
    let securities = Arc::new(Securities::new(vec![security]));
    let dictionary = Arc::new(Dictionary::tickpath());
    let shared = Shared { dictionary, securities, has_journal: true };
    Desk::open("fund", ("TICKPATH", "FUND"), &shared, path).unwrap()
}

/// An order at the exchange.
struct Life {
    id: ClientId,
    order_id: OrderId,
    open: i64,
    is_stop: bool,
    is_booked: bool,
    has_ended: bool,
    replaced: u32,
}

impl Life {
    fn past(&self, write: impl FnOnce(&mut Vec<u8>)) -> PastReport {
        let mut report = Vec::new();
        write(&mut report);
        let (client_id, order_id) = (self.id, self.order_id);
        PastReport {
            client_id,
            order_id,
            open: number(self.open),
            time_ns: NOW.utc_ns,
            report: Some(report),
        }
    }

    /// The next reports about it, of one input.
    fn go_on(&mut self, random: &mut SplitMix64) -> Vec<PastReport> {
        let mut all = Vec::new();
        if self.is_stop {
            self.is_stop = false;
            all.push(self.past(|out| reply::encode_triggered(out, &self.triggered())));
        }
        match random.below(8) {
            0 => {
                (self.has_ended, self.open) = (true, 0);
                let status = DoneStatus::ALL[random.below(6) as usize];
                let status =
                    if status == DoneStatus::Filled { DoneStatus::Expired } else { status };
                all.push(self.past(|out| reply::encode_done(out, &self.done(status))));
            }
            1 | 2 if self.is_booked => {
                let before = self.id;
                self.replaced += 1;
                let root = before.as_str().split('.').next().unwrap().to_owned();
                self.id = ClientId::new(&format!("{root}.{}", self.replaced)).unwrap();
                self.open = 1 + random.below(9) as i64;
                all.push(self.past(|out| reply::encode_amended(out, &self.amended(before))));
                all.push(self.past(|out| reply::encode_booked(out, &self.booked())));
            }
            3 if !self.is_booked => {
                self.is_booked = true;
                all.push(self.past(|out| reply::encode_booked(out, &self.booked())));
            }
            _ => {
                let amount = 1 + random.below(self.open as u32) as i64;
                self.open -= amount;
                all.push(self.past(|out| reply::encode_fill(out, &self.fill(amount))));
                if self.open == 0 {
                    self.has_ended = true;
                    let filled = self.done(DoneStatus::Filled);
                    all.push(self.past(|out| reply::encode_done(out, &filled)));
                }
            }
        }
        all
    }

    fn booked(&self) -> OrderBooked<'static> {
        OrderBooked {
            client_id: self.id,
            instrument_code: SYMBOL.into(),
            side: Side::Buy,
            price: number(100),
            amount: number(self.open),
            order_id: self.order_id,
            order_book_sequence: 0,
            time_ms: 1,
            uid: "fund".into(),
        }
    }

    fn fill(&self, amount: i64) -> Fill<'static> {
        Fill {
            client_id: self.id,
            instrument_code: SYMBOL.into(),
            side: Side::Buy,
            price: number(100),
            amount: number(amount),
            remaining: number(self.open),
            order_id: self.order_id,
            trade_id: 0,
            order_book_sequence: 0,
            time_ms: 1,
            uid: "fund".into(),
        }
    }

    fn done(&self, status: DoneStatus) -> OrderDone<'static> {
        OrderDone {
            client_id: self.id,
            instrument_code: SYMBOL.into(),
            status,
            order_id: self.order_id,
            order_book_sequence: 0,
            time_ms: 1,
            uid: "fund".into(),
        }
    }

    fn amended(&self, before: ClientId) -> OrderAmended<'static> {
        OrderAmended {
            client_id: self.id,
            replaced_client_id: Some(before),
            instrument_code: SYMBOL.into(),
            side: Side::Buy,
            price: Some(number(100)),
            amount: number(self.open),
            place_kept: false,
            order_id: self.order_id,
            order_book_sequence: 0,
            time_ms: 1,
            uid: "fund".into(),
        }
    }

    fn waiting(&self) -> StopWaiting<'static> {
        StopWaiting {
            client_id: self.id,
            instrument_code: SYMBOL.into(),
            side: Side::Buy,
            stop_price: number(100),
            amount: number(self.open),
            order_id: self.order_id,
            order_book_sequence: 0,
            time_ms: 1,
            uid: "fund".into(),
        }
    }

    fn triggered(&self) -> StopTriggered<'static> {
        StopTriggered {
            client_id: self.id,
            instrument_code: SYMBOL.into(),
            order_id: self.order_id,
            order_book_sequence: 0,
            time_ms: 1,
            uid: "fund".into(),
        }
    }
}

fn create(desk: &mut Desk, id: ClientId, (amount, is_stop): (i64, bool)) {
    let create = CreateOrder {
        instrument_code: SYMBOL.into(),
        client_id: id,
        side: Side::Buy,
        price: Some(number(100)),
        amount: number(amount),
        time_in_force: TimeInForce::GoodTillCancelled,
        stop_price: is_stop.then(|| number(100)),
        display_amount: None,
        post_only: None,
        delivery: None,
        account_id: None,
    };
    let kind = if is_stop { '4' } else { '2' };
    let request = super::super::Request::New { create, kind, is_resent: false };
    desk.request(request, NOW).unwrap();
}

/// A session whose exchange ran on.
struct Whole {
    /// The journal's reports, and how many messages the store has after each.
    past: Vec<(PastReport, usize)>,
    creations: Vec<Creation>,
}

/// A new order.
struct Creation {
    /// The reports in the journal before it.
    past: usize,
    /// The messages of the store before it.
    messages: usize,
    /// The messages of the store when the former order with its id had ended, or had another id.
    id_free: usize,
}

/// Orders of a session in the store of `path`. An id is used again when its order has ended.
fn trade(path: &Path, random: &mut SplitMix64) -> Whole {
    let mut desk = open(path);
    let (mut all, mut lives, mut orders) = (Vec::new(), Vec::<Life>::new(), 0);
    let (mut creations, mut freed) = (Vec::new(), HashMap::new());
    for _ in 0..30 {
        let mut new = Vec::new();
        let open: Vec<usize> = (0..lives.len()).filter(|at| !lives[*at].has_ended).collect();
        if open.is_empty() || random.below(4) == 0 {
            orders += 1;
            let id = (0..).map(|n| ClientId::new(&format!("o{n}")).unwrap());
            let is_free = |id: &ClientId| desk.orders.get(id).is_none_or(Order::has_ended);
            let id = id.clone().find(is_free).unwrap();
            let (amount, is_stop) = (1 + random.below(9) as i64, random.below(4) == 0);
            create(&mut desk, id, (amount, is_stop));
            let messages = desk.session.store().next_out() as usize - 1;
            let id_free = freed.get(&id).copied().unwrap_or(0);
            creations.push(Creation { past: all.len(), messages, id_free });
            let order_id = OrderId::from_u64(orders);
            let life = Life {
                id,
                order_id,
                open: amount,
                is_stop,
                is_booked: is_stop,
                has_ended: false,
                replaced: 100 * orders as u32,
            };
            if is_stop {
                new.push(life.past(|out| reply::encode_waiting(out, &life.waiting())));
            }
            lives.push(life);
        } else {
            let at = open[random.below(open.len() as u32) as usize];
            new = lives[at].go_on(random);
        }
        for past in new {
            desk.reply(&past.reply().unwrap(), NOW).unwrap();
            let messages = desk.session.store().next_out() as usize - 1;
            if let Some(Reply::Amended(OrderAmended { replaced_client_id: Some(id), .. })) =
                past.reply()
            {
                freed.insert(id, messages);
            }
            if desk.orders.get(&past.client_id).is_some_and(Order::has_ended) {
                freed.insert(past.client_id, messages);
            }
            all.push((past, messages));
        }
    }
    Whole { past: all, creations }
}

/// The messages of a store without what differs between one that goes on and one made anew.
fn reports(path: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut take = |_, bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let fields = text.split('\x01').filter(|field| {
            !["9=", "10=", "17=", "34=", "52="].iter().any(|start| field.starts_with(start))
        });
        all.push(fields.collect::<Vec<_>>().join("|"));
    };
    FileStore::open(path).unwrap().read(1..=u64::MAX, &mut take).unwrap();
    all
}

/// The store of `whole` with only so many of its messages, and of its notes.
fn cut(whole: &Path, path: &Path, (messages, notes): (usize, usize)) {
    let mut store = FileStore::open(path).unwrap();
    let (mut left, mut notes_left) = (messages, notes);
    FileStore::open_with(whole, &mut |kept| match kept {
        Kept::Note(note) if notes_left > 0 => {
            notes_left -= 1;
            store.note(note).unwrap();
        }
        Kept::Message(message) if left > 0 => {
            left -= 1;
            store.sent(message).unwrap();
        }
        _ => {}
    })
    .unwrap();
}

/// Gives the session what the journal has, from its input number `from` on.
fn recover(path: &Path, past: &[(PastReport, usize)], from: usize) -> u64 {
    let mut desk = open(path);
    // The orders that are open there, as a snapshot has them.
    let mut before: HashMap<OrderId, PastReport> = HashMap::new();
    for (one, _) in &past[..from] {
        match one.reply() {
            Some(Reply::Done(_)) => drop(before.remove(&one.order_id)),
            _ => drop(before.insert(one.order_id, PastReport { report: None, ..one.clone() })),
        }
    }
    let after = past[from..].iter().map(|(one, _)| one.clone());
    for one in before.into_values().chain(after) {
        if desk.follows(one.order_id) || desk.wants(&one.client_id, one.order_id) {
            desk.add_past(one);
        }
    }
    desk.recover(NOW).unwrap()
}

/// Whatever the orders do, and after whichever report the exchange was killed: each report is in
/// the store once, in order, and with all that it says.
#[test]
fn every_report_is_there_once_wherever_the_store_ends() {
    for seed in 0..testing::cases(100) {
        let mut random = SplitMix64::new(u64::from(seed));
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("whole.fix");
        let Whole { mut past, creations } = trade(&whole, &mut random);
        let mut expected = reports(&whole);
        let count = random.below(expected.len() as u32 + 1) as usize;
        // No client can use an id again before it has the report of its end.
        let notes = creations.iter().position(|one| one.id_free > count);
        if let Some(first) = notes.map(|at| &creations[at]) {
            past.truncate(first.past);
            expected.truncate(first.messages);
        }
        let path = folder.path().join("cut.fix");
        cut(&whole, &path, (count, notes.unwrap_or(creations.len())));
        // The snapshot before it is older than the last report.
        let snapshots = past.iter().filter(|(_, messages)| *messages <= count).count();
        let from = random.below(snapshots as u32 + 1) as usize;
        let made = recover(&path, &past, from);
        assert_eq!(reports(&path), expected, "seed {seed}, cut after {count}, from {from}");
        assert_eq!(made, (expected.len() - count) as u64);
        // A second start finds nothing to add.
        assert_eq!(recover(&path, &past, from), 0, "seed {seed}");
    }
}
