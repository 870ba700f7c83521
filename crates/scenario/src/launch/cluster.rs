//! A cluster in the place of a follower: three members that keep copies of the journal, and the
//! gateway to them, which is the exchange's follower.
//!
//! See docs/decisions/040-the-copy-in-a-cluster.md.

use crate::conduct::ConductError;
use crate::launch::Launch;
use crate::launch::command::missing;
use crate::launch::process::Process;
use clock::random::SplitMix64;
use host::network::Networks;
use plan::tables::replica::Follower;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A member, in errors.
const MEMBER: &str = "a member of the cluster";
/// The gateway, in errors.
const GATEWAY: &str = "the gateway to the cluster";
const MEMBERS: usize = 3;
/// UDP ports of a member, from its first one on.
const PORTS: u16 = 5;
/// Where first ports are looked for: below those that the kernel chooses itself.
const FIRST_PORT_MIN: u16 = 20_000;
const FIRST_PORT_MAX: u16 = 32_000;
const PORT_TRIES_MAX: usize = 1_000;
/// Time without a heartbeat of its leader after which a member calls an election, ms: longer than
/// a process waits for a core.
const HEARTBEAT_TIMEOUT_MS: u64 = 2_000;
const ELECTION_TIMEOUT_MS: u64 = 1_000;
/// The exit status of a JVM that SIGTERM has ended.
const TERMINATED: i32 = 143;

/// The processes of one run's cluster.
pub(crate) struct Cluster {
    gateway: Option<Process>,
    members: Vec<Process>,
    /// Removed after the processes have ended.
    memory: Memory,
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
pub(crate) fn not_here(follower: &Follower) -> Option<String> {
    if follower.loss_percent > 0.0 {
        return Some(
            "a cluster's members share the exchange's network, which loses nothing; set \
             follower.loss_percent = 0"
                .to_owned(),
        );
    }
    let remedy = "run tickpath in the checkout, after `make cluster` there, or name the program in \
                  follower.cluster";
    missing(&follower.cluster, remedy)
}

/// The memory of a member's media driver, which its first port names.
fn memory(port: u16) -> PathBuf {
    PathBuf::from(format!("/dev/shm/tickpath-cluster-{}-{port}", Ipv4Addr::LOCALHOST))
}

/// The first ports of all members. Processes in another network may use the same ports, but memory
/// is shared: its name must be free too.
fn free_ports(random: &mut SplitMix64) -> Option<Vec<u16>> {
    let is_free = |port| UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    let mut found: Vec<u16> = Vec::new();
    for _ in 0..PORT_TRIES_MAX {
        let places = u32::from((FIRST_PORT_MAX - FIRST_PORT_MIN) / PORTS);
        let first = FIRST_PORT_MIN + PORTS * random.below(places) as u16;
        let is_unused = !found.contains(&first) && !memory(first).exists();
        if is_unused && (first..first + PORTS).all(is_free) {
            found.push(first);
        }
        if found.len() == MEMBERS {
            return Some(found);
        }
    }
    None
}

impl Launch<'_> {
    /// Starts the members and the gateway in a new directory, and waits for their first lines. They
    /// are in the exchange's network, and reach each other over its loopback device.
    pub(super) fn start_cluster(
        &self,
        directory: &Path,
    ) -> Result<(Cluster, GatewayReady), ConductError> {
        let failed = |why| ConductError::Process { who: "the cluster".to_owned(), why };
        let network = self.networks.map(Networks::exchange);
        let mut random = SplitMix64::new(std::process::id().into());
        let ports = match network {
            None => free_ports(&mut random),
            Some(network) => network.within(|| free_ports(&mut random))?,
        };
        let Some(ports) = ports else {
            return Err(failed(format!(
                "there are not {PORTS} free UDP ports in a row for each of {MEMBERS} members from \
                 {FIRST_PORT_MIN} to {FIRST_PORT_MAX}; end programs that use them (`ss -lunp`)"
            )));
        };
        let file = directory.join("cluster.json");
        let written = fs::create_dir_all(directory)
            .and_then(|()| fs::write(&file, self.cluster_file(&ports)));
        written.map_err(|error| failed(format!("cannot write {}: {error}", file.display())))?;
        let memory = Memory(ports.iter().copied().map(memory).collect());
        let mut cluster = Cluster { gateway: None, members: Vec::new(), memory };
        let begin = |who, suffix: &str, verb: &str, words: [&str; 2]| {
            let program = &self.conduct.scenario.follower.cluster;
            let mut command = Command::new(&program[0]);
            command.args(&program[1..]).arg(verb).arg(&file).args(words);
            self.begin_in(network, (who, suffix), command, "")
        };
        // All at once: each takes seconds to start.
        let mut members = Vec::new();
        for member in 0..MEMBERS {
            let own = directory.join(format!("member{member}")).display().to_string();
            let suffix = format!(".member{member}");
            members.push(begin(
                MEMBER,
                &suffix,
                "copy-member",
                [member.to_string().as_str(), &own],
            )?);
        }
        let own = Ipv4Addr::LOCALHOST.to_string();
        let gateway = begin(GATEWAY, ".gateway", "follower", [own.as_str(), "0"])?;
        let memory = format!("/dev/shm/tickpath-cluster-follower-{}", gateway.pid().as_raw_pid());
        cluster.memory.0.push(memory.into());
        for member in members {
            cluster.members.push(self.ready::<MemberReady>(member)?.0);
        }
        let (gateway, ready) = self.ready::<GatewayReady>(gateway)?;
        cluster.gateway = Some(gateway);
        Ok((cluster, ready))
    }

    /// The file that all of its processes read.
    fn cluster_file(&self, ports: &[u16]) -> String {
        let Follower { round_trip_us, jitter_us, .. } = self.conduct.scenario.follower;
        let members: Vec<String> =
            ports.iter().map(|port| format!("{}:{port}", Ipv4Addr::LOCALHOST)).collect();
        json!({
            "members": members.join(","),
            "heartbeat_timeout_ms": HEARTBEAT_TIMEOUT_MS,
            "election_timeout_ms": ELECTION_TIMEOUT_MS,
            "delay_us": round_trip_us,
            "jitter_us": jitter_us,
            "parent": std::process::id(),
        })
        .to_string()
    }
}

impl Cluster {
    /// Ends the gateway, then all members at once.
    pub(super) fn end(self) -> Result<(), String> {
        if let Some(gateway) = self.gateway {
            gateway.terminate();
            ended(GATEWAY, gateway)?;
        }
        self.members.iter().for_each(Process::terminate);
        self.members.into_iter().try_for_each(|member| ended(MEMBER, member))
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
