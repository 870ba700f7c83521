//! An exchange whose follower is an Aeron Cluster, as whole processes: the leading member is killed
//! under load, then the exchange, and a member's copy is promoted. No acknowledged order is lost or
//! doubled, the old exchange is fenced, and the copies of all members are equal in the end.

use super::clients::{Acknowledged, Load};
use super::{check, orders, state_hash, wait_for_more};
use crate::support::*;
use clock::random::SplitMix64;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const MEMBERS: usize = 3;
/// UDP ports of a member.
const PORTS: u16 = 5;

/// A process that is killed in the end.
struct Process(Child);

impl Process {
    /// Also removes the memory of its media driver, if it was a gateway.
    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let memory = format!("/dev/shm/tickpath-cluster-follower-{}", self.0.id());
        let _ = std::fs::remove_dir_all(memory);
    }

    /// The value of `key` in its first line.
    fn said_first(&mut self, key: &str) -> String {
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

/// The first of as many free ports as a member needs.
fn free_ports(random: &mut SplitMix64) -> u16 {
    let is_free = |port| UdpSocket::bind(("127.0.0.1", port)).is_ok();
    std::iter::repeat_with(|| 20_000 + PORTS * random.below(8_000) as u16)
        .find(|first| (*first..first + PORTS).all(is_free))
        .unwrap()
}

/// The members of a cluster, and the gateways to it.
struct Cluster {
    place: PathBuf,
    jar: PathBuf,
    ports: [u16; MEMBERS],
    members: [Option<Process>; MEMBERS],
}

impl Cluster {
    fn start(place: &Path, jar: PathBuf) -> Cluster {
        let mut random = SplitMix64::new(std::process::id().into());
        let mut ports = [0; MEMBERS];
        for member in 0..MEMBERS {
            let free = || free_ports(&mut random);
            ports[member] =
                std::iter::repeat_with(free).find(|port| !ports.contains(port)).unwrap();
        }
        let addresses = ports.map(|port| format!("127.0.0.1:{port}")).join(",");
        // Members share the cores of this machine with other tests.
        let file = json!({"members": addresses, "heartbeat_timeout_ms": 2000, "election_timeout_ms": 1000});
        std::fs::write(place.join("cluster.json"), file.to_string()).unwrap();
        let members = [const { None }; MEMBERS];
        let mut cluster = Cluster { place: place.to_owned(), jar, ports, members };
        (0..MEMBERS).for_each(|member| cluster.start_member(member));
        cluster
    }

    /// Java, which finds the engine's library beside the jar.
    fn java(&self) -> Command {
        let options = self.jar.parent().unwrap().with_file_name("java.args");
        let mut java = Command::new("java");
        java.arg(format!("@{}", options.display())).stdin(Stdio::null());
        java
    }

    /// A process of the jar, with what it says on stderr in a file of this name.
    fn process(&self, name: &str, arguments: &[&str], out: impl Into<Stdio>) -> Process {
        let said = self.appending(&format!("{name}.said"));
        let file = self.place.join("cluster.json");
        let mut java = self.java();
        java.arg("-jar").arg(&self.jar).arg(arguments[0]).arg(file).args(&arguments[1..]);
        Process(java.stdout(out).stderr(said).spawn().unwrap())
    }

    fn appending(&self, name: &str) -> File {
        File::options().create(true).append(true).open(self.place.join(name)).unwrap()
    }

    fn directory(&self, member: usize) -> PathBuf {
        self.place.join(format!("member{member}"))
    }

    fn start_member(&mut self, member: usize) {
        let out = self.appending(&format!("member{member}.lines"));
        let directory = self.directory(member).display().to_string();
        let arguments = ["copy-member", &member.to_string(), &directory];
        let process = self.process(&format!("member{member}"), &arguments, out);
        self.members[member] = Some(process);
    }

    /// Kills a member, which must start again as a new process.
    fn kill(&mut self, member: usize) {
        self.members[member] = None;
        let path = self.place.join(format!("member{member}.lines"));
        std::fs::write(path, "").unwrap();
    }

    /// The member that leads by what it has said last.
    fn leader(&self) -> Option<usize> {
        (0..MEMBERS).find(|member| {
            let path = self.place.join(format!("member{member}.lines"));
            let lines = std::fs::read_to_string(path).unwrap();
            let role = lines.lines().rfind(|line| line.contains("\"role\""));
            role.is_some_and(|line| line.contains("leader"))
        })
    }

    /// A gateway for an exchange, and its address.
    fn gateway(&self, name: &str) -> (Process, String) {
        let mut gateway = self.process(name, &["follower", "127.0.0.1", "0"], Stdio::piped());
        let address = gateway.said_first("follower");
        (gateway, address)
    }

    /// Asks Aeron's tool at the leader for a snapshot, until that one takes it. Returns the leader.
    fn snapshot(&self) -> usize {
        wait_for("a snapshot", || {
            let leader = self.leader()?;
            let mut java = self.java();
            java.arg("-cp").arg(&self.jar).arg("io.aeron.cluster.ClusterTool");
            let done = java.arg(self.directory(leader).join("cluster")).arg("snapshot").output();
            done.unwrap().status.success().then_some(leader)
        })
    }

    /// Copies the member's copy into a new directory, as an operator would.
    fn take_copy(&self, member: usize, name: &str) -> PathBuf {
        let to = self.place.join(name);
        let _ = std::fs::remove_dir_all(&to);
        let from = self.directory(member).join("copy");
        let done = Command::new("cp").arg("-a").args([&from, &to]).output().unwrap();
        assert!(done.status.success(), "{}", text_of(&done));
        to
    }

    /// Waits until these members have equal copies, which nothing is added to any more. Returns
    /// the first one's.
    fn equal_copies(&self, members: &[usize]) -> PathBuf {
        let taken = |member: &usize| self.take_copy(*member, &format!("taken{member}"));
        wait_for("equal copies", || {
            let copies: Vec<PathBuf> = members.iter().map(taken).collect();
            let found: Vec<_> = copies.iter().map(|copy| contents(copy)).collect();
            found.iter().all(|one| one.is_some() && *one == found[0]).then(|| copies[0].clone())
        })
    }

    /// Everything that all of them said on stderr.
    fn said(&self) -> String {
        let files = std::fs::read_dir(&self.place).unwrap().flatten();
        let said = files.filter(|file| file.path().extension().is_some_and(|e| e == "said"));
        said.map(|file| std::fs::read_to_string(file.path()).unwrap()).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.said());
        }
        for member in 0..MEMBERS {
            self.members[member] = None;
            let port = self.ports[member];
            let _ = std::fs::remove_dir_all(format!("/dev/shm/tickpath-cluster-127.0.0.1-{port}"));
        }
    }
}

