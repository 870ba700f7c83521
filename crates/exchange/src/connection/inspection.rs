//! What an exchange tells whoever has made it: counts, its state, its end.

use crate::connection::Exchange;
use crate::counts::Counts;
use crate::house::FlowCounts;
use crate::market_data::plant::FeedCounts;
use crate::sequencer::ReplayCheck;
use crate::setup::limits::Limits;
use crate::setup::opening::Recovery;

impl Exchange {
    /// Those it was made with.
    pub fn limits(&self) -> &Limits {
        &self.entry.limits
    }

    /// What it has done.
    pub fn counts(&self) -> Counts {
        self.entry.counts()
    }

    /// What it has published; `None` where nobody was ever subscribed.
    pub fn feed_counts(&self) -> Option<FeedCounts> {
        self.entry.plant.as_ref().map(|plant| plant.counts())
    }

    /// What became of the house's own orders; `None` without any.
    pub fn flow_counts(&self) -> Option<FlowCounts> {
        self.entry.house.as_ref().map(|house| house.counts())
    }

    /// The engine, to look at: its depth, its open orders.
    pub fn engine(&self) -> &engine::Engine {
        self.entry.sequencer.engine()
    }

    /// [`engine::Engine::state_hash`].
    pub fn state_hash(&self) -> u64 {
        self.entry.sequencer.state_hash()
    }

    /// Compares the engine with a replay of all its inputs. Not while messages are expected: it
    /// takes the time and the memory of a second engine.
    pub fn replay_check(&self) -> ReplayCheck {
        self.entry.sequencer.replay_check()
    }

    /// What was found in the journal; `None` without one.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// What the journal's writer says, for a thread that follows it; `None` without a journal.
    pub fn journal_watch(&self) -> Option<journal::Watch> {
        self.recovery.as_ref().map(|_| self.entry.sequencer.journal_watch())
    }

    /// Writes what the journal has taken, and ends it: the last that is done with an exchange.
    ///
    /// # Errors
    /// The journal has failed, in words.
    pub fn close_journal(&mut self) -> Result<(), String> {
        self.entry.sequencer.close()
    }
}
