//! Results of a strategy that trades: queue positions of its quotes, and lifetimes of the orders
//! around it. Off the path, in memory of a fixed size.

use crate::strategy::own_orders::OwnOrders;
use clock::recorder;
use engine::{Side, Top};
use feed::{Book, FeedMessage, Packet};
use hdrhistogram::Histogram;
use record::tick::MarketMaking;

/// Limit on births of the flow's orders; a further one replaces the one in its slot.
const BIRTHS_MAX: usize = 1 << 17;

/// Birth of an order of the flow.
#[derive(Clone, Copy, Default)]
struct Birth {
    order_id: u64,
    at_ns: u64,
}

pub(crate) struct Outcome {
    instrument: u16,
    births: Box<[Birth]>,
    lifetimes: Histogram<u64>,
    /// Lots ahead of a quote when it joined its queue.
    ahead: Histogram<u64>,
    /// The exchange's number and price of each side's quote when its position was last recorded.
    joined: [(u64, i64); 2],
    at_top: [bool; 2],
    at_top_ns: [u64; 2],
    first_ns: Option<u64>,
    last_ns: u64,
    last_top: Top,
}

impl Outcome {
    pub(crate) fn new(instrument: u16) -> Outcome {
        Outcome {
            instrument,
            // Not zero, to touch the memory.
            births: vec![Birth { order_id: u64::MAX, at_ns: 0 }; BIRTHS_MAX].into_boxed_slice(),
            lifetimes: recorder::histogram(),
            ahead: recorder::histogram(),
            joined: [(0, 0); 2],
            at_top: [false; 2],
            at_top_ns: [0; 2],
            first_ns: None,
            last_ns: 0,
            last_top: Top::default(),
        }
    }

    /// Takes a live datagram, whose events were intended at `intended_ns` and read at `read_ns`.
    pub(crate) fn tick(
        &mut self,
        datagram: &[u8],
        book: &Book,
        orders: &OwnOrders,
        intended_ns: u64,
        read_ns: u64,
    ) {
        self.births_and_deaths(datagram, book, orders, intended_ns);
        let top = book.top();
        let since_ns = read_ns.saturating_sub(self.last_ns);
        let counts = self.first_ns.is_some();
        for side in [Side::Buy, Side::Sell] {
            let quote = orders.quote(side).filter(|quote| quote.rests);
            if counts && self.at_top[side as usize] {
                self.at_top_ns[side as usize] += since_ns;
            }
            let best = match side {
                Side::Buy => top.bid,
                Side::Sell => top.ask,
            };
            let best_ticks = best.map(|best| best.price_ticks);
            self.at_top[side as usize] =
                quote.is_some() && quote.map(|quote| quote.price_ticks) == best_ticks;
            let Some(quote) = quote.filter(|quote| quote.pending.is_none()) else { continue };
            let place = (quote.order_id, quote.price_ticks);
            // A quote that moved joins another queue.
            if self.joined[side as usize] != place
                && let Some((_, lots)) = book.ahead_of(quote.order_id)
            {
                self.joined[side as usize] = place;
                // A histogram begins at 1, so an empty queue counts as 1.
                self.ahead.saturating_record(lots + 1);
            }
        }
        if top.bid.is_some() && top.ask.is_some() {
            self.last_top = top;
        }
        self.first_ns.get_or_insert(read_ns);
        self.last_ns = read_ns;
    }

    fn births_and_deaths(&mut self, datagram: &[u8], book: &Book, orders: &OwnOrders, at_ns: u64) {
        let Ok(packet) = Packet::decode(datagram) else { return };
        let is_own = |order_id| {
            [Side::Buy, Side::Sell]
                .into_iter()
                .any(|side| orders.quote(side).is_some_and(|quote| quote.order_id == order_id))
        };
        for message in packet.messages().flatten() {
            if message.instrument() != self.instrument {
                continue;
            }
            match message {
                FeedMessage::OrderAdded { order_id, .. } => {
                    self.births[place(order_id)] = Birth { order_id, at_ns };
                }
                FeedMessage::OrderDeleted { order_id, .. }
                | FeedMessage::Trade { order_id, .. } => {
                    let birth = &mut self.births[place(order_id)];
                    if birth.order_id == order_id && book.order(order_id).is_none() {
                        birth.order_id = u64::MAX;
                        if !is_own(order_id) {
                            self.lifetimes
                                .saturating_record(at_ns.saturating_sub(birth.at_ns).max(1));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    pub(crate) fn finish(&self, orders: &OwnOrders) -> MarketMaking {
        let all_ns = self.last_ns.saturating_sub(self.first_ns.unwrap_or(self.last_ns));
        let middle = match (self.last_top.bid, self.last_top.ask) {
            (Some(bid), Some(ask)) => (bid.price_ticks + ask.price_ticks) as f64 / 2.0,
            _ => 0.0,
        };
        let at = |histogram: &Histogram<u64>, q: f64| {
            (!histogram.is_empty()).then(|| histogram.value_at_quantile(q))
        };
        MarketMaking {
            position_lots: orders.position_lots(),
            pnl_tick_lots: orders.cash_tick_lots() as f64 + orders.position_lots() as f64 * middle,
            quotes: orders.entered(),
            quotes_filled: orders.orders_filled(),
            filled_lots: orders.filled_lots(),
            share_at_top: self
                .at_top_ns
                .map(|ns| if all_ns > 0 { ns as f64 / all_ns as f64 } else { 0.0 }),
            queue_ahead_lots_p50: at(&self.ahead, 0.5).map(|lots| lots - 1),
            flow_lifetime_ns: [0.1, 0.5, 0.9].map(|q| at(&self.lifetimes, q)),
        }
    }
}

/// An exchange's ids count up.
fn place(order_id: u64) -> usize {
    order_id as usize % BIRTHS_MAX
}