/// All records of a copy, its register and its terms; `None` if it was copied while it grew.
fn contents(copy: &Path) -> Option<(Vec<u8>, Vec<u8>, Vec<u8>)> {
    let end = journal::replay(copy).ok()?.next_sequence;
    let (mut tail, mut records) = (journal::Tail::open(copy, 0).ok()?, Vec::new());
    while tail.next_sequence() < end {
        tail.read(end, 4096, &mut records).ok()?;
    }
    let file = |name| std::fs::read(copy.join(name)).ok();
    Some((records, file("register")?, file("terms")?))
}

/// An exchange whose follower is at this address, with its messages in the file `said`.
fn exchange(listen: &str, journal: &Path, follower: &str, said: &Path) -> Process {
    let mut command = tickpath();
    command.args(["exchange", "--any-token", "--backend", "block", "--book", "empty"]);
    command.args(["--listen", listen, "--replicate", "sync", "--follower", follower]);
    command.arg("--journal").arg(journal).stdout(Stdio::piped());
    Process(command.stderr(File::create(said).unwrap()).spawn().unwrap())
}

#[test]
fn a_cluster_keeps_every_acknowledged_order() {
    let Some(jar) = cluster_jar() else {
        testing::skip!(JavaCluster, "the cluster's member is not built; `make cluster` does it");
    };
    let place = tempfile::tempdir().unwrap();
    let beside = |name: &str| place.path().join(name);
    let mut cluster = Cluster::start(place.path(), jar);
    let (first_gateway, to_cluster) = cluster.gateway("gateway0");
    let (second_gateway, also_to_cluster) = cluster.gateway("gateway1");
    let addresses = [free_address(), free_address()];
    let mut old = exchange(&addresses[0], &beside("log"), &to_cluster, &beside("exchange0.said"));
    old.said_first("listening");
    let load = Load::start("account".to_owned(), addresses.clone(), 0);
    wait_for_more(&load);

    let leader = cluster.snapshot();
    wait_for_more(&load);
    cluster.kill(leader);
    wait_for_more(&load);

    old.kill();
    let others: Vec<usize> = (0..MEMBERS).filter(|member| *member != leader).collect();
    let promoted = beside("promoted");
    std::fs::rename(cluster.equal_copies(&others), &promoted).unwrap();
    let said = beside("exchange1.said");
    let mut new = exchange(&addresses[1], &promoted, &also_to_cluster, &said);
    new.said_first("listening");
    wait_for_more(&load);

    // Somebody starts the old one again.
    let said = beside("exchange2.said");
    let mut old = exchange(&free_address(), &beside("log"), &to_cluster, &said);
    let status = wait_for("the end of the old exchange", || old.0.try_wait().unwrap());
    let said = std::fs::read_to_string(said).unwrap();
    assert!(!status.success() && said.contains("has followed term 2"), "{status}: {said}");

    cluster.start_member(leader);
    wait_for_more(&load);
    let mut acknowledged = Acknowledged::new();
    check(load, &mut acknowledged);
    signal(new.0.id(), Signal::TERM);
    assert!(new.0.wait().unwrap().success());
    let copy = cluster.equal_copies(&[0, 1, 2]);
    let found = orders(&promoted);
    for (number, order_id) in &acknowledged {
        assert_eq!(found.get(number), Some(order_id), "order {number} of {}", acknowledged.len());
    }
    assert_eq!(orders(&copy), found);
    assert_eq!(state_hash(&copy), state_hash(&promoted));
    drop((first_gateway, second_gateway));
}
