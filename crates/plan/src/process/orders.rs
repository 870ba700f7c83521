//! `order-entry`: orders and cancels to an exchange. `tickpath run` hands the same plan to clients
//! of any language (clients/CONTRACT.md).

use crate::backend::Queue;
use crate::faults::{DatagramHarm, Inject};
use crate::process::targets;
use crate::range::{OutOfRange, require};
use crate::tables::load::{Load, check_seconds};
use crate::tables::network::Protocol;
use crate::tables::one_way::OneWay;
use crate::tables::subject::Dialect;
use crate::trust::Trust;
use clock::Clock;
use host::scheduling::Scheduling;
use record::MessageBytes;
use serde::{Deserialize, Serialize};

/// The encoding of orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "wire")]
pub enum Wire {
    /// JSON in WebSocket text frames, as docs/internals/wire.md defines it.
    WebsocketJson,
    /// SBE, as docs/internals/sbe.md defines it.
    Sbe,
    /// The same over UDP, as docs/internals/acked.md defines it.
    SbeUdp(AckedPlan),
    /// FIX 4.4, as docs/guide/fix.md defines it.
    Fix,
    /// The raw echo, with messages of these lengths.
    Raw(MessageBytes),
    /// The raw echo over datagrams, none of which may be lost.
    RawDatagrams(MessageBytes),
    /// The raw echo; orders and cancels alike are requests, in one series.
    Requests(MessageBytes),
    /// The same over datagrams.
    Datagrams(DatagramPlan),
    /// The bare echo: only send and receive of the same bytes, in ping-pong of one account.
    Bare(MessageBytes),
    /// The bare echo for requests.
    BareRequests(MessageBytes),
    /// The same over datagrams, none of which may be lost.
    BareDatagrams(MessageBytes),
}

/// Orders over acknowledged datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AckedPlan {
    /// Faults of the datagrams that arrive, for tests.
    #[serde(default, skip_serializing_if = "DatagramHarm::is_none")]
    pub harm: DatagramHarm,
}

/// Requests over datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatagramPlan {
    /// Lengths of the messages.
    #[serde(flatten)]
    pub bytes: MessageBytes,
    /// Time after which a request without its reply is lost, ms.
    pub patience_ms: u64,
    /// The clocks whose stamps split a round trip; `None`: the echo doesn't stamp.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way: Option<OneWayPlan>,
    /// Faults of the replies that arrive.
    #[serde(default, skip_serializing_if = "DatagramHarm::is_none")]
    pub harm: DatagramHarm,
}

/// Bulk flows beside the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BulkPlan {
    /// `HOST:PORT` of the raw echo that is their sink.
    pub target: String,
    /// Their protocol.
    pub protocol: Protocol,
    /// Number of flows.
    pub flows: usize,
    /// Length of a datagram, bytes.
    pub datagram_bytes: usize,
    /// Payload of all flows together, megabits a second; 0: as fast as the kernel takes it.
    pub megabits: f64,
}

/// The clocks of both ends, where each direction is a series of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneWayPlan {
    /// The client's clock.
    pub clock: Clock,
    /// Whether the echo reads it too. Otherwise the echo says its clock itself.
    pub is_shared: bool,
    /// When a figure between two clocks is shown.
    pub shown: OneWay,
}

impl From<Dialect> for Wire {
    fn from(dialect: Dialect) -> Wire {
        match dialect {
            Dialect::Json => Wire::WebsocketJson,
            Dialect::Sbe => Wire::Sbe,
            Dialect::SbeUdp => Wire::SbeUdp(AckedPlan::default()),
            Dialect::Fix => Wire::Fix,
        }
    }
}

impl Wire {
    /// Whether its messages are requests, in one series.
    pub fn is_requests(self) -> bool {
        matches!(
            self,
            Wire::Requests(_) | Wire::Datagrams(_) | Wire::BareRequests(_) | Wire::BareDatagrams(_)
        )
    }
}

/// One subject, one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrdersPlan {
    /// The subject's name: the first part of the tags in the .hlog.
    pub subject: String,
    /// `HOST:PORT` of the exchange; several, separated by commas: the client goes on at another one
    /// when it loses the exchange.
    pub target: String,
    /// The encoding of orders.
    #[serde(flatten)]
    pub wire: Wire,
    /// One of [`crate::backend::BACKENDS`], for tickpath's own client.
    pub backend: String,
    /// For `af_xdp`: the queue of its interface; left out: all.
    #[serde(default, skip_serializing_if = "Queue::is_all")]
    pub queue: Queue,
    /// The core to pin the measuring thread to.
    pub core: Option<usize>,
    /// Scheduling class of the measuring thread.
    pub scheduling: Scheduling,
    /// The load.
    pub load: Load,
    /// Length of the warm-up, which is sent and counted but not measured.
    pub warm_up_seconds: f64,
    /// Length of the measured part.
    pub seconds: f64,
    /// Speak TLS, and by what to check the exchange's certificate; left out for plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Trust>,
    /// Faults to inject; absent from the file if there are none.
    #[serde(default, skip_serializing_if = "Inject::is_none")]
    pub inject: Inject,
    /// Bulk flows beside the load; left out if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bulk: Option<BulkPlan>,
    /// The process of the exchange, if it runs on this machine: so that a client can tell what its
    /// threads cost. A client may ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange_process: Option<u32>,
    /// The HdrHistogram log, which is appended to.
    pub hlog: String,
    /// For how long the exchange may be silent in mid-run because of what it waits for, ms. The
    /// client waits, and notes the longest time without an answer as a loss. Left out for an
    /// exchange that answers all the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence_ms_max: Option<u64>,
    /// Report each second as it ends. A client may ignore it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub progress: bool,
}

