//! The same bytes give the same replies, however they are split into reads; and the replies add up
//! to the book.

use crate::driven::{Driven, config, write_authenticate, write_cancel, write_order};
use clock::random::SplitMix64;
use engine::{Engine, SavedItem, Side as EngineSide};
use proptest::prelude::*;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use wire::reply::{DoneStatus, Reply, decode_reply};
use wire::request::{
    AmendOrder, CreateOrder, MassCancel, PostOnly, Side, TimeInForce, encode_amend_order,
    encode_create_order, encode_mass_cancel,
};
use wire::{ClientId, Decimal};

const ACCOUNTS: u32 = 4;

/// The messages of all clients in the order of sending, each with its connection.
type Flow = Vec<(u32, Vec<u8>)>;

/// Orders and cancels of several accounts around one price, some of them wrong.
fn flow(seed: u64, messages: usize) -> Flow {
    let mut random = SplitMix64::new(seed);
    let mut flow: Flow = (0..ACCOUNTS)
        .map(|stream| {
            let mut bytes = Vec::new();
            write_authenticate(&mut bytes, &format!("account-{stream}"));
            (stream, bytes)
        })
        .collect();
    for _ in 0..messages {
        let stream = random.below(ACCOUNTS);
        let client_id = ClientId::new(&format!("c{}", random.below(200))).unwrap();
        let side = if random.below(2) == 0 { Side::Buy } else { Side::Sell };
        let mut bytes = Vec::new();
        match random.below(10) {
            0..6 => {
                let price_ticks = 1000 + i64::from(random.below(40)) - 20;
                let hundredths = i64::from(random.below(50));
                let immediate = random.below(5) == 0;
                write_order(&mut bytes, client_id, side, price_ticks, hundredths, immediate);
            }
            6..8 => write_cancel(&mut bytes, client_id),
            8 => write_more(&mut bytes, &mut random, client_id, side),
            _ => {
                crate::driven::write_text(&mut bytes, |out| out.extend_from_slice(b"{\"type\":1}"))
            }
        }
        flow.push((stream, bytes));
    }
    flow
}

/// The extensions of the protocol: other order types, amendments, mass cancels.
fn write_more(bytes: &mut Vec<u8>, random: &mut SplitMix64, client_id: ClientId, side: Side) {
    let instrument_code: Cow<'static, str> = "BTC_USDT".into();
    let price = Decimal::new(1000 + i64::from(random.below(40)) - 20, 2).unwrap();
    let amount = Decimal::new(1 + i64::from(random.below(50)), 2).unwrap();
    let order = CreateOrder::limit(instrument_code.clone(), client_id, side, price, amount);
    let order = match random.below(40) {
        0..4 => {
            CreateOrder { price: None, time_in_force: TimeInForce::ImmediateOrCancelled, ..order }
        }
        4..8 => CreateOrder { time_in_force: TimeInForce::FillOrKill, ..order },
        8..12 => CreateOrder { display_amount: Decimal::new(1, 2), ..order },
        12..16 => CreateOrder { post_only: Some(PostOnly::Reprice), ..order },
        16..20 => CreateOrder { stop_price: Some(price), ..order },
        20..24 => {
            let expire_time_ms = (crate::driven::START_NS / 1_000_000).cast_signed() + 1_000;
            let time_in_force = TimeInForce::GoodTillDate { expire_time_ms };
            CreateOrder { time_in_force, ..order }
        }
        24..39 => {
            let new_client_id = ClientId::new(&format!("c{}", random.below(200))).ok();
            let (price, delivery, account_id) = (Some(price), None, None);
            let amend = AmendOrder {
                client_id,
                new_client_id,
                instrument_code,
                price,
                amount,
                delivery,
                account_id,
            };
            return crate::driven::write_text(bytes, |out| encode_amend_order(out, &amend));
        }
        _ => {
            let side = (random.below(10) > 0).then_some(side);
            let cancel = MassCancel { side, ..MassCancel::default() };
            return crate::driven::write_text(bytes, |out| encode_mass_cancel(out, &cancel));
        }
    };
    crate::driven::write_text(bytes, |out| encode_create_order(out, &order));
}

/// All messages to all connections, times set to 0.
fn answers(flow: &Flow, portion: impl Fn(usize) -> usize) -> (Vec<Vec<String>>, Driven) {
    let mut driven = Driven::new(config());
    (0..ACCOUNTS).for_each(|stream| driven.connect(stream));
    let mut sent = 0;
    for (stream, bytes) in flow {
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let n = portion(sent).clamp(1, rest.len());
            driven.feed(*stream, &rest[..n]);
            rest = &rest[n..];
            sent += 1;
        }
    }
    let texts = (0..ACCOUNTS)
        .map(|stream| driven.texts(stream).iter().map(|text| timeless(text)).collect())
        .collect();
    (texts, driven)
}

fn timeless(text: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
    if let Some(time) = value.get_mut("time") {
        *time = 0.into();
    }
    value.to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(16)))]

    #[test]
    fn portions_do_not_matter(seed in any::<u64>(), portions in prop::collection::vec(1..300usize, 1..50)) {
        let flow = flow(seed, 300);
        let (whole, one) = answers(&flow, |_| usize::MAX);
        let (cut, other) = answers(&flow, |sent| portions[sent % portions.len()]);
        prop_assert_eq!(whole, cut);
        prop_assert_eq!(one.exchange.state_hash(), other.exchange.state_hash());
        prop_assert_eq!(one.exchange.counts(), other.exchange.counts());
        prop_assert_eq!(one.exchange.replay_check().equal, Some(true));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(256)))]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400), framed in any::<bool>()) {
        let mut sent = Vec::new();
        match framed {
            true => crate::driven::write_text(&mut sent, |out| out.extend_from_slice(&bytes)),
            false => sent.extend_from_slice(&bytes),
        }
        crate::properties::gateway::gateway(&sent);
    }

    /// Valid messages with a few wrong bytes: in headers, in JSON, in numbers.
    #[test]
    fn damaged_messages(
        seed in any::<u64>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut sent: Vec<u8> = flow(seed, 30).into_iter().flat_map(|(_, bytes)| bytes).collect();
        for (at, bits) in damage {
            let at = at.index(sent.len());
            sent[at] ^= bits;
        }
        crate::properties::gateway::gateway(&sent);
    }
}

