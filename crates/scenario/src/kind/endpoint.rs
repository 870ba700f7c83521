//! `endpoint`: one client that probes an address.

use crate::conduct::{ConductError, Entrant};
use crate::evidence::{Evidence, Lengths, Outcome};
use crate::kind::rules;
use crate::kind::runner::{RuleCheck, Runner};
use crate::launch::observer::Observer;
use crate::launch::{Launch, MarketData, Ready};
use crate::progress::Teller;
use plan::Scenario;
use plan::backend;
use plan::process::endpoint::{DATAGRAMS, EndpointPlan};
use record::text::counted;
use record::{ClientResult, Verdict, directory};

/// The runner.
pub(crate) struct Endpoint;

impl Runner for Endpoint {
    fn run(
        &self,
        launch: &Launch,
        _lengths: Option<Lengths>,
        observer: &mut Observer<'_, '_>,
    ) -> Result<Outcome, ConductError> {
        launch.with_exchange(MarketData::default(), |_, ready, _| {
            observer.during(launch, |teller| probe(launch, ready, teller)).map(Outcome::from)
        })
    }

    fn rules(&self) -> &'static [RuleCheck] {
        &[("complete", rules::complete), ("replies", replies), ("recorded", recorded)]
    }

    /// Whatever the other end does is the subject.
    fn observes_foreign_exchange(&self) -> bool {
        true
    }

    fn may_sleep(&self, _scenario: &Scenario, entrant: &Entrant) -> bool {
        !backend::spins(&entrant.backend)
    }

    fn leaves_in_batches(&self, _scenario: &Scenario) -> bool {
        false
    }
}

/// A lost datagram is in the figures with the least time that it may have taken, so it doesn't make
/// them void.
fn replies(evidence: &Evidence) -> (Verdict, String) {
    let load = &evidence.result.load;
    if load.model != DATAGRAMS {
        return rules::replies(evidence);
    }
    let why = format!(
        "of {} {} without an echo in time, each recorded as endpoint.patience_seconds; {} came twice or \
         belonged to none",
        counted(load.sent, "datagram"),
        load.lost,
        counted(load.duplicated, "datagram")
    );
    (Verdict::Held, why)
}

fn recorded(evidence: &Evidence) -> (Verdict, String) {
    let load = &evidence.result.load;
    match load.model == DATAGRAMS {
        true => rules::recorded(evidence, load.sent, "datagrams sent"),
        false => rules::recorded(evidence, load.received, "steps that were answered"),
    }
}

/// Runs the client and returns its result.
fn probe(
    launch: &Launch,
    target: Ready,
    teller: &mut Teller<'_>,
) -> Result<ClientResult, ConductError> {
    let scenario = &launch.conduct.scenario;
    let spec = &scenario.subject[launch.entrant.index];
    let (warm_up_seconds, seconds) = launch.conduct.phases(launch.entrant);
    let plan = EndpointPlan {
        subject: launch.entrant.name.clone(),
        target: target.address,
        tls: launch.trust(target.certificate),
        probes: scenario.endpoint.clone(),
        spins: backend::spins(&spec.backend),
        warm_up_seconds,
        seconds,
        core: launch.entrant.cores.first().copied(),
        scheduling: spec.scheduling,
        hlog: directory::hlog(launch.path, launch.number).display().to_string(),
    };
    launch.run_client("endpoint", &plan, teller)
}
