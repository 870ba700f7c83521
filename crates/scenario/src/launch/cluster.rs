//! A cluster in the place of a follower: three members that keep copies of the journal, and the
//! gateway to them, which is the exchange's follower.
//!
//! See docs/decisions/040-the-copy-in-a-cluster.md.

use crate::conduct::ConductError;
use crate::launch::Launch;
use crate::launch::command::missing;
use crate::launch::process::Process;
use clock::random::SplitMix64;
use host::network::{Network, Networks};
use host::star::HUB;
use plan::Scenario;
use plan::tables::subject::Subject;
use plan::tables::ticks;
use rustix::process::Pid;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A member, in errors.
const MEMBER: &str = "a member of the cluster";
/// The gateway, in errors.
const GATEWAY: &str = "the gateway to the cluster";
pub(crate) const MEMBERS: usize = 3;
/// UDP ports of a member, from its first one on.
const PORTS: u16 = 5;
/// Where first ports are looked for: below those that the kernel chooses itself.
const FIRST_PORT_MIN: u16 = 20_000;
const FIRST_PORT_MAX: u16 = 32_000;
const PORT_TRIES_MAX: usize = 1_000;
/// The exit status of a JVM that SIGTERM has ended.
const TERMINATED: i32 = 143;

/// The processes of one run's cluster.
pub(crate) struct Cluster {
    gateway: Option<Process>,
    members: Vec<Member>,
    /// Removed after the processes have ended.
    memory: Memory,
}

struct Member {
    process: Process,
    /// Whether it led by what was read of its output.
    leads: bool,
    /// Whether it was lost on purpose.
    is_lost: bool,
}

impl Member {
    fn leads(&mut self) -> bool {
        let roles = self.process.lines_so_far();
        self.leads = roles.iter().filter_map(|line| leads(line)).next_back().unwrap_or(self.leads);
        self.leads
    }
}

/// Whether a member leads from this line of its output on; `None`: it does not say.
fn leads(line: &str) -> Option<bool> {
    #[derive(Deserialize)]
    struct RoleChange {
        role: String,
    }
    serde_json::from_str::<RoleChange>(line).ok().map(|line| line.role == "leader")
}

/// The memory of the media drivers. A process that is killed leaves its own behind.
struct Memory(Vec<PathBuf>);

impl Drop for Memory {
    fn drop(&mut self) {
        for directory in &self.0 {
            // Mostly the process has removed it.
            let _ = fs::remove_dir_all(directory);
        }
    }
}

/// The gateway's first line.
#[derive(Deserialize)]
pub(super) struct GatewayReady {
    /// Its address.
    pub follower: String,
    /// The version of Aeron.
    pub aeron: String,
}

/// A member's first line.
#[derive(Deserialize)]
struct MemberReady {
    #[serde(rename = "member")]
    _member: IgnoredAny,
}

/// Why no cluster can run here; `None` if no reason is known before one is started.
pub(crate) fn not_here(scenario: &Scenario, subject: &Subject) -> Option<String> {
    let follower = &scenario.follower;
    if subject.cuts_member() && scenario.network != ticks::Network::Veth {
        return Some(
            "only a member in a network of its own can be cut off; set network = \"veth\", and run \
             as root"
                .to_owned(),
        );
    }
    if follower.loss_percent > 0.0 {
        return Some(
            "the network of a cluster's members loses nothing; set follower.loss_percent = 0"
                .to_owned(),
        );
    }
    let remedy = "run tickpath in the checkout, after `make cluster` there, or name the program in \
                  follower.cluster";
    missing(&follower.cluster, remedy)
}

/// The memory of the media driver of the member whose first port is at this address.
fn memory(first: SocketAddrV4) -> PathBuf {
    PathBuf::from(format!("/dev/shm/tickpath-cluster-{}-{}", first.ip(), first.port()))
}

/// The first port of a member at `host`, none of those that are `taken`. Processes in another
/// network may use the same ports, but memory is shared: its name must be free too.
fn first_port(
    host: Ipv4Addr,
    taken: &[SocketAddrV4],
    random: &mut SplitMix64,
) -> Option<SocketAddrV4> {
    let is_free = |port| UdpSocket::bind((host, port)).is_ok();
    let places = u32::from((FIRST_PORT_MAX - FIRST_PORT_MIN) / PORTS);
    (0..PORT_TRIES_MAX).find_map(|_| {
        let first = FIRST_PORT_MIN + PORTS * random.below(places) as u16;
        let address = SocketAddrV4::new(host, first);
        let is_unused = !taken.contains(&address) && !memory(address).exists();
        (is_unused && (first..first + PORTS).all(is_free)).then_some(address)
    })
}

