//! One subject of a `tick` scenario in one run: an exchange with a feed and a flow, and a trader that follows it; or the
//! raw ticker and a trader without stages.

use crate::conduct::{Conduct, ConductError, Entrant};
use crate::file::{Flow, Pace, Scenario, Transport};
use crate::launch::{Launch, Ready};
use crate::progress::Teller;
use crate::run::{Asked, Lengths};
use crate::taken::{Taking, Watching};
use measure::directory;
use measure::record::{ClientResult, RunRecord};
use measure::schedule::Arrival;
use measure::tick_samples::SAMPLES_MAX;
use rustix::process::Pid;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use trader::plan::Load;
use trader::risk::Profile;
use trader::tick_plan::{AuditPlan, FeedPlan, RawPlan, StrategyName, TickPlan};
use transport::inject::Inject;

/// Room for samples of whatever a recording holds: 120 MB.
const SAMPLES_ROOM_MIN: u64 = 1_000_000;
/// What a file of samples is called, and an audit log.
const SAMPLES: &str = "samples";
const AUDIT: &str = "audit";
/// The risk profile that the traders of a run directory read.
const PROFILE: &str = "risk.toml";

impl Launch<'_> {
    /// What an exchange is told of its feed and its flow, or the raw ticker of its datagrams.
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

    /// One trader, from its start to its result, and what took the cores of both ends meanwhile.
    pub(crate) fn ticks(
        &self,
        exchange: Option<Pid>,
        ready: Ready,
        lengths: Option<Lengths>,
        teller: &mut Teller<'_>,
    ) -> Result<(ClientResult, Option<Taking>), ConductError> {
        let failed = |why: String| ConductError::Process { who: self.entrant.name.clone(), why };
        let raw = match (self.entrant.is_floor, lengths) {
            (false, _) => None,
            (true, Some(lengths)) => Some(lengths.raw()),
            (true, None) => return Err(failed("no message lengths are known yet".to_owned())),
        };
        let plan = self.tick_plan(ready.address, ready.clock, raw, teller.is_heard());
        let plan = serde_json::to_string(&plan).map_err(|error| failed(error.to_string()))?;
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
        let result = self.heard(client, teller)?;
        Ok((result, watching.map(Watching::finish)))
    }

    fn tick_plan(
        &self,
        target: String,
        clock: Option<measure::clock::Clock>,
        raw: Option<RawPlan>,
        progress: bool,
    ) -> TickPlan {
        let scenario = &self.conduct.scenario;
        let name = &self.entrant.name;
        let (warm_up_seconds, seconds) = self.conduct.phases(self.entrant);
        let file = |what: &str| self.path.join(format!("{:03}.{name}.{what}", self.number));
        let is_watched = scenario.audit.enabled && raw.is_none();
        let mut by_hand = scenario.tick_plan(self.entrant.index, target);
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
            clock,
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
            inject: if raw.is_some() { Inject::default() } else { by_hand.inject },
            raw,
            ..by_hand
        }
    }
}

impl Scenario {
    /// What the trader of the subject with that index is told, but for where its files go and on which core it runs.
    pub fn tick_plan(&self, index: usize, target: String) -> TickPlan {
        let subject = &self.subject[index];
        let feed = &self.feed;
        let own = own_address(&target);
        TickPlan {
            subject: subject.name.clone(),
            target,
            backend: subject.backend.clone(),
            core: None,
            scheduling: subject.scheduling,
            instrument: self.flow.instrument.clone(),
            first_token: Load::default().first_token,
            warm_up_seconds: self.warm_up_seconds,
            seconds: self.seconds,
            clock: None,
            hlog: String::new(),
            samples: String::new(),
            samples_max: self.samples_room(),
            scenario: self.name.clone(),
            progress: false,
            feed: FeedPlan {
                listen: SocketAddr::from((own, 0)),
                multicast: (feed.transport == Transport::Multicast).then_some(own),
                receive_buffer_bytes: feed.receive_buffer_bytes,
                kernel_stamps: feed.kernel_stamps,
                instruments: self.instruments(),
                orders_max: self.exchange.open_orders_max,
                datagram_bytes_max: feed.datagram_bytes,
                inject: feed.inject,
                ..FeedPlan::default()
            },
            strategy: self.strategy.clone(),
            risk: Some(self.risk.profile.clone()).filter(|profile| !profile.is_empty()),
            audit: None,
            raw: None,
            inject: subject.inject.clone(),
        }
    }
}

impl Scenario {
    /// Instruments that the exchange has: those that ship, or those of its file.
    fn instruments(&self) -> u16 {
        let shipped = FeedPlan::default().instruments;
        let listed = self.listed_instruments();
        listed.and_then(|listed| u16::try_from(listed.len()).ok()).unwrap_or(shipped)
    }

