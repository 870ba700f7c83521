//! The best prices of an instrument and all that were before them, as a hash.

use engine::{StateHash, Top};

/// Whether two ends had the same best prices after each change. The last best prices alone would
/// not tell that a change before them was lost or wrong.
#[derive(Debug, Clone)]
pub struct TopHistory {
    hash: StateHash,
    since: u64,
    sequence: u64,
    changes: u64,
}

impl TopHistory {
    /// Begins with the best prices after message `sequence`.
    #[must_use]
    pub fn new(sequence: u64, top: &Top) -> TopHistory {
        let mut hash = StateHash::new();
        add(&mut hash, sequence, top);
        TopHistory { hash, since: sequence, sequence, changes: 0 }
    }

    /// After message `sequence` these were the best prices.
    #[inline]
    pub fn change(&mut self, sequence: u64, top: &Top) {
        add(&mut self.hash, sequence, top);
        self.sequence = sequence;
        self.changes += 1;
    }

    /// Number of the message after which it begins.
    #[must_use]
    pub fn since(&self) -> u64 {
        self.since
    }

    /// Number of the last message.
    #[must_use]
    #[inline]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Changes since the beginning.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// A hash of each message's number and best prices, then of `now`: the present best prices,
    /// from another source if there is one.
    #[must_use]
    pub fn hash_with(&self, now: &Top) -> u64 {
        let mut hash = self.hash.clone();
        add(&mut hash, self.sequence, now);
        hash.finish()
    }
}

#[inline]
fn add(hash: &mut StateHash, sequence: u64, top: &Top) {
    hash.word(sequence);
    for quote in [top.bid, top.ask] {
        hash.word(u64::from(quote.is_some()));
        if let Some(quote) = quote {
            hash.word(quote.price_ticks.unsigned_abs());
            hash.word(quote.quantity_lots);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Quote;

    fn top(bid: Option<(i64, u64)>, ask: Option<(i64, u64)>) -> Top {
        let quote = |(price_ticks, quantity_lots)| Quote { price_ticks, quantity_lots };
        Top { bid: bid.map(quote), ask: ask.map(quote) }
    }

    /// One price, amount, side or number that was different, or a change that is missing, shows for
    /// ever, though the last best prices are the same.
    #[test]
    fn a_difference_in_the_middle_shows_at_the_end() {
        let (begin, last) = (top(Some((9, 1)), Some((11, 1))), top(None, Some((12, 3))));
        let with = |middle: &[(u64, Top)]| {
            let mut history = TopHistory::new(5, &begin);
            middle.iter().for_each(|(sequence, top)| history.change(*sequence, top));
            history.change(20, &last);
            (history.hash_with(&last), history)
        };
        let (middle, next) = (top(Some((9, 2)), Some((11, 1))), top(Some((8, 2)), None));
        let (right, history) = with(&[(7, middle), (9, next)]);
        assert_eq!((history.since(), history.sequence(), history.changes()), (5, 20, 3));
        assert_eq!(with(&[(7, middle), (9, next)]).0, right);
        for wrong in [
            &[(7, top(Some((8, 2)), Some((11, 1)))), (9, next)][..],
            &[(7, top(Some((9, 3)), Some((11, 1)))), (9, next)],
            &[(7, top(Some((11, 1)), Some((9, 2)))), (9, next)],
            &[(7, top(None, Some((9, 2)))), (9, next)],
            &[(8, middle), (9, next)],
            &[(7, middle)],
            &[(7, middle), (9, next), (9, next)],
        ] {
            assert_ne!(with(wrong).0, right, "{wrong:?}");
        }
        assert_ne!(history.hash_with(&begin), right);
    }
}
