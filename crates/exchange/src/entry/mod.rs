//! Everything behind the gateway: the sequencer, and the state of instruments, accounts, orders and
//! subscriptions.
//!
//! See docs/decisions/011-exchange-layers-and-gateway-threads.md.

mod commands;
pub mod execution;
pub mod observed;
mod operator;
pub mod orders;
pub mod rejections;
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
use crate::entry::rejections::Rejections;
use crate::entry::reports::status;
use crate::entry::text::send;
use crate::flow_player::FlowPlayer;
use crate::market_data::plant::Plant;
use crate::market_data::publishing::{ProcessInfo, published_as};
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
    pub rejections: Rejections,
    /// Events and stamps of each command, for the ticker plant and for stamped replies.
    pub observed: Observed,
    /// When the bytes of the present request were read, or when the present input was due.
    pub cause_ns: u64,
    /// The publisher; `None` while there is no feed and no subscriber.
    pub plant: Option<Box<Plant>>,
    /// Settings of a publisher.
    pub published_as: feed::PublisherSettings,
    pub flow: Option<Box<FlowPlayer>>,
    pub process: ProcessInfo,
    pub failed_logins: Option<SyncSender<FailedLogin>>,
    /// By connection: messages before authentication.
    pub strikes: Vec<u32>,
    /// Buffer for the text of an error.
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
            rejections: Rejections::new(),
            observed: Observed::new(config.clock),
            cause_ns: 0,
            plant: None,
            published_as,
            flow: None,
            process: config.process.clone(),
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
        counts.rejected = self.rejections.rejected.by_name();
        counts.limits = self.rejections.limits.by_name();
        counts.errors = self.rejections.errors;
        counts
    }

    /// Sends an `ERROR`.
    pub fn error(&mut self, out: &mut Vec<u8>, reason: &dyn Display) {
        self.rejections.errors += 1;
        self.reason.clear();
        // Writing into a string can't fail.
        let _ = write!(self.reason, "{reason}");
        send(out, |out| reply::encode_error(out, &self.reason));
    }
}
