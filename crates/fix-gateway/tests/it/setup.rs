//! An exchange with FIX, and clients of accounts whose token is their name.

use crate::client;
use clock::Clock;
use exchange::{Config, Exchange, Feed, Limits, StartBook, Tokens};
use fix::session::Proof;
use fix::store::MemoryStore;
use fix_gateway::{Counts, Login, Security, Sessions, SharedCounts};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use transport::serve::serve;
use transport::{SideSet, Streams};

/// The streams of an exchange, and how they wait.
pub struct Opened {
    pub streams: Box<dyn Streams>,
    /// Whether a FIX client wakes them.
    pub is_woken: bool,
}

/// Ends with the value.
pub struct Running {
    pub fix: SocketAddr,
    stop: Arc<AtomicBool>,
    exchange: Option<JoinHandle<exchange::Counts>>,
    counts: SharedCounts,
}

impl Running {
    /// The token of an account is its name. Message stores are in `store`.
    pub fn start(store: &Path) -> Running {
        Running::with(store, config())
    }

    /// The same with a delivery window.
    pub fn with_window(store: &Path, delivery_window_us: u64) -> Running {
        let (feed, delivery_window_us) = (Some(Feed::default()), Some(delivery_window_us));
        Running::with(store, Config { feed, delivery_window_us, ..config() })
    }

    /// The same with so many places for connections.
    pub fn with_connections(store: &Path, connections_max: usize) -> Running {
        let limits = Limits { connections_max, ..config().limits };
        Running::with(store, Config { limits, ..config() })
    }

    /// The same beside streams that `open` gives; they are woken by the descriptors.
    pub fn over(
        store: &Path,
        open: impl FnOnce(Clock, &[BorrowedFd<'_>]) -> Opened + Send + 'static,
    ) -> Running {
        Running::start_with(store, config(), open)
    }

    fn with(store: &Path, config: Config) -> Running {
        Running::start_with(store, config, |clock, bells| {
            let streams = transport::backend("block").unwrap().open_beside(clock, bells).unwrap();
            Opened { streams, is_woken: true }
        })
    }

    fn start_with(
        store: &Path,
        config: Config,
        open: impl FnOnce(Clock, &[BorrowedFd<'_>]) -> Opened + Send + 'static,
    ) -> Running {
        let stop = Arc::new(AtomicBool::new(false));
        let clock = Clock::calibrate();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let fix = listener.local_addr().unwrap();
        let mut service = Exchange::new(Config { clock: Some(clock), ..config }).unwrap();
        let settings = settings(store);
        let counts = SharedCounts::default();
        let (stopped, shared) = (Arc::clone(&stop), Arc::clone(&counts));
        let exchange = std::thread::spawn(move || {
            let mut side = SideSet::open(clock, false).unwrap();
            side.streams.listen(listener).unwrap();
            let Opened { streams, is_woken } = open(clock, &[side.bell.as_fd()]);
            let clients = (side.streams, is_woken);
            let mut streams = fix_gateway::beside(streams, clients, settings, clock, shared);
            let limits = service.limits().serve();
            serve(&mut *streams, &mut service, limits, clock, &stopped).unwrap();
            service.counts()
        });
        Running { fix, stop, exchange: Some(exchange), counts }
    }

    /// Ends; the door's counts.
    pub fn stop(self) -> Counts {
        self.stop_both().0
    }

    /// Ends; the door's and the exchange's counts.
    pub fn stop_both(mut self) -> (Counts, exchange::Counts) {
        self.stop.store(true, Ordering::Relaxed);
        let exchange = self.exchange.take().unwrap().join().unwrap();
        (self.counts.lock().unwrap().clone(), exchange)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn settings(store: &Path) -> fix_gateway::Settings {
    fix_gateway::Settings {
        sessions: Sessions::open(store, "TICKPATH", securities(), false).unwrap(),
        login: Box::new(|logon| {
            let account = logon.password.clone().filter(|token| token != "wrong")?;
            Some(Login { token: account.clone(), account })
        }),
        token: Box::new(|account| Some(account.to_owned())),
        limits: fix_gateway::Limits { failed_login_ns: 0, ..Default::default() },
    }
}

fn securities() -> Vec<Security> {
    let one = |symbol: &str| Security {
        symbol: symbol.into(),
        tick: "0.01".parse().unwrap(),
        lot: "0.0001".parse().unwrap(),
        amount_min: "0.0001".parse().unwrap(),
    };
    exchange::Instruments::shipped().all().iter().map(|it| one(&it.code)).collect()
}

fn config() -> Config {
    Config {
        tokens: Tokens::Any,
        start_book: StartBook::Empty,
        limits: Limits {
            connections_max: 32,
            accounts_max: 100,
            open_orders_max: 4000,
            price_levels_max: 500,
            failed_login_seconds: 0.0,
            ..Limits::default()
        },
        ..Config::default()
    }
}

pub fn dial(running: &Running) -> TcpStream {
    let stream = TcpStream::connect(running.fix).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

pub type Client = client::Client<TcpStream>;

/// Sends the Logon of an account.
pub fn connect(
    running: &Running,
    comp_id: &str,
    account: &str,
    memory: (MemoryStore, bool),
) -> Client {
    let proof =
        Proof::Password { username: Some(account.to_owned()), password: account.to_owned() };
    Client::connect(dial(running), comp_id, proof, memory)
}

/// Connects, and waits until both sides have logged on.
pub fn log_on(running: &Running, comp_id: &str, account: &str) -> Client {
    log_on_with(running, comp_id, account, MemoryStore::default())
}

pub fn log_on_with(running: &Running, comp_id: &str, account: &str, store: MemoryStore) -> Client {
    let mut client = connect(running, comp_id, account, (store, false));
    assert_eq!(client.next(), Ok(None), "logged on");
    client
}
