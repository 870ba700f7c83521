//! Everything that takes seconds and minutes, on a clock that stands until the test moves it. The
//! kernel says what it sees.

use super::ends::{Bench, PATIENCE, kernels_states, listener};
use crate::bench::{addresses, networks};
use crate::harm::Harm;
use bypass::{ConnectionId, TcpLimits};
use host::network::Networks;
use rustix::net::{AddressFamily, SocketType, sockopt};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::time::Duration;

const LAST_ACK: &str = "09";
const SECOND: Duration = Duration::from_secs(1);

fn bench(networks: &Networks) -> Option<Bench> {
    let mut bench = Bench::new(networks, TcpLimits::default())?;
    bench.haste = 0;
    Some(bench)
}

/// Frames that came and that left.
fn frames(bench: &Bench) -> [u64; 2] {
    let frames = bench.stack.frames();
    [frames.inbound.count, frames.outbound.count]
}

/// A connection on which nobody says anything is kept: every fifteen seconds the stack asks, and
/// the kernel answers. Nothing else is said.
#[test]
fn an_idle_connection_is_kept_alive() {
    let Some(networks) = networks() else { return };
    let Some(mut bench) = bench(&networks) else { return };
    bench.stack.listen(bench.local.port());
    let (mut kernel, id) = bench.accepted(&networks);
    // From here to the first question it is fifteen seconds as well.
    for minute in 0..10 {
        for _ in 0..4 {
            let [came, left] = frames(&bench);
            (0..14).for_each(|_| bench.pass(SECOND));
            assert_eq!(frames(&bench), [came, left], "too early, minute {minute}");
            bench.pass(SECOND);
            assert_eq!(frames(&bench)[1], left + 1, "no question, minute {minute}");
            let answered = |bench: &mut Bench| (frames(bench)[0] == came + 1).then_some(());
            bench.until("an answer", answered);
        }
    }
    assert!(bench.stack.is_connected(id));
    // The byte that the question carried is no content.
    kernel.set_nonblocking(true).unwrap();
    assert_eq!(kernel.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
    kernel.write_all(b"still here").unwrap();
    let mut into = [0; 16];
    let n = bench.until("bytes", |bench| bench.stack.read(id, &mut into).ok());
    assert_eq!(&into[..n], b"still here");
    assert_eq!(bench.stack.read(id, &mut into).unwrap_err().kind(), ErrorKind::WouldBlock);
}

/// A connection is given up when its peer was silent for a minute, and not before.
fn is_given_up_after_a_minute(bench: &mut Bench, id: ConnectionId) {
    for second in 0..59 {
        bench.pass(SECOND);
        assert!(!bench.stack.is_closed(id), "given up after {second} s");
    }
    bench.pass(SECOND);
    assert!(bench.stack.is_closed(id));
    let read = bench.stack.read(id, &mut [0; 8]).unwrap_err();
    assert_eq!(read.kind(), ErrorKind::ConnectionReset);
    assert_eq!(bench.stack.write(id, b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
    bench.stack.close(id);
}

/// The kernel gets a reset of an idle connection, and of one with bytes that nobody acknowledges. A
/// connection that nobody accepts is given up likewise.
#[test]
fn a_silent_peer_is_given_up_after_a_minute() {
    let Some(networks) = networks() else { return };
    let Some(mut bench) = bench(&networks) else { return };
    bench.stack.listen(bench.local.port());
    for has_written in [false, true] {
        let (mut kernel, id) = bench.accepted(&networks);
        kernel.set_read_timeout(Some(PATIENCE)).unwrap();
        bench.stack.frames_mut().inbound.harm = Harm::SILENCE;
        let mut into = [0; 8];
        if has_written {
            bench.stack.write(id, b"an order").unwrap();
            bench.poll();
            kernel.read_exact(&mut into).unwrap();
            assert_eq!(&into, b"an order");
        }
        is_given_up_after_a_minute(&mut bench, id);
        let error = kernel.read(&mut into).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "has written: {has_written}");
        bench.stack.frames_mut().inbound.harm = Harm::NONE;
    }
    let listener = listener(&networks);
    let SocketAddr::V4(to) = listener.local_addr().unwrap() else { panic!() };
    bench.stack.frames_mut().outbound.harm = Harm::SILENCE;
    let id = bench.stack.connect(bench.local.port(), to).unwrap();
    bench.poll();
    assert!(!bench.stack.is_connected(id));
    is_given_up_after_a_minute(&mut bench, id);
}

/// A connection that the stack closes first, up to the kernel's end.
fn closed_first(bench: &mut Bench, to: &TcpListener) -> (TcpStream, SocketAddrV4) {
    let (mut kernel, id) = bench.dialled(to);
    bench.stack.close(id);
    bench.poll();
    kernel.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(kernel.read(&mut [0; 8]).unwrap(), 0);
    let SocketAddr::V4(to) = to.local_addr().unwrap() else { panic!() };
    (kernel, to)
}

/// The kernel has nothing more of any connection to the stack.
fn the_kernel_has_forgotten(bench: &mut Bench, networks: &Networks) {
    let local = bench.local;
    let is_forgotten = |_: &mut Bench| kernels_states(networks, local).is_empty().then_some(());
    bench.until("the kernel's end", is_forgotten);
}

/// Its two ends wait for `time` in TIME-WAIT, and are free then.
fn waits_for(bench: &mut Bench, listener: &TcpListener, to: SocketAddrV4, time: Duration) {
    let local = bench.local.port();
    let in_use = |bench: &mut Bench| {
        let error = bench.stack.connect(local, to).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
    };
    in_use(bench);
    bench.pass(time - SECOND / 100);
    in_use(bench);
    bench.pass(SECOND / 100);
    let (_kernel, id) = bench.dialled(listener);
    bench.stack.abort(id);
    bench.poll();
}

#[test]
fn the_ends_of_a_closed_connection_wait_before_they_are_used_again() {
    let Some(networks) = networks() else { return };
    let Some(mut bench) = bench(&networks) else { return };
    let listener = listener(&networks);
    let (kernel, to) = closed_first(&mut bench, &listener);
    drop(kernel);
    the_kernel_has_forgotten(&mut bench, &networks);
    waits_for(&mut bench, &listener, to, 10 * SECOND);
}

/// The last acknowledgement is lost: the kernel sends its end again, and gets another one. The time
/// begins anew.
#[test]
fn a_repeated_end_is_acknowledged_in_time_wait() {
    let Some(networks) = networks() else { return };
    let Some(mut bench) = bench(&networks) else { return };
    let listener = listener(&networks);
    let (kernel, to) = closed_first(&mut bench, &listener);
    bench.stack.frames_mut().outbound.harm = Harm::SILENCE;
    drop(kernel);
    let lost = |bench: &mut Bench| (bench.stack.frames().outbound.done.lost > 0).then_some(());
    bench.until("an acknowledgement", lost);
    assert_eq!(kernels_states(&networks, bench.local), [LAST_ACK]);
    bench.pass(9 * SECOND);
    bench.stack.frames_mut().outbound.harm = Harm::NONE;
    the_kernel_has_forgotten(&mut bench, &networks);
    waits_for(&mut bench, &listener, to, 10 * SECOND);
}

/// A connection in TIME-WAIT gives way to a new one between its two ends, if the peer opens it.
#[test]
fn a_new_connection_between_the_same_ends_takes_the_place_of_one_in_time_wait() {
    let Some(networks) = networks() else { return };
    let Some(mut bench) = bench(&networks) else { return };
    bench.stack.listen(bench.local.port());
    let (local, [_, theirs]) = (bench.local, addresses(&networks));
    let mut port = 0;
    for n in 0..3u8 {
        let from = SocketAddrV4::new(theirs, port);
        let dial = move || {
            let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
            sockopt::set_socket_reuseaddr(&socket, true)?;
            rustix::net::bind(&socket, &from)?;
            rustix::net::connect(&socket, &local)?;
            Ok::<_, rustix::io::Errno>(TcpStream::from(socket))
        };
        let (mut kernel, (id, peer)) = std::thread::scope(|scope| {
            let kernel = scope.spawn(|| networks.trader().within(dial).unwrap().unwrap());
            let accepted = bench.until("a peer", |bench| bench.stack.accept());
            (kernel.join().unwrap(), accepted)
        });
        assert!(port == 0 || peer.port() == port, "{peer}");
        port = peer.port();
        bench.stack.write(id, &[n]).unwrap();
        bench.stack.close(id);
        bench.poll();
        kernel.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut came = Vec::new();
        kernel.read_to_end(&mut came).unwrap();
        assert_eq!(came, [n]);
        drop(kernel);
        the_kernel_has_forgotten(&mut bench, &networks);
    }
    assert_eq!(bench.stack.counts().connections, 3);
}
