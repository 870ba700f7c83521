//! `network`: requests to an echo, also over crossed sockets.

mod steering;

use crate::conduct::{ConductError, Entrant};
use crate::evidence::{Evidence, Lengths, Outcome};
use crate::kind::runner::{RuleCheck, Runner, either_end_may_sleep};
use crate::kind::{orders, rules};
use crate::launch::observer::Observer;
use crate::launch::{Launch, MarketData};
use host::Root;
use plan::Scenario;
use plan::process::orders::Wire;
use record::Verdict;
use std::path::Path;
use steering::SteeredInterrupts;
use tune::journal::STATE_DEFAULT;

/// The runner.
pub(crate) struct Network;

impl Runner for Network {
    fn run(
        &self,
        launch: &Launch,
        _lengths: Option<Lengths>,
        observer: &mut Observer<'_, '_>,
    ) -> Result<Outcome, ConductError> {
        let _steered = steer(launch)?;
        let wire = Wire::Requests(launch.conduct.scenario.request.message_bytes());
        launch.with_exchange(MarketData::default(), |_, echo| {
            observer
                .during(launch, |teller| orders::trade(launch, echo, wire, teller))
                .map(Outcome::from)
        })
    }

    fn rules(&self) -> &'static [RuleCheck] {
        &[
            ("complete", rules::complete),
            ("sent", rules::sent),
            ("replies", rules::replies),
            ("recorded", recorded),
            ("accepted", rules::accepted),
        ]
    }

    fn pacer(&self, entrant: &Entrant) -> Option<usize> {
        entrant.cores.first().copied()
    }

    fn may_sleep(&self, scenario: &Scenario, entrant: &Entrant) -> bool {
        either_end_may_sleep(scenario, entrant)
    }
}

fn recorded(evidence: &Evidence) -> (Verdict, String) {
    rules::recorded(evidence, evidence.result.load.received, "replies")
}

/// Moves the interrupts that the entrant's placement moves, until the result is dropped.
fn steer(launch: &Launch) -> Result<Option<SteeredInterrupts>, ConductError> {
    let Some((interrupts, cores)) = launch.placed.interrupts.get(&launch.entrant.index) else {
        return Ok(None);
    };
    let steered =
        SteeredInterrupts::steer(&Root::system(), Path::new(STATE_DEFAULT), interrupts, cores);
    let who = || format!("moving interrupts for {}", launch.entrant.name);
    steered.map(Some).map_err(|why| ConductError::Process { who: who(), why })
}
