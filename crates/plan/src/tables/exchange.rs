//! `[exchange]` of a scenario: the other end.

use crate::backend::Queue;
use crate::faults::Inject;
use host::placement::Cores;
use host::scheduling::Scheduling;
use serde::{Deserialize, Serialize};

/// `[exchange]`: the other end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Exchange {
    /// Start one; if not, `--connect` says where it runs.
    pub start: bool,
    /// The core of its own thread, then one for each gateway thread.
    pub cores: Cores,
    /// Gateway threads that own the sockets; 0: the exchange thread does.
    pub gateways: u32,
    /// How long after its gateway's stamp the exchange reads what a client sent, in the order of
    /// all gateways' stamps, us; 0: at once.
    pub entry_hold_us: u64,
    /// How long after a tick orders wait for others that answer the same tick, us; 0: none waits.
    pub delivery_window_us: u64,
    /// Scheduling class of its threads.
    pub scheduling: Scheduling,
    /// Backend of its sockets.
    pub backend: String,
    /// For `af_xdp`: the queue of its interface, or `all`.
    pub queue: Queue,
    /// `synthetic`, `empty`, or a path to a Databento MBO file. For ticks: the book of the
    /// instruments without the flow.
    pub book: String,
    /// Path of an instruments file; empty: the four that ship.
    pub instruments: String,
    /// Limit on resting orders, including those of the start book.
    pub open_orders_max: u32,
    /// Inputs that it keeps in memory (80 bytes each), so that a replay can check its state; 0: no
    /// check.
    pub replay_inputs_max: u64,
    /// PEM file of the authorities that sign the certificate of a `--connect` target; empty: those
    /// that the system trusts.
    pub tls_ca: String,
    /// The name that the certificate must be for; empty: the host of `--connect`.
    pub tls_name: String,
    /// Faults to inject.
    pub inject: Inject,
}

impl Default for Exchange {
    fn default() -> Exchange {
        Exchange {
            start: true,
            cores: Cores::Auto,
            gateways: 0,
            entry_hold_us: 0,
            delivery_window_us: 0,
            scheduling: Scheduling::Other,
            backend: "spin".to_owned(),
            queue: Queue::All,
            book: "synthetic".to_owned(),
            instruments: String::new(),
            open_orders_max: 65_536,
            replay_inputs_max: 1_000_000,
            tls_ca: String::new(),
            tls_name: String::new(),
            inject: Inject::default(),
        }
    }
}
