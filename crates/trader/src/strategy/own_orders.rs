//! The trader's own orders, by number, and their sums: open amounts by side, position, cash.

use engine::Side;

/// Limit on orders that are sent and not ended; the trader itself rejects a further one.
pub const OWN_ORDERS_MAX: usize = 1 << 14;

/// A request about an order that waits for its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingRequest {
    /// A new order.
    New,
    /// An amendment.
    Amend {
        /// The new price, ticks.
        price_ticks: i64,
        /// The new open quantity, lots.
        quantity_lots: u64,
    },
    /// A cancel.
    Cancel,
}

/// One of the trader's orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnOrder {
    /// Its client id carries this: its slot, and how often the slot was used before.
    pub number: u64,
    next_number: u64,
    /// Its side.
    pub side: Side,
    /// Its limit, ticks: as last acknowledged, or as sent if there was no acknowledgement yet.
    pub price_ticks: i64,
    /// Its open quantity, lots, likewise.
    pub open_lots: u64,
    /// The request that waits for its reply: one at a time.
    pub pending: Option<PendingRequest>,
    /// The exchange has acknowledged that it rests.
    pub rests: bool,
    /// It has traded, at least in part.
    pub traded: bool,
    /// The exchange's number for it, as on the feed; 0 until it is known.
    pub order_id: u64,
    /// Sample of the tick that led to the pending request.
    pub sample: Option<u32>,
    /// The pending request belongs to the measured part.
    pub measured: bool,
    /// It can't trade any more. Its number stays in use while a request waits for its reply.
    ended: bool,
    alive: bool,
}

const NONE: OwnOrder = OwnOrder {
    number: u64::MAX,
    next_number: 0,
    side: Side::Buy,
    price_ticks: 0,
    open_lots: 0,
    pending: None,
    rests: false,
    traded: false,
    order_id: 0,
    sample: None,
    measured: false,
    ended: false,
    alive: false,
};

/// All of the trader's orders.
pub struct OwnOrders {
    slots: Box<[OwnOrder]>,
    /// Free slots. The last one used is reused first: it is still in the cache.
    free: Vec<u16>,
    entered: u64,
    /// The last order sent to rest on each side, while it is open.
    quotes: [Option<u64>; 2],
    /// Lots that could still trade, by side: open and requested.
    exposed_lots: [u64; 2],
    unanswered: u32,
    position_lots: i64,
    /// Sales minus purchases, in ticks times lots.
    cash_tick_lots: i128,
    filled_lots: u64,
    orders_filled: u64,
}

impl Default for OwnOrders {
    fn default() -> OwnOrders {
        OwnOrders {
            // Writes a number that no order has, to touch the memory.
            slots: (0..OWN_ORDERS_MAX as u64)
                .map(|slot| OwnOrder { next_number: slot, ..NONE })
                .collect(),
            free: (0..OWN_ORDERS_MAX as u16).rev().collect(),
            entered: 0,
            quotes: [None; 2],
            exposed_lots: [0; 2],
            unanswered: 0,
            position_lots: 0,
            cash_tick_lots: 0,
            filled_lots: 0,
            orders_filled: 0,
        }
    }
}

impl OwnOrders {
    /// Adds a new order that is sent; `None` at [`OWN_ORDERS_MAX`]. A resting order becomes the
    /// quote of its side.
    #[inline]
    pub fn enter(
        &mut self,
        side: Side,
        price_ticks: i64,
        quantity_lots: u64,
        to_rest: bool,
    ) -> Option<u64> {
        let slot = self.free.pop()?;
        let place = &mut self.slots[usize::from(slot)];
        // A number that differs from that of the slot's last order.
        let number = place.next_number;
        let (pending, open_lots) = (Some(PendingRequest::New), quantity_lots);
        *place = OwnOrder {
            number,
            next_number: number + OWN_ORDERS_MAX as u64,
            side,
            price_ticks,
            open_lots,
            pending,
            alive: true,
            ..NONE
        };
        self.entered += 1;
        self.unanswered += 1;
        self.exposed_lots[side as usize] += quantity_lots;
        if to_rest {
            self.quotes[side as usize] = Some(number);
        }
        Some(number)
    }

    /// Notes a request about an order; `None` if it is not open, or another request is pending.
    #[inline]
    pub fn ask(&mut self, number: u64, pending: PendingRequest) -> Option<()> {
        let order = self.living(number).filter(|order| order.pending.is_none() && !order.ended)?;
        order.pending = Some(pending);
        let side = order.side as usize;
        if let PendingRequest::Amend { quantity_lots, .. } = pending {
            self.exposed_lots[side] += quantity_lots;
        }
        self.unanswered += 1;
        Some(())
    }

    /// The order with that number, unless it has ended.
    #[inline]
    pub fn living(&mut self, number: u64) -> Option<&mut OwnOrder> {
        let slot = &mut self.slots[number as usize % OWN_ORDERS_MAX];
        (slot.alive && slot.number == number).then_some(slot)
    }

