//! Subscribers that register.

use crate::*;
use fanout::register::message::{MESSAGE_BYTES, Message, RegistrationKind};
use testing::quiet::or_doubled;
use testing::unless;
use transport::cookie::Cookie;

/// Sends datagrams until one comes, and returns it: the list may be read a moment later.
fn first_copy(source: &UdpSocket, from: SocketAddrV4, receiver: &UdpSocket) -> Vec<u8> {
    source.send_to(b"tick", from).unwrap();
    receive(receiver)
}

#[test]
fn a_registered_subscriber_gets_copies_until_it_leaves() {
    let (source, _) = socket();
    let (subscriber, address) = socket();
    let running = Running::start(settings(&[]));
    let member = register(&subscriber, running.listening);
    assert_eq!(first_copy(&source, running.from, &subscriber), b"tick");
    subscriber.send_to(&member.leave(), running.listening).unwrap();
    // A later registration is answered, so the leave has been read.
    let (other, _) = socket();
    register(&other, running.listening);
    source.send_to(b"tock", running.from).unwrap();
    assert_eq!(receive(&other), b"tock");
    gets_nothing(&subscriber);
    let counts = running.end();
    assert_eq!(counts.registrar.unwrap().accepted, 2);
    assert_eq!(counts.subscribers.left(), 1);
    let (former, ..) = counts.subscribers.former();
    assert_eq!((former[0].0, former[0].1.sent), (address, 1));
}

/// Nobody can make a replicator send to an address that does not want it: it gets one challenge,
/// as long as what was sent in its name, and no copies.
#[test]
fn an_address_that_did_not_confirm_gets_one_challenge_and_no_copies() {
    let (source, _) = socket();
    let ((victim, _), (good, _)) = (socket(), socket());
    let running = Running::start(settings(&[]));
    register(&good, running.listening);
    let asked = Message::new(RegistrationKind::Register, 1, Cookie::default()).encode();
    victim.send_to(&asked, running.listening).unwrap();
    let challenge = receive(&victim);
    assert_eq!(challenge.len(), MESSAGE_BYTES);
    assert_eq!(Message::decode(&challenge).unwrap().kind, RegistrationKind::Challenge);
    let forged = Message::new(RegistrationKind::Leave, 1, Cookie::default()).encode();
    victim.send_to(&forged, running.listening).unwrap();
    for _ in 0..10 {
        source.send_to(b"tick", running.from).unwrap();
        assert_eq!(receive(&good), b"tick");
    }
    gets_nothing(&victim);
    assert_eq!(running.end().subscribers.all().len(), 1);
}

#[test]
fn a_subscriber_that_does_not_renew_gets_no_more() {
    let (source, _) = socket();
    let (subscriber, _) = socket();
    let running = Running::start(Settings { lease_ms: 100, ..settings(&[]) });
    register(&subscriber, running.listening);
    std::thread::sleep(Duration::from_millis(300));
    source.send_to(b"tick", running.from).unwrap();
    gets_nothing(&subscriber);
    let counts = running.end();
    assert_eq!((counts.subscribers.expired(), counts.without_subscribers), (1, 1));
}

/// The next copy; answers to renewals are skipped.
fn next_copy(socket: &UdpSocket) -> Result<Vec<u8>, String> {
    let mut bytes = [0; 2048];
    loop {
        match socket.recv(&mut bytes) {
            Ok(length) if Message::decode(&bytes[..length]).is_some() => {}
            Ok(length) => return Ok(bytes[..length].to_vec()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("no copy came: {error}")),
        }
    }
}

/// A subscriber that comes back from another address is a new one. Copies also go to where it was
/// until that lease ends, and nobody else misses one.
#[test]
fn a_subscriber_that_changes_its_address_registers_again() {
    let other = SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, 9), 0);
    or_doubled("a thread that renews a lease of 2 s runs in time", |factor| {
        let (running, named) = with_one_named(2_000 * factor);
        changes_its_address(running, named, (ANY, other))
    });
}

/// A replicator with that lease on loopback, and its named subscriber.
fn with_one_named(lease_ms: u32) -> (Running, (UdpSocket, SocketAddrV4)) {
    let named = socket();
    let settings = Settings { lease_ms, ..settings(&[named.1]) };
    (Running::start(settings), named)
}

/// The source is at the first of the two addresses, and so is the subscriber until it comes back at
/// the second one. The replicator ends in any case.
pub fn changes_its_address(
    running: Running,
    (named, named_at): (UdpSocket, SocketAddrV4),
    (before, after): (SocketAddrV4, SocketAddrV4),
) -> Result<(), String> {
    let seen = a_change(&running, &named, (before, after));
    let counts = running.end();
    let [(old_at, at_old), (new_at, since), (_, sent)] = seen?;
    let rows = counts.subscribers.all().iter().map(|one| (one.address, one.counts.sent));
    let rows: Vec<_> = rows.collect();
    let (former, ..) = counts.subscribers.former();
    unless!(at_old > 0, "the old lease ended before the change was seen");
    unless!(rows == [(named_at, sent), (new_at, since)], "{rows:?} after {sent} and {since}");
    unless!(former.len() == 1 && former[0].0 == old_at, "{former:?}");
    assert_eq!((counts.subscribers.expired(), counts.subscribers.left()), (1, 0));
    assert_eq!(counts.registrar.unwrap().accepted, 2);
    Ok(())
}

/// Returns the address before, with the copies that came there after the change; the address after
/// it, with the copies that came there; and the source with all that it sent.
fn a_change(
    running: &Running,
    named: &UdpSocket,
    (before, after): (SocketAddrV4, SocketAddrV4),
) -> Result<[(SocketAddrV4, u64); 3], String> {
    let (source, source_at) = socket_at(before);
    let (first, old_at) = socket_at(before);
    register(&first, running.listening);
    let mut sent = 0_u64;
    let mut send = || {
        sent += 1;
        source.send_to(&sent.to_be_bytes(), running.from).unwrap();
        sent.to_be_bytes()
    };
    for _ in 0..10 {
        let tick = send();
        unless!(receive(named) == tick && next_copy(&first)? == tick, "before the change");
    }
    drop(first);
    let (moved, new_at) = socket_at(after);
    let mut member = register(&moved, running.listening);
    // Its program is gone from there; copies come as long as the lease lasts.
    let (old, _) = socket_at(old_at);
    old.set_read_timeout(Some(SILENCE)).unwrap();
    let deadline = clock::Deadline::after(2 * PATIENCE);
    let (mut since, mut at_old) = (0_u64, 0);
    loop {
        since += 1;
        let renewal = member.due(since << 40).unwrap();
        moved.send_to(&renewal, running.listening).unwrap();
        let tick = send();
        unless!(receive(named) == tick, "the named one missed {since} after the change");
        unless!(next_copy(&moved)? == tick, "the moved one missed {since} after the change");
        match old.recv(&mut [0; 64]) {
            Ok(_) => at_old += 1,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Ok([(old_at, at_old), (new_at, since), (source_at, sent)]),
        }
        unless!(!deadline.left().is_zero(), "the old lease does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
}
