//! The kernel's stamps of messages in TLS: it counts the bytes of records.

use super::{Server, connect, trusted};
use clock::{Clock, Deadline};
use std::time::Duration;
use transport::stamps::KernelStamps;
use transport::{StreamId, StreamRead, Streams, Write, stamped, tls};

/// Writes `bytes`, and reads as many that come back. Returns when the write began and when the read
/// ended, by the wall clock.
fn echoed(streams: &mut dyn Streams, id: StreamId, clock: Clock, bytes: &[u8]) -> [u64; 2] {
    let started_ns = clock::wall_ns();
    let Write::Bytes { n, .. } = streams.write(id, bytes) else { panic!("no write") };
    assert_eq!(n, bytes.len());
    let (mut ready, mut into, mut came) = (Vec::new(), vec![0; 64 << 10], 0);
    let until_ns = clock.now_ns() + 20_000_000_000;
    while came < bytes.len() {
        assert!(clock.now_ns() < until_ns, "{came} bytes of {n} came back");
        streams.wait(until_ns, &mut ready).unwrap();
        ready.clear();
        match streams.read(id, &mut into) {
            StreamRead::Bytes { n, .. } => came += n,
            StreamRead::Empty => {}
            _ => panic!("the stream ended"),
        }
    }
    [started_ns, clock::wall_ns()]
}

/// Over loopback: all stamps of a kernel without a card, in order and of the chosen message,
/// whatever is written around it, also of one that takes several records.
#[test]
fn stamps_are_those_of_the_record_with_the_last_byte() {
    for name in ["block", "spin"] {
        let (acceptor, trust) = trusted();
        let server = Server::start("block", 0, acceptor);
        let (backend, clock) = (transport::backend(name).unwrap(), Clock::calibrate());
        let streams = stamped::around(backend.open(clock).unwrap(), clock, backend.row.spins);
        let mut streams = tls::around(streams, None, clock);
        let id = match streams.add(connect(&server, &trust).unwrap()) {
            Ok(id) => id,
            Err(why) => testing::skip!(Kernel, "{why}"),
        };
        let mut chosen = |bytes: &[u8]| {
            streams.stamp_next_write(id);
            let ends_ns = echoed(&mut *streams, id, clock, bytes);
            let stamps = streams.stamps(id);
            echoed(&mut *streams, id, clock, b"not chosen");
            (ends_ns, stamps)
        };
        // Regression: the kernel stamps what arrives soon after it is asked to, not at once.
        let deadline = Deadline::after(Duration::from_secs(20));
        while chosen(b"first").1.received_ns.is_none() {
            assert!(!deadline.left().is_zero(), "the kernel stamps nothing that arrives");
        }
        for bytes in [1, 100, 5_000, 40_000] {
            let ([started_ns, ended_ns], stamps) = chosen(&vec![7; bytes]);
            let KernelStamps { queued_ns, driver_ns, received_ns, .. } = stamps;
            let [queued_ns, driver_ns] = [queued_ns, driver_ns].map(Option::unwrap);
            // A long answer may come with the beginning of its next part.
            let received_ns = received_ns.unwrap_or(ended_ns);
            let order = [started_ns, queued_ns, driver_ns, received_ns, ended_ns];
            let is_short = bytes < 16_384;
            assert!(!is_short || order.is_sorted(), "{name}, {bytes} bytes: {order:?}");
            assert!(order[..3].is_sorted() && driver_ns <= ended_ns, "{name}: {order:?}");
        }
        drop(streams);
        server.end();
    }
}
