//! The processes of a cluster and the exchange before it.

use super::super::preload::Preload;
use crate::support::*;
use clock::random::SplitMix64;
use host::star::{HUB, Star};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub const MEMBERS: usize = 3;
/// UDP ports of a member.
const PORTS: u16 = 5;

/// A process that is killed in the end.
pub struct Process(pub Child);

impl Process {
    /// Also removes the memory of its media driver, if it was a gateway.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let memory = format!("/dev/shm/tickpath-cluster-follower-{}", self.0.id());
        let _ = std::fs::remove_dir_all(memory);
    }

    pub fn signal(&self, sent: Signal) {
        signal(self.0.id(), sent);
    }

    /// The value of `key` in its first line.
    pub fn said_first(&mut self, key: &str) -> String {
        let mut line = String::new();
        let out = self.0.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?}: {e}"));
        said[key].as_str().unwrap_or_else(|| panic!("{line}")).to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where a member runs.
pub struct Home {
    /// Has its log and its copy.
    directory: PathBuf,
    /// Where its wall clock can be set, and its disk be slow.
    pub preload: Option<Preload>,
}

impl Home {
    /// One with the member's directory in `disk`.
    pub fn new(disk: &Path, member: usize, preload: Option<Preload>) -> Home {
        Home { directory: disk.join(format!("member{member}")), preload }
    }
}

/// The members of a cluster, and the gateways to it.
pub struct Cluster {
    /// For what they say.
    place: PathBuf,
    jar: PathBuf,
    pub homes: [Home; MEMBERS],
    /// A network for each member, and the hub for exchange and gateway; `None`: all share one.
    pub star: Option<Star>,
    /// The first port of each.
    addresses: [(Ipv4Addr, u16); MEMBERS],
    members: [Option<Process>; MEMBERS],
}

/// The memory of a member's media driver.
fn memory((host, port): (Ipv4Addr, u16)) -> PathBuf {
    PathBuf::from(format!("/dev/shm/tickpath-cluster-{host}-{port}"))
}

/// The first of as many free ports as a member needs. Members in other networks may have the same
/// ones, but all share the names of their memory.
fn free_ports(host: Ipv4Addr, taken: &[(Ipv4Addr, u16)], random: &mut SplitMix64) -> u16 {
    let is_free = |port| UdpSocket::bind((host, port)).is_ok();
    std::iter::repeat_with(|| 20_000 + PORTS * random.below(8_000) as u16)
        .filter(|first| !taken.contains(&(host, *first)) && !memory((host, *first)).exists())
        .find(|first| (*first..first + PORTS).all(is_free))
        .unwrap()
}

impl Cluster {
    pub fn start(
        place: &Path,
        jar: PathBuf,
        homes: [Home; MEMBERS],
        star: Option<Star>,
    ) -> Cluster {
        let addresses = [(Ipv4Addr::LOCALHOST, 0); MEMBERS];
        let members = [const { None }; MEMBERS];
        let place = place.to_owned();
        let mut cluster = Cluster { place, jar, homes, star, addresses, members };
        let mut random = SplitMix64::new(std::process::id().into());
        for member in 0..MEMBERS {
            let leaf = cluster.star.as_ref().map(|star| star.leaves()[member].address());
            let host = leaf.unwrap_or(Ipv4Addr::LOCALHOST);
            let taken = cluster.addresses;
            let port = cluster.at(Some(member), || free_ports(host, &taken, &mut random));
            cluster.addresses[member] = (host, port);
        }
        let addresses = cluster.addresses.map(|(host, port)| format!("{host}:{port}")).join(",");
        // Members share the cores of this machine with other tests.
        let file = json!({"members": addresses, "heartbeat_timeout_ms": 2000, "election_timeout_ms": 1000});
        std::fs::write(cluster.place.join("cluster.json"), file.to_string()).unwrap();
        (0..MEMBERS).for_each(|member| cluster.start_member(member));
        cluster
    }

    /// Does this in the network of a member, or in that of exchange and gateway.
    pub fn at<T>(&self, member: Option<usize>, work: impl FnOnce() -> T) -> T {
        let Some(star) = &self.star else { return work() };
        let network = member.map_or(star.hub(), |member| &star.leaves()[member]);
        network.within(work).unwrap()
    }

    /// Java, which finds the engine's library beside the jar.
    fn java(&self) -> Command {
        let options = self.jar.parent().unwrap().with_file_name("java.args");
        let mut java = Command::new("java");
        java.arg(format!("@{}", options.display())).stdin(Stdio::null());
        java
    }

    /// The command of a process of the jar, with what it says on stderr in a file of this name.
    fn command(&self, name: &str, arguments: &[&str], out: impl Into<Stdio>) -> Command {
        let said = self.appending(&format!("{name}.said"));
        let file = self.place.join("cluster.json");
        let mut java = self.java();
        java.arg("-jar").arg(&self.jar).arg(arguments[0]).arg(file).args(&arguments[1..]);
        java.stdout(out).stderr(said);
        java
    }

    fn appending(&self, name: &str) -> File {
        File::options().create(true).append(true).open(self.place.join(name)).unwrap()
    }

    fn lines(&self, member: usize) -> PathBuf {
        self.place.join(format!("member{member}.lines"))
    }

