//! What stands behind the gateway: the sequencer and all that is known of instruments, accounts, orders and who watches.

use crate::Config;
use crate::counts::Counts;
use crate::house::House;
use crate::instruments::Instruments;
use crate::limits::Limits;
use crate::observed::Observed;
use crate::orders::ClientOrders;
use crate::plant::Plant;
use crate::publishing::{About, published_as};
use crate::refusals::Refusals;
use crate::register::Register;
use crate::reports::status;
use crate::risk::Risk;
use crate::sequencer::Sequencer;
use crate::sessions::Sessions;
use crate::text::send;
use engine::DoneReason;
use std::fmt::{Display, Write};
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
    /// Accounts whose orders are still to be cancelled for a connection that is gone: the journal did not take it.
    pub cancels_owed: Vec<u32>,
    pub counts: Counts,
    /// By `DoneReason as usize`.
    pub done: [u64; DoneReason::ALL.len()],
    pub refusals: Refusals,
    /// What the ticker plant and the stamps of replies need of each command.
    pub observed: Observed,
    /// When what is done now was read, or was to happen.
    pub cause_ns: u64,
    /// Who publishes; `None` while nobody is subscribed to anything and there is no feed.
    pub plant: Option<Box<Plant>>,
    /// As what is published.
    pub published_as: feed::PublisherSettings,
    pub house: Option<Box<House>>,
    pub about: About,
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
            strikes: Vec::with_capacity(limits.connections_max),
            reason: String::with_capacity(1024),
        }
    }

    pub fn opened(&mut self, id: StreamId) {
        self.counts.connections += 1;
        self.sessions.opened(id);
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
