//! The stack over DPDK against the kernel's, over veth in network namespaces; it needs root. In a
//! program of its own, because DPDK starts once a process.

#![cfg(feature = "dpdk")]

use bypass::routes::Interface;
use bypass::{ConnectionId, Device, DpdkPort, Protocol, TcpLimits, TcpStack};
use clock::{Clock, Deadline};
use host::network::{DEVICE, Networks};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes that go there and back. Over `net_af_packet` the kernel merges its segments into frames of
/// up to 64 KB.
const BYTES: usize = 4 << 20;

/// Polls until `done` has something.
fn until<T>(
    (stack, clock): (&mut TcpStack<DpdkPort>, Clock),
    what: &str,
    mut done: impl FnMut(&mut TcpStack<DpdkPort>) -> Option<T>,
) -> T {
    let deadline = Deadline::after(PATIENCE);
    loop {
        stack.poll(clock.now_ns()).unwrap();
        if let Some(done) = done(stack) {
            return done;
        }
        assert!(!deadline.left().is_zero(), "no {what}: {:?}", stack.counts());
    }
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// Takes all bytes of a connection, and gives them back.
fn echo(mut stream: TcpStream) {
    let mut into = vec![0; 64 << 10];
    loop {
        match stream.read(&mut into).unwrap() {
            0 => return,
            n => stream.write_all(&into[..n]).unwrap(),
        }
    }
}

/// All bytes there and back again.
fn there_and_back(both: (&mut TcpStack<DpdkPort>, Clock), id: ConnectionId, count: usize) {
    let (sent, mut received) = (bytes(count), Vec::new());
    let (mut written, mut into) = (0, vec![0; 64 << 10]);
    until(both, "bytes", |stack| {
        if written < sent.len() {
            match stack.write(id, &sent[written..]) {
                Ok(n) => written += n,
                Err(why) => assert_eq!(why.kind(), ErrorKind::WouldBlock),
            }
        }
        match stack.read(id, &mut into) {
            Ok(n) => received.extend_from_slice(&into[..n]),
            Err(why) => assert_eq!(why.kind(), ErrorKind::WouldBlock),
        }
        (received.len() >= sent.len()).then_some(())
    });
    assert!(received == sent, "the bytes differ");
}

/// Both roles against the kernel's TCP; the kernel of this end answers nothing that is ours, and
/// keeps what is its own.
#[test]
fn a_stack_over_dpdk_speaks_with_the_kernels() {
    let networks = match Networks::create() {
        Ok(networks) => networks,
        Err(why) => testing::skip!(Root, "{why}"),
    };
    let driver = std::env::var("TICKPATH_DPDK_DRIVER");
    let driver = driver.as_deref().unwrap_or(bypass::DRIVER_DEFAULT);
    let (ours, theirs) = (networks.exchange().address(), networks.trader().address());
    let clock = Clock::calibrate();
    let open = || {
        let mut port = DpdkPort::open(&Interface::named(DEVICE).unwrap(), driver).unwrap();
        let foreign = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 77), 1);
        port.claim(Protocol::Tcp, foreign).unwrap_err();
        println!("{port}");
        let again = DpdkPort::open(&Interface::named(DEVICE).unwrap(), driver);
        assert!(again.is_err_and(|why| why.to_string().contains("has a port")));
        let mut stack = TcpStack::on_port(port, ours, TcpLimits::default(), 7).unwrap();
        stack.resolve(theirs).unwrap();
        let [listening, dialling] = [stack.bind(0).unwrap(), stack.bind(0).unwrap()];
        stack.listen(listening.port());
        (stack, listening, dialling)
    };
    let (mut stack, listening, dialling) = networks.exchange().within(open).unwrap();

    // We dial.
    let listener = networks.trader().within(|| TcpListener::bind((theirs, 0))).unwrap().unwrap();
    let SocketAddr::V4(to) = listener.local_addr().unwrap() else { panic!() };
    let kernel = std::thread::spawn(move || echo(listener.accept().unwrap().0));
    let id = stack.connect(dialling.port(), to).unwrap();
    until((&mut stack, clock), "connection", |stack| stack.is_connected(id).then_some(()));
    there_and_back((&mut stack, clock), id, BYTES);
    stack.close(id);
    until((&mut stack, clock), "end", |_| kernel.is_finished().then_some(()));
    kernel.join().unwrap();

    // We listen. The kernel's first segment needs our answer by ARP where it has no entry.
    let connect = move || TcpStream::connect_timeout(&SocketAddr::V4(listening), PATIENCE);
    let kernel = std::thread::scope(|scope| {
        let thread = scope.spawn(|| networks.trader().within(connect).unwrap().unwrap());
        let id = until((&mut stack, clock), "peer", |stack| stack.accept()).0;
        (thread.join().unwrap(), id)
    });
    let (mut stream, id) = kernel;
    let writer = std::thread::spawn(move || {
        stream.write_all(b"an order").unwrap();
        let mut answer = [0; 6];
        stream.read_exact(&mut answer).unwrap();
        answer
    });
    let mut order = [0; 64];
    let n = until((&mut stack, clock), "order", |stack| stack.read(id, &mut order).ok());
    assert_eq!(&order[..n], b"an order");
    assert_eq!(stack.write(id, b"booked").unwrap(), 6);
    until((&mut stack, clock), "answer", |_| writer.is_finished().then_some(()));
    assert_eq!(&writer.join().unwrap(), b"booked");
    assert_eq!(stack.frames().dropped(), Some(0));
}
