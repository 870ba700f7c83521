//! The trader's own orders, by number, and what they add up to: what is open on each side, the position, the money.

use engine::Side;

/// Orders that may be alive at the same time: sent and not ended. One more is refused by the trader itself.
pub const OWN_ORDERS_MAX: usize = 1 << 14;

/// What was asked of an order and not yet answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To enter.
    Enter,
    /// To stand there, with so much.
    Move {
        /// The new price, ticks.
        price_ticks: i64,
        /// The new open quantity, lots.
        quantity_lots: u64,
    },
    /// To end.
    End,
}

/// One of the trader's orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnOrder {
    /// Travels in its client id: its slot, and how often that was used before.
    pub number: u64,
    next_number: u64,
    /// Its side.
    pub side: Side,
    /// Its limit, ticks: as last acknowledged, or as sent while nothing was.
    pub price_ticks: i64,
    /// How much of it is open, lots, likewise.
    pub open_lots: u64,
    /// What waits for an answer: one message at a time.
    pub asked: Option<Asked>,
    /// The exchange has acknowledged that it rests.
    pub rests: bool,
    /// It has traded.
    pub traded: bool,
    /// The exchange's number for it, as on the feed; 0 until it is known.
    pub order_id: u64,
    /// The sample of the tick that led to the message that waits for an answer.
    pub sample: Option<u32>,
    /// That message belongs to the measured part.
    pub measured: bool,
    /// It trades no more; its number lives on while a message about it waits for an answer.
    ended: bool,
    alive: bool,
}

const NONE: OwnOrder = OwnOrder {
    number: u64::MAX,
    next_number: 0,
    side: Side::Buy,
    price_ticks: 0,
    open_lots: 0,
    asked: None,
    rests: false,
    traded: false,
    order_id: 0,
    sample: None,
    measured: false,
    ended: false,
    alive: false,
};

/// All of them.
pub struct OwnOrders {
    slots: Box<[OwnOrder]>,
    /// Slots of no living order. The one that was used last is used next: it is still in the cache.
    free: Vec<u16>,
    entered: u64,
    /// The order that was last sent to rest on each side, while it lives.
    quotes: [Option<u64>; 2],
    /// What could still trade, by side, lots: what is open, and what was asked for.
    exposed_lots: [u64; 2],
    unanswered: u32,
    position_lots: i64,
    /// Sold less bought, in ticks times lots.
    cash_tick_lots: i128,
    filled_lots: u64,
    orders_filled: u64,
}

impl Default for OwnOrders {
    fn default() -> OwnOrders {
        OwnOrders {
            // No order's number is written to each slot, which touches the memory.
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
    /// Takes a new order in, as sent; `None` while [`OWN_ORDERS_MAX`] live. A resting one is the
    /// side's quote from now on.
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
        // Another number than that of the order before it.
        let number = place.next_number;
        let (asked, open_lots) = (Some(Asked::Enter), quantity_lots);
        *place = OwnOrder {
            number,
            next_number: number + OWN_ORDERS_MAX as u64,
            side,
            price_ticks,
            open_lots,
            asked,
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

    /// Asks for a change of an order that waits for no answer; `None` if it does, or lives no longer.
    #[inline]
    pub fn ask(&mut self, number: u64, asked: Asked) -> Option<()> {
        let order = self.living(number).filter(|order| order.asked.is_none() && !order.ended)?;
        order.asked = Some(asked);
        let side = order.side as usize;
        if let Asked::Move { quantity_lots, .. } = asked {
            self.exposed_lots[side] += quantity_lots;
        }
        self.unanswered += 1;
        Some(())
    }

    /// The order of that number, if it lives.
    #[inline]
    pub fn living(&mut self, number: u64) -> Option<&mut OwnOrder> {
        let slot = &mut self.slots[number as usize % OWN_ORDERS_MAX];
        (slot.alive && slot.number == number).then_some(slot)
    }

    /// The message of that order that waited is answered, and what it asked for is so (`accepted`) or isn't. `None` if none waited.
    pub fn answered(&mut self, number: u64, accepted: bool) -> Option<OwnOrder> {
        let order = self.living(number)?;
        let asked = order.asked.take()?;
        let answered = *order;
        (order.sample, order.measured) = (None, false);
        let exposed_before = exposed_lots(&OwnOrder { asked: Some(asked), ..answered });
        match (asked, accepted) {
            (Asked::Move { price_ticks, quantity_lots }, true) => {
                (order.price_ticks, order.open_lots) = (price_ticks, quantity_lots);
            }
            (Asked::Enter, true) | (Asked::Move { .. } | Asked::End, _) => {}
            (Asked::Enter, false) => order.open_lots = 0,
        }
        let (side, exposed) = (order.side as usize, exposed_lots(order));
        self.exposed_lots[side] = self.exposed_lots[side] - exposed_before + exposed;
        self.unanswered -= 1;
        if answered.ended || (asked == Asked::Enter && !accepted) {
            self.end(number);
        }
        Some(answered)
    }

    /// The exchange has put the order into its book, as that number.
    pub fn booked(&mut self, number: u64, order_id: u64) {
        if let Some(order) = self.living(number) {
            order.rests = true;
            order.order_id = order_id;
        }
    }

    /// Some of the order traded at that price.
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

    /// The order trades no more. One that a message has overtaken by its end (an amendment of what was filled meanwhile) keeps its number until
    /// that is answered, by a refusal.
    pub fn end(&mut self, number: u64) {
        let Some(order) = self.living(number) else { return };
        let (side, exposed) = (order.side as usize, exposed_lots(order));
        order.ended = true;
        order.rests = false;
        order.alive = order.asked.is_some();
        let is_over = !order.alive;
        self.exposed_lots[side] -= exposed;
        if is_over {
            self.free.push((number % OWN_ORDERS_MAX as u64) as u16);
        }
        if self.quotes[side] == Some(number) {
            self.quotes[side] = None;
        }
    }

    /// The slot of that number, whoever has it now.
    pub(crate) fn at(&self, number: u64) -> &OwnOrder {
        &self.slots[number as usize % OWN_ORDERS_MAX]
    }

    /// The quote of that side, while it lives.
    #[inline]
    pub fn quote(&self, side: Side) -> Option<&OwnOrder> {
        self.quotes[side as usize].map(|number| &self.slots[number as usize % OWN_ORDERS_MAX])
    }

    /// Lots that could still be bought, or sold.
    #[inline]
    pub fn exposed_lots(&self, side: Side) -> u64 {
        self.exposed_lots[side as usize]
    }

    /// Orders that live.
    #[inline]
    pub fn alive(&self) -> u32 {
        (OWN_ORDERS_MAX - self.free.len()) as u32
    }

    /// Messages without an answer.
    #[inline]
    pub fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// Lots, bought less sold.
    #[inline]
    pub fn position_lots(&self) -> i64 {
        self.position_lots
    }

    /// Sold less bought, in ticks times lots.
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

/// What could still trade of it.
fn exposed_lots(order: &OwnOrder) -> u64 {
    match order.asked {
        _ if order.ended => 0,
        // What is open may trade before the amendment comes, which then opens as much again.
        Some(Asked::Move { quantity_lots, .. }) => order.open_lots + quantity_lots,
        _ => order.open_lots,
    }
}

#[cfg(test)]
#[path = "own_orders_tests.rs"]
mod tests;
