//! The book of FIX: what is applied, what ends a tick, and what ends the run.

use super::*;
use crate::tick::followed::{FollowedBook, MarketDataKind, Tick};
use expect_test::{Expect, expect};
use fix::encode::{Body, seal};
use fix::message::{Field, split};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The gateway wrote it in a test of its own.
const TICKS: &str = include_str!("../../../../../clients/vectors/fix_ticks.txt");

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

fn bytes(text: &str) -> Vec<u8> {
    text.replace('|', "\x01").into_bytes()
}

/// A whole message with this body, from MsgType on.
fn sealed(body: &str) -> Vec<u8> {
    let mut out = Vec::new();
    seal(&mut out, b"FIX.4.4", &bytes(body));
    out
}

fn increment(entries: &str, count: usize, end: &str) -> Vec<u8> {
    sealed(&format!("35=X|49=TICKPATH|56=TICKS-1|34=9|52=x|262=ticks|268={count}|{entries}{end}"))
}

fn empty() -> FixBook {
    FixBook::new("BTC", [decimal("0.01"), decimal("0.0001")], 1_000)
}

fn begun_by(book: &mut FixBook, snapshot: &[u8]) -> Result<(), String> {
    let mut fields: Vec<Field> = Vec::new();
    split(snapshot, |_| None, &mut fields).unwrap();
    book.begin(Message::new(snapshot, &fields))
}

fn begun() -> FixBook {
    let mut book = empty();
    begun_by(&mut book, &bytes(TICKS.lines().next().unwrap())).unwrap();
    book
}

fn levels(book: &FixBook, side: Side) -> Vec<(i64, u64)> {
    let levels = book.book(0).unwrap().levels(side);
    levels.map(|(price_ticks, lots, _)| (price_ticks, lots)).collect()
}

/// The real gateway sends a tick of two prices, one in two messages, two that came together,
/// one that shows nothing.
#[test]
fn the_gateways_messages_are_followed() {
    let mut book = begun();
    assert_eq!(levels(&book, Side::Buy), [(9_900, 20_000)]);
    let messages: Vec<Vec<u8>> = TICKS.lines().skip(1).map(bytes).collect();
    let ticks: Vec<Tick> = messages.iter().map(|message| book.take(message).unwrap()).collect();
    assert_eq!(book.failure(), None);
    let live = ticks.iter().filter(|tick| tick.kind == MarketDataKind::Live);
    let live: Vec<_> = live
        .map(|tick| (tick.number, tick.messages, tick.intended_ns, tick.published_ns))
        .collect();
    assert_eq!(
        live,
        [(3, 2, 11, 13), (5, 2, 21, 23), (6, 1, 31, 33), (7, 1, 41, 43), (9, 0, 51, 53)]
    );
    assert_eq!((ticks[1].kind, ticks.len()), (MarketDataKind::NotNow, 6));
    assert_eq!(ticks[2].bytes, messages[1].len() + messages[2].len());
    assert_eq!(book.sequence(), 9);
    assert_eq!(levels(&book, Side::Buy), [(9_800, 70_000)]);
    assert_eq!(levels(&book, Side::Sell), [(10_100, 10_000), (10_200, 10_000)]);
}

