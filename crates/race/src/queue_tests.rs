use super::*;
use engine::{Cancel, NewOrder, TimeInForce};

const PRICE: i64 = 100;

/// An engine and the walk over its events.
struct Book {
    engine: Engine,
    walk: Walk,
}

impl Book {
    fn new() -> Book {
        let limits = EngineLimits::matching_only(100, 10);
        let mut walk = Walk::new(limits);
        walk.has_begun = true;
        Book { engine: Engine::new(1, limits), walk }
    }

    fn apply(&mut self, command: Command) {
        let Book { engine, walk } = self;
        engine.apply(&Input { time_ns: 0, command }, &mut |event| walk.event(&event));
    }

    fn join(&mut self, order_id: u64, lots: u64) {
        let order = NewOrder { order_id, ..NewOrder::limit(Side::Buy, PRICE, lots) };
        self.apply(Command::New(order));
    }

    fn cancel(&mut self, order_id: u64) {
        self.apply(Command::Cancel(Cancel { order_id, account: 0, tag: 0, instrument: 0 }));
    }

    fn sell(&mut self, lots: u64) {
        self.apply(Command::New(NewOrder {
            order_id: 1_000 + lots,
            time_in_force: TimeInForce::ImmediateOrCancel,
            ..NewOrder::limit(Side::Sell, PRICE, lots)
        }));
    }

    /// Missed, invented and early, by estimator.
    fn counts(&self) -> [[u64; 3]; 3] {
        let tally = |at: usize| {
            let Tally { missed, invented, early, .. } = self.walk.tallies[at];
            [missed, invented, early]
        };
        [0, 1, 2].map(tally)
    }

    /// Estimated lots ahead of an order.
    fn places(&self, order_id: u64) -> [f64; 3] {
        let queue = &self.walk.followed[&(true, PRICE)];
        let one = queue.iter().find(|one| one.order_id == order_id).unwrap();
        one.places.map(|place| place.lots_ahead)
    }
}

/// Without cancels the totals tell everything.
#[test]
fn a_queue_without_cancels_is_known_exactly() {
    let mut book = Book::new();
    for order_id in 1..=5 {
        book.join(order_id, order_id);
    }
    book.sell(4);
    assert_eq!(book.places(5), [6.0; 3]);
    book.sell(11);
    assert_eq!((book.walk.orders, book.walk.traded), (5, 5));
    assert_eq!(book.counts(), [[0; 3]; 3]);
    let result = book.walk.result("day", 1.0);
    assert!(result.estimators.iter().all(|one| one.error_lots_p90 == Some(0.0)), "{result:?}");
    assert_eq!(result.lots_ahead, Some(4.0));
}

/// 4 lots, ours, 4 lots: one order leaves, and the totals don't say which.
#[test]
fn a_cancel_may_be_ahead_or_behind() {
    let queue = |leaves: u64| {
        let mut book = Book::new();
        book.join(1, 4);
        book.join(2, 1);
        book.join(3, 4);
        book.cancel(leaves);
        assert_eq!(book.places(2), [4.0, 2.0, 0.0]);
        book
    };
    // The one ahead left, so ours trades with the first lot, and only one estimator knows.
    let mut ahead = queue(1);
    ahead.sell(1);
    assert_eq!(ahead.walk.traded, 1);
    assert_eq!(ahead.counts(), [[1, 0, 0], [1, 0, 0], [0, 0, 0]]);
    // The one behind left, so ours trades after four lots.
    let mut behind = queue(3);
    behind.sell(3);
    behind.cancel(2);
    assert_eq!(behind.counts(), [[0, 0, 0], [0, 1, 0], [0, 1, 0]]);
    assert_eq!(behind.walk.tallies[0].errors, [0.0; 3]);
    let mut behind = queue(3);
    behind.sell(4);
    behind.sell(5);
    assert_eq!(behind.counts(), [[0, 0, 0], [0, 0, 1], [0, 0, 1]]);
}

/// No estimator puts more ahead than the price has, and an order that never was at the best price
/// is not followed.
#[test]
fn the_total_bounds_what_is_ahead() {
    let mut book = Book::new();
    book.join(1, 4);
    book.join(2, 1);
    book.cancel(1);
    assert_eq!(book.places(2), [0.0; 3]);
    let far = NewOrder { order_id: 9, ..NewOrder::limit(Side::Buy, PRICE - 1, 1) };
    book.apply(Command::New(far));
    assert_eq!(book.walk.orders, 2);
}
