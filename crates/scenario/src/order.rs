//! One subject of an `order-entry` scenario in one run: its plan, its client and its result.

use crate::conduct::ConductError;
use crate::launch::{Launch, Ready};
use crate::progress::Teller;
use plan::faults::Inject;
use plan::process::orders::{OrdersPlan, Wire};
use record::{ClientResult, MessageBytes, directory};

impl Launch<'_> {
    /// Runs one client and returns its result. `bytes` are a floor's message lengths.
    pub(crate) fn order(
        &self,
        exchange: Ready,
        bytes: Option<MessageBytes>,
        teller: &mut Teller<'_>,
    ) -> Result<ClientResult, ConductError> {
        let wire = match (self.entrant.is_floor, bytes) {
            (false, _) => Wire::WebsocketJson,
            (true, Some(bytes)) if self.entrant.is_bare => Wire::Bare(bytes),
            (true, Some(bytes)) => Wire::Raw(bytes),
            (true, None) => return Err(self.failed("no message lengths are known yet".to_owned())),
        };
        self.trade(exchange, wire, teller)
    }

    /// Runs one client over that wire.
    pub(crate) fn trade(
        &self,
        exchange: Ready,
        wire: Wire,
        teller: &mut Teller<'_>,
    ) -> Result<ClientResult, ConductError> {
        let plan = serde_json::to_string(&self.order_plan(exchange, wire, teller.is_heard()))
            .map_err(|error| self.failed(error.to_string()))?;
        self.run_client("trade", &plan, teller)
    }

    fn order_plan(&self, exchange: Ready, wire: Wire, progress: bool) -> OrdersPlan {
        let scenario = &self.conduct.scenario;
        let spec = &scenario.subject[self.entrant.index];
        let (warm_up_seconds, seconds) = self.conduct.phases(self.entrant);
        OrdersPlan {
            subject: self.entrant.name.clone(),
            target: exchange.address,
            wire,
            backend: spec.backend.clone(),
            core: self.entrant.cores.first().copied(),
            scheduling: spec.scheduling,
            load: scenario.load.clone(),
            warm_up_seconds,
            seconds,
            tls: self.trust(exchange.certificate),
            // The floor is the control: it has no injected faults.
            inject: match self.entrant.is_floor {
                true => Inject::default(),
                false => spec.inject.clone(),
            },
            hlog: directory::hlog(self.path, self.number).display().to_string(),
            progress,
        }
    }
}