#[test]
fn every_fault_is_final_and_explained() {
    let fails = |message: &[u8], expected: Expect| {
        let mut book = begun();
        assert_eq!(book.take(message).map(|tick| tick.kind), Some(MarketDataKind::NotNow));
        assert!(!book.is_in_sync());
        expected.assert_eq(&book.failure().unwrap().replace('\x01', "|"));
    };
    let entry = |entry: &str| increment(entry, 1, "");
    fails(
        &bytes(TICKS.lines().next().unwrap()),
        expect![
            "the exchange skipped messages and sent a snapshot, because the trader did not read fast enough: lower flow.rate_per_second"
        ],
    );
    fails(
        &sealed("35=Y|34=9|262=ticks|58=too many|"),
        expect!["the exchange ended the market data: too many"],
    );
    fails(&sealed("35=8|34=9|37=1|"), expect!["message 9 of type 8, which was not asked for: "]);
    fails(
        &entry("279=0|269=0|55=ETH|270=1|271=1|"),
        expect![[r#"an entry of "ETH" came, and BTC was asked for"#]],
    );
    fails(
        &entry("279=0|269=2|55=BTC|270=1|271=1|"),
        expect![[r#"an entry of type "2" came, and bids and offers were asked for"#]],
    );
    fails(
        &entry("279=5|269=0|55=BTC|270=1|271=1|"),
        expect!["an entry with MDUpdateAction (279) 5 came"],
    );
    fails(
        &entry("279=0|269=0|55=BTC|270=1.001|271=1|"),
        expect!["1 at 1.001 is no multiple of lot 0.0001 and tick 0.01"],
    );
    fails(
        &entry("279=0|269=0|55=BTC|270=1|"),
        expect![[
            r#""": not a decimal number: write digits with at most one point between them, such as 0.25"#
        ]],
    );
    let begins = |message: &[u8], why: &str| {
        let mut book = begun();
        book.take(message).unwrap();
        assert!(book.failure().unwrap().starts_with(why), "{:?}", book.failure());
    };
    let short = increment("279=2|269=0|55=BTC|270=99|", 2, "");
    begins(&short, "after tick 0 came 0, with 1 of 2 entries: 8=FIX.4.4");
    begins(&increment("", 0, "8017=x|"), "unreadable message: 8=FIX.4.4");
    let mut book = begun();
    book.take(&increment("", 0, "8017=7|8018=1|8019=1|8020=1|")).unwrap();
    assert!(book.is_in_sync());
    book.take(&increment("", 0, "8017=7|8018=1|8019=1|8020=1|")).unwrap();
    assert!(book.failure().unwrap().starts_with("after tick 7 came 7"), "{:?}", book.failure());
}

/// A deeper book looks the same, so that it could never be compared.
#[test]
fn as_many_prices_as_fix_shows_are_too_many() {
    let mut book = begun();
    for nth in 1..PRICES_MAX {
        assert_eq!(book.failure(), None);
        let entry = format!("279=0|269=0|55=BTC|270={nth}00|271=1|");
        book.take(&increment(&entry, 1, "")).unwrap();
    }
    assert!(book.failure().unwrap().contains("follow it as SBE or JSON"));
    let entries: String = (1..=PRICES_MAX).map(|nth| format!("269=1|270={nth}|271=1|")).collect();
    let snapshot = sealed(&format!("35=W|34=2|55=BTC|268={PRICES_MAX}|{entries}"));
    assert!(begun_by(&mut empty(), &snapshot).unwrap_err().contains("500 prices"));
    let of_another = sealed("35=W|34=2|55=ETH|268=0|");
    assert!(begun_by(&mut empty(), &of_another).unwrap_err().contains("ETH"));
}

/// Action, side, price in ticks, lots.
type Change = (u8, bool, i64, u64);

/// As the gateway writes it. The order of fields in an entry is any.
fn encode(changes: &[Change], number: u64) -> Vec<u8> {
    let mut body = bytes("35=X|49=TICKPATH|56=TICKS-1|34=9|52=x|262=ticks|");
    let mut fields = Body::new(&mut body);
    fields.number(NO_MD_ENTRIES, changes.len() as u64);
    for (action, is_bid, price_ticks, lots) in changes {
        let price = Decimal::from_units(*price_ticks, decimal("0.01")).unwrap();
        let size = Decimal::from_units(*lots as i64, decimal("0.0001")).unwrap();
        fields.number(MD_UPDATE_ACTION, u64::from(*action));
        if *lots % 2 == 0 {
            fields.written(MD_ENTRY_SIZE, |out| size.write_to(out)).text(SYMBOL, "BTC");
        }
        fields.number(MD_ENTRY_TYPE, u64::from(!is_bid));
        fields.written(MD_ENTRY_PX, |out| price.write_to(out));
        if *lots % 2 == 1 {
            fields.text(SYMBOL, "BTC").written(MD_ENTRY_SIZE, |out| size.write_to(out));
        }
    }
    if number > 0 {
        fields.number(tag::TICK_NUMBER, number).number(tag::TICK_INTENDED_NS, number + 1);
        fields.number(tag::TICK_ACKNOWLEDGED_NS, number + 2);
        fields.number(tag::TICK_PUBLISHED_NS, number + 3);
    }
    let mut out = Vec::new();
    seal(&mut out, b"FIX.4.4", &body);
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(256)))]
    /// A map of prices by the changes alone is the book, and only numbers end ticks.
    #[test]
    fn the_book_is_what_the_entries_say(
        messages in prop::collection::vec(
            (prop::collection::vec((0u8..3, any::<bool>(), 1i64..20, 1u64..50), 0..6), any::<bool>()),
            1..12,
        ),
    ) {
        let mut book = empty();
        let mut naive = [BTreeMap::new(), BTreeMap::new()];
        for (nth, (changes, is_end)) in (1u64..).zip(&messages) {
            let number = if *is_end { nth } else { 0 };
            let tick = book.take(&encode(changes, number)).unwrap();
            prop_assert_eq!(book.failure(), None);
            for (action, is_bid, price_ticks, lots) in changes {
                let side = &mut naive[usize::from(*is_bid)];
                match action {
                    2 => side.remove(price_ticks),
                    _ => side.insert(*price_ticks, *lots),
                };
            }
            let kind = if *is_end { MarketDataKind::Live } else { MarketDataKind::NotNow };
            prop_assert_eq!(tick.kind, kind);
            if *is_end {
                prop_assert_eq!((tick.number, tick.intended_ns, tick.published_ns), (nth, nth + 1, nth + 3));
            }
            let bids: Vec<_> = naive[1].iter().rev().map(|(price, lots)| (*price, *lots)).collect();
            let asks: Vec<_> = naive[0].iter().map(|(price, lots)| (*price, *lots)).collect();
            prop_assert_eq!((levels(&book, Side::Buy), levels(&book, Side::Sell)), (bids, asks));
        }
    }

    #[test]
    fn no_bytes_break_it(texts in prop::collection::vec("[0-9=|XW.]{0,60}", 1..4)) {
        let mut book = begun();
        for text in texts {
            prop_assert!(book.take(&bytes(&text)).is_some());
            prop_assert!(begun_by(&mut begun(), b"").is_err());
        }
    }
}
