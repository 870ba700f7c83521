//! Subscribers that register.

use crate::*;
use fanout::register::message::{Kind, MESSAGE_BYTES, Message};
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
    let asked = Message::new(Kind::Register, 1, Cookie::default()).encode();
    victim.send_to(&asked, running.listening).unwrap();
    let challenge = receive(&victim);
    assert_eq!(challenge.len(), MESSAGE_BYTES);
    assert_eq!(Message::decode(&challenge).unwrap().kind, Kind::Challenge);
    let forged = Message::new(Kind::Leave, 1, Cookie::default()).encode();
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
