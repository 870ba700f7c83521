//! Skeleton: the contract of the engine, to be built against.
use crate::command::{Input, Side};
use crate::event::Event;
use crate::limits::EngineLimits;
use crate::saved::Saved;

/// The best price of a side, and what rests there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote {
    /// In ticks.
    pub price_ticks: i64,
    /// The sum of what the orders at this price show, in lots.
    pub quantity_lots: u64,
}

/// The top of a book. A side without orders is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Top {
    /// The highest price somebody buys at.
    pub bid: Option<Quote>,
    /// The lowest price somebody sells at.
    pub ask: Option<Quote>,
}

/// Risk and matching for a fixed number of instruments.
#[derive(Debug)]
pub struct Engine {}

/// Why saved pieces make no engine.
#[derive(Debug)]
pub struct RestoreError;

impl Engine {
    /// An engine for the instruments 0 to `instruments`, exclusive, with empty books.
    pub fn new(instruments: u16, limits: EngineLimits) -> Engine {
        todo!("{instruments} {limits:?}")
    }
    /// Executes one input and reports what happened, in order, to `events`, before it returns.
    pub fn apply(&mut self, input: &Input, _events: &mut impl FnMut(Event)) {
        todo!("{input:?}")
    }
    /// An input that will be applied soon: what it will need is fetched into the cache. Changes nothing.
    pub fn expect(&self, input: &Input) {
        todo!("{input:?}")
    }
    /// The best prices of an instrument.
    pub fn top(&self, _instrument: u16) -> Top {
        todo!()
    }
    /// How many orders are open: those that rest, and stops that wait.
    pub fn open_orders(&self) -> u32 {
        todo!()
    }
    /// The depth of one side, best first: price in ticks, visible quantity in lots, number of orders. Empty
    /// for an instrument that the engine does not have.
    pub fn levels(&self, _: u16, _: Side) -> impl Iterator<Item = (i64, u64, u32)> + '_ {
        std::iter::empty()
    }
    /// An account's position in an instrument, in lots; 0 for what the engine does not have.
    pub fn position_lots(&self, _account: u32, _instrument: u16) -> i64 {
        todo!()
    }
    /// The state, piece by piece, as [`Saved`] says.
    pub fn save(&self, _pieces: &mut impl FnMut(Saved)) {
        todo!()
    }
    /// An engine in the state that [`Engine::save`] gave.
    ///
    /// # Errors
    /// What is missing, out of place, out of range, or twice there.
    pub fn restore(_pieces: impl IntoIterator<Item = Saved>) -> Result<Engine, RestoreError> {
        todo!()
    }
    /// A number that differs where the state differs: a fold of splitmix64 over the words of [`Engine::save`]'s pieces.
    pub fn state_hash(&self) -> u64 {
        todo!()
    }
}
