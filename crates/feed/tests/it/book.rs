//! A book applies consistent messages and is unchanged by contradictory ones.

use engine::{InstrumentState, Side};
use feed::{Book, Channel, Fault, FeedMessage};

fn added(order_id: u64, side: Side, price_ticks: i64, quantity_lots: u64) -> FeedMessage {
    FeedMessage::OrderAdded { instrument: 0, order_id, side, price_ticks, quantity_lots }
}

fn reduced(order_id: u64, quantity_lots: u64) -> FeedMessage {
    FeedMessage::OrderReduced { instrument: 0, order_id, quantity_lots }
}

fn deleted(order_id: u64) -> FeedMessage {
    FeedMessage::OrderDeleted { instrument: 0, order_id }
}

fn trade(order_id: u64, aggressor_side: Side, price_ticks: i64, quantity_lots: u64) -> FeedMessage {
    FeedMessage::Trade {
        instrument: 0,
        trade_id: 1,
        order_id,
        aggressor_side,
        price_ticks,
        quantity_lots,
    }
}

fn level(side: Side, price_ticks: i64, quantity_lots: u64, orders: u32) -> FeedMessage {
    FeedMessage::Level { instrument: 0, side, price_ticks, quantity_lots, orders }
}

/// A book with room for three orders at two prices per side; two orders rest.
fn book() -> Book {
    let mut book = Book::new(Channel::Orders, 3, 2);
    assert_eq!(book.apply(&added(1, Side::Buy, 99, 5)), Ok(()));
    assert_eq!(book.apply(&added(2, Side::Buy, 98, 5)), Ok(()));
    book
}

#[test]
fn what_does_not_go_with_the_book_changes_nothing() {
    let mut book = book();
    let hash = book.hash();
    for (message, fault) in [
        (added(1, Side::Buy, 99, 1), Fault::DuplicateOrder),
        (added(1, Side::Sell, 101, 1), Fault::DuplicateOrder),
        (added(3, Side::Buy, 97, 1), Fault::BookFull),
        (reduced(3, 1), Fault::UnknownOrder),
        (reduced(1, 5), Fault::Contradiction),
        (reduced(1, 6), Fault::Contradiction),
        (deleted(3), Fault::UnknownOrder),
        (trade(3, Side::Sell, 99, 1), Fault::UnknownOrder),
        (trade(1, Side::Buy, 99, 1), Fault::Contradiction),
        (trade(1, Side::Sell, 98, 1), Fault::Contradiction),
        (trade(1, Side::Sell, 99, 6), Fault::Contradiction),
        (level(Side::Buy, 99, 1, 1), Fault::OtherChannel),
    ] {
        assert_eq!(book.apply(&message), Err(fault), "{message:?}");
        assert_eq!(book.hash(), hash, "{message:?}");
    }
    assert_eq!(book.apply(&added(3, Side::Sell, 101, 1)), Ok(()));
    assert_eq!(book.apply(&added(4, Side::Sell, 101, 1)), Err(Fault::BookFull));
    assert_eq!(book.apply(&deleted(3)), Ok(()));
    assert_eq!(book.hash(), hash);
}

#[test]
fn each_difference_is_another_hash() {
    let hash = book().hash();
    for message in [
        added(3, Side::Buy, 99, 5),
        added(3, Side::Sell, 100, 5),
        reduced(1, 4),
        deleted(1),
        trade(2, Side::Sell, 98, 1),
        FeedMessage::State { instrument: 0, state: InstrumentState::Halted },
    ] {
        let mut book = book();
        assert_eq!(book.apply(&message), Ok(()));
        assert_ne!(book.hash(), hash, "{message:?}");
    }
    // The same orders in another sequence, which levels do not show.
    let [mut one, mut other] = [(); 2].map(|()| Book::new(Channel::Orders, 3, 2));
    for (first, second) in [(1, 2), (2, 1)] {
        let book = if first == 1 { &mut one } else { &mut other };
        assert_eq!(book.apply(&added(first, Side::Buy, 99, 5)), Ok(()));
        assert_eq!(book.apply(&added(second, Side::Buy, 99, 5)), Ok(()));
    }
    assert_ne!(one.hash(), other.hash());
    assert_eq!(one.hash_as(Channel::Levels), other.hash_as(Channel::Levels));
}

#[test]
fn a_book_that_was_cleared_is_a_new_one() {
    let mut book = book();
    let halted = FeedMessage::State { instrument: 0, state: InstrumentState::Halted };
    assert_eq!(book.apply(&halted), Ok(()));
    book.clear();
    assert_eq!(book.hash(), Book::new(Channel::Orders, 0, 0).hash());
    // All of its room is free again.
    for order_id in 1..=3 {
        assert_eq!(book.apply(&added(order_id, Side::Sell, 100 + order_id as i64 % 2, 1)), Ok(()));
    }
    assert_eq!(book.orders_open(), 3);
}

#[test]
fn levels_are_set() {
    let mut book = Book::new(Channel::Levels, 0, 2);
    assert_eq!(book.apply(&level(Side::Buy, 99, 5, 2)), Ok(()));
    assert_eq!(book.apply(&level(Side::Buy, 98, 7, 1)), Ok(()));
    assert_eq!(book.apply(&level(Side::Buy, 97, 7, 1)), Err(Fault::BookFull));
    // Deleting an empty level is allowed.
    assert_eq!(book.apply(&level(Side::Buy, 97, 0, 0)), Ok(()));
    assert_eq!(book.apply(&level(Side::Buy, 99, 4, 1)), Ok(()));
    assert_eq!(book.levels(Side::Buy).collect::<Vec<_>>(), [(99, 4, 1), (98, 7, 1)]);
    assert_eq!(book.apply(&level(Side::Buy, 99, 0, 0)), Ok(()));
    assert_eq!(book.top().bid.map(|quote| (quote.price_ticks, quote.quantity_lots)), Some((98, 7)));
    // Trades change no level.
    let hash = book.hash();
    assert_eq!(book.apply(&trade(1, Side::Sell, 98, 7)), Ok(()));
    assert_eq!(book.hash(), hash);
    assert_eq!(book.apply(&added(1, Side::Buy, 98, 7)), Err(Fault::OtherChannel));
    assert_eq!(book.orders(Side::Buy).count(), 0);
    book.clear();
    assert_eq!(book.hash(), Book::new(Channel::Levels, 0, 0).hash());
}
