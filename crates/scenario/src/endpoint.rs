//! One subject of an `endpoint` scenario in one run: its plan, its client and its result.

use crate::conduct::ConductError;
use crate::launch::{Launch, Ready};
use crate::progress::Teller;
use plan::process::endpoint::EndpointPlan;
use record::{ClientResult, directory};

impl Launch<'_> {
    /// Runs the client and returns its result.
    pub(crate) fn endpoint(
        &self,
        target: Ready,
        teller: &mut Teller<'_>,
    ) -> Result<ClientResult, ConductError> {
        let scenario = &self.conduct.scenario;
        let spec = &scenario.subject[self.entrant.index];
        let (warm_up_seconds, seconds) = self.conduct.phases(self.entrant);
        let plan = EndpointPlan {
            subject: self.entrant.name.clone(),
            target: target.address,
            tls: self.trust(target.certificate),
            probes: scenario.endpoint.clone(),
            spins: spec.backend.contains("spin"),
            warm_up_seconds,
            seconds,
            core: self.entrant.cores.first().copied(),
            scheduling: spec.scheduling,
            hlog: directory::hlog(self.path, self.number).display().to_string(),
        };
        let plan = serde_json::to_string(&plan).map_err(|error| self.failed(error.to_string()))?;
        self.run_client("endpoint", &plan, teller)
    }
}
