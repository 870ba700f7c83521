//! The line to the exchange: how a wish is said, and what is heard. One implementation for the exchange, one for the floor; the loop knows no
//! other difference between them.

use crate::own_orders::{Asked, OwnOrder};
use crate::signal::Wish;
use feed::Want;
use wire::administration::Description;
use wire::reply::Stamps;

/// What has become of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// It rests.
    Booked {
        /// Its number at the exchange, as on the feed; 0 if the exchange's numbers are no numbers.
        order_id: u64,
    },
    /// It stands elsewhere, or shows less.
    Moved,
    /// Some of it traded.
    Filled {
        /// At which price, ticks.
        price_ticks: i64,
        /// How much, lots.
        quantity_lots: u64,
        /// The trade.
        trade_id: u64,
    },
    /// It has ended.
    Ended {
        /// By trading: nobody asked for it.
        filled: bool,
    },
    /// What was asked of it last is refused.
    Refused,
}

/// News of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The order.
    pub(crate) number: u64,
    pub(crate) news: News,
    /// The exchange's, on what answers a message of ours.
    pub(crate) stamps: Option<Stamps>,
}

impl Answer {
    /// Whether it answers the message of that order that waits, and whether that was accepted. An amendment is answered by being told of, and the order's
    /// entering again behind that answers nothing, nor what is asked next. What may happen by itself is an answer if it has stamps.
    pub(crate) fn answers(&self, order: &OwnOrder) -> Option<bool> {
        match (order.asked?, self.news) {
            (_, News::Refused) => Some(false),
            (Asked::Enter, News::Booked { .. } | News::Ended { filled: false })
            | (Asked::Move { .. }, News::Moved) => Some(true),
            (Asked::Enter, News::Filled { .. } | News::Ended { filled: true })
            | (Asked::End, News::Ended { filled: false }) => self.stamps.map(|_| true),
            _ => None,
        }
    }
}

/// What was heard.
#[derive(Debug)]
pub(crate) enum Heard {
    /// News of an order of ours.
    Answer(Answer),
    /// The flow is under way.
    FlowStarted,
    /// The flow is over.
    FlowEnded {
        /// The number of the last message of the feed.
        sequence: u64,
    },
    /// What was wanted of the feed is not sent.
    FeedRefused,
    /// What the exchange says of itself.
    Description(Box<Description>),
    /// Nothing that concerns us: a ping, a subscription.
    Aside,
    /// Nobody asked for it.
    Unexpected,
}

/// What was heard, and when.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) heard: Heard,
    /// The stamp of the read that brought its first byte.
    pub(crate) first_byte_ns: u64,
    /// On the stream.
    pub(crate) bytes: usize,
}

/// What is rarely said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    StartFlow,
    Describe,
    Feed(Want),
}

/// One way to speak with an exchange.
pub(crate) trait Line {
    /// Appends what is wished of order `number` to `out`.
    fn say(&mut self, wish: &Wish, number: u64, out: &mut Vec<u8>);

    /// Appends a question; one that this line does not know is left out.
    fn ask(&mut self, ask: Ask, out: &mut Vec<u8>);

    /// Where the next bytes go; not empty.
    fn space(&mut self) -> &mut [u8];

    /// `n` bytes were put there by a read that returned at `stamp_ns`.
    fn filled(&mut self, n: usize, stamp_ns: u64);

    /// What is there whole. What the line itself must answer (a pong) goes to `out`.
    ///
    /// # Errors
    /// If the stream can't be understood any more, in words.
    fn next(&mut self, out: &mut Vec<u8>) -> Result<Option<Reply>, String>;

    /// The first refusal or unexpected message, in words.
    fn first_complaint(&self) -> Option<&str>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own_orders::OwnOrders;
    use engine::Side;

    const STAMPS: Option<Stamps> = Some([1, 2, 3, 4]);

    /// An order that was moved enters the book again: BOOKED comes behind AMENDED, both with the stamps of one command. Where the two came in two reads
    /// and a tick between them led to the next amendment, BOOKED was taken for its answer.
    #[test]
    fn each_message_is_answered_by_its_own_kind() {
        let mut orders = OwnOrders::default();
        let number = orders.enter(Side::Buy, 100, 5, true).unwrap();
        let moved = Asked::Move { price_ticks: 99, quantity_lots: 5 };
        let mut answers = |asked, news, stamps| {
            orders.living(number)?.asked = asked;
            Answer { number, news, stamps }.answers(orders.at(number))
        };
        let booked = News::Booked { order_id: 7 };
        let filled = News::Filled { price_ticks: 100, quantity_lots: 1, trade_id: 1 };
        let (closed, traded) = (News::Ended { filled: false }, News::Ended { filled: true });
        for (asked, news, stamps, expected) in [
            (Asked::Enter, booked, STAMPS, Some(true)),
            (Asked::Enter, filled, STAMPS, Some(true)),
            (Asked::Enter, closed, STAMPS, Some(true)),
            (moved, News::Moved, STAMPS, Some(true)),
            (moved, booked, STAMPS, None),
            (moved, filled, STAMPS, None),
            // The session closed, or its own side met it; the amendment's refusal comes behind.
            (moved, closed, None, None),
            (moved, traded, None, None),
            (Asked::End, closed, STAMPS, Some(true)),
            (Asked::End, closed, None, None),
            (Asked::End, filled, None, None),
            (moved, News::Refused, STAMPS, Some(false)),
        ] {
            assert_eq!(answers(Some(asked), news, stamps), expected, "{asked:?} {news:?}");
        }
        assert_eq!(answers(None, booked, STAMPS), None, "nobody asked");
    }
}