impl OrdersPlan {
    /// The addresses at which the exchange may be.
    pub fn targets(&self) -> Vec<&str> {
        targets(&self.target)
    }

    /// Checks the parts of a plan that may be wrong.
    ///
    /// # Errors
    /// The first key that is out of range, with the values that are allowed.
    pub fn check(&self) -> Result<(), OutOfRange> {
        self.load.check()?;
        self.inject.check()?;
        require(
            self.tls.is_none() || matches!(self.wire, Wire::WebsocketJson | Wire::Sbe | Wire::Fix),
            "tls",
            "set",
            "a raw echo has no TLS",
        )?;
        let bare = matches!(self.wire, Wire::Bare(_));
        let is_bare = bare || matches!(self.wire, Wire::BareRequests(_) | Wire::BareDatagrams(_));
        require(
            !is_bare || self.load.is_single_ping_pong(),
            "wire",
            "bare",
            "takes load.model = \"ping-pong\" with one account on one connection",
        )?;
        let goes_on = matches!(self.wire, Wire::WebsocketJson | Wire::Sbe | Wire::Fix);
        require(
            self.targets().len() == 1 || (goes_on && self.load.stamp_every == 0),
            "target",
            &self.target,
            "several addresses need JSON, SBE over TCP or FIX, and load.stamp_every = 0",
        )?;
        check_seconds(self.warm_up_seconds, self.seconds)?;
        self.load.check_schedule(self.warm_up_seconds, self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_survives_its_file() {
        let bytes = MessageBytes { order: 212, order_reply: 291, cancel: 111, cancel_reply: 272 };
        let harm = DatagramHarm { drop_every: 100, ..DatagramHarm::default() };
        let clock = Clock::calibrate();
        let one_way = Some(OneWayPlan { clock, is_shared: true, shown: OneWay::Bracket });
        let stamped = DatagramPlan { bytes, patience_ms: 1, one_way, harm };
        let dropping = Inject { drop_every: 100, ..Inject::default() };
        for (wire, inject) in [
            (Wire::WebsocketJson, dropping),
            (Wire::Sbe, Inject::default()),
            (Wire::SbeUdp(AckedPlan { harm }), Inject::default()),
            (Wire::Fix, Inject::default()),
            (Wire::Raw(bytes), Inject::default()),
            (Wire::RawDatagrams(bytes), Inject::default()),
            (Wire::Requests(bytes), Inject::default()),
            (Wire::Bare(bytes), Inject::default()),
            (Wire::BareRequests(bytes), Inject::default()),
            (Wire::BareDatagrams(bytes), Inject::default()),
            (Wire::Datagrams(stamped), Inject::default()),
        ] {
            let harmless = inject.is_none();
            let plan = OrdersPlan {
                subject: "rust".into(),
                target: "127.0.0.1:8888".into(),
                wire,
                backend: "spin".into(),
                queue: Queue::One(1),
                core: Some(1),
                scheduling: Scheduling::Fifo(10),
                load: Load::default(),
                warm_up_seconds: 0.5,
                seconds: 2.0,
                tls: None,
                inject,
                bulk: (wire == Wire::Requests(bytes)).then(|| BulkPlan {
                    target: "127.0.0.1:9".into(),
                    protocol: Protocol::Tcp,
                    flows: 2,
                    datagram_bytes: 1_400,
                    megabits: 0.5,
                }),
                exchange_process: (wire == Wire::Sbe).then_some(4711),
                silence_ms_max: (wire == Wire::Fix).then_some(5_000),
                hlog: "001.hlog".into(),
                progress: wire == Wire::WebsocketJson,
            };
            let text = serde_json::to_string(&plan).unwrap();
            assert_eq!(text.contains("inject"), !harmless);
            assert_eq!(text.contains("progress"), plan.progress, "left out where nobody looks");
            assert_eq!(serde_json::from_str::<OrdersPlan>(&text).unwrap(), plan);
        }
    }
}
