//! The book by price of one instrument, and how a change of it looks from its best prices.

use std::collections::BTreeMap;
use wire::decimal::Decimal;
use wire::market_data::PriceAndAmount;
use wire::request::Side;

/// The most prices of a side that a client sees: a snapshot of that many fits one message.
pub(crate) const MARKET_DEPTH_MAX: usize = 500;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Book {
    bids: BTreeMap<Decimal, Decimal>,
    asks: BTreeMap<Decimal, Decimal>,
}

/// MDUpdateAction (279).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    New,
    Change,
    Delete,
}

/// A price that appeared, changed or disappeared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub action: Action,
    pub side: Side,
    pub price: Decimal,
    /// The amount that is left there; zero where the price is deleted.
    pub amount: Decimal,
}

/// A change that the book has taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct BookChange {
    entry: Entry,
    /// How many prices of its side are better, at most [`MARKET_DEPTH_MAX`].
    better: usize,
}

impl Book {
    /// From a snapshot.
    pub fn of(bids: &[PriceAndAmount], asks: &[PriceAndAmount]) -> Book {
        let side = |levels: &[PriceAndAmount]| levels.iter().copied().collect();
        Book { bids: side(bids), asks: side(asks) }
    }

    /// The prices of a side, the best one first.
    pub fn levels(&self, side: Side) -> impl Iterator<Item = PriceAndAmount> {
        let level = |(price, amount): (&Decimal, &Decimal)| (*price, *amount);
        let (bids, asks) = match side {
            Side::Buy => (Some(self.bids.iter().rev()), None),
            Side::Sell => (None, Some(self.asks.iter())),
        };
        bids.into_iter().flatten().map(level).chain(asks.into_iter().flatten().map(level))
    }

    /// Takes the amount that is now at a price; `None` if nothing was there before either.
    pub fn apply(&mut self, side: Side, price: Decimal, amount: Decimal) -> Option<BookChange> {
        let levels = match side {
            Side::Buy => &mut self.bids,
            Side::Sell => &mut self.asks,
        };
        let action = match amount == Decimal::ZERO {
            true => levels.remove(&price).map(|_| Action::Delete)?,
            false => match levels.insert(price, amount) {
                Some(_) => Action::Change,
                None => Action::New,
            },
        };
        let is_better = |at: Decimal| if side == Side::Buy { at > price } else { at < price };
        let best = self.levels(side).take(MARKET_DEPTH_MAX);
        let better = best.take_while(|(at, _)| is_better(*at)).count();
        Some(BookChange { entry: Entry { action, side, price, amount }, better })
    }

    /// The entries of a change for a client that sees the best `depth` prices of each side. Another
    /// price leaves or enters its view when one inside of it appears or disappears.
    pub fn seen(&self, applied: &BookChange, depth: usize) -> impl Iterator<Item = Entry> {
        let BookChange { entry, better } = *applied;
        let other = match entry.action {
            _ if better >= depth => None,
            Action::Change => None,
            Action::New => self.levels(entry.side).nth(depth).map(|level| (Action::Delete, level)),
            Action::Delete => {
                self.levels(entry.side).nth(depth - 1).map(|level| (Action::New, level))
            }
        };
        let other = other.map(|(action, (price, amount))| {
            let amount = if action == Action::Delete { Decimal::ZERO } else { amount };
            Entry { action, price, amount, ..entry }
        });
        (better < depth).then_some(entry).into_iter().chain(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(n: i64) -> Decimal {
        Decimal::new(n, 0).unwrap()
    }

    /// A client's own view, by the entries alone.
    fn take(view: &mut BTreeMap<Decimal, Decimal>, entry: &Entry) {
        let old = match entry.action {
            Action::Delete => view.remove(&entry.price),
            Action::New | Action::Change => view.insert(entry.price, entry.amount),
        };
        assert_eq!(old.is_some(), entry.action != Action::New, "{entry:?} of {view:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(256)))]
        /// A client that follows the entries always has the best prices of the book.
        #[test]
        fn entries_keep_a_view_of_any_depth(
            changes in prop::collection::vec((any::<bool>(), 1i64..12, 0i64..4), 1..60),
            depth in 1usize..8,
        ) {
            let mut book = Book::default();
            let mut views = [BTreeMap::new(), BTreeMap::new()];
            for (is_buy, price, amount) in changes {
                let side = if is_buy { Side::Buy } else { Side::Sell };
                if let Some(applied) = book.apply(side, whole(price), whole(amount)) {
                    for entry in book.seen(&applied, depth) {
                        take(&mut views[usize::from(is_buy)], &entry);
                    }
                }
                for (view, side) in views.iter().zip([Side::Sell, Side::Buy]) {
                    let best: BTreeMap<_, _> = book.levels(side).take(depth).collect();
                    prop_assert_eq!(view, &best);
                }
            }
        }
    }

    #[test]
    fn the_best_price_comes_first() {
        let levels = [(whole(1), whole(5)), (whole(3), whole(6))];
        let book = Book::of(&levels, &levels);
        let best = |side| book.levels(side).next();
        assert_eq!((best(Side::Buy), best(Side::Sell)), (Some(levels[1]), Some(levels[0])));
    }
}
