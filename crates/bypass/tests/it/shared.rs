//! One device under TCP and UDP, and datagrams to a group.

use crate::bench::{PATIENCE, addresses, networks, port, receive};
use bypass::{Datagrams, Device, Part, Port, TcpLimits, TcpStack, WAITING_MAX, frame::Mac, share};
use clock::{Clock, Deadline};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream, UdpSocket};

/// Polls until `done` has something.
fn until<T>(
    stack: &mut TcpStack<Part<Port>>,
    clock: Clock,
    mut done: impl FnMut(&mut TcpStack<Part<Port>>) -> Option<T>,
) -> T {
    let deadline = Deadline::after(PATIENCE);
    loop {
        stack.poll(clock.now_ns()).unwrap();
        if let Some(done) = done(stack) {
            return done;
        }
        assert!(!deadline.left().is_zero(), "{:?}", stack.counts());
    }
}

/// Datagrams that arrive while only TCP is polled wait in their order, up to the limit, and those
/// past it are counted. Segments that arrive while only datagrams are received wait as well.
#[test]
fn each_stack_gets_its_own_frames_in_order() {
    let Some(networks) = networks() else { return };
    let Some(port) = port(&networks) else { return };
    let [our_ip, their_ip] = addresses(&networks);
    let clock = Clock::calibrate();
    let [segments, datagrams] = share(port);
    let mut stack = TcpStack::on_port(segments, our_ip, TcpLimits::default(), 7).unwrap();
    let mut datagrams = Datagrams::on_port(datagrams, our_ip);
    let bind = || (stack.bind(0).unwrap(), datagrams.bind(0).unwrap());
    let (listening, to) = networks.exchange().within(bind).unwrap();
    stack.listen(listening.port());
    assert_eq!(datagrams.frames().spoken_to(their_ip), None);
    let mut peer = std::thread::scope(|scope| {
        let (trader, connect) = (networks.trader(), move || TcpStream::connect(listening).unwrap());
        let dialling = scope.spawn(move || trader.within(connect).unwrap());
        let id = until(&mut stack, clock, |stack| stack.accept()).0;
        let mut peer = dialling.join().unwrap();
        peer.set_read_timeout(Some(PATIENCE)).unwrap();

        // Only TCP is polled: it must get its bytes from behind the datagrams.
        let socket = networks.trader().within(|| UdpSocket::bind((their_ip, 0)).unwrap()).unwrap();
        let more = WAITING_MAX as u32 + 50;
        let mut sent = 0;
        let mut into = [0; 64];
        while sent < more {
            // Batches that the rings of the kernel have room for.
            for _ in 0..100.min(more - sent) {
                socket.send_to(&u32::to_le_bytes(sent), to).unwrap();
                sent += 1;
            }
            peer.write_all(b"order").unwrap();
            let mut read = 0;
            until(&mut stack, clock, |stack| {
                read += stack.read(id, &mut into).unwrap_or(0);
                (read >= 5).then_some(())
            });
        }
        assert_eq!(stack.frames().dropped(), Some(50), "those past the limit");
        for number in 0..WAITING_MAX as u32 {
            let arrival = receive(&mut datagrams, &mut into);
            assert_eq!(into[..arrival.length], number.to_le_bytes());
        }
        assert_eq!(datagrams.receive(&mut into), None);

        // Only datagrams are received: the order waits.
        peer.write_all(b"later").unwrap();
        socket.send_to(b"tick", to).unwrap();
        let arrival = receive(&mut datagrams, &mut into);
        assert_eq!(&into[..arrival.length], b"tick");
        let n = until(&mut stack, clock, |stack| stack.read(id, &mut into).ok());
        assert_eq!(&into[..n], b"later");

        // Where TCP sent to, datagrams go without a question.
        let mac = datagrams.frames().spoken_to(their_ip).unwrap();
        assert!(datagrams.learn(their_ip, mac));
        let std::net::SocketAddr::V4(from) = socket.local_addr().unwrap() else { panic!() };
        datagrams.send(to.port(), b"tock", from).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let (length, sender) = socket.recv_from(&mut into).unwrap();
        assert_eq!((&into[..length], sender), (&b"tock"[..], to.into()));
        stack.write(id, b"booked").unwrap();
        until(&mut stack, clock, |_| Some(()));
        peer
    });
    let mut answer = [0; 6];
    peer.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"booked");
}

/// A group's datagrams come in both directions, and another group's at the same port do not.
#[test]
fn datagrams_go_to_groups_and_come_from_them() {
    let Some(networks) = networks() else { return };
    let Some(port) = port(&networks) else { return };
    let [our_ip, their_ip] = addresses(&networks);
    let group = SocketAddrV4::new(Ipv4Addr::new(239, 129, 7, 9), 40_123);
    let other = SocketAddrV4::new(Ipv4Addr::new(239, 1, 7, 10), group.port());
    assert_eq!(Mac::of_group(*group.ip()), Mac([0x01, 0x00, 0x5e, 0x01, 7, 9]));
    let mut ours = Datagrams::on_port(port, our_ip);
    let join = || {
        let foreign = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 77), 1);
        assert!(ours.join(foreign).is_err(), "no group");
        ours.join(group).unwrap();
        ours.resolve(*group.ip()).unwrap();
        ours.bind(0).unwrap()
    };
    let from = networks.exchange().within(join).unwrap();
    let listen = || {
        let socket = UdpSocket::bind(group).unwrap();
        socket.join_multicast_v4(group.ip(), &their_ip).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let sender = UdpSocket::bind((their_ip, 0)).unwrap();
        sender.set_multicast_loop_v4(false).unwrap();
        (socket, sender)
    };
    let (theirs, sender) = networks.trader().within(listen).unwrap();
    let mut into = [0; 64];
    sender.send_to(b"other", other).unwrap();
    sender.send_to(b"tick", group).unwrap();
    let arrival = receive(&mut ours, &mut into);
    assert_eq!((&into[..arrival.length], arrival.to_port), (&b"tick"[..], group.port()));
    ours.send(from.port(), b"tock", group).unwrap();
    let (length, sender) = theirs.recv_from(&mut into).unwrap();
    assert_eq!((&into[..length], sender), (&b"tock"[..], from.into()));
}
