//! Byte streams: what the kernel offers, and the decorators: harm on purpose, the kernel's stamps.
//!
//! See docs/decisions/001-streams-and-pacing.md.

pub(crate) mod below;
mod harmed;
pub mod inject;
pub(crate) mod readiness;
mod receiver;
pub(crate) mod socket;
pub mod stamped;
pub(crate) mod uring;

pub use receiver::StreamReceiver;

#[cfg(test)]
mod tests {
    use crate::streams::{Ready, StreamId, StreamRead, Streams};
    use clock::Clock;
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    /// Reads what is reported until nothing is for 30 ms; how many bytes came.
    fn drain(streams: &mut dyn Streams, clock: Clock, id: StreamId) -> usize {
        let (mut ready, mut buffer, mut bytes) = (Vec::new(), vec![0; 10_000], 0);
        let mut quiet_ns = clock.now_ns();
        while clock.now_ns() < quiet_ns + 30_000_000 {
            streams.wait(quiet_ns + 30_000_000, &mut ready).unwrap();
            for event in ready.drain(..) {
                assert_eq!(event, Ready::Readable(id));
                if let StreamRead::Bytes { n, .. } = streams.read(id, &mut buffer) {
                    (bytes, quiet_ns) = (bytes + n, clock.now_ns());
                }
            }
        }
        bytes
    }

    #[test]
    fn a_stream_that_is_not_to_be_read_is_not_reported() {
        for backend in crate::present::backends() {
            let clock = Clock::calibrate();
            let mut streams = backend.open(clock).unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let id = streams.add(listener.accept().unwrap().0.into()).unwrap();
            for round in 0..3 {
                peer.write_all(&[1; 1000]).unwrap();
                assert_eq!(drain(&mut *streams, clock, id), 1000, "{} {round}", backend.row.name);
                streams.watch_readable(id, false).unwrap();
                // Bytes that had arrived by then may be reported.
                drain(&mut *streams, clock, id);
                peer.write_all(&[1; 1000]).unwrap();
                let (mut ready, mut waits) = (Vec::new(), 0);
                let until_ns = clock.now_ns() + 30_000_000;
                while clock.now_ns() < until_ns {
                    streams.wait(until_ns, &mut ready).unwrap();
                    waits += 1;
                    assert_eq!(ready, [], "{} {round}", backend.row.name);
                }
                assert!(backend.row.spins || waits < 10, "{}: {waits} waits", backend.row.name);
                streams.watch_readable(id, true).unwrap();
                assert_eq!(drain(&mut *streams, clock, id), 1000, "{} {round}", backend.row.name);
            }
        }
    }
}
