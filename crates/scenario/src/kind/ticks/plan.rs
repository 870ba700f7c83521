//! The plans of a trader that follows a feed, and of the exchange that publishes it.

use crate::evidence::Lengths;
use crate::kind::ticks::files::{AUDIT, PROFILE, SAMPLES};
use crate::launch::{Launch, MarketData, Ready};
use clock::schedule::Arrival;
use plan::Scenario;
use plan::faults::Inject;
use plan::process::exchange::{FlowPlan, PublishPlan};
use plan::process::ticks::{AuditPlan, FeedPlan, RawPlan, TickPlan};
use plan::tables::load::Load;
use plan::tables::strategy::StrategyName;
use plan::tables::ticks::{FeedDialect, Flow, Pace, Transport};
use record::directory;
use record::tick::samples::SAMPLES_MAX;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

/// Room for the samples of a recording of unknown length: 120 MB.
const SAMPLES_ROOM_MIN: u64 = 1_000_000;

/// The exchange's feed and flow; for a floor, the raw ticks in their place.
pub(super) fn market_data(launch: &Launch, lengths: Option<Lengths>) -> MarketData {
    let scenario = &launch.conduct.scenario;
    let (warm_up_seconds, seconds) = launch.conduct.phases(launch.entrant);
    let feed = match lengths.filter(|_| launch.entrant.is_floor) {
        Some(lengths) => {
            PublishPlan { group: None, interface: None, datagram_bytes: lengths.datagram as usize }
        }
        None => PublishPlan {
            group: match scenario.feed.transport {
                Transport::Unicast => None,
                Transport::Multicast => Some(scenario.feed.group.clone()),
            },
            interface: launch.networks.map(|networks| networks.exchange().address()),
            datagram_bytes: scenario.feed.datagram_bytes,
        },
    };
    let flow = match lengths.filter(|_| launch.entrant.is_floor) {
        Some(lengths) => floor_flow(scenario, launch.entrant.feed, lengths.ticks),
        None => scenario.flow.clone(),
    };
    let flow = FlowPlan { flow, seconds: warm_up_seconds + seconds };
    MarketData { feed: Some(feed), flow: Some(flow) }
}

/// The schedule of a floor whose subject had so many ticks: that of the flow. Only some inputs
/// change the best prices, so that a floor of these has the rate of its subject's ticks.
fn floor_flow(scenario: &Scenario, feed: FeedDialect, ticks: u64) -> Flow {
    let flow = scenario.flow.clone();
    // A burst is a few changes at one instant, whatever its length.
    let is_even = flow.arrival != Arrival::Burst;
    match feed == FeedDialect::JsonTop && is_even && ticks > 0 {
        true => Flow { rate_per_second: ticks as f64 / scenario.seconds, ..flow },
        false => flow,
    }
}

/// The plan of one trader in one run.
pub(super) fn plan_of(
    launch: &Launch,
    ready: &Ready,
    raw: Option<RawPlan>,
    progress: bool,
) -> TickPlan {
    let scenario = &launch.conduct.scenario;
    let name = &launch.entrant.name;
    let (warm_up_seconds, seconds) = launch.conduct.phases(launch.entrant);
    let file = |what: &str| launch.path.join(format!("{:03}.{name}.{what}", launch.number));
    let is_watched = scenario.audit.enabled && raw.is_none();
    let mut by_hand = tick_plan(scenario, launch.entrant.index, ready.address.clone());
    if let Some(networks) = launch.networks {
        by_hand.feed.listen.set_ip(networks.trader().address().into());
        let group = by_hand.feed.multicast.as_mut();
        group.into_iter().for_each(|interface| *interface = networks.trader().address());
    }
    TickPlan {
        subject: name.clone(),
        core: launch.entrant.cores.first().copied(),
        warm_up_seconds,
        seconds,
        clock: ready.clock,
        hlog: directory::hlog(launch.path, launch.number).display().to_string(),
        samples: file(SAMPLES).display().to_string(),
        progress,
        feed: FeedPlan {
            inject: if raw.is_some() { Default::default() } else { by_hand.feed.inject },
            multicast: by_hand.feed.multicast.filter(|_| raw.is_none()),
            hold_ns: if raw.is_some() { 0 } else { by_hand.feed.hold_ns },
            address: ready.fix.clone().or(by_hand.feed.address),
            ..by_hand.feed
        },
        risk: by_hand.risk.map(|_| launch.path.join(PROFILE).display().to_string()),
        audit: is_watched.then(|| AuditPlan {
            file: file(AUDIT).display().to_string(),
            core: launch.placed.audit,
        }),
        tls: launch.trust(ready.certificate.clone()),
        inject: if raw.is_some() { Inject::default() } else { by_hand.inject },
        raw,
        ..by_hand
    }
}

