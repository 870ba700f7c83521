//! Inspection of an exchange by its owner: counts, state, and the end of its journal.

use crate::connection::Exchange;
use crate::counts::Counts;
use crate::flow_player::FlowCounts;
use crate::market_data::plant::FeedCounts;
use crate::opening::Recovery;
use crate::sequencer::ReplayCheck;
use crate::setup::instruments::Instruments;
use crate::setup::limits::Limits;

impl Exchange {
    /// The limits of this exchange.
    pub fn limits(&self) -> &Limits {
        &self.entry.limits
    }

    /// The instruments that trade here.
    pub fn instruments(&self) -> &Instruments {
        &self.entry.core.instruments
    }

    /// Counters so far.
    pub fn counts(&self) -> Counts {
        self.entry.core.counts()
    }

    /// Counters of market data; `None` without a feed and without any subscriber so far.
    pub fn feed_counts(&self) -> Option<FeedCounts> {
        self.entry.core.plant.as_ref().map(|plant| plant.counts())
    }

    /// Counters of the exchange's own flow; `None` without one.
    pub fn flow_counts(&self) -> Option<FlowCounts> {
        self.entry.flow.as_ref().map(|flow| flow.counts())
    }

    /// The engine, with its books and open orders.
    pub fn engine(&self) -> &engine::Engine {
        self.entry.core.sequencer.engine()
    }

    /// [`engine::Engine::state_hash`].
    pub fn state_hash(&self) -> u64 {
        self.entry.core.sequencer.state_hash()
    }

    /// Compares the engine with a replay of all its inputs. It takes the time and the memory of a
    /// second engine, so call it when no messages are expected.
    pub fn replay_check(&self) -> ReplayCheck {
        self.entry.core.sequencer.replay_check()
    }

    /// State recovered from the journal; `None` without one.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// State of the journal's writer, for a thread that follows it; `None` without a journal.
    pub fn journal_watch(&self) -> Option<journal::Watch> {
        self.recovery.as_ref().map(|_| self.entry.core.sequencer.journal_watch())
    }

    /// For a thread that ships the journal to a follower; `None` without one.
    pub fn journal_shipping(&self) -> Option<journal::Shipping> {
        self.entry.core.sequencer.journal_shipping()
    }

    /// Writes all inputs that the journal has taken, and closes it. Call it last.
    ///
    /// # Errors
    /// Why the journal has failed.
    pub fn close_journal(&mut self) -> Result<(), String> {
        self.entry.core.sequencer.close()
    }
}
