//! A server that sends back what it gets, over TLS, on a thread of its own.

use clock::Clock;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use transport::serve::{Full, Limits, Outbound, Service, serve};
use transport::tls::{self, Acceptor, FailedHandshake};
use transport::{StreamId, gateway};

pub struct Server {
    pub address: SocketAddr,
    acceptor: Arc<Acceptor>,
    failures: Receiver<FailedHandshake>,
    /// The least stamp that came with bytes.
    stamp_ns_min: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn start(backend: &str, gateways: usize, acceptor: Acceptor) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, failures) = sync_channel(64);
        let acceptor = Arc::new(acceptor.failures(sender));
        let stop = Arc::new(AtomicBool::new(false));
        let backend = transport::backend(backend).unwrap();
        let (stopped, accepts) = (stop.clone(), acceptor.clone());
        let stamp_ns_min = Arc::new(AtomicU64::new(u64::MAX));
        let mut echo = Echo(vec![0; 32 << 10], stamp_ns_min.clone());
        let thread = std::thread::spawn(move || {
            let clock = Clock::calibrate();
            let mut streams = match gateways {
                0 => tls::around(backend.open(clock).unwrap(), Some(accepts), clock),
                count => gateway::open(count, backend, Some(accepts), clock, |_| Ok(())).unwrap(),
            };
            streams.listen(listener).unwrap();
            let limits = Limits { outbound_bytes_max: 64 << 20, ..Limits::default() };
            serve(&mut *streams, &mut echo, limits, clock, &stopped).unwrap();
        });
        Server { address, acceptor, failures, stamp_ns_min, stop, thread: Some(thread) }
    }

    /// The next handshake that failed, in words.
    pub fn failure(&self) -> String {
        let failed = self.failures.recv_timeout(Duration::from_secs(20));
        failed.expect("no handshake failed").error.to_string()
    }

    /// Handshakes that have failed so far.
    pub fn failures(&self) -> u64 {
        self.acceptor.counts().1.values().sum()
    }

    /// The least stamp that came with bytes so far, ns.
    pub fn stamp_ns_min(&self) -> u64 {
        self.stamp_ns_min.load(Ordering::Relaxed)
    }

    /// Handshakes that were done so far.
    pub fn done(&self) -> u64 {
        self.acceptor.counts().0
    }

    pub fn end(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

struct Echo(Vec<u8>, Arc<AtomicU64>);

impl Service for Echo {
    fn opened(&mut self, id: StreamId, _: Option<SocketAddr>, _: u64) {
        let _ = id;
    }
    fn space(&mut self, _: StreamId) -> &mut [u8] {
        &mut self.0
    }
    fn received(&mut self, id: StreamId, n: usize, stamp_ns: u64, outbound: &mut Outbound) {
        self.1.fetch_min(stamp_ns, Ordering::Relaxed);
        outbound.admit(id);
        outbound.to(id).extend_from_slice(&self.0[..n]);
    }
    fn closed(&mut self, _: StreamId, _: &mut Outbound) {}
    fn sweep(&mut self, _: u64, _: &mut Outbound) {}
    fn rejection(&self, _: Full) -> &[u8] {
        b"full"
    }
}
