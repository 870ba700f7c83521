//! Replicators that feed replicators.

use crate::*;

/// Waits until it was fed, or it is clear that it won't be.
fn is_fed(source: &UdpSocket, root: &Running, receiver: &UdpSocket) -> bool {
    receiver.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    (0..500).any(|_| {
        source.send_to(b"tick", root.from).unwrap();
        receiver.recv(&mut [0; 16]).is_ok_and(|length| length == 4)
    })
}

#[test]
fn a_leaf_of_a_tree_gets_what_the_source_sends() {
    let (source, _) = socket();
    let (receiver, address) = socket();
    let root = Running::start(settings(&[]));
    let middle = Running::start(Settings { parent: Some(root.listening), ..settings(&[]) });
    let leaf = Running::start(Settings {
        parent: Some(middle.listening),
        listen: None,
        ..settings(&[address])
    });
    assert!(is_fed(&source, &root, &receiver));
    let (leaf, middle, root) = (leaf.end(), middle.end(), root.end());
    assert!(leaf.received > 0 && middle.received >= leaf.received);
    assert!(root.received >= middle.received);
    assert!(leaf.registrar.is_none());
    assert_eq!(root.registrar.unwrap().accepted, 1);
    assert_eq!(root.registrar.unwrap().malformed, 0);
}

/// Each datagram would go round for ever. Whichever sees the ring first ends with an error.
#[test]
fn a_ring_ends_with_an_error() {
    // The first is to register at the second, which has no port yet: at one that is free now.
    let port = UdpSocket::bind(ANY).unwrap().local_addr().unwrap().port();
    let second = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    let lease_ms = 300;
    let a = Running::start(Settings { parent: Some(second), lease_ms, ..settings(&[]) });
    let parent = Some(a.listening);
    let b = Running::start(Settings { parent, listen: Some(second), lease_ms, ..settings(&[]) });
    let mut waited = 0;
    while !a.thread.is_finished() && !b.thread.is_finished() && waited < 2_000 {
        std::thread::sleep(Duration::from_millis(10));
        waited += 1;
    }
    let ended = |running: Running| {
        running.stop.store(true, Ordering::Relaxed);
        running.thread.join().unwrap().err().map(|error| error.to_string())
    };
    let errors: Vec<String> = [a, b].into_iter().filter_map(ended).collect();
    assert!(errors.iter().any(|error| error.contains("form a ring")), "{errors:?}");
}
