//! What `tickpath exchange` publishes and where its own orders come from, from the command line.

use crate::TOOL;
use anyhow::{Context, bail};
use clap::Args;
use clock::Clock;
use clock::schedule::Arrival;
use exchange::{Exchange, Feed, FlowConfig, ProcessInfo, Reach};
use flow::{Pace, Source};
use host::Root;
use plan::tables::ticks::DURATION_SHARE_MIN;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use transport::datagram::{DatagramSender, Network, Recipients, SendOptions};
use transport::echo::ticker::{TickerEcho, TickerSettings};

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
    /// Own order flow into the first instrument, started by FLOW: synthetic, or a Databento MBO
    /// file. It brings its own initial book
    #[arg(long, value_name = "FLOW")]
    pub flow: Option<String>,
    /// Pace of the flow: fixed (--flow-rate) or recorded (--flow-speed)
    #[arg(long, value_name = "PACE", default_value = "fixed", value_parser = ["fixed", "recorded"])]
    pub flow_pace: String,
    /// Inputs (orders, cancels, amendments) per second at a fixed pace
    #[arg(long, value_name = "N", default_value_t = 10_000.0)]
    pub flow_rate: f64,
    /// Speed relative to the recording
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub flow_speed: f64,
    /// Arrival process at a fixed pace: uniform, poisson or burst
    #[arg(long, value_name = "ARRIVAL", default_value = "uniform", value_parser = ["uniform", "poisson", "burst"])]
    pub flow_arrival: String,
    /// Inputs per burst, with --flow-arrival burst
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub flow_burst: u64,
    /// Length of the flow in seconds
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    pub flow_seconds: f64,
}

/// A scenario takes the speeds that a flow takes.
const _: () = assert!(plan::tables::ticks::SPEED_MAX == flow::SPEED_MAX);

/// The feed, if there is to be one.
pub(crate) fn feed(arguments: &MarketDataArguments) -> anyhow::Result<Option<Feed>> {
    let Some(reach) = reach(arguments)? else { return Ok(None) };
    let (datagram_bytes_max, snapshot_seconds) =
        (arguments.feed_bytes, arguments.feed_snapshot_seconds);
    Ok(Some(Feed { reach, datagram_bytes_max, snapshot_seconds }))
}

/// The raw datagrams in the feed's place, if there is to be one: as many as inputs, at their pace.
pub(crate) fn ticker(
    arguments: &MarketDataArguments,
    clock: Clock,
) -> anyhow::Result<Option<TickerEcho>> {
    let Some(reach) = reach(arguments)? else { return Ok(None) };
    let mut options = SendOptions::default();
    let mut recipients = Recipients { allowed: arguments.feed_allow.clone(), group: None };
    if let Reach::Multicast { group, interface } = reach {
        options.multicast_interface = Some(interface);
        recipients.group = Some(group);
    }
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let sender = DatagramSender::bind(any, &options)?;
    let settings = TickerSettings {
        datagram_bytes: arguments.feed_bytes,
        rate_per_second: arguments.flow_rate,
        arrival: arrival(arguments),
        burst: arguments.flow_burst,
        seconds: arguments.flow_seconds,
    };
    Ok(Some(TickerEcho::new(settings, sender, clock)?.with_recipients(recipients)))
}

fn reach(arguments: &MarketDataArguments) -> anyhow::Result<Option<Reach>> {
    let reach = match arguments.feed.as_str() {
        "none" => return Ok(None),
        "unicast" => Reach::Unicast,
        group => {
            let group: SocketAddrV4 = group.parse().with_context(|| {
                format!("--feed {group} is neither none, unicast nor a multicast GROUP:PORT")
            })?;
            if !group.ip().is_multicast() || group.port() == u16::MAX {
                bail!(
                    "--feed {group}: a multicast group is within 224.0.0.0/4, and needs its port and the next"
                );
            }
            Reach::Multicast { group, interface: arguments.feed_interface }
        }
    };
    Ok(Some(reach))
}

fn arrival(arguments: &MarketDataArguments) -> Arrival {
    match arguments.flow_arrival.as_str() {
        "poisson" => Arrival::Poisson,
        "burst" => Arrival::Burst,
        _ => Arrival::Uniform,
    }
}

/// The exchange's own flow, if one is configured.
pub(crate) fn flow(arguments: &MarketDataArguments) -> Option<FlowConfig> {
    let source = match arguments.flow.as_deref()? {
        "synthetic" => Source::Synthetic,
        path => Source::DatabentoMbo(PathBuf::from(path)),
    };
    let pace = match arguments.flow_pace.as_str() {
        "recorded" => Pace::Recorded { speed: arguments.flow_speed },
        _ => Pace::Fixed {
            rate_per_second: arguments.flow_rate,
            arrival: arrival(arguments),
            burst: arguments.flow_burst,
        },
    };
    Some(FlowConfig { source, pace, seconds: arguments.flow_seconds })
}

/// Says so if the flow is shorter than was asked for: a file is what it is.
pub(crate) fn tell_short_flow(exchange: &Exchange, arguments: &MarketDataArguments) {
    let Some(flow) = exchange.flow_counts() else { return };
    if (flow.duration_ns as f64) < arguments.flow_seconds * DURATION_SHARE_MIN * 1e9 {
        eprintln!(
            "warning: the flow has {} inputs and is over before --flow-seconds {}; lower --flow-rate or \
             --flow-speed, or take a longer file",
            flow.scheduled, arguments.flow_seconds
        );
    }
}

/// What `DESCRIBE` says about the process and the machine.
pub(crate) fn about(clock: &Clock) -> anyhow::Result<ProcessInfo> {
    let root = Root::system();
    Ok(ProcessInfo {
        tool: TOOL.to_owned(),
        boot_id: host::utc::boot_id(&root),
        machine: serde_json::to_value(host::capture(&root, clock, None))?,
        utc: host::utc::of_this_machine,
    })
}

/// Counts of all this, beside the exchange's own counts.
pub(crate) fn add_counts(
    exchange: &Exchange,
    counts: &mut serde_json::Value,
) -> anyhow::Result<()> {
    if let Some(feed) = exchange.feed_counts() {
        counts["feed"] = serde_json::to_value(feed)?;
    }
    if let Some(flow) = exchange.flow_counts() {
        counts["flow"] = serde_json::to_value(flow)?;
    }
    Ok(())
}
