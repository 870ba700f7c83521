//! What `tickpath exchange` publishes and where its own orders come from, from the command line.

use crate::TOOL;
use crate::cli::MarketDataArguments;
use anyhow::{Context, bail};
use exchange::{About, Exchange, Feed, HouseFlow, Reach};
use flow::{Pace, Source};
use host::Root;
use measure::clock::Clock;
use measure::schedule::Arrival;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use transport::datagrams::{DatagramSender, SendOptions};
use transport::ticker_echo::{TickerEcho, TickerSettings};

/// A flow that lasts less than this share of what was asked for is told.
const SHORT: f64 = 0.9;

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
    if let Reach::Multicast { interface, .. } = reach {
        options.multicast_interface = Some(interface);
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
    Ok(Some(TickerEcho::new(settings, sender, clock)?))
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

/// The house's own orders, if there are to be some.
pub(crate) fn flow(arguments: &MarketDataArguments) -> Option<HouseFlow> {
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
    Some(HouseFlow { source, pace, seconds: arguments.flow_seconds })
}

/// Says so if the flow is shorter than was asked for: a file is what it is.
pub(crate) fn tell_short_flow(exchange: &Exchange, arguments: &MarketDataArguments) {
    let Some(flow) = exchange.flow_counts() else { return };
    // The last input of a slow flow is due some time before its end.
    if (flow.duration_ns as f64) < arguments.flow_seconds * SHORT * 1e9 {
        eprintln!(
            "warning: the flow has {} inputs and is over long before --flow-seconds {}; lower --flow-rate or \
             --flow-speed, or take a longer file",
            flow.scheduled, arguments.flow_seconds
        );
    }
}

/// What `DESCRIBE` is told of the process and the machine.
pub(crate) fn about(clock: &Clock) -> anyhow::Result<About> {
    let root = Root::system();
    let boot_id = root.read("proc/sys/kernel/random/boot_id").unwrap_or_default();
    Ok(About {
        tool: TOOL.to_owned(),
        boot_id: boot_id.trim().to_owned(),
        machine: serde_json::to_value(host::capture(&root, clock, None))?,
    })
}

/// What is counted of all this, beside the exchange's own counts.
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
