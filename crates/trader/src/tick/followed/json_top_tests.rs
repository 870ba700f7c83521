//! The best prices of JSON: what is applied, what the hash knows of, and what ends the run.

use super::*;
use crate::tick::followed::{FollowedBook, MarketDataKind, Tick};
use expect_test::{Expect, expect};
use wire::market_data::{Gap, PriceAndAmount, encode_gap, encode_top};

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

fn level(price: &str, amount: &str) -> Option<PriceAndAmount> {
    Some((decimal(price), decimal(amount)))
}

fn top(
    [bid, ask]: [Option<PriceAndAmount>; 2],
    feed_sequence: u64,
    stamps: Option<TickStamps>,
) -> Top<'static> {
    Top { instrument_code: "BTC_USDT".into(), bid, ask, feed_sequence, time_ms: 0, stamps }
}

fn text(top: &Top<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    encode_top(&mut text, top);
    text
}

fn begun() -> TopBook {
    let mut book = TopBook::new("BTC_USDT", [decimal("0.01"), decimal("0.00001")]);
    book.begin(&top([level("99.5", "2"), level("100", "3")], 7, None)).unwrap();
    book
}

/// Best prices in ticks and lots, bid first.
fn best(book: &TopBook) -> [Option<(i64, u64)>; 2] {
    let top = book.book(0).unwrap().top();
    [top.bid, top.ask].map(|quote| quote.map(|it| (it.price_ticks, it.quantity_lots)))
}

const STAMPS: Option<TickStamps> = Some([1, 2, 3]);

#[test]
fn each_message_is_a_tick_that_replaces_the_best_prices() {
    let mut book = begun();
    assert_eq!(
        (best(&book), book.sequence()),
        ([Some((9_950, 200_000)), Some((10_000, 300_000))], 7)
    );
    let message = text(&top([level("99.6", "1"), level("100", "2.5")], 12, STAMPS));
    let expected = Tick {
        number: 12,
        messages: 1,
        // A frame of more than 125 bytes has a header of 4.
        bytes: message.len() + 4,
        kind: MarketDataKind::Live,
        intended_ns: 1,
        acknowledged_ns: 2,
        published_ns: 3,
    };
    assert_eq!(book.take(&message), Some(expected));
    assert_eq!(
        (best(&book), book.sequence()),
        ([Some((9_960, 100_000)), Some((10_000, 250_000))], 12)
    );
    // Worse prices than before, above the former ask, and a side that is empty.
    for (number, levels, expected) in [
        (
            13,
            [level("100.5", "1"), level("101", "1")],
            [Some((10_050, 100_000)), Some((10_100, 100_000))],
        ),
        (14, [level("1", "1"), None], [Some((100, 100_000)), None]),
        (15, [None, level("1", "1")], [None, Some((100, 100_000))]),
    ] {
        assert_eq!(
            book.take(&text(&top(levels, number, STAMPS))).map(|it| it.kind),
            Some(MarketDataKind::Live)
        );
        assert_eq!(best(&book), expected);
    }
    assert!(book.is_in_sync() && book.failure().is_none());
    assert_eq!(book.counts().messages, 4);
    let state = FollowedState::Top { instrument_code: "BTC_USDT".to_owned(), since: 7 };
    assert_eq!(book.state("BTC_USDT"), state);
}

/// The exchange hashes what it showed and the best prices of its engine. One message that was
/// altered or lost shows at the end, though the last best prices are right.
#[test]
fn an_altered_or_lost_message_leaves_its_mark() {
    let middle = |bid| (8, [level(bid, "1"), level("100", "3")]);
    let last = (9, [level("99", "1"), level("100", "3")]);
    let hash = |messages: &[(u64, [Option<PriceAndAmount>; 2])]| {
        let mut book = begun();
        for (number, levels) in messages {
            assert_eq!(
                book.take(&text(&top(*levels, *number, STAMPS))).unwrap().kind,
                MarketDataKind::Live
            );
            book.afterwards();
        }
        assert_eq!(best(&book), [Some((9_900, 100_000)), Some((10_000, 300_000))]);
        book.hash()
    };
    let quote = |price_ticks, quantity_lots| engine::Quote { price_ticks, quantity_lots };
    let theirs = |bid| engine::Top { bid: Some(bid), ask: Some(quote(10_000, 300_000)) };
    let mut shown = TopHistory::new(7, &theirs(quote(9_950, 200_000)));
    shown.change(8, &theirs(quote(9_940, 100_000)));
    shown.change(9, &theirs(quote(9_900, 100_000)));
    let expected = shown.hash_with(&theirs(quote(9_900, 100_000)));
    assert_eq!(hash(&[middle("99.4"), last]), expected);
    assert_ne!(hash(&[middle("99.41"), last]), expected);
    assert_ne!(hash(&[last]), expected);
    // The exchange showed what its engine did not have.
    assert_ne!(shown.hash_with(&theirs(quote(9_900, 100_001))), expected);
}

#[test]
fn every_fault_is_final_and_explained() {
    let fails = |text: &[u8], expected: Expect| {
        let mut book = begun();
        assert_eq!(book.take(text).map(|tick| tick.kind), Some(MarketDataKind::NotNow));
        assert!(!book.is_in_sync());
        expected.assert_eq(book.failure().unwrap());
    };
    let mut gap = Vec::new();
    let skipped = Gap { channel: "TOP".into(), instrument_code: "X".into(), from: 8, to: 90 };
    encode_gap(&mut gap, &skipped);
    fails(
        &gap,
        expect![
            "the exchange skipped messages 8 to 90, because the trader did not read fast enough: lower flow.rate_per_second"
        ],
    );
    fails(
        br#"{"type":"ERROR","reason":"no"}"#,
        expect![[r#"{"type":"ERROR","reason":"no"} is no TOP, and nothing else was subscribed"#]],
    );
    let both = [level("99.5", "1"), level("100", "1")];
    fails(
        &text(&top(both, 7, STAMPS)),
        expect![[
            r#"after message 7 of BTC_USDT came {"type":"TOP","instrument_code":"BTC_USDT","bid":["99.5","1"],"ask":["100","1"],"feed_sequence":7,"time":0,"stamps":[1,2…: did the exchange change?"#
        ]],
    );
    fails(
        &text(&top(both, 8, None)),
        expect![[
            r#"a TOP without stamps came: {"type":"TOP","instrument_code":"BTC_USDT","bid":["99.5","1"],"ask":["100","1"],"feed_sequence":8,"time":0}"#
        ]],
    );
    fails(
        &text(&top([level("99.001", "1"), None], 8, STAMPS)),
        expect!["1 at 99.001 is no multiple of lot 0.00001 and tick 0.01"],
    );
    fails(
        &text(&top([level("99.5", "0"), None], 8, STAMPS)),
        expect!["the best price 99.5 came with amount 0"],
    );
    fails(b"{", expect!["unreadable reply: malformed JSON at byte 1: {"]);
}
