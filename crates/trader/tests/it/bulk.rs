//! Bulk flows beside a load, against a sink that loses what the test says.

use clock::Clock;
use plan::process::orders::{BulkPlan, OrdersPlan, Wire};
use plan::tables::load::{Load, Model};
use plan::tables::network::Protocol;
use record::MessageBytes;
use record::bulk::BulkFlow;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use transport::echo::datagrams::{EchoStamps, STAMPED, STAMPED_BYTES};
use transport::echo::{Echo, EchoMessage, HEADER_BYTES};
use transport::serve::{Limits, serve};

/// An echo over TCP, and a sink over UDP that loses each tenth datagram of a sender; both end with
/// `client`.
fn beside(client: impl FnOnce(SocketAddr, SocketAddr)) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sink = UdpSocket::bind("127.0.0.1:0").unwrap();
    let ends = (listener.local_addr().unwrap(), sink.local_addr().unwrap());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let clock = Clock::calibrate();
            let mut streams = transport::backend("block").unwrap().open(clock).unwrap();
            streams.listen(listener).unwrap();
            serve(&mut *streams, &mut Echo::default(), Limits::default(), clock, &stop).unwrap();
        });
        scope.spawn(|| lossy(&sink, &stop));
        client(ends.0, ends.1);
        stop.store(true, Ordering::Relaxed);
    });
}

fn lossy(sink: &UdpSocket, stop: &AtomicBool) {
    sink.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let (mut received, mut bytes) = (0, [0; 2_000]);
    while !stop.load(Ordering::Relaxed) {
        let Ok((n, from)) = sink.recv_from(&mut bytes) else { continue };
        let message = EchoMessage::decode(&bytes[..n]).unwrap().unwrap();
        if message.sequence % 10 == 3 {
            continue;
        }
        received += 1;
        if message.reply_bytes > 0 {
            let length_bytes = STAMPED_BYTES as u16;
            let mut reply = Vec::new();
            EchoMessage { length_bytes, reply_bytes: 0, kind: STAMPED, ..message }
                .encode(&mut reply);
            reply[HEADER_BYTES..HEADER_BYTES + 8].copy_from_slice(&u64::to_le_bytes(received));
            assert_eq!(EchoStamps::decode(&reply[HEADER_BYTES..]).unwrap().received, received);
            sink.send_to(&reply, from).unwrap();
        }
    }
}

fn plan(echo: SocketAddr, directory: &tempfile::TempDir, bulk: BulkPlan) -> OrdersPlan {
    let bytes = MessageBytes { order: 64, order_reply: 64, cancel: 64, cancel_reply: 64 };
    OrdersPlan {
        subject: "t".into(),
        target: echo.to_string(),
        wire: Wire::Requests(bytes),
        backend: "block".into(),
        queue: Default::default(),
        core: None,
        scheduling: host::Scheduling::Other,
        load: Load { model: Model::PingPong, accounts: 1, connections: 1, ..Load::default() },
        warm_up_seconds: 0.1,
        seconds: 0.4,
        tls: None,
        inject: Default::default(),
        bulk: Some(bulk),
        exchange_process: None,
        silence_ms_max: None,
        hlog: directory.path().join("001.hlog").display().to_string(),
        progress: false,
    }
}

fn bulk(target: SocketAddr, protocol: Protocol, flows: usize, megabits: f64) -> BulkPlan {
    BulkPlan { target: target.to_string(), protocol, flows, datagram_bytes: 1_400, megabits }
}

fn flows(echo: SocketAddr, bulk: BulkPlan) -> Vec<BulkFlow> {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(echo, &directory, bulk);
    let result = trader::run(&plan, &AtomicBool::new(false), &mut |_| ()).unwrap();
    assert!(result.complete, "{:?}", result.failures);
    let [run] = &result.load.bulk[..] else { panic!("{:?}", result.load.bulk) };
    run.flows.clone()
}

#[test]
fn what_arrives_is_what_the_rate_says_and_losses_are_counted() {
    beside(|echo, sink| {
        let tcp = |megabits| {
            let found = flows(echo, bulk(echo, Protocol::Tcp, 2, megabits));
            assert!(found.len() == 2 && found.iter().all(|flow| flow.datagrams.is_none()));
            found.iter().map(|flow| flow.received_bits_per_second).sum::<f64>()
        };
        let (slow, fast) = (tcp(4.0), tcp(40.0));
        assert!(slow > 0.0 && fast > 3.0 * slow, "ten times the rate: {slow} and {fast} bit/s");
        let [flow] = flows(echo, bulk(sink, Protocol::Udp, 1, 8.0))[..] else { panic!("one flow") };
        let counts = flow.datagrams.unwrap();
        // The first and the last ten may be cut anywhere.
        let tenth = counts.sent / 10;
        assert!(counts.sent > 20 && counts.lost.abs_diff(tenth) <= 1, "{counts:?}");
        let share = flow.received_bits_per_second / flow.sent_bits_per_second;
        let expected = 1.0 - counts.lost as f64 / counts.sent as f64;
        assert!((share - expected).abs() < 1e-9, "{flow:?}");
    });
}

/// A sink that is not there ends the run with a reason, not with a throughput of zero.
#[test]
fn a_sink_that_is_absent_is_an_error() {
    beside(|echo, _| {
        let directory = tempfile::tempdir().unwrap();
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let plan = plan(echo, &directory, bulk(gone, Protocol::Tcp, 1, 0.0));
        let failed = trader::run(&plan, &AtomicBool::new(false), &mut |_| ()).unwrap_err();
        assert!(failed.to_string().contains(&gone.to_string()), "{failed}");
    });
}
