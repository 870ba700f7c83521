//! Copies over DPDK, between two namespaces; it needs root. In a program of its own, because DPDK
//! starts once a process.

#![cfg(feature = "dpdk")]

#[allow(dead_code)]
#[path = "it/support.rs"]
mod support;

use bypass::DRIVER_DEFAULT;
use host::network::Networks;
use plan::backend::DPDK;
use support::*;

/// More than DPDK has packets, so that each is used again.
const MANY: u32 = 10_000;
const SIZES: [usize; 6] = [0, 1, 60, 555, 1_471, 1_472];
const SUBSCRIBERS: usize = 4;

/// Every datagram arrives once and whole at each subscriber, by name or by lease, and what is not
/// of that flow stays with the kernel.
#[test]
fn each_subscriber_gets_every_datagram_whole_and_once_over_dpdk() {
    let networks = match Networks::create() {
        Ok(networks) => Arc::new(networks),
        Err(why) => testing::skip!(Root, "{why}"),
    };
    let driver = std::env::var("TICKPATH_DPDK_DRIVER");
    let driver = driver.as_deref().unwrap_or(DRIVER_DEFAULT);
    let own = SocketAddrV4::new(networks.exchange().address(), 0);
    let theirs = SocketAddrV4::new(networks.trader().address(), 0);
    let there = || networks.trader().within(|| socket_at(theirs)).unwrap();
    let receivers: [_; SUBSCRIBERS] = std::array::from_fn(|_| there());
    let named: Vec<SocketAddrV4> = receivers[1..].iter().map(|one| one.1).collect();
    let settings = Settings { from: own, listen: Some(own), backend: DPDK, ..settings(&named) };
    let its_networks = networks.clone();
    let running =
        Running::start_in(settings, move |work| its_networks.exchange().within(work).unwrap());
    // Registration is the kernel's, and so is ARP.
    let member = register(&receivers[0].0, running.listening);

    let (source, _) = there();
    let send = |bytes: &[u8]| {
        source.send_to(bytes, running.from).unwrap();
        receivers.iter().for_each(|(one, _)| assert!(receive(one) == bytes, "{}", bytes.len()));
    };
    for size in SIZES {
        let bytes: Vec<u8> = (0..size).map(|at| (at * 3 + size) as u8).collect();
        send(&bytes);
    }
    (0..MANY).for_each(|number| send(&number.to_be_bytes()));
    gets_nothing(&receivers[1].0);
    let mut count = SIZES.len() as u64 + u64::from(MANY);

    // By another interface. A driver that leaves what it does not take to the kernel leaves that.
    let (local, _) = networks.exchange().within(|| socket_at(own)).unwrap();
    local.send_to(b"local", running.from).unwrap();
    if driver.starts_with(DRIVER_DEFAULT) {
        receivers.iter().for_each(|(one, _)| assert_eq!(receive(one), b"local"));
        count += 1;
    }
    receivers[0].0.send_to(&member.leave(), running.listening).unwrap();
    gets_nothing(&receivers[0].0);
    let last = running.from;
    let counts = running.end();
    assert_eq!(counts.received, count);
    assert_eq!((counts.receive_dropped, counts.interface_dropped), (Some(0), Some(0)));
    assert_eq!((counts.copying_ns.len(), counts.subscribers.left()), (count, 1));
    let sent = counts.subscribers.all().iter().map(|one| one.counts.sent);
    assert_eq!(sent.collect::<Vec<_>>(), [count; SUBSCRIBERS - 1]);
    let (former, ..) = counts.subscribers.former();
    assert_eq!((former[0].0, former[0].1.sent), (receivers[0].1, count));

    // The kernel has all packets again.
    let (after, _) = networks.exchange().within(|| socket_at(last)).unwrap();
    source.send_to(b"after", last).unwrap();
    assert_eq!(receive(&after), b"after");
}
