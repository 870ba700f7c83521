//! The same bytes give the same answers, in whatever portions they come; and the answers add up to
//! the book.

mod driven;
mod properties;

use driven::{Driven, config, write_authenticate, write_cancel, write_order};
use engine::Side as EngineSide;
use measure::random::SplitMix64;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};
use wire::ClientId;
use wire::reply::{DoneStatus, Reply, decode_reply};
use wire::request::Side;

const ACCOUNTS: u32 = 4;

/// What a client sends, by connection, in the order in which it is sent.
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
            6..9 => write_cancel(&mut bytes, client_id),
            _ => driven::write_text(&mut bytes, |out| out.extend_from_slice(b"{\"type\":1}")),
        }
        flow.push((stream, bytes));
    }
    flow
}

/// Everything that every connection was told, times set to 0.
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
    #![proptest_config(ProptestConfig::with_cases(16))]

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
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400), framed in any::<bool>()) {
        let mut sent = Vec::new();
        match framed {
            true => driven::write_text(&mut sent, |out| out.extend_from_slice(&bytes)),
            false => sent.extend_from_slice(&bytes),
        }
        properties::gateway(&sent);
    }

    /// Messages that were right, and a few bytes of them wrong: in headers, in JSON, in numbers.
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
        properties::gateway(&sent);
    }
}

/// What its clients were told, added up: their open orders.
#[derive(Default)]
struct Told {
    /// By account and client id: side, price in ticks, what is left in lots.
    open: HashMap<(u32, ClientId), (EngineSide, i64, i64)>,
    /// Lots traded, by side.
    traded: [i64; 2],
}

impl Told {
    fn tell(&mut self, account: u32, text: &str) {
        let (tick, lot) = ("0.01".parse().unwrap(), "0.00001".parse().unwrap());
        let side_of = |side| match side {
            Side::Buy => EngineSide::Buy,
            Side::Sell => EngineSide::Sell,
        };
        match decode_reply(text.as_bytes()).unwrap() {
            Reply::Booked(booked) => {
                let key = (account, booked.client_id);
                let ticks = booked.price.in_units_of(tick).unwrap();
                let lots = booked.amount.in_units_of(lot).unwrap();
                // The FILLs of an order that comes to rest stand before its BOOKED.
                let traded = self.open.remove(&key).map_or(0, |(_, _, left)| -left);
                self.open.insert(key, (side_of(booked.side), ticks, lots - traded));
            }
            Reply::Fill(fill) => {
                let lots = fill.amount.in_units_of(lot).unwrap();
                let side = side_of(fill.side);
                let entry = self.open.entry((account, fill.client_id)).or_insert((side, 0, 0));
                entry.2 -= lots;
                self.traded[side as usize] += lots;
                if entry.2 > 0 {
                    assert_eq!(entry.2, fill.remaining.in_units_of(lot).unwrap());
                }
            }
            Reply::Done(done) => {
                let order = self.open.remove(&(account, done.client_id));
                if done.status == DoneStatus::Cancelled {
                    assert!(order.is_some_and(|(_, _, left)| left > 0));
                }
            }
            _ => {}
        }
    }
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
    for side in [EngineSide::Buy, EngineSide::Sell] {
        let mut expected: BTreeMap<i64, (u64, u32)> = BTreeMap::new();
        for (_, price_ticks, lots) in told.open.values().filter(|order| order.0 == side) {
            let level = expected.entry(*price_ticks).or_default();
            *level = (level.0 + lots.cast_unsigned(), level.1 + 1);
        }
        let levels: BTreeMap<_, _> = driven
            .exchange
            .engine()
            .levels(0, side)
            .map(|(price_ticks, lots, orders)| (price_ticks, (lots, orders)))
            .collect();
        assert_eq!(levels, expected);
    }
    let sequences = counts.booked + counts.trades + counts.done.values().sum::<u64>();
    assert_eq!(last_sequence(&texts), sequences);
}

fn last_sequence(texts: &[Vec<String>]) -> u64 {
    let sequence = |text: &String| {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        value["order_book_sequence"].as_u64()
    };
    texts.iter().flatten().filter_map(sequence).max().unwrap()
}
