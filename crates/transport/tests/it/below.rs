//! Below the kernel, between two namespaces; needs root.

use crate::Ending;
use clock::{Clock, Deadline};
use host::network::Networks;
use std::io::{Read, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use transport::echo::EchoMessage;
use transport::echo::datagrams::{DatagramCounts, EchoSocket, serve};
use transport::{Dialogue, Ready, StreamId, StreamRead, Streams, Write};

const PATIENCE: Duration = Duration::from_secs(20);

/// Runs `client` in one network against an echo in the other, both below the kernel.
fn beside_an_echo(
    client: impl FnOnce(&mut dyn Streams, SocketAddr, Clock),
) -> Option<DatagramCounts> {
    let networks = match Networks::create() {
        Ok(networks) => networks,
        Err(why) => {
            testing::skipped(testing::Need::Root, why);
            return None;
        }
    };
    let listen = format!("{}:0", networks.exchange().address());
    let (clock, stop) = (Clock::calibrate(), AtomicBool::new(false));
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let bind = || EchoSocket::bind(&listen, transport::backend("af_xdp").unwrap());
            let socket = match networks.exchange().within(bind).unwrap() {
                Ok(socket) => socket,
                Err(why) => {
                    tell.send(Err(why.to_string())).unwrap();
                    return DatagramCounts::default();
                }
            };
            tell.send(Ok(socket.local_addr().unwrap())).unwrap();
            serve(socket, true, (clock, &|_| String::new()), &stop).unwrap()
        });
        let address = match told.recv().unwrap() {
            Ok(address) => address,
            Err(why) => {
                testing::skipped(testing::Need::Kernel, why);
                return None;
            }
        };
        let ending = Ending(&stop);
        let work = || {
            let mut streams = transport::backend("af_xdp").unwrap().open_flows(clock).unwrap();
            client(&mut *streams, address, clock);
        };
        networks.trader().within(work).unwrap();
        drop(ending);
        Some(server.join().unwrap())
    })
}

fn message(sequence: u64) -> Vec<u8> {
    let mut out = Vec::new();
    EchoMessage { length_bytes: 64, reply_bytes: 64, kind: b'O', sequence }.encode(&mut out);
    out
}

/// The reply to what was sent, with its stamp.
fn reply(streams: &mut dyn Streams, id: StreamId) -> (u64, u64) {
    let (mut ready, mut into) = (Vec::new(), [0; 100]);
    let deadline = Deadline::after(PATIENCE);
    while !deadline.left().is_zero() {
        ready.clear();
        streams.wait(0, &mut ready).unwrap();
        if !ready.contains(&Ready::Readable(id)) {
            continue;
        }
        if let StreamRead::Bytes { n, stamp_ns } = streams.read(id, &mut into) {
            let message = EchoMessage::decode(&into[..n]).unwrap().unwrap();
            return (message.sequence, stamp_ns);
        }
    }
    panic!("no reply");
}

/// Two flows in turn: each gets its own replies, between the stamps of its write and its read.
#[test]
fn each_flow_has_its_own_replies() {
    let counts = beside_an_echo(|streams, address, clock| {
        let ids = [(); 2].map(|()| streams.dial(address).unwrap());
        assert_eq!(streams.peer(ids[1]), Some(address));
        for sequence in 0..200 {
            for (lane, id) in ids.into_iter().enumerate() {
                let number = 2 * sequence + lane as u64;
                let before_ns = clock.now_ns();
                let Write::Bytes { n: 64, stamp_ns } = streams.write(id, &message(number)) else {
                    panic!("not sent");
                };
                let (answered, came_ns) = reply(streams, id);
                assert_eq!(answered, number);
                let order = [before_ns, stamp_ns, came_ns, clock.now_ns()];
                assert!(order.is_sorted(), "{order:?}");
            }
        }
        // Removed, it gets nothing, and the other one still does.
        streams.remove(ids[0]);
        assert!(matches!(streams.write(ids[0], &message(1)), Write::Failed(_)));
        assert!(matches!(streams.write(ids[1], &message(9)), Write::Bytes { n: 64, .. }));
        assert_eq!(reply(streams, ids[1]).0, 9);
    });
    let Some(counts) = counts else { return };
    assert_eq!((counts.received, counts.replied, counts.unsent), (401, 401, 0));
}

/// A dialogue reads one datagram, and ends when nothing comes; a listener is rejected in words.
#[test]
fn a_dialogue_waits_no_longer_than_its_patience() {
    beside_an_echo(|streams, address, clock| {
        let id = streams.dial(address).unwrap();
        let mut into = [0; 100];
        let mut dialogue = Dialogue { streams, id, clock, patience: PATIENCE, is_secure: false };
        dialogue.write_all(&message(7)).unwrap();
        assert_eq!(dialogue.read(&mut into).unwrap(), 64);
        assert_eq!(EchoMessage::decode(&into[..64]).unwrap().unwrap().sequence, 7);
        dialogue.patience = Duration::from_millis(1);
        let silent = dialogue.read(&mut into).unwrap_err();
        assert_eq!(silent.kind(), std::io::ErrorKind::WouldBlock);
        let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
        let error = streams.listen(listener).unwrap_err().to_string();
        assert!(error.contains("take another backend"), "{error}");
        let Write::Failed(long) = streams.write(id, &[0; 2000]) else { panic!("no fragments") };
        assert!(long.to_string().contains("at most 1472 bytes"), "{long}");
    });
}

/// A device keeps every port that it took, and has room for 1 024 of them: the dial after that
/// failed, though one connection was open at a time.
#[test]
fn a_thousand_and_more_dials_one_after_the_other() {
    const DIALS: usize = 1_100;
    let networks = match Networks::create() {
        Ok(networks) => networks,
        Err(why) => return testing::skipped(testing::Need::Root, why),
    };
    let bind = || TcpListener::bind((networks.exchange().address(), 0)).unwrap();
    let listener = networks.exchange().within(bind).unwrap();
    let address = listener.local_addr().unwrap();
    let clock = Clock::calibrate();
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            for _ in 0..DIALS {
                let (stream, _) = listener.accept().unwrap();
                // A reset, which leaves neither end in TIME-WAIT.
                rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
            }
        });
        let work = || {
            let mut streams = transport::backend("af_xdp").unwrap().open(clock).unwrap();
            let mut ready = Vec::new();
            for dial in 0..DIALS {
                let id = match streams.dial(address) {
                    Ok(id) => id,
                    Err(why) if dial == 0 => return Err(why.to_string()),
                    Err(why) => panic!("dial {dial}: {why}"),
                };
                let deadline = Deadline::after(PATIENCE);
                while !matches!(streams.read(id, &mut [0]), StreamRead::Failed(_)) {
                    assert!(!deadline.left().is_zero(), "dial {dial}: no reset");
                    ready.clear();
                    streams.wait(0, &mut ready).unwrap();
                }
                streams.remove(id);
            }
            Ok(())
        };
        match networks.trader().within(work).unwrap() {
            Ok(()) => server.join().unwrap(),
            Err(why) => {
                testing::skipped(testing::Need::Kernel, why);
                // The server waits for clients that don't come.
                for _ in 0..DIALS {
                    let dial = || std::net::TcpStream::connect(address);
                    drop(networks.trader().within(dial).unwrap());
                }
            }
        }
    });
}
