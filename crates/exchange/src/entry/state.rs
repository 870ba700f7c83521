//! The state of order entry.

use crate::account::register::Register;
use crate::config::{Config, FailedLogin};
use crate::entry::accounts::{Accounts, pass_time};
use crate::execution::Execution;
use crate::flow_player::FlowPlayer;
use crate::market_data::settings::ProcessInfo;
use crate::setup::limits::Limits;
use feed::PublisherSettings;
use std::net::SocketAddr;
use std::sync::mpsc::SyncSender;
use transport::StreamId;
use transport::serve::Outbound;

/// The exchange behind its gateway.
pub(crate) struct OrderEntry {
    pub core: Execution,
    pub accounts: Accounts,
    /// The exchange's own flow; `None` without one.
    pub flow: Option<Box<FlowPlayer>>,
    pub limits: Limits,
    /// Settings of a publisher of market data.
    pub publisher: PublisherSettings,
    /// Program and machine, for the answer to `DESCRIBE`.
    pub process: ProcessInfo,
    failed_logins: Option<SyncSender<FailedLogin>>,
}

impl OrderEntry {
    pub fn new(
        core: Execution,
        register: Register,
        publisher: PublisherSettings,
        config: &Config,
    ) -> OrderEntry {
        OrderEntry {
            core,
            accounts: Accounts::new(config.risk.clone(), register),
            flow: None,
            limits: config.limits,
            publisher,
            process: config.process.clone(),
            failed_logins: config.failed_logins.clone(),
        }
    }

    pub fn opened(&mut self, id: StreamId, peer: Option<SocketAddr>) {
        self.core.counts.connections += 1;
        self.core.sessions.opened(id, peer);
    }

    /// Releases the state of a closed connection. A second call does nothing.
    pub fn closed(&mut self, id: StreamId, wall_ns: fn() -> u64, outbound: &mut Outbound) {
        let OrderEntry { core, accounts, .. } = self;
        if let Some(plant) = &mut core.plant {
            plant.unsubscribe(id);
        }
        let cancelled = core.sessions.ended(id);
        if !cancelled.is_empty() {
            accounts.cancel_all(core, cancelled, wall_ns(), outbound);
        }
    }

    /// The periodic work, ten times a second.
    pub fn sweep(&mut self, now_ns: u64, wall_ns: fn() -> u64, outbound: &mut Outbound) {
        let OrderEntry { core, accounts, .. } = self;
        if core.orders.expiring() > 0 {
            pass_time(core, wall_ns(), outbound);
        }
        if accounts.owes_cancels() {
            accounts.pay_cancels(core, wall_ns(), outbound);
        }
        accounts.sweep(core, now_ns, wall_ns, outbound);
        core.sbe.sweep(now_ns, outbound);
        if let Some(plant) = &mut core.plant {
            plant.sweep(now_ns);
        }
    }

    /// Counts a failed login and passes it to the operator's log.
    #[cold]
    pub fn failed_login(&mut self, from: StreamId) {
        let core = &mut self.core;
        core.counts.logins_failed += 1;
        if let Some(log) = &self.failed_logins {
            let (peer, count) = (core.sessions.peer(from), core.counts.logins_failed);
            // Never blocks: the log may miss some, but each entry has the number so far.
            let _ = log.try_send(FailedLogin { peer, count });
        }
    }
}
