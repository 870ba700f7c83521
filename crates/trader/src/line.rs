//! The line to the exchange: how a wish is said, and what is heard. One implementation for the exchange, one for the floor; the loop knows no
//! other difference between them.

use crate::own_orders::OwnOrder;
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
    /// Whether it answers the message of that order that waits, and whether that was accepted. Where the exchange stamps, what has stamps does; where
    /// it doesn't, its kind decides.
    pub(crate) fn answers(&self, order: &OwnOrder) -> Option<bool> {
        order.asked?;
        match self.news {
            News::Refused => Some(false),
            News::Booked { .. } | News::Moved | News::Ended { filled: false } => Some(true),
            News::Filled { .. } | News::Ended { filled: true } => self.stamps.map(|_| true),
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