/// The plan of the trader of subject `index`, without files and cores.
pub fn tick_plan(scenario: &Scenario, index: usize, target: String) -> TickPlan {
    let subject = &scenario.subject[index];
    let feed = &scenario.feed;
    let own = own_address(&target);
    TickPlan {
        subject: subject.name.clone(),
        target,
        backend: subject.backend.clone(),
        queue: subject.queue,
        core: None,
        scheduling: subject.scheduling,
        instrument: scenario.flow.instrument.clone(),
        first_token: Load::default().first_token,
        warm_up_seconds: scenario.warm_up_seconds,
        seconds: scenario.seconds,
        exchange_process: None,
        clock: None,
        one_way: scenario.one_way,
        hlog: String::new(),
        samples: String::new(),
        stamp_every: scenario.load.stamp_every,
        samples_max: samples_room(scenario),
        scenario: scenario.name.clone(),
        progress: false,
        feed: FeedPlan {
            dialect: subject.feed,
            address: Some(feed.fix_address.clone())
                .filter(|address| subject.feed == FeedDialect::Fix && !address.is_empty()),
            listen: SocketAddr::from((own, 0)),
            multicast: (feed.transport == Transport::Multicast).then_some(own),
            receive_buffer_bytes: feed.receive_buffer_bytes,
            kernel_stamps: feed.kernel_stamps,
            instruments: scenario.instruments(),
            orders_max: scenario.exchange.open_orders_max,
            datagram_bytes_max: feed.datagram_bytes,
            hold_ns: feed.hold_us * 1_000,
            inject: feed.inject,
            ..FeedPlan::default()
        },
        strategy: scenario.strategy.clone(),
        risk: Some(scenario.risk.profile.clone()).filter(|profile| !profile.is_empty()),
        audit: None,
        raw: None,
        tls: scenario.trust(index),
        inject: subject.inject.clone(),
    }
}

/// Room for samples: twice the planned number. A recording's number of ticks is unknown.
fn samples_room(scenario: &Scenario) -> usize {
    let planned = match (scenario.flow.pace, scenario.strategy.name) {
        (Pace::Recorded, _) => 0,
        (_, StrategyName::Trigger) => scenario.messages(scenario.seconds) / scenario.strategy.every,
        (_, StrategyName::MarketMaking) => scenario.messages(scenario.seconds),
    };
    (2 * planned).clamp(SAMPLES_ROOM_MIN, SAMPLES_MAX) as usize
}

/// This machine's address on the route to `target`; nothing is sent.
fn own_address(target: &str) -> Ipv4Addr {
    let towards = || -> std::io::Result<SocketAddr> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect(target)?;
        socket.local_addr()
    };
    match towards() {
        Ok(SocketAddr::V4(own)) => *own.ip(),
        _ => Ipv4Addr::LOCALHOST,
    }
}

/// As many bytes as the real messages.
pub(super) fn raw(lengths: Lengths, bare: bool) -> RawPlan {
    RawPlan {
        datagram_bytes: lengths.datagram,
        order_bytes: lengths.messages.order,
        reply_bytes: lengths.messages.order_reply,
        bare,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_of_the_best_prices_has_their_rate() {
        let of = |sets: &[&str], feed, ticks| {
            let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
            let scenario = Scenario::find("tick-dialects", &sets).unwrap();
            floor_flow(&scenario, feed, ticks).rate_per_second
        };
        assert_eq!(of(&["seconds=5"], FeedDialect::JsonTop, 700), 140.0);
        assert_eq!(of(&["seconds=5"], FeedDialect::Json, 700), 2_000.0);
        assert_eq!(of(&["seconds=5"], FeedDialect::JsonTop, 0), 2_000.0);
        let burst = ["seconds=5", "flow.arrival=burst", "flow.burst=10"];
        assert_eq!(of(&burst, FeedDialect::JsonTop, 700), 2_000.0);
    }
}