    /// Those of the exchange's file, if it has one that can be read.
    fn listed_instruments(&self) -> Option<Vec<toml::Value>> {
        let text = fs::read_to_string(&self.exchange.instruments).ok()?;
        let mut table = text.parse::<toml::Table>().ok()?;
        match table.remove("instrument")? {
            toml::Value::Array(listed) => Some(listed),
            _ => None,
        }
    }

    /// The instrument of the flow, the exchange's first; `None` where it is not known.
    pub(crate) fn flow_instrument(&self) -> Option<String> {
        match (self.exchange.start, self.exchange.instruments.is_empty()) {
            (false, _) => None,
            (true, true) => Some(Flow::default().instrument),
            (true, false) => {
                let listed = self.listed_instruments()?;
                Some(listed.first()?.get("code")?.as_str()?.to_owned())
            }
        }
    }

    /// Room for samples: twice what is planned. How many ticks a recording has is not known before.
    fn samples_room(&self) -> usize {
        let planned = match (self.flow.pace, self.strategy.name) {
            (Pace::Recorded, _) => 0,
            (_, StrategyName::Trigger) => self.messages(self.seconds) / self.strategy.every,
            (_, StrategyName::MarketMaking) => self.messages(self.seconds),
        };
        (2 * planned).clamp(SAMPLES_ROOM_MIN, SAMPLES_MAX) as usize
    }
}

/// The address by which this machine reaches `target`, and is reached from there; nothing is sent.
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
    /// As many bytes as the real ones.
    fn raw(&self) -> RawPlan {
        RawPlan {
            datagram_bytes: self.datagram,
            order_bytes: self.messages.order,
            reply_bytes: self.messages.order_reply,
        }
    }
}

/// What a feed was to be like, for the rules.
pub(crate) fn asked(conduct: &Conduct, entrant: &Entrant) -> Asked {
    let scenario = &conduct.scenario;
    let flow = &scenario.flow;
    let (warm_up_seconds, seconds) = conduct.phases(entrant);
    let in_bursts = flow.pace == Pace::Fixed && flow.arrival == Arrival::Burst;
    Asked {
        receive_buffer_bytes: scenario.feed.receive_buffer_bytes as u64,
        is_harmed: scenario.feed.harm().is_some() && !entrant.is_floor,
        flow_seconds: warm_up_seconds + seconds,
        burst_seconds: if in_bursts { flow.burst as f64 / flow.rate_per_second } else { 0.0 },
        trades: scenario.strategy.name == StrategyName::MarketMaking,
    }
}

/// Puts the risk profile, where there is one, beside the record: every trader reads what was read before the first run, whatever becomes of the
/// file that the scenario names.
pub(crate) fn write_profile(directory: &Path, profile: Option<&Profile>) -> io::Result<()> {
    profile.map_or(Ok(()), |profile| profile.write(&directory.join(PROFILE)))
}

/// The samples that `subject` left in run `number`, from 1.
pub(crate) fn samples(directory: &Path, number: usize, subject: &str) -> PathBuf {
    directory.join(format!("{number:03}.{subject}.{SAMPLES}"))
}

/// Takes the names of audit logs that will be removed out of a record.
pub(crate) fn name_kept_audits(record: &mut RunRecord, runs: usize, kept: usize) {
    let ticks = record.subjects.iter_mut().flat_map(|subject| &mut subject.load.tick);
    for audit in ticks.filter_map(|tick| tick.audit.as_mut()) {
        if run_of(&audit.file).is_some_and(|run| !audit_stays(run, runs, kept)) {
            audit.file.clear();
        }
    }
}

/// Those of the last `kept` of so many runs.
fn audit_stays(run: usize, runs: usize, kept: usize) -> bool {
    run + kept > runs
}

/// The run that left a file.
fn run_of(name: &str) -> Option<usize> {
    name.split('.').next()?.parse().ok()
}

/// Removes all samples, of which the record keeps what it explains, and the audit logs of all runs but the last `kept`.
pub(crate) fn remove_files(directory: &Path, runs: usize, kept: usize) {
    remove(directory, |run, what| {
        what == SAMPLES || what == AUDIT && !audit_stays(run, runs, kept)
    });
}

/// Removes what a void run has left, for its repetition.
pub(crate) fn forget(directory: &Path, number: u32) {
    remove(directory, |run, _| run == number as usize);
}

/// Removes samples and audit logs: by run, and which of them it is.
fn remove(directory: &Path, goes: impl Fn(usize, &str) -> bool) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let run = run_of(name);
        let what = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if [SAMPLES, AUDIT].contains(&what) && run.is_some_and(|run| goes(run, what)) {
            // One that stays takes room, and does no other harm.
            let _ = fs::remove_file(path);
        }
    }
}
