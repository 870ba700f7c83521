//! Faults of a cluster's members behind an exchange, in rounds: one member at a time is killed,
//! paused, cut off from the network, has a disk that halts, or a clock that is set. The others go
//! on meanwhile, and it comes back. In some rounds the exchange is killed, too, and continues from
//! a copy of the others: it has all that was acknowledged, also by a leader that was cut off.

use super::super::preload::{self, Preload};
use super::super::{DISK_BYTES, ORDERS, ROUNDS_PER_ACCOUNT, STEP_SECONDS};
use super::processes::{self, Cluster, Home, MEMBERS, Process};
use super::*;
use clock::random::SplitMix64;
use host::star::Star;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use testing::halting_disk::{self, HaltedDisk, HaltingDisk};
use testing::test_name;

/// Rounds of `make test`, with the first faults at the leader; `scripts/weekly` makes more.
const ROUNDS: &str = "TICKPATH_CLUSTER_FAULT_ROUNDS";
const ROUNDS_OF_A_TEST: usize = 2;
/// A client waits for longer than an election takes: the exchange stays.
const PATIENCE: Duration = Duration::from_secs(20);
/// For members that come back on cores that others use as well.
const BACK_MAX: Duration = Duration::from_secs(300);
/// A disk that halts for longer works again, if the test has not ended that before.
const HALT_MAX: Duration = Duration::from_secs(120);
/// One round of so many loses the exchange, beside the first.
const EXCHANGES_LOST: u32 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It is cut off from the exchange and from the other members.
    Cut,
    /// Its disk takes nothing.
    HaltedDisk,
    /// Its disk takes data, and does not say that it has them.
    SlowSync,
    Kill,
    /// SIGSTOP, and SIGCONT in the end.
    Pause,
    /// Its clock is set ahead or back, and right again in the end.
    ClockStep,
}

const FAULTS: [Fault; 6] =
    [Fault::Cut, Fault::HaltedDisk, Fault::SlowSync, Fault::ClockStep, Fault::Kill, Fault::Pause];

/// A fault, and where.
#[derive(Debug)]
struct Round {
    fault: Fault,
    is_at_leader: bool,
    loses_exchange: bool,
}

/// The cluster and the exchange.
struct Site<'a> {
    place: &'a Path,
    cluster: Cluster,
    disks: Option<&'a [HaltingDisk; MEMBERS]>,
    /// Where exchanges listen, in turn.
    addresses: [String; 2],
    gateway: (Process, String),
    exchange: Process,
    /// Exchanges that have been started.
    exchanges: usize,
    log: PathBuf,
    random: SplitMix64,
}

#[test]
fn faults_of_members_lose_and_double_nothing_that_was_acknowledged() {
    let Some(jar) = cluster_jar() else {
        testing::skip!(JavaCluster, "the cluster's member is not built; `make cluster` does it");
    };
    let name = test_name!(faults_of_members_lose_and_double_nothing_that_was_acknowledged);
    halting_disk::on(DISK_BYTES, &name, |disks| rounds(jar, disks.as_ref()));
}

/// The rounds. Faults of networks and of disks need members with networks and disks of their own.
fn rounds(jar: PathBuf, disks: Option<&[HaltingDisk; MEMBERS]>) {
    let place = tempfile::tempdir().unwrap();
    let star = Star::create(MEMBERS).map_err(|error| testing::skipped(testing::Need::Root, error));
    let star = star.ok();
    let is_possible = |fault: &Fault| match fault {
        Fault::Cut => star.is_some(),
        Fault::HaltedDisk => disks.is_some(),
        _ => true,
    };
    let possible: Vec<Fault> = FAULTS.into_iter().filter(is_possible).collect();
    let count = std::env::var(ROUNDS).map_or(ROUNDS_OF_A_TEST, |rounds| rounds.parse().unwrap());
    let mut site = Site::start(place.path(), jar, disks, star);
    let (mut acknowledged, mut next) = (Acknowledged::new(), 0);
    for first in (0..count).step_by(ROUNDS_PER_ACCOUNT) {
        let load = site.load(first, next);
        for number in first..count.min(first + ROUNDS_PER_ACCOUNT) {
            let round = site.choose(number, &possible);
            let begin = Instant::now();
            site.round(&round, &load);
            eprintln!("round {number}: {round:?}, {:.1?}", begin.elapsed());
        }
        next = check(load, &mut acknowledged);
        let copy = site.all_equal();
        assert_has(&orders(&copy), &acknowledged);
    }
    site.end(&acknowledged);
}

