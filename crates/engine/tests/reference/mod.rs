//! The engine again, written to be obviously right instead of fast: maps of price to queue,
//! searched from end to end. It shares nothing with the engine but the messages; the state hash is
//! written anew from its description.

use std::collections::{BTreeMap, VecDeque};

use engine::*;

#[derive(Debug, Clone, Copy, PartialEq)]
struct Resting {
    order_id: u64,
    account: u32,
    tag: u32,
    remaining_lots: u64,
}

impl Resting {
    fn party(self) -> Party {
        let Resting { order_id, account, tag, remaining_lots } = self;
        Party { order_id, account, tag, remaining_lots }
    }
}

type Queues = BTreeMap<i64, VecDeque<Resting>>;

#[derive(Debug, Clone, Default)]
struct NaiveBook {
    bids: Queues,
    asks: Queues,
}

#[derive(Debug, Clone)]
pub struct NaiveEngine {
    limits: EngineLimits,
    books: Vec<NaiveBook>,
}

impl NaiveEngine {
    pub fn new(instruments: u16, limits: EngineLimits) -> NaiveEngine {
        NaiveEngine { limits, books: vec![NaiveBook::default(); usize::from(instruments)] }
    }

    pub fn apply(&mut self, command: &Command) -> Vec<Event> {
        match command {
            Command::New(new) => self.new_order(new).unwrap_or_else(|reason| {
                let NewOrder { instrument, order_id, account, tag, .. } = *new;
                vec![Event::Rejected { instrument, order_id, account, tag, reason }]
            }),
            Command::Cancel(cancel) => self.cancel(cancel).unwrap_or_else(|reason| {
                let Cancel { instrument, order_id, account, tag } = *cancel;
                vec![Event::Rejected { instrument, order_id, account, tag, reason }]
            }),
        }
    }

    fn new_order(&mut self, new: &NewOrder) -> Result<Vec<Event>, Reject> {
        if usize::from(new.instrument) >= self.books.len() {
            return Err(Reject::UnknownInstrument);
        }
        if new.price_ticks < 1 || new.price_ticks > 1_000_000_000_000 {
            return Err(Reject::BadPrice);
        }
        if new.quantity_lots < 1 || new.quantity_lots > 1_000_000_000_000 {
            return Err(Reject::BadQuantity);
        }
        if self.all_orders().any(|order| order.order_id == new.order_id) {
            return Err(Reject::DuplicateOrderId);
        }
        // The engine claims that its check of open orders is exact. Here it is: try, and look.
        if self.open_orders() == self.limits.open_orders_max {
            let mut trial = self.clone();
            trial.execute(new);
            if trial.open_orders() > self.limits.open_orders_max {
                return Err(Reject::LimitOpenOrders);
            }
        }
        let levels = self.side(new.instrument, new.side);
        if new.time_in_force == TimeInForce::GoodTillCancelled
            && levels.len() == self.limits.price_levels_max as usize
            && !levels.contains_key(&new.price_ticks)
        {
            return Err(Reject::LimitPriceLevels);
        }
        Ok(self.execute(new))
    }

    fn execute(&mut self, new: &NewOrder) -> Vec<Event> {
        let mut events = Vec::new();
        let NewOrder { order_id, account, tag, instrument, side, price_ticks, .. } = *new;
        let mut aggressor = Resting { order_id, account, tag, remaining_lots: new.quantity_lots };
        while aggressor.remaining_lots > 0 {
            let Some(best) = self.best(instrument, side.opposite()) else { break };
            let crosses = match side {
                Side::Buy => best <= price_ticks,
                Side::Sell => best >= price_ticks,
            };
            if !crosses {
                break;
            }
            let levels = self.side_mut(instrument, side.opposite());
            let queue = levels.get_mut(&best).unwrap();
            let resting = queue.front_mut().unwrap();
            let quantity_lots = aggressor.remaining_lots.min(resting.remaining_lots);
            aggressor.remaining_lots -= quantity_lots;
            resting.remaining_lots -= quantity_lots;
            let resting = *resting;
            events.push(Event::Trade {
                instrument,
                price_ticks: best,
                quantity_lots,
                aggressor_side: side,
                aggressor: aggressor.party(),
                resting: resting.party(),
            });
            if resting.remaining_lots == 0 {
                queue.pop_front();
                let reason = DoneReason::Filled;
                events.push(Event::Done { instrument, order: resting.party(), reason });
            }
            levels.retain(|_, queue| !queue.is_empty());
        }
        let order = aggressor.party();
        events.push(if aggressor.remaining_lots == 0 {
            Event::Done { instrument, order, reason: DoneReason::Filled }
        } else if new.time_in_force == TimeInForce::ImmediateOrCancel {
            Event::Done { instrument, order, reason: DoneReason::Expired }
        } else {
            let queue = self.side_mut(instrument, side).entry(price_ticks).or_default();
            queue.push_back(aggressor);
            Event::Booked { instrument, order, side, price_ticks }
        });
        events
    }

