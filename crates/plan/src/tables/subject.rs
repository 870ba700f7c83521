//! `[[subject]]` of a scenario.

use crate::backend::Queue;
use crate::faults::Inject;
use crate::tables::fan_out::SendOrder;
use crate::tables::network::Placement;
use crate::tables::replica::{Failure, Replicate};
use crate::tables::ticks::FeedDialect;
use host::placement::Cores;
use host::scheduling::Scheduling;
use serde::{Deserialize, Serialize};

/// The dialect of orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// JSON in WebSocket text frames.
    #[default]
    Json,
    /// SBE over TCP.
    Sbe,
    /// SBE over UDP, with acknowledgements.
    SbeUdp,
    /// FIX 4.4.
    Fix,
}

impl Dialect {
    /// Its name in scenarios and records.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Json => "json",
            Dialect::Sbe => "sbe",
            Dialect::SbeUdp => "sbe-udp",
            Dialect::Fix => "fix",
        }
    }
}

/// One subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Subject {
    /// Letters, digits, `-` and `_`.
    pub name: String,
    /// The measuring thread's core. For `ipc`: the producer's and the consumer's; for
    /// `core-to-core`: all that are paired.
    pub cores: Cores,
    /// Scheduling class of its measuring threads.
    pub scheduling: Scheduling,
    /// Backend of its sockets. For `ipc`: the structure; for engines: the book and its checks; for
    /// a journal: its mode.
    pub backend: String,
    /// For `af_xdp`: the queue of its interface, or `all`.
    pub queue: Queue,
    /// For `ipc`: 2 puts producer and consumer into processes of their own, 1 into one.
    pub processes: usize,
    /// The client program and its arguments; empty: tickpath's own. See clients/CONTRACT.md.
    pub command: Vec<String>,
    /// The program, with its arguments, that starts the client over another stack, such as
    /// `["onload", "--profile=latency"]`; empty: none. The floor is started by it, too.
    pub wrapper: Vec<String>,
    /// Whether it and the exchange that is started for it speak TLS; so do all where the scenario's
    /// `tls` is set.
    pub tls: bool,
    /// Dialect of its orders: `json`, `sbe`, `sbe-udp` or `fix`. A client that lacks it ends with
    /// an error.
    pub dialect: Dialect,
    /// For `tick`: dialect of the market data that it follows, `sbe`, `json`, `json-top` or `fix`.
    pub feed: FeedDialect,
    /// Whether the exchange that is started for it has a journal, and a follower.
    pub replicate: Replicate,
    /// How that exchange, or the leader of its cluster, is lost in the middle of the measured part.
    pub failure: Failure,
    /// For `network`: on which socket its thread runs, and where the interface's interrupts go.
    pub placement: Placement,
    /// For `network`: length of its requests and replies; 0: those of `[request]`.
    pub message_bytes: usize,
    /// For `network`: bulk flows beside its requests; 0: none.
    pub bulk_flows: usize,
    /// For `fan-out`: which subscriber gets a message first.
    pub order: SendOrder,
    /// For `fan-out`: the backend of the replicator in front of it; empty: that of `[exchange]`.
    pub replicator: String,
    /// Faults to inject; only tickpath's own client can.
    pub inject: Inject,
}

impl Subject {
    /// Whether a member of its cluster loses its network.
    pub fn cuts_member(&self) -> bool {
        self.replicate == Replicate::Cluster && self.failure == Failure::Cut
    }
}

impl Default for Subject {
    fn default() -> Subject {
        Subject {
            name: "rust".to_owned(),
            cores: Cores::Auto,
            scheduling: Scheduling::Other,
            backend: "spin".to_owned(),
            queue: Queue::All,
            processes: 1,
            command: Vec::new(),
            wrapper: Vec::new(),
            tls: false,
            dialect: Dialect::Json,
            feed: FeedDialect::Sbe,
            replicate: Replicate::Off,
            failure: Failure::None,
            placement: Placement::Baseline,
            message_bytes: 0,
            bulk_flows: 0,
            order: SendOrder::Fixed,
            replicator: String::new(),
            inject: Inject::default(),
        }
    }
}
