//! Ports of an exchange beside its own: that of FIX, and that of SBE over UDP.

use crate::conduct::Entrant;
use crate::launch::Launch;
use plan::process::exchange::FixPlan;
use plan::tables::subject::Dialect;
use plan::tables::ticks::FeedDialect;
use std::net::Ipv4Addr;
use std::path::PathBuf;

impl Launch<'_> {
    pub(super) fn speaks_fix(&self) -> bool {
        let Entrant { dialect, feed, is_floor, .. } = self.entrant;
        (*dialect == Dialect::Fix || *feed == FeedDialect::Fix) && !is_floor
    }

    pub(super) fn fix_plan(&self) -> FixPlan {
        FixPlan { listen: self.any_port(), store: self.fix_store().display().to_string() }
    }

    pub(super) fn fix_store(&self) -> PathBuf {
        self.path.join(format!("{:03}.{}.fix", self.number, self.entrant.name))
    }

    /// Where the exchange takes SBE over UDP, if the entrant speaks it.
    pub(super) fn sbe_udp(&self) -> Option<String> {
        let speaks = self.entrant.dialect == Dialect::SbeUdp && !self.entrant.is_floor;
        speaks.then(|| self.any_port())
    }

    /// Any free port of the exchange's address.
    pub(super) fn any_port(&self) -> String {
        let own = self.networks.map_or(Ipv4Addr::LOCALHOST, |both| both.exchange().address());
        format!("{own}:0")
    }
}