    /// Notes the reply to the order's pending request; returns the order before the reply. `None`
    /// if no request was pending.
    pub fn answered(&mut self, number: u64, accepted: bool) -> Option<OwnOrder> {
        let order = self.living(number)?;
        let pending = order.pending.take()?;
        let answered = *order;
        (order.sample, order.measured) = (None, false);
        let exposed_before = exposed_lots(&OwnOrder { pending: Some(pending), ..answered });
        match (pending, accepted) {
            (PendingRequest::Amend { price_ticks, quantity_lots }, true) => {
                (order.price_ticks, order.open_lots) = (price_ticks, quantity_lots);
            }
            (PendingRequest::New, true)
            | (PendingRequest::Amend { .. } | PendingRequest::Cancel, _) => {}
            (PendingRequest::New, false) => order.open_lots = 0,
        }
        let (side, exposed) = (order.side as usize, exposed_lots(order));
        self.exposed_lots[side] = self.exposed_lots[side] - exposed_before + exposed;
        self.unanswered -= 1;
        if answered.ended || (pending == PendingRequest::New && !accepted) {
            self.end(number);
        }
        Some(answered)
    }

    /// Notes that the order is in the exchange's book, and its number there.
    pub fn booked(&mut self, number: u64, order_id: u64) {
        if let Some(order) = self.living(number) {
            order.rests = true;
            order.order_id = order_id;
        }
    }

    /// Notes a fill at that price.
    pub fn filled(&mut self, number: u64, price_ticks: i64, quantity_lots: u64) {
        let Some(order) = self.living(number) else { return };
        let before = exposed_lots(order);
        order.open_lots = order.open_lots.saturating_sub(quantity_lots);
        let first = !std::mem::replace(&mut order.traded, true);
        let (side, after) = (order.side, exposed_lots(order));
        self.exposed_lots[side as usize] = self.exposed_lots[side as usize] - before + after;
        let worth = i128::from(price_ticks) * i128::from(quantity_lots);
        let lots = quantity_lots.cast_signed();
        match side {
            Side::Buy => {
                (self.position_lots, self.cash_tick_lots) =
                    (self.position_lots + lots, self.cash_tick_lots - worth)
            }
            Side::Sell => {
                (self.position_lots, self.cash_tick_lots) =
                    (self.position_lots - lots, self.cash_tick_lots + worth)
            }
        }
        self.filled_lots += quantity_lots;
        self.orders_filled += u64::from(first);
    }

    /// Notes that the order can't trade any more. If a request is pending (an amendment of an order
    /// that was filled meanwhile), its number stays in use until that is rejected.
    pub fn end(&mut self, number: u64) {
        let Some(order) = self.living(number) else { return };
        let (side, exposed) = (order.side as usize, exposed_lots(order));
        order.ended = true;
        order.rests = false;
        order.alive = order.pending.is_some();
        let is_over = !order.alive;
        self.exposed_lots[side] -= exposed;
        if is_over {
            self.free.push((number % OWN_ORDERS_MAX as u64) as u16);
        }
        if self.quotes[side] == Some(number) {
            self.quotes[side] = None;
        }
    }

    /// The numbers of the orders with a pending request.
    pub(crate) fn pending(&self) -> Vec<u64> {
        let is_pending = |order: &&OwnOrder| order.alive && order.pending.is_some();
        self.slots.iter().filter(is_pending).map(|order| order.number).collect()
    }

    /// The slot of that number, whatever order it has now.
    pub(crate) fn at(&self, number: u64) -> &OwnOrder {
        &self.slots[number as usize % OWN_ORDERS_MAX]
    }

    /// The quote of that side, while it is open.
    #[inline]
    pub fn quote(&self, side: Side) -> Option<&OwnOrder> {
        self.quotes[side as usize].map(|number| &self.slots[number as usize % OWN_ORDERS_MAX])
    }

    /// Lots that could still be bought, or sold.
    #[inline]
    pub fn exposed_lots(&self, side: Side) -> u64 {
        self.exposed_lots[side as usize]
    }

    /// Number of open orders.
    #[inline]
    pub fn alive(&self) -> u32 {
        (OWN_ORDERS_MAX - self.free.len()) as u32
    }

    /// Number of requests without a reply.
    #[inline]
    pub fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// Purchases minus sales, lots.
    #[inline]
    pub fn position_lots(&self) -> i64 {
        self.position_lots
    }

    /// Sales minus purchases, in ticks times lots.
    pub fn cash_tick_lots(&self) -> i128 {
        self.cash_tick_lots
    }

    /// Lots that traded.
    pub fn filled_lots(&self) -> u64 {
        self.filled_lots
    }

    /// Orders that traded at least in part.
    pub fn orders_filled(&self) -> u64 {
        self.orders_filled
    }

    /// Orders that were sent.
    pub fn entered(&self) -> u64 {
        self.entered
    }
}

/// Lots of the order that could still trade.
fn exposed_lots(order: &OwnOrder) -> u64 {
    match order.pending {
        _ if order.ended => 0,
        // The open part may trade before the amendment arrives, which then opens the whole amount
        // again.
        Some(PendingRequest::Amend { quantity_lots, .. }) => order.open_lots + quantity_lots,
        _ => order.open_lots,
    }
}

#[cfg(test)]
#[path = "own_orders_tests.rs"]
mod tests;
