//! The plan of an exchange that a run starts, or of the echo in its place, as JSON on stdin.

use crate::backend::Queue;
use crate::faults::Inject;
use crate::tables::ticks::Flow;
use host::scheduling::Scheduling;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// One exchange, one run of one subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExchangePlan {
    /// `HOST:PORT` to listen on; port 0: any free one.
    pub listen: String,
    /// A name of [`crate::backend::BACKENDS`].
    pub backend: String,
    /// For `af_xdp`: the queue of its interface; left out: all.
    #[serde(default, skip_serializing_if = "Queue::is_all")]
    pub queue: Queue,
    /// Scheduling class of its threads.
    pub scheduling: Scheduling,
    /// Cores of its own thread and of its gateways, in that order; empty: not pinned.
    pub cores: Vec<usize>,
    /// Gateway threads that own the sockets; 0: the exchange thread does.
    pub gateways: usize,
    /// The program at this end.
    pub end: OtherEnd,
    /// The datagrams that it publishes, if any.
    pub feed: Option<PublishPlan>,
    /// The order flow of its own, or the schedule of raw ticks, if any.
    pub flow: Option<FlowPlan>,
}

/// The program at the other end of a subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OtherEnd {
    /// The exchange.
    Exchange(Box<BookPlan>),
    /// The raw echo.
    Echo,
    /// The echo that only receives and sends.
    Bare,
    /// The raw echo over datagrams.
    Datagrams,
}

/// The exchange's book, its limits and its faults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BookPlan {
    /// Speak TLS with a certificate that is made for this run.
    pub tls: bool,
    /// `synthetic`, `empty`, or a path to a Databento MBO file.
    pub book: String,
    /// Path of an instruments file; `None`: the four that ship.
    pub instruments: Option<String>,
    /// Limit on resting orders, including those of the start book.
    pub open_orders_max: u32,
    /// Limit on connections.
    pub connections_max: usize,
    /// Inputs kept in memory for a replay; 0: no check.
    pub replay_inputs_max: u64,
    /// Its journal, if it has one.
    pub journal: Option<JournalPlan>,
    /// Its FIX port, if it has one.
    pub fix: Option<FixPlan>,
    /// How long what clients send is held after its gateway's stamp, us; `None`: it is not.
    pub entry_hold_us: Option<u64>,
    /// How long after a tick its answers wait for each other, us; `None`: they don't.
    pub delivery_window_us: Option<u64>,
    /// `HOST:PORT` where it takes SBE over UDP; port 0: any free one.
    pub sbe_udp: Option<String>,
    /// Faults to inject.
    pub inject: Inject,
}

/// Where an exchange accepts FIX.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixPlan {
    /// `HOST:PORT` to listen on; port 0: any free one.
    pub listen: String,
    /// The directory of its sessions' messages.
    pub store: String,
}

/// The journal of an exchange, in mode sync.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalPlan {
    /// Its directory.
    pub directory: String,
    /// Its follower, if it has one.
    pub follower: Option<FollowerPlan>,
    /// The exchange that it waits to take over from, if there is one.
    pub standby: Option<StandbyPlan>,
}

/// A standby's part of its plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandbyPlan {
    /// Where it follows; port 0: any free one.
    pub listen: String,
    /// Silence after which it takes over, ms.
    pub silence_ms: u64,
}

/// A follower that already runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FollowerPlan {
    /// Its address.
    pub address: String,
    /// `sync` or `async`.
    pub mode: String,
    /// Time without an acknowledgement after which it is lost, ms.
    pub lost_ms: u64,
}

/// The datagrams that an exchange publishes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishPlan {
    /// `GROUP:PORT` of a multicast group; `None`: to each subscriber's own address.
    pub group: Option<String>,
    /// Address of the interface for multicast; `None`: loopback.
    pub interface: Option<Ipv4Addr>,
    /// Limit on the length of a datagram, bytes; of a raw one, its length.
    pub datagram_bytes: usize,
}

/// A flow and its length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowPlan {
    /// As in the scenario.
    pub flow: Flow,
    /// Length, s, warm-up included.
    pub seconds: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_survives_its_line() {
        let book = BookPlan {
            tls: true,
            book: "empty".to_owned(),
            instruments: None,
            open_orders_max: 10,
            connections_max: 3,
            replay_inputs_max: 0,
            journal: Some(JournalPlan {
                directory: "/tmp/log".to_owned(),
                follower: Some(FollowerPlan {
                    address: "127.0.0.1:8890".to_owned(),
                    mode: "sync".to_owned(),
                    lost_ms: 1000,
                }),
                standby: Some(StandbyPlan { listen: "127.0.0.1:0".to_owned(), silence_ms: 500 }),
            }),
            fix: Some(FixPlan { listen: "127.0.0.1:0".to_owned(), store: "/tmp/fix".to_owned() }),
            entry_hold_us: Some(50),
            delivery_window_us: Some(200),
            sbe_udp: Some("127.0.0.1:0".to_owned()),
            inject: Inject { delay_us: 5, ..Inject::default() },
        };
        let group = Some("239.255.0.1:26400".to_owned());
        for end in [
            OtherEnd::Exchange(Box::new(book)),
            OtherEnd::Echo,
            OtherEnd::Bare,
            OtherEnd::Datagrams,
        ] {
            let plan = ExchangePlan {
                listen: "127.0.0.1:0".to_owned(),
                backend: "spin".to_owned(),
                queue: Queue::One(1),
                scheduling: Scheduling::Fifo(10),
                cores: vec![0, 2],
                gateways: 1,
                end,
                feed: Some(PublishPlan {
                    group: group.clone(),
                    interface: None,
                    datagram_bytes: 1472,
                }),
                flow: Some(FlowPlan { flow: Flow::default(), seconds: 2.0 }),
            };
            let text = serde_json::to_string(&plan).unwrap();
            assert_eq!(serde_json::from_str::<ExchangePlan>(&text).unwrap(), plan);
        }
    }
}
