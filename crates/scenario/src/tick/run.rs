//! One subject of a `tick` scenario in one run: an exchange with a feed and a flow, and a trader
//! that follows it; or the raw ticker and a trader without stages.

use crate::conduct::{Conduct, ConductError, Entrant};
use crate::disturbance::moment::Moment;
use crate::launch::{Launch, Left, Ready};
use crate::progress::Teller;
use crate::run::{Asked, Lengths};
use crate::tick::files::{AUDIT, PROFILE, SAMPLES};
use crate::tick::taken::Watching;
use plan::Scenario;
use plan::faults::Inject;
use plan::process::ticks::{AuditPlan, FeedPlan, RawPlan, TickPlan};
use plan::tables::load::Load;
use plan::tables::strategy::StrategyName;
use plan::tables::ticks::{Pace, Transport};
use record::directory;
use record::tick::samples::SAMPLES_MAX;
use rustix::process::Pid;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;
use std::time::Duration;

/// Room for the samples of a recording of unknown length: 120 MB.
const SAMPLES_ROOM_MIN: u64 = 1_000_000;

impl Launch<'_> {
    /// Arguments of the exchange about its feed and flow, or of the raw ticker about its datagrams.
    pub(crate) fn feed_arguments(&self, command: &mut Command, lengths: Option<&Lengths>) {
        let scenario = &self.conduct.scenario;
        let (flow, feed) = (&scenario.flow, &scenario.feed);
        let (warm_up_seconds, seconds) = self.conduct.phases(self.entrant);
        let mut say = |key: &str, value: String| {
            command.args([key, &value]);
        };
        say("--flow-rate", flow.rate_per_second.to_string());
        say("--flow-seconds", (warm_up_seconds + seconds).to_string());
        say("--flow-arrival", format!("{:?}", flow.arrival).to_lowercase());
        say("--flow-burst", flow.burst.to_string());
        if let Some(lengths) = lengths {
            say("--feed", "unicast".to_owned());
            say("--feed-bytes", lengths.datagram.to_string());
            return;
        }
        let to = match feed.transport {
            Transport::Unicast => "unicast".to_owned(),
            Transport::Multicast => feed.group.clone(),
        };
        say("--feed", to);
        if let Some(networks) = self.networks {
            say("--feed-interface", networks.exchange().address().to_string());
        }
        say("--feed-bytes", feed.datagram_bytes.to_string());
        say("--flow", flow.source.clone());
        say("--flow-pace", flow.pace.name().to_owned());
        if flow.pace == Pace::Recorded {
            say("--flow-speed", flow.speed.to_string());
        }
    }

    /// Runs one trader and returns its result, and what took the cores of both ends meanwhile.
    pub(crate) fn tick(
        &self,
        exchange: Option<Pid>,
        ready: Ready,
        lengths: Option<Lengths>,
        teller: &mut Teller<'_>,
    ) -> Result<Left, ConductError> {
        let raw = match (self.entrant.is_floor, lengths) {
            (false, _) => None,
            (true, Some(lengths)) => Some(lengths.raw(self.entrant.is_bare)),
            (true, None) => return Err(self.failed("no message lengths are known yet".to_owned())),
        };
        let plan = self.tick_plan(&ready, raw, teller.is_heard());
        let plan = serde_json::to_string(&plan).map_err(|error| self.failed(error.to_string()))?;
        let start = ready.clock.map(Moment::now);
        let client = self.start_client("trade", &plan)?;
        let watching = match (ready.clock, self.entrant.is_floor) {
            (Some(clock), false) if self.conduct.scenario.trace > 0 => {
                let warm_up = Duration::from_secs_f64(self.conduct.phases(self.entrant).0);
                let trader = ("trader", client.pid(), self.entrant.cores.first().copied());
                let core = self.placed.exchange.first().copied();
                let ends = exchange.map(|pid| ("exchange", pid, core)).into_iter().chain([trader]);
                Some(Watching::start(&ends.collect::<Vec<_>>(), clock, warm_up))
            }
            _ => None,
        };
        let result = self.result(client, teller)?;
        let moments = ready.clock.zip(start).map(|(clock, start)| (start, Moment::now(clock)));
        Ok(Left { taking: watching.map(Watching::finish), moments, ..Left::from(result) })
    }

    fn tick_plan(&self, ready: &Ready, raw: Option<RawPlan>, progress: bool) -> TickPlan {
        let scenario = &self.conduct.scenario;
        let name = &self.entrant.name;
        let (warm_up_seconds, seconds) = self.conduct.phases(self.entrant);
        let file = |what: &str| self.path.join(format!("{:03}.{name}.{what}", self.number));
        let is_watched = scenario.audit.enabled && raw.is_none();
        let mut by_hand = tick_plan(scenario, self.entrant.index, ready.address.clone());
        if let Some(networks) = self.networks {
            by_hand.feed.listen.set_ip(networks.trader().address().into());
            let group = by_hand.feed.multicast.as_mut();
            group.into_iter().for_each(|interface| *interface = networks.trader().address());
        }
        TickPlan {
            subject: name.clone(),
            core: self.entrant.cores.first().copied(),
            warm_up_seconds,
            seconds,
            clock: ready.clock,
            hlog: directory::hlog(self.path, self.number).display().to_string(),
            samples: file(SAMPLES).display().to_string(),
            progress,
            feed: FeedPlan {
                inject: if raw.is_some() { Default::default() } else { by_hand.feed.inject },
                multicast: by_hand.feed.multicast.filter(|_| raw.is_none()),
                ..by_hand.feed
            },
            risk: by_hand.risk.map(|_| self.path.join(PROFILE).display().to_string()),
            audit: is_watched.then(|| AuditPlan {
                file: file(AUDIT).display().to_string(),
                core: self.placed.audit,
            }),
            tls: self.trust(ready.certificate.clone()),
            inject: if raw.is_some() { Inject::default() } else { by_hand.inject },
            raw,
            ..by_hand
        }
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
        core: None,
        scheduling: subject.scheduling,
        instrument: scenario.flow.instrument.clone(),
        first_token: Load::default().first_token,
        warm_up_seconds: scenario.warm_up_seconds,
        seconds: scenario.seconds,
        clock: None,
        hlog: String::new(),
        samples: String::new(),
        samples_max: samples_room(scenario),
        scenario: scenario.name.clone(),
        progress: false,
        feed: FeedPlan {
            listen: SocketAddr::from((own, 0)),
            multicast: (feed.transport == Transport::Multicast).then_some(own),
            receive_buffer_bytes: feed.receive_buffer_bytes,
            kernel_stamps: feed.kernel_stamps,
            instruments: scenario.instruments(),
            orders_max: scenario.exchange.open_orders_max,
            datagram_bytes_max: feed.datagram_bytes,
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

impl Lengths {
    /// As many bytes as the real messages.
    fn raw(&self, bare: bool) -> RawPlan {
        RawPlan {
            datagram_bytes: self.datagram,
            order_bytes: self.messages.order,
            reply_bytes: self.messages.order_reply,
            bare,
        }
    }
}

/// What the feed should be like, for the rules.
pub(crate) fn asked(conduct: &Conduct, entrant: &Entrant) -> Asked {
    let scenario = &conduct.scenario;
    let (warm_up_seconds, seconds) = conduct.phases(entrant);
    Asked {
        receive_buffer_bytes: scenario.feed.receive_buffer_bytes as u64,
        is_harmed: scenario.feed.harm().is_some() && !entrant.is_floor,
        flow_seconds: warm_up_seconds + seconds,
        trades: scenario.strategy.name == StrategyName::MarketMaking,
    }
}