    fn cancel(&mut self, cancel: &Cancel) -> Result<Vec<Event>, Reject> {
        let instrument = cancel.instrument;
        if usize::from(instrument) >= self.books.len() {
            return Err(Reject::UnknownInstrument);
        }
        for side in [Side::Buy, Side::Sell] {
            let levels = self.side_mut(instrument, side);
            for queue in levels.values_mut() {
                let Some(place) = queue.iter().position(|o| o.order_id == cancel.order_id) else {
                    continue;
                };
                if queue[place].account != cancel.account {
                    return Err(Reject::NotYourOrder);
                }
                let order = queue.remove(place).unwrap().party();
                levels.retain(|_, queue| !queue.is_empty());
                return Ok(vec![Event::Done { instrument, order, reason: DoneReason::Cancelled }]);
            }
        }
        Err(Reject::UnknownOrder)
    }

    fn side(&self, instrument: u16, side: Side) -> &Queues {
        let book = &self.books[usize::from(instrument)];
        if side == Side::Buy { &book.bids } else { &book.asks }
    }

    fn side_mut(&mut self, instrument: u16, side: Side) -> &mut Queues {
        let book = &mut self.books[usize::from(instrument)];
        if side == Side::Buy { &mut book.bids } else { &mut book.asks }
    }

    fn best(&self, instrument: u16, side: Side) -> Option<i64> {
        self.levels(instrument, side).first().map(|level| level.0)
    }

    fn all_orders(&self) -> impl Iterator<Item = &Resting> {
        self.books
            .iter()
            .flat_map(|book| book.bids.values().flatten().chain(book.asks.values().flatten()))
    }

    pub fn open_orders(&self) -> u32 {
        self.all_orders().count() as u32
    }

    pub fn levels(&self, instrument: u16, side: Side) -> Vec<(i64, u64, u32)> {
        let mut levels: Vec<_> = self
            .side(instrument, side)
            .iter()
            .map(|(price_ticks, queue)| {
                let quantity_lots = queue.iter().map(|order| order.remaining_lots).sum();
                (*price_ticks, quantity_lots, queue.len() as u32)
            })
            .collect();
        if side == Side::Buy {
            levels.reverse();
        }
        levels
    }

    /// As the documentation of `Engine::state_hash` defines it.
    pub fn state_hash(&self) -> u64 {
        let mut words = vec![
            self.books.len() as u64,
            u64::from(self.limits.open_orders_max),
            u64::from(self.limits.price_levels_max),
        ];
        for instrument in 0..self.books.len() as u16 {
            for side in [Side::Buy, Side::Sell] {
                let levels = self.levels(instrument, side);
                words.push(levels.len() as u64);
                for (price_ticks, _, orders) in levels {
                    words.push(price_ticks as u64);
                    words.push(u64::from(orders));
                    for order in &self.side(instrument, side)[&price_ticks] {
                        words.push(order.order_id);
                        words.push((u64::from(order.account) << 32) + u64::from(order.tag));
                        words.push(order.remaining_lots);
                    }
                }
            }
        }
        words.iter().fold(0x7469_636b_7061_7468, |hash, word| {
            let mut z = (hash ^ word).wrapping_add(0x9E37_79B9_7F4A_7C15);
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ (z >> 31)
        })
    }
}