    pub fn start_member(&mut self, member: usize) {
        // Another process of this member may have said something before.
        std::fs::write(self.lines(member), "").unwrap();
        let out = self.appending(&format!("member{member}.lines"));
        let Home { directory, preload } = &self.homes[member];
        let arguments = ["copy-member", &member.to_string(), &directory.display().to_string()];
        let mut command = self.command(&format!("member{member}"), &arguments, out);
        if let Some(preload) = preload {
            preload.give_to(&mut command);
        }
        let child = self.at(Some(member), || command.spawn().unwrap());
        self.members[member] = Some(Process(child));
    }

    /// Starts members again that have ended by themselves, as their supervisor would.
    pub fn revive(&mut self) {
        for member in 0..MEMBERS {
            let Some(process) = &mut self.members[member] else { continue };
            if let Some(status) = process.0.try_wait().unwrap() {
                eprintln!("member {member} has ended by itself, {status}, and is started again");
                self.start_member(member);
            }
        }
    }

    /// A member that runs.
    pub fn member(&self, member: usize) -> &Process {
        self.members[member].as_ref().expect("a member that runs")
    }

    /// Kills a member, which must start again as a new process.
    pub fn kill(&mut self, member: usize) {
        self.members[member] = None;
        std::fs::write(self.lines(member), "").unwrap();
    }

    /// The member that leads by what all have said last; `None` if it is none, or more than one: a
    /// member that was held up does not know yet that it has lost its office.
    pub fn leader(&self) -> Option<usize> {
        let mut leaders = (0..MEMBERS).filter(|member| {
            let lines = std::fs::read_to_string(self.lines(*member)).unwrap();
            let role = lines.lines().rfind(|line| line.contains("\"role\""));
            role.is_some_and(|line| line.contains("leader"))
        });
        leaders.next().filter(|_| leaders.next().is_none())
    }

    /// A gateway for an exchange, and its address.
    pub fn gateway(&self, name: &str) -> (Process, String) {
        let own = if self.star.is_some() { HUB } else { Ipv4Addr::LOCALHOST }.to_string();
        let mut command = self.command(name, &["follower", &own, "0"], Stdio::piped());
        let mut gateway = Process(self.at(None, || command.spawn().unwrap()));
        let address = gateway.said_first("follower");
        (gateway, address)
    }

    /// Asks Aeron's tool at the leader for a snapshot, until that one takes it. Returns the leader.
    pub fn snapshot(&self) -> usize {
        wait_for("a snapshot", || {
            let leader = self.leader()?;
            let mut java = self.java();
            java.arg("-cp").arg(&self.jar).arg("io.aeron.cluster.ClusterTool");
            let directory = self.homes[leader].directory.join("cluster");
            let done = java.arg(directory).arg("snapshot").output();
            done.unwrap().status.success().then_some(leader)
        })
    }

    fn copy_of(&self, member: usize) -> PathBuf {
        self.homes[member].directory.join("copy")
    }

    /// The bytes of all records that a member's copy has so far; `None` if it has not begun.
    pub fn records_bytes(&self, member: usize) -> Option<usize> {
        let (records, ..) = contents(&self.copy_of(member))?;
        Some(records.len())
    }

    /// Copies the first one's copy into a new directory, as an operator would, if those of all
    /// these members are equal.
    pub fn if_equal(&self, members: &[usize]) -> Option<PathBuf> {
        let found = contents(&self.copy_of(members[0]))?;
        let is_equal = |member: &usize| contents(&self.copy_of(*member)).as_ref() == Some(&found);
        if !members.iter().all(is_equal) {
            return None;
        }
        let to = self.place.join("taken");
        let _ = std::fs::remove_dir_all(&to);
        // A segment is a quarter of a gigabyte from the start: nothing but what was written.
        let mut copy = Command::new("cp");
        copy.args(["-a", "--sparse=always"]).args([&self.copy_of(members[0]), &to]);
        let is_whole = copy.output().unwrap().status.success() && contents(&to) == Some(found);
        is_whole.then_some(to)
    }

    /// Everything that all of them said on stderr.
    fn said(&self) -> String {
        let files = std::fs::read_dir(&self.place).unwrap().flatten();
        let said = files.filter(|file| file.path().extension().is_some_and(|e| e == "said"));
        let text = |path: PathBuf| {
            format!("{}:\n{}", path.display(), std::fs::read_to_string(&path).unwrap())
        };
        said.map(|file| text(file.path())).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.said());
        }
        for member in 0..MEMBERS {
            self.members[member] = None;
            let _ = std::fs::remove_dir_all(memory(self.addresses[member]));
        }
    }
}

/// All records of a copy, its register and its terms. It is read where it is: it may grow.
fn contents(copy: &Path) -> Option<(Vec<u8>, Vec<u8>, Vec<u8>)> {
    let (mut tail, mut records) = (journal::Tail::open(copy, 0).ok()?, Vec::new());
    // Until the one that is not complete yet.
    while tail.read(u64::MAX, 1, &mut records).is_ok() {}
    let file = |name| std::fs::read(copy.join(name)).ok();
    Some((records, file("register")?, file("terms")?))
}

/// An exchange whose follower is at this address, with its messages in the file `said`.
pub fn exchange(listen: &str, journal: &Path, follower: &str, said: &Path) -> Command {
    let mut command = tickpath();
    command.args(["exchange", "--any-token", "--backend", "block", "--book", "empty"]);
    command.args(["--listen", listen, "--replicate", "sync", "--follower", follower]);
    command.arg("--journal").arg(journal);
    command.stdout(Stdio::piped()).stderr(File::create(said).unwrap());
    command
}
