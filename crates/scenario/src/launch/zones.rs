//! `follower.loss_percent`: the cable between an exchange and its follower loses packets.

use crate::conduct::ConductError;
use crate::launch::Launch;
use bypass::BypassError;
use bypass::loss::Loss;
use bypass::routes::Interface;
use clock::random::SplitMix64;
use host::network::{Network, ZONE_DEVICE};
use record::BetweenZones;

/// Both ends of that cable, each of which loses some of what it receives.
pub(crate) struct Losses([Loss; 2]);

impl Launch<'_> {
    /// Loses packets to and from the other zone from now on, if the scenario has one. Which ones
    /// follows from the load's seed and the run's number.
    pub(super) fn lose_packets(&self) -> Result<Option<Losses>, ConductError> {
        let Some((networks, zone)) = self.networks.and_then(|all| Some((all, all.zone()?))) else {
            return Ok(None);
        };
        let scenario = &self.conduct.scenario;
        let seed = scenario.load.seed.wrapping_add(self.number.into());
        let mut seeds = SplitMix64::new(seed);
        let mut lose = |network: &Network| -> Result<Loss, ConductError> {
            let (percent, seed) = (scenario.follower.loss_percent, seeds.bits());
            let started =
                network.within(|| Loss::start(&Interface::named(ZONE_DEVICE)?, percent, seed))?;
            started.map_err(|why| self.failed(format!("cannot drop packets: {why}")))
        };
        Ok(Some(Losses([lose(networks.exchange())?, lose(zone)?])))
    }
}

impl Losses {
    /// Packets in both directions so far.
    pub(super) fn counts(&self) -> Result<BetweenZones, String> {
        let counts = || -> Result<BetweenZones, BypassError> {
            let [one, other] = [self.0[0].counts()?, self.0[1].counts()?];
            let packets = one.packets.saturating_add(other.packets);
            let dropped = one.dropped.saturating_add(other.dropped);
            Ok(BetweenZones { packets, dropped })
        };
        counts().map_err(|why| format!("cannot count the packets between the zones: {why}"))
    }
}
