//! Stages 2 to 4: what a datagram says, what the trader would do, and whether it may. No I/O and no
//! clock: the caller passes the time.

use crate::risk::{Rejection, Risk};
use crate::strategy::outcome::Outcome;
use crate::strategy::own_orders::OwnOrders;
use crate::strategy::{Market, OrderIntent, Strategy};
use crate::tick::followed::{FollowedBook, MarketDataKind, Tick};
use crate::tick::releases::Publication;
use engine::depth::RestingOrder;
use engine::{Quote, Side, Top};
use feed::{Counts, RecoveryRequest};
use transport::echo::ticker;

/// Stages 2 to 4: normalise, signal, risk.
pub(crate) trait TradingLogic {
    /// Whether these stages exist. If not, they have no stamps of their own.
    const HAS_STAGES: bool;
    /// Whether silence of the feed is a fault.
    const HAS_HEARTBEATS: bool;

    /// When a datagram with new ticks was published; `None` if it has none, and need not be held.
    fn publication(&self, _datagram: &[u8]) -> Option<Publication> {
        None
    }

    /// Stage 2: decodes, checks the sequence, updates the book. `None` if the datagram is not one
    /// of the feed's.
    fn normalise(&mut self, datagram: &[u8]) -> Option<Tick>;

    /// Stage 3: appends the order intents after a live tick.
    fn decide(&mut self, orders: &OwnOrders, intents: &mut Vec<OrderIntent>);

    /// Stage 4.
    ///
    /// # Errors
    /// Why the intent may not leave.
    fn check(
        &mut self,
        intent: &OrderIntent,
        orders: &mut OwnOrders,
        now_ns: u64,
    ) -> Result<(), Rejection>;

    /// The next request to the feed, if one is needed.
    fn wants(&mut self) -> Option<RecoveryRequest>;

    /// The exchange rejected the request.
    fn feed_rejected(&mut self);

    /// The request had no effect for a while, and counts as lost.
    fn again(&mut self);

    /// Another exchange sends the feed from now on.
    fn change_exchange(&mut self) {}

    /// The number of the last message applied.
    fn sequence(&self) -> u64;

    /// Whether no known message is missing.
    fn is_in_sync(&self) -> bool;

    /// Why the feed can't be followed any more.
    fn failure(&self) -> Option<&str> {
        None
    }

    /// Prefetches part of what the next tick may read.
    fn keep_near(&mut self) {}

    /// Off the path: the work after a datagram that was read at `read_ns`.
    fn after(&mut self, _datagram: &[u8], _tick: &Tick, _orders: &OwnOrders, _read_ns: u64) {}
}

/// A book that follows the feed, a strategy and its risk check.
pub(crate) struct FeedLogic<F> {
    pub(crate) follower: F,
    pub(crate) instrument: u16,
    strategy: Box<dyn Strategy>,
    risk: Risk,
    pub(crate) outcome: Option<Outcome>,
    /// The follower's counts before the first tick: mostly repeated snapshots.
    pub(crate) before: Counts,
    /// The market without our own quotes, as the strategy last saw it.
    top: Top,
    /// Position of the prefetch in the book.
    near: u32,
}

/// Orders of the book that an idle turn prefetches. The whole book is covered before the next tick.
/// Eight times as many shortened no decision, and made the kernel's send 0.9 us longer, because the
/// book displaced it in the caches.
const ORDERS_A_TURN: u32 = 4;

impl<F: FollowedBook> FeedLogic<F> {
    pub(crate) fn new(
        follower: F,
        instrument: u16,
        strategy: Box<dyn Strategy>,
        risk: Risk,
        outcome: Option<Outcome>,
    ) -> FeedLogic<F> {
        let (before, top) = (follower.counts(), Top::default());
        FeedLogic { follower, instrument, strategy, risk, outcome, before, top, near: 0 }
    }

