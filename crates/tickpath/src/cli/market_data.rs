//! Arguments for the data that an exchange publishes and for its own order flow.

use crate::cli::values::{arrival, pace};
use clap::Args;
use clock::schedule::Arrival;
use plan::tables::ticks::Pace;
use transport::datagram::Network;

#[derive(Args)]
pub(crate) struct MarketDataArguments {
    /// Publish market data as datagrams: none, unicast (to each subscriber), or a multicast
    /// GROUP:PORT
    #[arg(long, value_name = "WHERE", default_value = "none")]
    pub feed: String,
    /// Maximum UDP payload of a datagram, in bytes
    #[arg(long, value_name = "N", default_value_t = 1472)]
    pub feed_bytes: usize,
    /// Also send the feed to addresses in this network (repeatable). By default a subscriber gets
    /// the feed only at the address that it connects from
    #[arg(long, value_name = "CIDR")]
    pub feed_allow: Vec<Network>,
    /// Interface address for multicast
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub feed_interface: std::net::Ipv4Addr,
    /// Seconds between snapshots to the multicast group (0: none)
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    pub feed_snapshot_seconds: f64,
    /// Microseconds after a tick within which orders wait for others that answer the same tick;
    /// they are sequenced by response time, not by arrival. Needs --feed [default: none wait]
    #[arg(long, value_name = "N")]
    pub delivery_window_us: Option<u64>,
    /// Own order flow into the first instrument, started by FLOW: synthetic, or a Databento MBO
    /// file. It brings its own initial book
    #[arg(long, value_name = "FLOW")]
    pub flow: Option<String>,
    /// Pace of the flow: fixed (--flow-rate) or recorded (--flow-speed)
    #[arg(long, value_name = "PACE", default_value = "fixed", value_parser = pace)]
    pub flow_pace: Pace,
    /// Inputs (orders, cancels, amendments) per second at a fixed pace
    #[arg(long, value_name = "N", default_value_t = 10_000.0)]
    pub flow_rate: f64,
    /// Speed relative to the recording
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub flow_speed: f64,
    /// Arrival process at a fixed pace: uniform, poisson or burst
    #[arg(long, value_name = "ARRIVAL", default_value = "uniform", value_parser = arrival)]
    pub flow_arrival: Arrival,
    /// Inputs per burst, with --flow-arrival burst
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub flow_burst: u64,
    /// Length of the flow in seconds
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    pub flow_seconds: f64,
}
