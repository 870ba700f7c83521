//! `network` scenarios: requests to an echo, also over crossed sockets.

pub(crate) mod sides;
pub(crate) mod steering;

use crate::conduct::ConductError;
use crate::launch::{Launch, Ready};
use crate::progress::Teller;
use plan::process::orders::Wire;
use record::ClientResult;

impl Launch<'_> {
    /// Runs one client of requests and returns its result.
    pub(crate) fn request(
        &self,
        echo: Ready,
        teller: &mut Teller<'_>,
    ) -> Result<ClientResult, ConductError> {
        let wire = Wire::Requests(self.conduct.scenario.request.message_bytes());
        self.trade(echo, wire, teller)
    }
}
