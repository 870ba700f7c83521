//! The `[[subject]]` of a scenario: who is measured.

use host::placement::Cores;
use host::scheduling::Scheduling;
use relay::plan::Ends;
use serde::{Deserialize, Serialize};
use transport::inject::Inject;

/// Who is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Subject {
    /// Letters, digits, `-` and `_`.
    pub name: String,
    /// Its measuring thread's core; of an `ipc` scenario the producer's and the consumer's; of
    /// `core-to-core` all that are paired.
    pub cores: Cores,
    /// The class of its measuring threads.
    pub scheduling: Scheduling,
    /// How it waits and reads; of an `ipc` scenario the structure that carries the messages.
    pub backend: String,
    /// Of an `ipc` scenario: 2 puts the producer and the consumer into processes of their own, 1 into one.
    pub processes: usize,
    /// The client program and its arguments; empty for tickpath's own. See clients/CONTRACT.md.
    pub command: Vec<String>,
    /// Harm to do on purpose; only tickpath's own client can.
    pub inject: Inject,
}

impl Default for Subject {
    fn default() -> Subject {
        Subject {
            name: "rust".to_owned(),
            cores: Cores::Auto,
            scheduling: Scheduling::Other,
            backend: "spin".to_owned(),
            processes: 1,
            command: Vec::new(),
            inject: Inject::default(),
        }
    }
}

impl Subject {
    /// Which ends each of its processes has, in the order in which they are started.
    pub(crate) fn ends(&self) -> &'static [Ends] {
        match self.processes {
            2 => &[Ends::Producer, Ends::Consumer],
            _ => &[Ends::Both],
        }
    }
}