/// An open order as its client knows it.
#[derive(Clone, Copy)]
struct Open {
    side: EngineSide,
    /// Unknown for a waiting stop.
    price_ticks: i64,
    /// Open lots. While the amount is unknown: minus the lots traded.
    left: i64,
    waits: bool,
}

/// Open orders according to the reports to clients.
#[derive(Default)]
struct Told {
    /// By account and client id.
    open: HashMap<(u32, ClientId), Open>,
    /// Lots traded, by side.
    traded: [i64; 2],
}

impl Told {
    fn tell(&mut self, account: u32, text: &str) {
        let ticks = |price: Decimal| price.in_units_of("0.01".parse().unwrap()).unwrap();
        let lots = |amount: Decimal| amount.in_units_of("0.00001".parse().unwrap()).unwrap();
        let side_of = |side| match side {
            Side::Buy => EngineSide::Buy,
            Side::Sell => EngineSide::Sell,
        };
        match decode_reply(text.as_bytes()).unwrap() {
            Reply::Booked(booked) => {
                let key = (account, booked.client_id);
                // The FILLs of an order precede its BOOKED.
                let traded = self.open.remove(&key).map_or(0, |open| -open.left);
                let left = lots(booked.amount) - traded;
                let (side, price_ticks) = (side_of(booked.side), ticks(booked.price));
                self.open.insert(key, Open { side, price_ticks, left, waits: false });
            }
            Reply::Fill(fill) => {
                let side = side_of(fill.side);
                let new = Open { side, price_ticks: 0, left: 0, waits: false };
                let open = self.open.entry((account, fill.client_id)).or_insert(new);
                open.left -= lots(fill.amount);
                self.traded[side as usize] += lots(fill.amount);
                if open.left > 0 {
                    assert_eq!(open.left, lots(fill.remaining));
                }
            }
            Reply::Done(done) => {
                let open = self.open.remove(&(account, done.client_id));
                if done.status == DoneStatus::Cancelled {
                    assert!(open.is_some_and(|open| open.left > 0));
                }
            }
            Reply::Waiting(waiting) => {
                let (side, left) = (side_of(waiting.side), lots(waiting.amount));
                let open = Open { side, price_ticks: 0, left, waits: true };
                assert!(self.open.insert((account, waiting.client_id), open).is_none());
            }
            Reply::Triggered(triggered) => {
                // A stop may trigger at once, without a report that it waits. It enters with the
                // effects that it reports.
                if let Some(open) = self.open.get_mut(&(account, triggered.client_id)) {
                    assert!(std::mem::take(&mut open.waits));
                    open.left = 0;
                }
            }
            Reply::Amended(amended) => {
                let old = amended.replaced_client_id.unwrap_or(amended.client_id);
                let mut open = self.open.remove(&(account, old)).expect("an open order");
                open.left = if amended.place_kept { lots(amended.amount) } else { 0 };
                if !open.waits {
                    open.price_ticks = ticks(amended.price.expect("a limit order"));
                }
                assert!(self.open.insert((account, amended.client_id), open).is_none());
            }
            _ => {}
        }
    }

    /// Whether it waits, side, price: lots and orders.
    fn book(&self) -> Book {
        let mut book = Book::new();
        for open in self.open.values() {
            let at = (open.waits, open.side as u8, open.price_ticks);
            let level = book.entry(at).or_default();
            *level = (level.0 + open.left.cast_unsigned(), level.1 + 1);
        }
        book
    }
}

type Book = BTreeMap<(bool, u8, i64), (u64, u32)>;

/// The same for the engine.
fn book_of(engine: &Engine) -> Book {
    let mut book = Book::new();
    engine.save(&mut |piece| {
        if let SavedItem::Order { order, .. } = piece {
            let waits = order.stop_ticks != 0;
            let price_ticks = if waits { 0 } else { order.price_ticks };
            let level = book.entry((waits, order.side as u8, price_ticks)).or_default();
            *level = (level.0 + order.quantity_lots, level.1 + 1);
        }
    });
    book
}

#[test]
fn the_reports_add_up_to_the_book() {
    let (texts, driven) = answers(&flow(7, 20_000), |_| usize::MAX);
    let mut told = Told::default();
    for (account, texts) in (0..).zip(&texts) {
        texts.iter().for_each(|text| told.tell(account, text));
    }
    let counts = driven.exchange.counts();
    assert!(counts.trades > 1000 && told.open.len() > 100, "{counts:?}");
    assert_eq!(told.traded[0], told.traded[1]);
    assert_eq!(told.book(), book_of(driven.exchange.engine()));
    let rare = [counts.amended, counts.waiting, counts.triggered, counts.replenished];
    assert!(rare.iter().all(|n| *n > 20), "{counts:?}");
    let rare: u64 = rare.iter().sum();
    let sequences = counts.booked + counts.trades + counts.done.values().sum::<u64>() + rare;
    assert_eq!(last_sequence(&texts), sequences);
}

fn last_sequence(texts: &[Vec<String>]) -> u64 {
    let sequence = |text: &String| {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        value["order_book_sequence"].as_u64()
    };
    texts.iter().flatten().filter_map(sequence).max().unwrap()
}
