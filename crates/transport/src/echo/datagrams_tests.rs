use super::*;
use std::sync::Mutex;

fn served(spins: bool, client: impl FnOnce(&UdpSocket)) -> DatagramCounts {
    served_by(spins, &|_| "{}".to_owned(), client)
}

fn served_by(
    spins: bool,
    describe: Describe<'_>,
    client: impl FnOnce(&UdpSocket),
) -> DatagramCounts {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let serve = || {
            let socket = EchoSocket::Kernel(socket);
            serve(socket, spins, (Clock::calibrate(), describe), &stop)
        };
        let server = scope.spawn(serve);
        let ours = UdpSocket::bind("127.0.0.1:0").unwrap();
        ours.connect(address).unwrap();
        ours.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        client(&ours);
        stop.store(true, Ordering::Relaxed);
        server.join().unwrap().unwrap()
    })
}

fn message(length_bytes: u16, reply_bytes: u16, kind: u8, sequence: u64) -> Vec<u8> {
    let mut out = Vec::new();
    EchoMessage { length_bytes, reply_bytes, kind, sequence }.encode(&mut out);
    out
}

/// Datagrams that must get no reply, then one that gets one: that reply comes first.
#[test]
fn no_reply_is_longer_than_its_request() {
    for spins in [true, false] {
        let counts = served(spins, |socket| {
            let mut cut = message(64, 64, b'O', 2);
            cut.truncate(50);
            let mut padded = message(64, 64, b'O', 3);
            padded.push(0);
            for bytes in [
                message(16, 17, b'O', 1),
                cut,
                padded,
                message(64, 0, b'O', 4),
                message(64, 39, STAMPED, 5),
                vec![0; 16],
                vec![7; 3],
                Vec::new(),
                vec![0; MESSAGE_BYTES_MAX + 100],
                message(64, 64, b'O', 6),
            ] {
                socket.send(&bytes).unwrap();
            }
            let mut into = [0; 100];
            assert_eq!(socket.recv(&mut into).unwrap(), 64);
            let reply = EchoMessage::decode(&into[..64]).unwrap().unwrap();
            assert_eq!((reply.sequence, reply.kind, reply.reply_bytes), (6, b'O', 0));
            // A reply that comes back to an echo ends there.
            socket.send(&into[..64]).unwrap();
            socket.send(&message(16, 16, b'O', 7)).unwrap();
            assert_eq!(socket.recv(&mut into).unwrap(), 16);
        });
        assert_eq!((counts.received, counts.replied, counts.rejected), (12, 2, 8));
        assert_eq!((counts.unsent, counts.uncounted), (0, 0));
    }
}

#[test]
fn a_stamped_reply_counts_what_arrived_and_when() {
    served(false, |socket| {
        // Two that ask for no reply are counted too.
        for sequence in 0..2 {
            socket.send(&message(64, 0, STAMPED, sequence)).unwrap();
        }
        let mut last_ns = 0;
        for count in 3..6 {
            socket.send(&message(64, 40, STAMPED, count)).unwrap();
            let mut into = [0; 100];
            assert_eq!(socket.recv(&mut into).unwrap(), STAMPED_BYTES);
            let stamps = EchoStamps::decode(&into[HEADER_BYTES..STAMPED_BYTES]).unwrap();
            assert_eq!(stamps.received, count);
            assert!(last_ns < stamps.received_ns && stamps.received_ns <= stamps.sent_ns);
            last_ns = stamps.sent_ns;
        }
    });
}

/// A reply has its request's length, padded with zeros. A request too short for the description
/// gets no reply.
#[test]
fn the_echo_says_its_clock_to_whoever_asks() {
    let counts = served(false, |socket| {
        socket.send(&message(16, 16, TIME_BASE, 1)).unwrap();
        for sequence in [2, 3] {
            socket.send(&message(64, 64, TIME_BASE, sequence)).unwrap();
            let mut into = [7; 100];
            assert_eq!(socket.recv(&mut into).unwrap(), 64);
            assert_eq!(into[HEADER_BYTES..64], *[b"{}".as_slice(), &[0; 46]].concat());
        }
    });
    assert_eq!((counts.received, counts.replied, counts.rejected), (3, 2, 1));
}