impl<'a> Site<'a> {
    fn start(
        place: &'a Path,
        jar: PathBuf,
        disks: Option<&'a [HaltingDisk; MEMBERS]>,
        star: Option<Star>,
    ) -> Site<'a> {
        let library = preload::library(place);
        let tried = Preload::new(&library, place.join("tried.preload"));
        assert!(is_seen_by_java(&tried), "a process of Java sees the machine's own clock");
        let homes = std::array::from_fn(|member| {
            let preload = Preload::new(&library, place.join(format!("member{member}.preload")));
            let disk = disks.map_or(place, |disks| disks[member].path());
            Home::new(disk, member, Some(preload))
        });
        let cluster = Cluster::start(place, jar, homes, star);
        let gateway = cluster.gateway("gateway");
        let addresses = [free_address(), free_address()];
        let log = place.join("log");
        let exchange = begin(&cluster, &addresses[0], &log, &gateway.1);
        let random = SplitMix64::new(36);
        Site { place, cluster, disks, addresses, gateway, exchange, exchanges: 1, log, random }
    }

    fn load(&self, account: usize, next: u64) -> Load {
        let account = format!("account{account}");
        let start = || Load::with_patience(PATIENCE, account, self.addresses.clone(), next);
        self.cluster.at(None, start)
    }

    /// Each fault once at the leader, then any at any member.
    fn choose(&mut self, number: usize, possible: &[Fault]) -> Round {
        let random = &mut self.random;
        let any = possible[random.below(possible.len() as u32) as usize];
        let [is_at_leader, loses_exchange] =
            [2, EXCHANGES_LOST].map(|one_of| random.below(one_of) == 0);
        match possible.get(number) {
            Some(&fault) => Round { fault, is_at_leader: true, loses_exchange: number == 0 },
            None => Round { fault: any, is_at_leader, loses_exchange },
        }
    }

    fn round(&mut self, round: &Round, load: &Load) {
        self.wait_for_more(load, "acknowledgements");
        let leader = self.find("one leader", |site| site.cluster.leader());
        let other = (leader + 1 + self.random.below(2) as usize) % MEMBERS;
        let member = if round.is_at_leader { leader } else { other };
        let halted = self.strike(member, round.fault);
        self.wait_for_more(load, "acknowledgements without a member");
        if round.loses_exchange {
            self.lose_exchange(member, load);
        }
        self.heal(member, round.fault, halted);
        self.wait_for_more(load, "acknowledgements after a fault");
        let healthy = (member + 1) % MEMBERS;
        let records = self.find("records", |site| site.cluster.records_bytes(healthy));
        self.find("the records of the others at a member", |site| {
            site.cluster.records_bytes(member).filter(|own| *own >= records)
        });
    }

    /// Waits for something while members that end by themselves are started again.
    fn find<T>(&mut self, what: &str, mut find: impl FnMut(&Site) -> Option<T>) -> T {
        wait_up_to(BACK_MAX, what, || {
            self.cluster.revive();
            find(self)
        })
    }

    fn wait_for_more(&mut self, load: &Load, what: &str) {
        let until = load.acknowledged() + ORDERS;
        self.find(what, |_| (load.acknowledged() >= until).then_some(()));
    }

    fn strike(&mut self, member: usize, fault: Fault) -> Option<HaltedDisk> {
        let cluster = &mut self.cluster;
        match fault {
            Fault::Kill => cluster.kill(member),
            Fault::Pause => cluster.member(member).signal(Signal::STOP),
            Fault::Cut => cut(cluster, member, true),
            Fault::HaltedDisk => return self.disks.map(|disks| disks[member].halt(HALT_MAX)),
            Fault::SlowSync => preload(cluster, member).hold_syncs(true),
            Fault::ClockStep => {
                let step = [STEP_SECONDS, -STEP_SECONDS][self.random.below(2) as usize];
                preload(cluster, member).set_clock_off(step);
            }
        }
        None
    }

    fn heal(&mut self, member: usize, fault: Fault, halted: Option<HaltedDisk>) {
        let cluster = &mut self.cluster;
        match fault {
            Fault::Kill => cluster.start_member(member),
            Fault::Pause => cluster.member(member).signal(Signal::CONT),
            Fault::Cut => cut(cluster, member, false),
            Fault::HaltedDisk => halted.into_iter().for_each(HaltedDisk::end),
            Fault::SlowSync => preload(cluster, member).hold_syncs(false),
            Fault::ClockStep => preload(cluster, member).set_clock_off(0),
        }
    }

    /// Kills the exchange. The next one continues from a copy of the members without a fault.
    fn lose_exchange(&mut self, struck: usize, load: &Load) {
        self.exchange.kill();
        let others: Vec<usize> = (0..MEMBERS).filter(|member| *member != struck).collect();
        let address = self.addresses[self.exchanges % 2].clone();
        self.exchanges += 1;
        self.log = self.place.join(format!("promoted{}", self.exchanges));
        for _ in 0..TAKES_MAX {
            let copy = self.find("equal copies of two", |site| site.cluster.if_equal(&others));
            assert_has(&orders(&copy), &load.orders());
            let _ = std::fs::remove_dir_all(&self.log);
            std::fs::rename(copy, &self.log).unwrap();
            self.exchange = begin(&self.cluster, &address, &self.log, &self.gateway.1);
            if self.find("the cluster's answer", |site| is_followed(&said_of(&site.log))) {
                return;
            }
            self.exchange.kill();
        }
        panic!("the copies grow without an exchange");
    }

    fn all_equal(&mut self) -> PathBuf {
        self.find("equal copies of all", |site| site.cluster.if_equal(&[0, 1, 2]))
    }

    /// Ends the exchange. All members have its journal, and that each acknowledged order once.
    fn end(mut self, acknowledged: &Acknowledged) {
        self.exchange.signal(Signal::TERM);
        assert!(self.exchange.0.wait().unwrap().success());
        let copy = self.all_equal();
        let found = orders(&self.log);
        assert_has(&found, acknowledged);
        assert_eq!(orders(&copy), found);
        assert_eq!(state_hash(&copy), state_hash(&self.log));
    }
}

