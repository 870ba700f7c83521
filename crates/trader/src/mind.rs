//! Stages 2 to 4: what a datagram says, what the trader would do about it, and whether it may. No I/O, no clock: the time comes with the question.

use crate::outcome::Outcome;
use crate::own_orders::OwnOrders;
use crate::risk::{Refusal, Risk};
use crate::signal::{Market, Strategy, Wish};
use engine::depth::Shown;
use engine::{Quote, Side, Top};
use feed::{Counts, Follower, PacketKind, Want};
use transport::ticker_echo;

/// What a datagram was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tick {
    /// The number of its last message.
    pub(crate) number: u64,
    pub(crate) messages: u16,
    pub(crate) kind: Kind,
    pub(crate) intended_ns: u64,
    /// 0 where the exchange does not say.
    pub(crate) acknowledged_ns: u64,
    pub(crate) published_ns: u64,
}

/// What kind of datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// New messages, taken in as they came: the strategy sees it.
    Live,
    /// New messages that were known already, or wait for others.
    NotNow,
    Replay,
    Snapshot,
    Heartbeat,
}

/// What stands between reading a tick and writing an order.
pub(crate) trait Mind {
    /// Whether these stages are there at all. Where they aren't, they aren't stamped either.
    const THINKS: bool;

    /// Stage 2: decodes, checks the sequence, brings the book up to date. `None` for what is no datagram of the feed.
    fn normalise(&mut self, datagram: &[u8]) -> Option<Tick>;

    /// Stage 3: appends what it wishes after a live tick.
    fn decide(&mut self, orders: &OwnOrders, wishes: &mut Vec<Wish>);

    /// Stage 4.
    ///
    /// # Errors
    /// Why it may not.
    fn check(&mut self, wish: &Wish, orders: &mut OwnOrders, now_ns: u64) -> Result<(), Refusal>;

    /// What it needs of the feed, and has not asked for yet.
    fn wants(&mut self) -> Option<Want>;

    /// What it asked for is refused.
    fn refused(&mut self);

    /// So long nothing came of what it asked for that it must be lost.
    fn again(&mut self);

    /// The number of the last message that it has.
    fn sequence(&self) -> u64;

    /// Whether it has all that it was told of.
    fn is_in_sync(&self) -> bool;

    /// Nothing came: some of what the next tick may read is fetched into the processor's caches.
    fn keep_near(&mut self) {}

    /// Off the path: a datagram that was read at `read_ns` is done with.
    fn after(&mut self, _datagram: &[u8], _tick: &Tick, _orders: &OwnOrders, _read_ns: u64) {}
}

/// A book that follows the feed, a strategy and its risk.
pub(crate) struct FeedMind {
    pub(crate) follower: Follower,
    pub(crate) instrument: u16,
    strategy: Box<dyn Strategy>,
    risk: Risk,
    pub(crate) outcome: Option<Outcome>,
    /// What the follower had met before the first tick: snapshots that were asked for twice, mostly.
    pub(crate) before: Counts,
    /// The market without our own quotes, as the strategy saw it last.
    top: Top,
    /// How far the book has been fetched in this round.
    near: u32,
}

/// Orders of the book that an idle turn fetches. The whole book comes round in time for the next tick, and no more than that: eight times as
/// many made a tick's decision no shorter, and what the kernel does to send the order 0.9 us longer (the book had its place in the caches).
const ORDERS_A_TURN: u32 = 4;

impl FeedMind {
    pub(crate) fn new(
        follower: Follower,
        instrument: u16,
        strategy: Box<dyn Strategy>,
        risk: Risk,
        outcome: Option<Outcome>,
    ) -> FeedMind {
        let (before, top) = (*follower.counts(), Top::default());
        FeedMind { follower, instrument, strategy, risk, outcome, before, top, near: 0 }
    }

    /// The best prices of everybody else.
    #[inline]
    fn top_of_others(&self, orders: &OwnOrders) -> Top {
        let Some(book) = self.follower.book(self.instrument) else { return Top::default() };
        let mut top = book.top();
        for side in [Side::Buy, Side::Sell] {
            let best = match side {
                Side::Buy => &mut top.bid,
                Side::Sell => &mut top.ask,
            };
            // As the book shows it: what the exchange has told us of it is older, or newer.
            let known = orders.quote(side).filter(|quote| quote.order_id > 0);
            let own = known.and_then(|quote| book.order(quote.order_id));
            if let (Some(own), Some(quote)) = (own, *best)
                && quote.price_ticks == own.price_ticks
            {
                *best = best_of_others(book.levels(side), &own);
            }
        }
        top
    }
}