/// While the echo reads its clock, requests wait in its kernel, whose stamps show it. A reply says
/// when an earlier one left.
#[test]
fn the_kernel_stamps_requests_that_wait_and_replies_that_leave() {
    const READING: Duration = Duration::from_millis(300);
    let line: Mutex<Option<WallLine>> = Mutex::new(None);
    let describe = |kernel: Option<WallLine>| {
        *line.lock().unwrap() = kernel;
        std::thread::sleep(READING);
        "{}".to_owned()
    };
    let mut all = Vec::new();
    for spins in [true, false] {
        served_by(spins, &describe, |socket| {
            socket.send(&message(64, 64, TIME_BASE, 0)).unwrap();
            for sequence in 1..=60 {
                let mut request = message(64, 64, STAMPED, sequence);
                ask_for_departure(&mut request);
                socket.send(&request).unwrap();
                std::thread::sleep(Duration::from_millis(10));
            }
            let mut into = [0; 64];
            for sequence in 0..=60 {
                assert_eq!(socket.recv(&mut into).unwrap(), 64);
                let reply = EchoMessage::decode(&into).unwrap().unwrap();
                assert_eq!(reply.sequence, sequence);
                if sequence > 0 {
                    all.push(EchoStamps::decode(&into[HEADER_BYTES..]).unwrap());
                }
            }
        });
        let Some(WallLine { bound_ns, steps }) = *line.lock().unwrap() else {
            testing::skip!(Kernel, "SO_TIMESTAMPING");
        };
        assert_eq!(steps, 0);
        // The bound is as good as its readings, which others on this machine disturb.
        let error_ns = bound_ns + 1_000_000;
        let waited =
            |one: &EchoStamps| Some(one.received_ns.saturating_sub(one.kernel_received_ns?));
        let longest_ns = all.iter().filter_map(waited).max().unwrap();
        assert!(longest_ns >= READING.as_nanos() as u64 / 2, "{longest_ns}");
        let mut departures = 0;
        for pair in all.windows(2) {
            let [before, after] = [pair[0], pair[1]];
            let arrived_ns = before.kernel_received_ns.unwrap_or(0);
            assert!(arrived_ns <= before.received_ns + error_ns, "{before:?}");
            if let Some(ReplyLeft { sequence, driver_ns }) = after.left
                && sequence == before.received
            {
                departures += 1;
                let is_between = before.sent_ns <= driver_ns + error_ns
                    && driver_ns <= after.received_ns + error_ns;
                assert!(is_between, "{before:?} {after:?}");
            }
        }
        assert!(departures >= 30, "{departures}");
        all.clear();
    }
}

#[test]
fn senders_past_the_limit_are_not_counted_until_others_are_silent() {
    let mut echo = DatagramEcho::new();
    let address = |port: usize| SocketAddr::from(([127, 0, 0, 1], port as u16 + 1));
    let count = |echo: &mut DatagramEcho, port, now_ns| {
        echo.count(address(port), now_ns).map(|sender| sender.received)
    };
    for port in 0..SENDERS_MAX {
        assert_eq!(count(&mut echo, port, 1), Some(1));
    }
    assert_eq!(count(&mut echo, SENDERS_MAX, 2), None);
    assert_eq!(count(&mut echo, 0, 3), Some(2), "those that are known still are");
    assert!(!echo.answer(&message(64, 40, STAMPED, 1), address(SENDERS_MAX), 4));
    assert_eq!(echo.counts.uncounted, 1);
    assert_eq!(count(&mut echo, SENDERS_MAX, SILENT_NS + 2), Some(1));
    assert_eq!(count(&mut echo, 0, SILENT_NS + 3), Some(3), "it was heard of later");
}
