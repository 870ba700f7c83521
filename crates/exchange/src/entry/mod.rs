//! Everything behind the gateway: the sequencer, and the state of instruments, accounts, orders and
//! subscriptions.
//!
//! See docs/decisions/011-exchange-layers-and-gateway-threads.md.

mod commands;
pub mod execution;
pub mod observed;
mod operator;
pub mod orders;
pub mod refusals;
pub mod reports;
pub mod requests;
pub mod stamping;
pub mod text;
mod turn;

use crate::account::register::Register;
use crate::account::risk::Risk;
use crate::account::sessions::Sessions;
use crate::counts::Counts;
use crate::entry::observed::Observed;
use crate::entry::orders::ClientOrders;
use crate::entry::refusals::Refusals;
use crate::entry::reports::status;
use crate::entry::text::send;
use crate::house::House;
use crate::market_data::plant::Plant;
use crate::market_data::publishing::{About, published_as};
use crate::sequencer::Sequencer;
use crate::setup::instruments::Instruments;
use crate::setup::limits::Limits;
use crate::{Config, FailedLogin};
use engine::DoneReason;
use std::fmt::{Display, Write};
use std::net::SocketAddr;
use std::sync::mpsc::SyncSender;
use transport::StreamId;
use wire::reply;

pub(crate) struct OrderEntry {
    pub instruments: Instruments,
    pub sessions: Sessions,
    pub orders: ClientOrders,
    pub sequencer: Sequencer,
    pub risk: Risk,
    pub register: Register,
    pub limits: Limits,
    /// Accounts whose orders must still be cancelled for a closed connection, because the journal
    /// did not take the cancel.
    pub cancels_owed: Vec<u32>,
    pub counts: Counts,
    /// By `DoneReason as usize`.
    pub done: [u64; DoneReason::ALL.len()],
    pub refusals: Refusals,
    /// What the ticker plant and the stamps of replies need of each command.
    pub observed: Observed,
    /// When what is done now was read, or was to happen.
    pub cause_ns: u64,
    /// The publisher; `None` while there is no feed and no subscriber.
    pub plant: Option<Box<Plant>>,
    /// As what is published.
    pub published_as: feed::PublisherSettings,
    pub house: Option<Box<House>>,
    pub about: About,
    pub failed_logins: Option<SyncSender<FailedLogin>>,
    /// By connection: messages before authentication.
    pub strikes: Vec<u32>,
    /// Where a reason is put together, reused.
    pub reason: String,
}

impl OrderEntry {
    pub fn new(
        instruments: Instruments,
        sessions: Sessions,
        sequencer: Sequencer,
        risk: Risk,
        register: Register,
        config: &Config,
    ) -> OrderEntry {
        let limits = config.limits;
        let published_as = published_as(config, &instruments);
        OrderEntry {
            instruments,
            sessions,
            orders: ClientOrders::new(limits.open_orders_max),
            sequencer,
            risk,
            register,
            limits,
            cancels_owed: Vec::new(),
            counts: Counts::default(),
            done: [0; DoneReason::ALL.len()],
            refusals: Refusals::new(),
            observed: Observed::new(config.clock),
            cause_ns: 0,
            plant: None,
            published_as,
            house: None,
            about: config.about.clone(),
            failed_logins: config.failed_logins.clone(),
            strikes: Vec::with_capacity(limits.connections_max),
            reason: String::with_capacity(1024),
        }
    }

    pub fn opened(&mut self, id: StreamId, peer: Option<SocketAddr>) {
        self.counts.connections += 1;
        self.sessions.opened(id, peer);
        if self.strikes.len() <= id.index() {
            self.strikes.resize(id.index() + 1, 0);
        }
        self.strikes[id.index()] = 0;
    }

    pub fn counts(&self) -> Counts {
        let mut counts = self.counts.clone();
        let done = DoneReason::ALL.iter().map(|reason| status(*reason).name()).zip(self.done);
        counts.done = done.filter(|(_, n)| *n > 0).collect();
        counts.rejected = self.refusals.rejected.by_name();
        counts.limits = self.refusals.limits.by_name();
        counts.errors = self.refusals.errors;
        counts
    }

    /// Sends an `ERROR`.
    pub fn error(&mut self, out: &mut Vec<u8>, reason: &dyn Display) {
        self.refusals.errors += 1;
        self.reason.clear();
        // To write into a string can't fail.
        let _ = write!(self.reason, "{reason}");
        send(out, |out| reply::encode_error(out, &self.reason));
    }
}