/// The best level on which somebody else rests.
fn best_of_others(levels: impl Iterator<Item = (i64, u64, u32)>, own: &Shown) -> Option<Quote> {
    levels.take(2).find_map(|(price_ticks, lots, _)| {
        let ours = if price_ticks == own.price_ticks { own.quantity_lots } else { 0 };
        let quantity_lots = lots.saturating_sub(ours);
        (quantity_lots > 0).then_some(Quote { price_ticks, quantity_lots })
    })
}

impl Mind for FeedMind {
    const THINKS: bool = true;

    #[inline]
    fn normalise(&mut self, datagram: &[u8]) -> Option<Tick> {
        let feed::Outcome { header, is_live_tick, .. } = self.follower.datagram(datagram);
        let header = header?;
        let kind = match header.kind {
            PacketKind::Live if is_live_tick && self.follower.is_in_sync() => Kind::Live,
            PacketKind::Live if header.count == 0 => Kind::Heartbeat,
            PacketKind::Live => Kind::NotNow,
            PacketKind::Replay => Kind::Replay,
            PacketKind::Snapshot => Kind::Snapshot,
        };
        Some(Tick {
            number: (header.sequence + u64::from(header.count)).saturating_sub(1),
            messages: header.count,
            kind,
            intended_ns: header.intended_ns,
            acknowledged_ns: header.acknowledged_ns,
            published_ns: header.published_ns,
        })
    }

    #[inline]
    fn decide(&mut self, orders: &OwnOrders, wishes: &mut Vec<Wish>) {
        self.top = self.top_of_others(orders);
        self.strategy.tick(&Market { top: self.top, orders }, wishes);
    }

    #[inline]
    fn check(&mut self, wish: &Wish, orders: &mut OwnOrders, now_ns: u64) -> Result<(), Refusal> {
        self.risk.check(wish, orders, &self.top, now_ns)
    }

    fn wants(&mut self) -> Option<Want> {
        self.follower.wants()
    }

    fn refused(&mut self) {
        self.follower.refused();
    }

    fn again(&mut self) {
        self.follower.again();
    }

    fn sequence(&self) -> u64 {
        self.follower.sequence()
    }

    fn is_in_sync(&self) -> bool {
        self.follower.is_in_sync()
    }

    #[inline]
    fn keep_near(&mut self) {
        if let Some(book) = self.follower.book(self.instrument) {
            self.near = book.prefetch(self.near, ORDERS_A_TURN);
        }
    }

    #[inline]
    fn after(&mut self, datagram: &[u8], tick: &Tick, orders: &OwnOrders, read_ns: u64) {
        if let Some(outcome) = &mut self.outcome
            && tick.kind == Kind::Live
            && let Some(book) = self.follower.book(self.instrument)
        {
            outcome.tick(datagram, book, orders, tick.intended_ns, read_ns);
        }
    }
}

/// The floor's: every datagram is a tick, and every so many-th an order.
pub(crate) struct NoMind {
    every: u64,
    /// Datagrams that came.
    came: u64,
}

impl NoMind {
    pub(crate) fn new(every: u64) -> NoMind {
        NoMind { every, came: 0 }
    }
}

impl Mind for NoMind {
    const THINKS: bool = false;

    #[inline]
    fn normalise(&mut self, datagram: &[u8]) -> Option<Tick> {
        let ticker_echo::Tick { number, intended_ns, published_ns } =
            ticker_echo::Tick::decode(datagram)?;
        self.came += 1;
        let (messages, kind, acknowledged_ns) = (1, Kind::Live, 0);
        Some(Tick { number, messages, kind, intended_ns, acknowledged_ns, published_ns })
    }

    #[inline]
    fn decide(&mut self, _: &OwnOrders, wishes: &mut Vec<Wish>) {
        if !self.came.is_multiple_of(self.every) {
            return;
        }
        let (side, price_ticks, quantity_lots) = (Side::Buy, 1, 1);
        wishes.push(Wish::Enter { side, price_ticks, quantity_lots, to_rest: false });
    }

    #[inline]
    fn check(&mut self, _: &Wish, _: &mut OwnOrders, _: u64) -> Result<(), Refusal> {
        Ok(())
    }

    fn wants(&mut self) -> Option<Want> {
        None
    }

    fn refused(&mut self) {}

    fn again(&mut self) {}

    fn sequence(&self) -> u64 {
        self.came
    }

    fn is_in_sync(&self) -> bool {
        true
    }
}