impl Launch<'_> {
    /// Where the members run: each in a network of its own if there are some, otherwise on the
    /// loopback device of the exchange's.
    fn stations(&self) -> [(Option<&Network>, Ipv4Addr); MEMBERS] {
        let leaves = self.networks.and_then(Networks::members).map(|star| star.leaves());
        std::array::from_fn(|member| match leaves {
            Some(leaves) => (Some(&leaves[member]), leaves[member].address()),
            None => (self.networks.map(Networks::exchange), Ipv4Addr::LOCALHOST),
        })
    }

    /// The first ports of all members.
    fn first_ports(&self) -> Result<Vec<SocketAddrV4>, ConductError> {
        let mut random = SplitMix64::new(std::process::id().into());
        let mut found = Vec::new();
        for (network, host) in self.stations() {
            let mut first = || first_port(host, &found, &mut random);
            let first = match network {
                None => first(),
                Some(network) => network.within(first)?,
            };
            let why = || {
                format!(
                    "there are not {PORTS} free UDP ports in a row for each of {MEMBERS} members \
                     from {FIRST_PORT_MIN} to {FIRST_PORT_MAX}; end programs that use them (`ss \
                     -lunp`)"
                )
            };
            found.push(first.ok_or_else(|| failed(why()))?);
        }
        Ok(found)
    }

    /// Starts the members and the gateway in a new directory, and waits for their first lines. The
    /// gateway is in the exchange's network.
    pub(super) fn start_cluster(
        &self,
        directory: &Path,
    ) -> Result<(Cluster, GatewayReady), ConductError> {
        let ports = self.first_ports()?;
        let file = directory.join("cluster.json");
        let written = fs::create_dir_all(directory)
            .and_then(|()| fs::write(&file, self.cluster_file(&ports)));
        written.map_err(|error| failed(format!("cannot write {}: {error}", file.display())))?;
        let memory = Memory(ports.iter().copied().map(memory).collect());
        let mut cluster = Cluster { gateway: None, members: Vec::new(), memory };
        let begin = |network, (who, suffix): (_, &str), verb: &str, words: [&str; 2]| {
            let program = &self.conduct.scenario.follower.cluster;
            let mut command = Command::new(&program[0]);
            command.args(&program[1..]).arg(verb).arg(&file).args(words);
            self.begin_in(network, (who, suffix), command, "")
        };
        // All at once: each takes seconds to start.
        let mut members = Vec::new();
        for (member, (network, _)) in self.stations().into_iter().enumerate() {
            let own = directory.join(format!("member{member}")).display().to_string();
            let names = (MEMBER, &*format!(".member{member}"));
            members.push(begin(network, names, "copy-member", [&member.to_string(), &own])?);
        }
        let has_bridge = self.networks.is_some_and(|all| all.members().is_some());
        let own = if has_bridge { HUB } else { Ipv4Addr::LOCALHOST }.to_string();
        let network = self.networks.map(Networks::exchange);
        let gateway = begin(network, (GATEWAY, ".gateway"), "follower", [&own, "0"])?;
        let memory = format!("/dev/shm/tickpath-cluster-follower-{}", gateway.pid().as_raw_pid());
        cluster.memory.0.push(memory.into());
        for member in members {
            let (process, _) = self.ready::<MemberReady>(member)?;
            cluster.members.push(Member { process, leads: false, is_lost: false });
        }
        let (gateway, ready) = self.ready::<GatewayReady>(gateway)?;
        cluster.gateway = Some(gateway);
        Ok((cluster, ready))
    }

    /// The file that all of its processes read.
    fn cluster_file(&self, ports: &[SocketAddrV4]) -> String {
        let follower = &self.conduct.scenario.follower;
        let members: Vec<String> = ports.iter().map(SocketAddrV4::to_string).collect();
        json!({
            "members": members.join(","),
            "heartbeat_timeout_ms": follower.cluster_heartbeat_ms,
            "election_timeout_ms": follower.cluster_election_ms,
            "delay_us": follower.round_trip_us,
            "jitter_us": follower.jitter_us,
            "parent": std::process::id(),
        })
        .to_string()
    }
}

fn failed(why: String) -> ConductError {
    ConductError::Process { who: "the cluster".to_owned(), why }
}

impl Cluster {
    /// The member that leads, which the caller is about to lose: its number and its process. `None`
    /// if none leads now.
    pub(crate) fn lose_leader(&mut self) -> Option<(usize, Pid)> {
        let mut members = self.members.iter_mut().enumerate();
        let (number, leader) = members.find_map(|(number, member)| {
            let leads = member.leads();
            leads.then_some((number, member))
        })?;
        leader.is_lost = true;
        Some((number, leader.process.pid()))
    }

    /// Ends the gateway, then all members at once. One that was lost is killed.
    pub(super) fn end(self) -> Result<(), String> {
        if let Some(gateway) = self.gateway {
            gateway.terminate();
            ended(GATEWAY, gateway)?;
        }
        let (lost, members): (Vec<Member>, Vec<Member>) =
            self.members.into_iter().partition(|member| member.is_lost);
        drop(lost);
        members.iter().for_each(|member| member.process.terminate());
        members.into_iter().try_for_each(|member| ended(MEMBER, member.process))
    }
}

/// Waits for the end of a JVM that was told to end.
fn ended(who: &str, process: Process) -> Result<(), String> {
    let (status, timed_out) = process.wait().map_err(|error| error.to_string())?;
    match status.success() || status.code() == Some(TERMINATED) {
        true => Ok(()),
        false if timed_out => Err(format!("{who} hung and was killed")),
        false => Err(format!("{who} died in mid-run: {status}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_says_which_role_it_has() {
        let lines = [
            r#"{"member":0,"role":"leader"}"#,
            r#"{"member":0,"role":"follower"}"#,
            r#"{"member":0,"connection":7,"next":1,"term":1}"#,
            "OpenJDK warning",
        ];
        assert_eq!(lines.map(leads), [Some(true), Some(false), None, None]);
    }
}
