//! A server that gives back every byte, in every way, under many connections that write and read in
//! portions: each gets its own bytes, all of them, in their order.

use crate::Ending;
use crate::ways::{Way, ways};
use clock::Clock;
use proptest::prelude::*;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use transport::StreamId;
use transport::serve::{Full, Limits, Outbound, Service, serve};

/// Gives back what it gets. Each connection has a buffer of a length of its own, so that reads end
/// anywhere.
#[derive(Default)]
struct Mirror {
    buffers: Vec<Vec<u8>>,
    open: usize,
    opened: usize,
}

impl Service for Mirror {
    fn opened(&mut self, id: StreamId, _: Option<SocketAddr>, _: u64) {
        while self.buffers.len() <= id.index() {
            self.buffers.push(vec![0; 97 + 1500 * self.buffers.len()]);
        }
        self.open += 1;
        self.opened += 1;
    }
    fn space(&mut self, id: StreamId) -> &mut [u8] {
        &mut self.buffers[id.index()]
    }
    fn received(&mut self, id: StreamId, n: usize, _: u64, outbound: &mut Outbound) {
        outbound.to(id).extend_from_slice(&self.buffers[id.index()][..n]);
    }
    fn closed(&mut self, _: StreamId, _: &mut Outbound) {
        self.open -= 1;
    }
    fn sweep(&mut self, _: u64, _: &mut Outbound) {}
    fn rejection(&self, _: Full) -> &[u8] {
        &[]
    }
}

/// One end of a connection: what is still to be written, what is still to come.
struct Client {
    stream: TcpStream,
    bytes: Vec<u8>,
    written: usize,
    read: usize,
}

impl Client {
    fn new(stream: TcpStream, seed: usize, length: usize) -> Client {
        stream.set_nonblocking(true).unwrap();
        let bytes = (0..length).map(|at| (at * 13 + at / 241 + seed * 17) as u8).collect();
        Client { stream, bytes, written: 0, read: 0 }
    }

    fn write(&mut self, most: usize) {
        let end = self.bytes.len().min(self.written + most);
        match self.stream.write(&self.bytes[self.written..end]) {
            Ok(n) => self.written += n,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    }

    fn read(&mut self, most: usize) {
        let mut buffer = vec![0; most];
        match self.stream.read(&mut buffer) {
            Ok(n) => {
                assert!(n > 0, "the connection was ended");
                assert!(self.bytes[self.read..self.read + n] == buffer[..n], "other bytes");
                self.read += n;
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    }

    fn is_done(&self) -> bool {
        self.read == self.bytes.len()
    }
}

/// A step of one client: which, whether it writes, at most how many bytes.
type Step = (usize, bool, usize);

fn mirror(way: Way, lengths: &[usize], steps: &[Step]) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let stop = AtomicBool::new(false);
    let limits = Limits { connections_max: 64, outbound_bytes_max: 256 << 20, ..Limits::default() };
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let clock = Clock::calibrate();
            let mut streams = way.open(clock);
            streams.listen(listener).unwrap();
            let mut mirror = Mirror::default();
            serve(&mut *streams, &mut mirror, limits, clock, &stop).unwrap();
            mirror
        });
        let ending = Ending(&stop);
        let connect = |(seed, length): (usize, &usize)| {
            Client::new(TcpStream::connect(address).unwrap(), seed, *length)
        };
        let mut clients: Vec<Client> = lengths.iter().enumerate().map(connect).collect();
        for (client, writes, most) in steps {
            let client = client % clients.len();
            match writes {
                true => clients[client].write(*most),
                false => clients[client].read(*most),
            }
        }
        let deadline = Instant::now() + Duration::from_secs(60);
        while !clients.iter().all(Client::is_done) {
            assert!(Instant::now() < deadline, "{way}: it stands still");
            for client in clients.iter_mut().filter(|client| !client.is_done()) {
                client.write(100_000);
                client.read(100_000);
            }
        }
        drop(clients);
        std::thread::sleep(Duration::from_millis(50));
        drop(ending);
        let mirror = server.join().unwrap();
        assert_eq!(mirror.opened, lengths.len(), "{way}");
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testing::cases(6), ..ProptestConfig::default() })]

    #[test]
    fn every_byte_comes_back_in_its_order(
        lengths in prop::collection::vec(1..300_000_usize, 1..12),
        steps in prop::collection::vec((any::<usize>(), any::<bool>(), 1..5_000_usize), 0..500),
    ) {
        for way in ways() {
            mirror(way, &lengths, &steps);
        }
    }
}

/// More than rings, windows and sockets hold, written before anything is read.
#[test]
fn what_fills_everything_on_the_way_comes_back_too() {
    for way in ways() {
        let steps: Vec<Step> = (0..4_000).map(|step| (step % 3, true, 10_000)).collect();
        // The first one's buffer is small: by it, 9 MB would be 93 000 reads.
        mirror(way, &[10, 9_000_000, 5_000_000], &steps);
    }
}
