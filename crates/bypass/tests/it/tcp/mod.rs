//! TCP against the kernel's, both roles.

mod ends;
mod harmed;
mod many;
mod timers;

use crate::bench::{PATIENCE, addresses, networks, port};
use bypass::frame::Checksums;
use bypass::{Device, Frames, Protocol, TcpLimits, TcpStack};
use clock::{Clock, Deadline};
use ends::{Bench, connect};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::time::Duration;

/// Nobody keeps a closed connection for ever: a peer that does not end its side is reset in time,
/// and one that goes on sending at once.
#[test]
fn peers_of_a_closed_connection_are_reset() {
    let Some(networks) = networks() else { return };
    let Some(mut bench) = Bench::new(&networks, TcpLimits::default()) else { return };
    let local = bench.local;
    bench.stack.listen(local.port());
    for sends in [false, true] {
        let mut kernel = std::thread::scope(|scope| {
            let kernel = scope.spawn(|| connect(&networks, local).unwrap());
            let id = bench.until("a peer", |bench| bench.stack.accept()).0;
            bench.stack.close(id);
            kernel.join().unwrap()
        });
        bench.poll();
        kernel.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(kernel.read(&mut [0; 8]).unwrap(), 0, "our side ends");
        match sends {
            true => kernel.write_all(b"more").unwrap(),
            false => bench.pass(Duration::from_secs(11)),
        }
        let error = bench.until("a reset", |_| kernel.take_error().unwrap());
        // So Linux calls a reset that comes after the peer's end.
        assert_eq!(error.kind(), ErrorKind::BrokenPipe, "sends: {sends}");
    }
}

/// The kernel sees a reset, and so do we.
#[test]
fn a_reset_ends_a_connection_at_the_other_end() {
    let Some(networks) = networks() else { return };
    let Some(mut bench) = Bench::new(&networks, TcpLimits::default()) else { return };
    let local = bench.local;
    bench.stack.listen(local.port());
    let (mut kernel, id) = bench.accepted(&networks);
    bench.stack.abort(id);
    bench.poll();
    kernel.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(kernel.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    // The kernel resets a connection that is closed with unread bytes.
    let (kernel, id) = bench.accepted(&networks);
    bench.stack.write(id, b"unread").unwrap();
    bench.poll();
    kernel.peek(&mut [0; 8]).unwrap();
    drop(kernel);
    bench.until("a reset", |bench| bench.stack.is_closed(id).then_some(()));
    let read = bench.stack.read(id, &mut [0; 8]).unwrap_err();
    assert_eq!(read.kind(), ErrorKind::ConnectionReset);
    assert_eq!(bench.stack.write(id, b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
    bench.stack.close(id);
    // Nobody listens there.
    let nobody = SocketAddrV4::new(addresses(&networks)[1], 9);
    let refused = bench.stack.connect(local.port(), nobody).unwrap();
    bench.until("a reset", |bench| bench.stack.is_closed(refused).then_some(()));
}

/// A port by itself, without a harmful one in between: the kernel's tables say where the peer is,
/// and no second connection has the same two ends.
#[test]
fn a_stack_on_a_port_finds_its_peer_by_itself() {
    let Some(networks) = networks() else { return };
    let Some(mut port) = port(&networks) else { return };
    let [ours, theirs] = addresses(&networks);
    let listener = networks.trader().within(|| TcpListener::bind((theirs, 0))).unwrap().unwrap();
    let SocketAddr::V4(to) = listener.local_addr().unwrap() else { panic!() };
    let prepare = || {
        let local = port.claim(Protocol::Tcp, SocketAddrV4::new(ours, 0)).unwrap();
        let mut stack = TcpStack::on_port(port, ours, TcpLimits::default(), 7).unwrap();
        stack.resolve(theirs).unwrap();
        (stack, local)
    };
    let (mut stack, local) = networks.exchange().within(prepare).unwrap();
    let id = stack.connect(local.port(), to).unwrap();
    let second = stack.connect(local.port(), to).unwrap_err();
    assert_eq!(second.kind(), ErrorKind::AddrInUse);
    let (clock, deadline) = (Clock::calibrate(), Deadline::after(PATIENCE));
    while !stack.is_connected(id) {
        stack.poll(clock.now_ns()).unwrap();
        assert!(!deadline.left().is_zero(), "{:?}", stack.counts());
    }
    let (_kernel, from) = listener.accept().unwrap();
    assert_eq!(from, SocketAddr::V4(local));
}

/// Limits are named.
#[test]
fn a_limit_out_of_range_is_named() {
    struct Nothing;
    impl Frames for Nothing {
        fn receive(&mut self, _: impl FnOnce(&[u8])) -> bool {
            false
        }
        fn send(&mut self, _: usize, _: impl FnOnce(&mut [u8])) -> bool {
            false
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let made = |limits, mtu| {
        let ends = (Ipv4Addr::LOCALHOST, mtu);
        let mac = bypass::frame::Mac([2; 6]);
        TcpStack::over(Nothing, mac, ends, Checksums::Whole, limits, 1).map(|_| ())
    };
    let limits = TcpLimits::default();
    made(limits, 1500).unwrap();
    for (bad, mtu, name) in [
        (TcpLimits { connections_max: 0, ..limits }, 1500, "connections_max is 0"),
        (TcpLimits { backlog: 65, ..limits }, 1500, "backlog is 65"),
        (TcpLimits { send_buffer_bytes: 0, ..limits }, 1500, "send_buffer_bytes is 0"),
        (limits, 10, "the MTU is 10"),
    ] {
        let error = made(bad, mtu).unwrap_err().to_string();
        assert!(error.starts_with(name), "{error}");
    }
}
