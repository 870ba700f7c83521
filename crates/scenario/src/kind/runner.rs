//! How a kind of measurement is carried out.

use crate::conduct::{ConductError, Entrant};
use crate::evidence::{Evidence, FeedExpectation, Lengths, Outcome};
use crate::launch::Launch;
use crate::launch::observer::Observer;
use plan::Scenario;
use plan::backend;
use plan::tables::load::Model;
use record::Verdict;

/// A rule of integrity: its name, and its check of one subject in one run.
pub(crate) type RuleCheck = (&'static str, fn(&Evidence) -> (Verdict, String));

/// Carries one kind of measurement out, and judges it.
pub(crate) trait Runner: Sync {
    /// Runs the processes of one entrant in one run. `lengths` are those of its subject's messages,
    /// once they are known.
    fn run(
        &self,
        launch: &Launch,
        lengths: Option<Lengths>,
        observer: &mut Observer<'_, '_>,
    ) -> Result<Outcome, ConductError>;

    /// Why an entrant can't run on this machine, found out before anything is measured; `None` if
    /// nothing speaks against it.
    ///
    /// # Errors
    /// If it can't be found out.
    fn unavailable(&self, _launch: &Launch) -> Result<Option<String>, ConductError> {
        Ok(None)
    }

    /// The rules of integrity for its subjects.
    fn rules(&self) -> &'static [RuleCheck];

    /// Expectations of the feed, for the rules.
    fn asked(&self, _launch: &Launch) -> FeedExpectation {
        FeedExpectation::default()
    }

    /// The core of the thread that paces the load, unless that thread itself is measured.
    fn pacer(&self, _entrant: &Entrant) -> Option<usize> {
        None
    }

    /// Whether the exchange that is measured may be one that this process did not start.
    fn observes_foreign_exchange(&self) -> bool {
        false
    }

    /// Whether a thread may sleep that a message waits for: a wake-up may be faster or slower than
    /// usual.
    fn may_sleep(&self, _scenario: &Scenario, _entrant: &Entrant) -> bool {
        false
    }

    /// Whether messages that waited leave together.
    fn leaves_in_batches(&self, scenario: &Scenario) -> bool {
        scenario.load.model == Model::Open
    }

    /// Whether a disturbed subject does less work than an undisturbed one.
    fn adapts(&self, _scenario: &Scenario, _entrant: &Entrant) -> bool {
        false
    }
}

/// [`Runner::may_sleep`] of a client and an exchange over sockets.
pub(crate) fn either_end_may_sleep(scenario: &Scenario, entrant: &Entrant) -> bool {
    let exchange = &scenario.exchange;
    !backend::spins(&entrant.backend) || exchange.start && !backend::spins(&exchange.backend)
}
