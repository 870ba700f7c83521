//! UDP against the kernel's sockets.

use crate::bench::{PATIENCE, addresses, networks, port, receive};
use bypass::{Arrival, Datagrams};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};

/// A megabyte each way in datagrams of all sizes, the longest and the empty one too, each answered
/// before the next.
#[test]
fn a_megabyte_of_datagrams_comes_back() {
    let Some(networks) = networks() else { return };
    let Some(port) = port(&networks) else { return };
    let [our_ip, their_ip] = addresses(&networks);
    let mut ours = Datagrams::on_port(port, our_ip);
    let our_address = networks.exchange().within(|| ours.bind(0)).unwrap().unwrap();
    let theirs = networks.trader().within(|| UdpSocket::bind((their_ip, 0))).unwrap().unwrap();
    theirs.set_read_timeout(Some(PATIENCE)).unwrap();
    let SocketAddr::V4(their_address) = theirs.local_addr().unwrap() else { panic!() };
    let sizes = |n: usize| match n {
        0 => 0,
        1 => 1472,
        _ => n * 37 % 1473,
    };
    assert_eq!(ours.bytes_max(), 1472, "a packet of 1500 bytes without its headers");
    let content = |n: usize| -> Vec<u8> { (0..sizes(n)).map(|at| (at * 7 + n) as u8).collect() };
    let mut into = [0; 2048];
    let (mut bytes, mut n) = (0, 0);
    while bytes < 1 << 20 {
        let sent = content(n);
        theirs.send_to(&sent, our_address).unwrap();
        let Arrival { length, from, to_port } = receive(&mut ours, &mut into);
        assert_eq!((&into[..length], from), (&sent[..], their_address));
        assert_eq!(to_port, our_address.port());
        ours.send(to_port, &into[..length], from).unwrap();
        let (length, from) = theirs.recv_from(&mut into).unwrap();
        assert_eq!((&into[..length], from), (&sent[..], SocketAddr::V4(our_address)));
        (bytes, n) = (bytes + length, n + 1);
    }
    assert_eq!((ours.counts().unknown, ours.counts().no_room), (0, 0));
    let long = ours.send(our_address.port(), &[0; 1473], their_address).unwrap_err();
    assert_eq!(long.kind(), ErrorKind::InvalidInput);
}

/// Before anything came from a peer, the kernel's tables say where it is; without them nothing is
/// sent, and it is counted.
#[test]
fn the_first_datagram_may_be_ours() {
    let Some(networks) = networks() else { return };
    let Some(port) = port(&networks) else { return };
    let [our_ip, their_ip] = addresses(&networks);
    let theirs = networks.trader().within(|| UdpSocket::bind((their_ip, 0))).unwrap().unwrap();
    theirs.set_read_timeout(Some(PATIENCE)).unwrap();
    let SocketAddr::V4(to) = theirs.local_addr().unwrap() else { panic!() };
    let mut into = [0; 64];
    let mut ours = Datagrams::on_port(port, our_ip);
    let first = || {
        let our_address = ours.bind(0).unwrap();
        let unknown = ours.send(our_address.port(), b"ping", to).unwrap_err();
        assert_eq!((unknown.kind(), ours.counts().unknown), (ErrorKind::HostUnreachable, 1));
        ours.resolve(their_ip).unwrap();
        ours.send(our_address.port(), b"ping", to).unwrap();
        our_address
    };
    let our_address = networks.exchange().within(first).unwrap();
    let (length, from) = theirs.recv_from(&mut into).unwrap();
    assert_eq!((&into[..length], from), (&b"ping"[..], SocketAddr::V4(our_address)));
    theirs.send_to(b"pong", from).unwrap();
    let expected = Arrival { length: 4, from: to, to_port: our_address.port() };
    assert_eq!(receive(&mut ours, &mut into), expected);
}