    /// The best prices without the trader's own orders.
    #[inline]
    fn top_of_others(&self, orders: &OwnOrders) -> Top {
        let Some(book) = self.follower.book(self.instrument) else { return Top::default() };
        let mut top = book.top();
        for side in [Side::Buy, Side::Sell] {
            let best = match side {
                Side::Buy => &mut top.bid,
                Side::Sell => &mut top.ask,
            };
            // By the book, because reports from the exchange are older or newer.
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

/// The best level with quantity of others.
fn best_of_others(
    levels: impl Iterator<Item = (i64, u64, u32)>,
    own: &RestingOrder,
) -> Option<Quote> {
    levels.take(2).find_map(|(price_ticks, lots, _)| {
        let ours = if price_ticks == own.price_ticks { own.quantity_lots } else { 0 };
        let quantity_lots = lots.saturating_sub(ours);
        (quantity_lots > 0).then_some(Quote { price_ticks, quantity_lots })
    })
}

impl<F: FollowedBook> TradingLogic for FeedLogic<F> {
    const HAS_STAGES: bool = true;
    const HAS_HEARTBEATS: bool = F::HAS_HEARTBEATS;

    #[inline]
    fn publication(&self, datagram: &[u8]) -> Option<Publication> {
        self.follower.publication(datagram)
    }

    #[inline]
    fn normalise(&mut self, datagram: &[u8]) -> Option<Tick> {
        self.follower.take(datagram)
    }

    #[inline]
    fn decide(&mut self, orders: &OwnOrders, intents: &mut Vec<OrderIntent>) {
        self.top = self.top_of_others(orders);
        self.strategy.tick(&Market { top: self.top, orders }, intents);
    }

    #[inline]
    fn check(
        &mut self,
        intent: &OrderIntent,
        orders: &mut OwnOrders,
        now_ns: u64,
    ) -> Result<(), Rejection> {
        self.risk.check(intent, orders, &self.top, now_ns)
    }

    fn wants(&mut self) -> Option<RecoveryRequest> {
        self.follower.wants()
    }

    fn feed_rejected(&mut self) {
        self.follower.request_rejected();
    }

    fn again(&mut self) {
        self.follower.again();
    }

    fn change_exchange(&mut self) {
        self.follower.change_exchange();
    }

    fn sequence(&self) -> u64 {
        self.follower.sequence()
    }

    fn is_in_sync(&self) -> bool {
        self.follower.is_in_sync()
    }

    fn failure(&self) -> Option<&str> {
        self.follower.failure()
    }

    #[inline]
    fn keep_near(&mut self) {
        if let Some(book) = self.follower.book(self.instrument) {
            self.near = book.prefetch(self.near, ORDERS_A_TURN);
        }
    }

    #[inline]
    fn after(&mut self, datagram: &[u8], tick: &Tick, orders: &OwnOrders, read_ns: u64) {
        self.follower.afterwards();
        if let Some(outcome) = &mut self.outcome
            && tick.kind == MarketDataKind::Live
            && let Some(book) = self.follower.book(self.instrument)
        {
            outcome.tick(datagram, book, orders, tick.intended_ns, read_ns);
        }
    }
}

/// The floor's logic: every datagram is a tick, and every n-th leads to an order.
pub(crate) struct FloorLogic {
    every: u64,
    /// Datagrams so far.
    came: u64,
}

impl FloorLogic {
    pub(crate) fn new(every: u64) -> FloorLogic {
        FloorLogic { every, came: 0 }
    }
}

impl TradingLogic for FloorLogic {
    const HAS_STAGES: bool = false;
    const HAS_HEARTBEATS: bool = false;

    #[inline]
    fn normalise(&mut self, datagram: &[u8]) -> Option<Tick> {
        let ticker::Tick { number, intended_ns, published_ns } = ticker::Tick::decode(datagram)?;
        self.came += 1;
        let (messages, bytes, kind) = (1, datagram.len(), MarketDataKind::Live);
        let acknowledged_ns = 0;
        Some(Tick { number, messages, bytes, kind, intended_ns, acknowledged_ns, published_ns })
    }

    #[inline]
    fn decide(&mut self, _: &OwnOrders, intents: &mut Vec<OrderIntent>) {
        if !self.came.is_multiple_of(self.every) {
            return;
        }
        let (side, price_ticks, quantity_lots) = (Side::Buy, 1, 1);
        intents.push(OrderIntent::New { side, price_ticks, quantity_lots, to_rest: false });
    }

    #[inline]
    fn check(&mut self, _: &OrderIntent, _: &mut OwnOrders, _: u64) -> Result<(), Rejection> {
        Ok(())
    }

    fn wants(&mut self) -> Option<RecoveryRequest> {
        None
    }

    fn feed_rejected(&mut self) {}

    fn again(&mut self) {}

    fn sequence(&self) -> u64 {
        self.came
    }

    fn is_in_sync(&self) -> bool {
        true
    }
}
