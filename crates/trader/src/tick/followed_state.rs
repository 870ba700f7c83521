//! The state of the exchange that the trader's book must agree with, and its parts in what the
//! exchange tells of itself.

use wire::administration::{FeedState, FlowEnded};
use wire::request::Depth;

/// The channels of an instrument's book and of its best prices as JSON, and their names in a
/// description.
pub(crate) const BOOK: &str = "BOOK";
pub(crate) const TOP: &str = "TOP";

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum FollowedState {
    /// The books of the feed, order by order.
    #[default]
    Orders,
    /// The `BOOK` of one instrument.
    Book { instrument_code: String },
    /// The `TOP` of one instrument, from that message on.
    Top { instrument_code: String, since: u64 },
}

impl FollowedState {
    /// It, among those of a description.
    pub(crate) fn of<'a>(&self, feeds: &'a [FeedState]) -> Option<&'a FeedState> {
        let (depth, code, since) = match self {
            FollowedState::Orders => (Depth::Orders.name(), None, None),
            FollowedState::Book { instrument_code } => (BOOK, Some(instrument_code), None),
            FollowedState::Top { instrument_code, since } => {
                (TOP, Some(instrument_code), Some(*since))
            }
        };
        feeds.iter().find(|feed| {
            (feed.depth.as_str(), feed.instrument_code.as_ref(), feed.since) == (depth, code, since)
        })
    }

    /// The number of its last message when the flow ended, from those that the exchange tells.
    pub(crate) fn last(&self, ended: &FlowEnded) -> u64 {
        let sequence = ended.feed_sequence;
        match self {
            FollowedState::Orders => sequence,
            FollowedState::Book { .. } => ended.book_sequence.unwrap_or(sequence),
            FollowedState::Top { .. } => ended.top_sequence.unwrap_or(sequence),
        }
    }

    /// A fault in words, if the exchange counts the messages up to `sequence`, and counts another
    /// number than `came`.
    pub(crate) fn miscounted(
        &self,
        feeds: &[FeedState],
        sequence: u64,
        came: u64,
    ) -> Option<String> {
        let theirs = self.of(feeds).filter(|theirs| theirs.sequence == sequence)?;
        let changes = theirs.changes.filter(|changes| *changes != came)?;
        Some(format!(
            "the best prices changed {changes} times by the exchange's count, and {came} messages \
             came: ticks were lost on the way, or came twice"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Their numbers and hashes differ, so that one must not stand for another.
    #[test]
    fn each_trader_is_compared_with_what_it_follows() {
        let state = |depth: &str, sequence, instrument_code: Option<&str>| FeedState {
            depth: depth.to_owned(),
            sequence,
            book_hash: String::new(),
            instrument_code: instrument_code.map(str::to_owned),
            ..FeedState::default()
        };
        let top = |since, sequence| FeedState {
            since: Some(since),
            changes: Some(8),
            ..state("TOP", sequence, Some("BTC_USDT"))
        };
        let feeds = [
            state("LEVELS", 1, None),
            state("ORDERS", 2, None),
            state("BOOK", 3, Some("ETH_USDT")),
            state("BOOK", 4, Some("BTC_USDT")),
            top(3, 6),
            top(5, 7),
        ];
        let book = FollowedState::Book { instrument_code: "BTC_USDT".to_owned() };
        assert_eq!(FollowedState::Orders.of(&feeds).map(|feed| feed.sequence), Some(2));
        assert_eq!(book.of(&feeds).map(|feed| feed.sequence), Some(4));
        assert_eq!(book.of(&feeds[..3]), None);
        let top = |since| FollowedState::Top { instrument_code: "BTC_USDT".to_owned(), since };
        assert_eq!(top(5).of(&feeds).map(|feed| feed.sequence), Some(7));
        assert_eq!(top(4).of(&feeds), None);
        let ended = FlowEnded {
            feed_sequence: 9,
            book_sequence: Some(5),
            top_sequence: Some(4),
            ..FlowEnded::default()
        };
        let last = [FollowedState::Orders, book.clone(), top(5)].map(|it| it.last(&ended));
        assert_eq!(last, [9, 5, 4]);
        // A count at another message would mean nothing.
        for (state, sequence, came) in [(&book, 4, 3), (&top(5), 7, 8), (&top(5), 6, 7)] {
            assert_eq!(state.miscounted(&feeds, sequence, came), None);
        }
        let why = top(5).miscounted(&feeds, 7, 7).unwrap();
        assert!(why.contains("changed 8 times") && why.contains("7 messages came"), "{why}");
    }
}