/// Where an exchange with that journal says what it has to say.
fn said_of(log: &Path) -> PathBuf {
    log.with_extension("said")
}

/// Starts an exchange where the gateway is, and waits until it listens.
fn begin(cluster: &Cluster, address: &str, log: &Path, follower: &str) -> Process {
    let mut command = processes::exchange(address, log, follower, &said_of(log));
    // Longer than an election takes.
    command.args(["--follower-seconds", "10"]);
    let mut exchange = Process(cluster.at(None, || command.spawn().unwrap()));
    exchange.said_first("listening");
    exchange
}

fn cut(cluster: &Cluster, member: usize, is_cut: bool) {
    let star = cluster.star.as_ref().expect("networks of the members' own");
    star.set_cut(member, is_cut).unwrap();
}

/// Whether Java sees a clock that is set by it: whether its log says a later time than it is.
fn is_seen_by_java(preload: &Preload) -> bool {
    preload.set_clock_off(STEP_SECONDS);
    let mut java = Command::new("java");
    preload.give_to(java.args(["-Xlog:gc+init:stdout:timemillis", "-version"]));
    let log = text(&java.output().unwrap().stdout);
    preload.set_clock_off(0);
    let millis = log.strip_prefix('[').and_then(|log| log.split_once("ms]")?.0.parse().ok());
    let millis: u64 = millis.unwrap_or_else(|| panic!("no time: {log}"));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Duration::from_millis(millis) > now + Duration::from_secs(STEP_SECONDS as u64 / 2)
}

fn preload(cluster: &Cluster, member: usize) -> &Preload {
    cluster.homes[member].preload.as_ref().expect("a member with a preload")
}
