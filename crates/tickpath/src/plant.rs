//! The market data and the own order flow of `tickpath exchange`, from its command line.

use crate::cli::MarketDataArguments;
use crate::tool::TOOL;
use anyhow::{Context, bail};
use clock::Clock;
use exchange::{Exchange, Feed, FlowConfig, ProcessInfo, Reach};
use flow::{Pace, Source};
use host::Root;
use plan::process::exchange::{FlowPlan, PublishPlan};
use plan::tables::ticks::{DURATION_SHARE_MIN, Pace as FlowPace};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use transport::datagram::{DatagramSender, Recipients, SendOptions, SharedDevice};
use transport::echo::ticker::{TickerEcho, TickerSettings};

/// Puts a plan's feed and flow in the place of arguments.
pub(crate) fn plan(
    arguments: &mut MarketDataArguments,
    feed: Option<PublishPlan>,
    flow: Option<FlowPlan>,
) {
    if let Some(PublishPlan { group, interface, datagram_bytes }) = feed {
        arguments.feed = group.unwrap_or_else(|| "unicast".to_owned());
        arguments.feed_bytes = datagram_bytes;
        arguments.feed_interface = interface.unwrap_or(arguments.feed_interface);
    }
    if let Some(FlowPlan { flow, seconds }) = flow {
        arguments.flow = Some(flow.source);
        arguments.flow_pace = flow.pace;
        arguments.flow_rate = flow.rate_per_second;
        arguments.flow_speed = flow.speed;
        arguments.flow_arrival = flow.arrival;
        arguments.flow_burst = flow.burst;
        arguments.flow_seconds = seconds;
    }
}

/// The feed, if there is to be one.
pub(crate) fn feed(arguments: &MarketDataArguments) -> anyhow::Result<Option<Feed>> {
    let Some(reach) = reach(arguments)? else { return Ok(None) };
    let (datagram_bytes_max, snapshot_seconds) =
        (arguments.feed_bytes, arguments.feed_snapshot_seconds);
    Ok(Some(Feed { reach, datagram_bytes_max, snapshot_seconds }))
}

/// The raw ticker in the feed's place, if there is to be one: as many ticks as inputs, at their
/// pace. Datagrams leave by `device` if the connections have no sockets of the kernel.
pub(crate) fn ticker(
    arguments: &MarketDataArguments,
    clock: Clock,
    device: Option<&SharedDevice>,
) -> anyhow::Result<Option<TickerEcho>> {
    let Some(reach) = reach(arguments)? else { return Ok(None) };
    let mut options = SendOptions::default();
    let mut recipients = Recipients { allowed: arguments.feed_allow.clone(), group: None };
    if let Reach::Multicast { group, interface } = reach {
        options.multicast_interface = Some(interface);
        recipients.group = Some(group);
    }
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let sender = match device {
        None => DatagramSender::bind(any, &options)?,
        Some(device) => DatagramSender::below(device.clone()),
    };
    let settings = TickerSettings {
        datagram_bytes: arguments.feed_bytes,
        rate_per_second: arguments.flow_rate,
        arrival: arguments.flow_arrival,
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
            if !group.ip().is_multicast() || !(1..u16::MAX).contains(&group.port()) {
                bail!(
                    "--feed {group}: a multicast group is within 224.0.0.0/4, and needs a port from 1 to 65534 and the next"
                );
            }
            Reach::Multicast { group, interface: arguments.feed_interface }
        }
    };
    Ok(Some(reach))
}

/// The exchange's own flow, if one is configured.
pub(crate) fn flow(arguments: &MarketDataArguments) -> Option<FlowConfig> {
    let source = match arguments.flow.as_deref()? {
        "synthetic" => Source::Synthetic,
        path => Source::DatabentoMbo(PathBuf::from(path)),
    };
    let pace = match arguments.flow_pace {
        FlowPace::Recorded => Pace::Recorded { speed: arguments.flow_speed },
        FlowPace::Fixed => Pace::Fixed {
            rate_per_second: arguments.flow_rate,
            arrival: arguments.flow_arrival,
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

/// The answer to `DESCRIBE` about the process and the machine.
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
