//! An exchange whose follower is an Aeron Cluster, as whole processes: the leading member is killed
//! under load, then the exchange, and a member's copy is promoted. No acknowledged order is lost or
//! doubled, the old exchange is fenced, and the copies of all members are equal in the end.

mod faults;
mod processes;

use super::clients::{Acknowledged, Load};
use super::{check, orders, state_hash, wait_for_more};
use crate::support::*;
use processes::{Cluster, Home, MEMBERS, Process};
use rustix::process::Signal;
use std::path::{Path, PathBuf};

/// How often an operator takes a copy that is not complete yet.
const TAKES_MAX: usize = 10;

/// An exchange of [`processes::exchange`].
fn exchange(listen: &str, journal: &Path, follower: &str, said: &Path) -> Process {
    Process(processes::exchange(listen, journal, follower, said).spawn().unwrap())
}

/// Waits until these members have equal copies. Returns the first one's.
fn equal_copies(cluster: &Cluster, members: &[usize]) -> PathBuf {
    wait_for("equal copies", || cluster.if_equal(members))
}

/// Whether the cluster follows an exchange with these messages, once they say so. It rejects one
/// whose copy was taken while a record of the lost exchange was on its way to the members. Then an
/// operator takes the copy anew.
fn is_followed(said: &Path) -> Option<bool> {
    let said = std::fs::read_to_string(said).unwrap();
    let is_rejected = said.contains("the follower rejects this primary");
    (is_rejected || said.contains("the follower needs record")).then_some(!is_rejected)
}

/// Each acknowledged order is in this journal.
fn assert_has(found: &Acknowledged, acknowledged: &Acknowledged) {
    for (number, order_id) in acknowledged {
        assert_eq!(found.get(number), Some(order_id), "order {number} of {}", acknowledged.len());
    }
}

#[test]
fn a_cluster_keeps_every_acknowledged_order() {
    let Some(jar) = cluster_jar() else {
        testing::skip!(JavaCluster, "the cluster's member is not built; `make cluster` does it");
    };
    let place = tempfile::tempdir().unwrap();
    let beside = |name: &str| place.path().join(name);
    let homes = std::array::from_fn(|member| Home::new(place.path(), member, None));
    let mut cluster = Cluster::start(place.path(), jar, homes, None);
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
    let said = beside("exchange1.said");
    let promote = || {
        let _ = std::fs::remove_dir_all(&promoted);
        std::fs::rename(equal_copies(&cluster, &others), &promoted).unwrap();
        let mut new = exchange(&addresses[1], &promoted, &also_to_cluster, &said);
        new.said_first("listening");
        wait_for("the cluster's answer", || is_followed(&said)).then_some(new)
    };
    let mut new = (0..TAKES_MAX).find_map(|_| promote()).expect("copies that are complete");
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
    new.signal(Signal::TERM);
    assert!(new.0.wait().unwrap().success());
    let copy = equal_copies(&cluster, &[0, 1, 2]);
    let found = orders(&promoted);
    assert_has(&found, &acknowledged);
    assert_eq!(orders(&copy), found);
    assert_eq!(state_hash(&copy), state_hash(&promoted));
    drop((first_gateway, second_gateway));
}
