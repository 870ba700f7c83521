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

    /// Where the exchange takes FIX, if the entrant speaks it.
    pub(super) fn fix_plan(&self) -> Option<FixPlan> {
        let [store, _] = self.fix_stores();
        let plan = || FixPlan { listen: self.any_port(), store: store.display().to_string() };
        self.speaks_fix().then(plan)
    }

    /// The same for a standby at this address.
    pub(super) fn standby_fix_plan(&self, listen: String) -> Option<FixPlan> {
        let [_, store] = self.fix_stores();
        let plan = || FixPlan { listen, store: store.display().to_string() };
        self.speaks_fix().then(plan)
    }

    /// The message stores of the exchange and of its standby: a lost exchange may still have its
    /// own.
    pub(super) fn fix_stores(&self) -> [PathBuf; 2] {
        let of = |end| format!("{:03}.{}.{end}", self.number, self.entrant.name);
        ["fix", "standby-fix"].map(|end| self.path.join(of(end)))
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
