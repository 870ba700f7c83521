//! The book of JSON: what is applied, what ends a tick, and what ends the run.

use super::*;
use crate::tick::followed::{FollowedBook, MarketDataKind, Tick};
use expect_test::{Expect, expect};
use wire::market_data::{Gap, encode_gap, encode_level};

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

/// Bytes of the frame that a message comes in.
fn framed(text: &[u8]) -> usize {
    let mut frame = Vec::new();
    wire::frame::write_frame(&mut frame, true, wire::frame::Opcode::Text, None, text);
    frame.len()
}

fn begun() -> JsonBook {
    let mut book = JsonBook::new("BTC_USDT", [decimal("0.01"), decimal("0.00001")], 100);
    let level = |price, amount| (decimal(price), decimal(amount));
    let snapshot = BookSnapshot {
        instrument_code: "BTC_USDT".into(),
        bids: vec![level("99.5", "2"), level("99", "1")],
        asks: vec![level("100", "3")],
        feed_sequence: 7,
        time_ms: 0,
    };
    book.begin(&snapshot).unwrap();
    book
}

fn level(price: &str, amount: &str, feed_sequence: u64, stamps: Option<[u64; 3]>) -> Vec<u8> {
    let mut text = Vec::new();
    let level = Level {
        instrument_code: "BTC_USDT".into(),
        side: request::Side::Buy,
        price: decimal(price),
        amount: decimal(amount),
        feed_sequence,
        time_ms: 0,
        stamps,
    };
    encode_level(&mut text, &level);
    text
}

fn best_bid(book: &JsonBook) -> (i64, u64) {
    let bid = book.book(0).unwrap().top().bid.unwrap();
    (bid.price_ticks, bid.quantity_lots)
}

#[test]
fn a_tick_ends_with_the_message_that_has_stamps() {
    let mut book = begun();
    assert_eq!((best_bid(&book), book.sequence()), ((9_950, 200_000), 0));
    let (first, last) = (level("99.5", "0", 8, None), level("99", "1.5", 9, Some([1, 2, 3])));
    let tick = book.take(&first).unwrap();
    assert_eq!(
        (tick.kind, tick.intended_ns, best_bid(&book)),
        (MarketDataKind::NotNow, 0, (9_900, 100_000))
    );
    let tick = book.take(&last).unwrap();
    let expected = Tick {
        number: 9,
        messages: 2,
        bytes: framed(&first) + framed(&last),
        kind: MarketDataKind::Live,
        intended_ns: 1,
        acknowledged_ns: 2,
        published_ns: 3,
    };
    assert_eq!(tick, expected);
    assert_eq!((best_bid(&book), book.sequence()), ((9_900, 150_000), 9));
    // The next tick begins anew.
    let next = level("98", "1", 12, Some([4, 5, 6]));
    assert_eq!(book.take(&next).map(|tick| (tick.messages, tick.bytes)), Some((1, framed(&next))));
    assert!(book.is_in_sync() && book.failure().is_none());
}

/// The follower of datagrams hashes other things, so that the exchange must say which.
#[test]
fn its_hash_is_of_prices_and_lots() {
    let (one, other) = (begun(), begun());
    assert_eq!(one.hash(), other.hash());
    let mut other = other;
    other.take(&level("99.5", "2.00001", 8, None)).unwrap();
    assert_ne!(one.hash(), other.hash());
}

#[test]
fn every_fault_is_final_and_explained() {
    let fails = |text: &[u8], expected: Expect| {
        let mut book = begun();
        assert_eq!(book.take(text).map(|tick| tick.kind), Some(MarketDataKind::NotNow));
        assert!(!book.is_in_sync());
        expected.assert_eq(book.failure().unwrap());
        // The first reason stays.
        book.take(b"{}").unwrap();
        expected.assert_eq(book.failure().unwrap());
    };
    let mut gap = Vec::new();
    let skipped = Gap { channel: "BOOK".into(), instrument_code: "X".into(), from: 8, to: 90 };
    encode_gap(&mut gap, &skipped);
    fails(
        &gap,
        expect![
            "the exchange skipped messages 8 to 90, because the trader did not read fast enough: lower flow.rate_per_second"
        ],
    );
    fails(
        br#"{"type":"ERROR","reason":"no"}"#,
        expect![[r#"{"type":"ERROR","reason":"no"} is no BOOK, and nothing else was subscribed"#]],
    );
    fails(
        &level("99", "1", 7, None),
        expect![[
            r#"after message 7 of BTC_USDT came {"type":"BOOK","instrument_code":"BTC_USDT","side":"BUY","price":"99","amount":"1","feed_sequence":7,"time":0}: did the exchange change?"#
        ]],
    );
    fails(
        &level("99.001", "1", 8, None),
        expect!["1 at 99.001 is no multiple of lot 0.00001 and tick 0.01"],
    );
    fails(b"{", expect!["unreadable reply: malformed JSON at byte 1: {"]);
}
