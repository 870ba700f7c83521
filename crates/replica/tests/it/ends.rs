//! A primary and a follower in one process.

use engine::{Cancel, Command, EngineLimits, Input};
use journal::{AppendError, Appender, Identity, Inputs, Mode, Options, Replication};
use replica::Distance;
use replica::follow::{FollowCounts, FollowSettings, follow};
use replica::ship::{ShipSettings, Shipper};
use replica::store::DirectoryStore;
use replica::term;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Long, because tests share their cores with whatever else runs.
pub const LIMIT: Duration = Duration::from_millis(500);
pub const HEAD: &str = "{\"instruments\":[],\"start\":0}\n";

pub fn options(mode: Mode) -> Options {
    Options {
        mode: Mode::Async,
        segment_bytes: 1 << 14,
        reserve_inputs: 10,
        replication: Some(Replication { mode, lag_max: 10_000 }),
        ..Options::default()
    }
}

pub struct Primary {
    pub appender: Appender,
    pub shipper: Shipper,
}

/// A primary, which begins a term.
pub fn primary(path: &Path, follower: SocketAddr, mode: Mode) -> Primary {
    primary_with(path, follower, &options(mode))
}

/// One with these options of its journal.
pub fn primary_with(path: &Path, follower: SocketAddr, options: &Options) -> Primary {
    let identity = Identity { instruments: 1, limits: EngineLimits::matching_only(10, 10) };
    let (appender, replayed) = journal::open(path, identity, options.clone()).unwrap();
    term::begin(path, replayed.next_sequence, true).unwrap();
    ship(path, follower, options, appender)
}

/// A primary that began its term earlier, such as one that was not reachable for some time.
pub fn primary_of_term(path: &Path, follower: SocketAddr, term: u64) -> Primary {
    assert_eq!(term::read(path).unwrap().last().unwrap().term, term);
    let identity = Identity { instruments: 1, limits: EngineLimits::matching_only(10, 10) };
    let (appender, _) = journal::open(path, identity, options(Mode::Sync)).unwrap();
    ship(path, follower, &options(Mode::Sync), appender)
}

fn ship(path: &Path, follower: SocketAddr, options: &Options, appender: Appender) -> Primary {
    if !path.join("register").exists() {
        std::fs::write(path.join("register"), HEAD).unwrap();
    }
    let Replication { mode, lag_max } = options.replication.unwrap();
    let settings = ShipSettings {
        journal: path.to_owned(),
        follower: follower.to_string(),
        limit: LIMIT,
        is_sync: mode == Mode::Sync,
        lag_max,
        tls: None,
    };
    let shipping = appender.shipping().unwrap();
    let shipper = Shipper::start(settings, shipping, |_| {}, || {}).unwrap();
    Primary { appender, shipper }
}

impl Primary {
    pub fn append(&mut self, count: u64) {
        for _ in 0..count {
            let order_id = self.appender.next_sequence();
            // The next segment may not be there yet.
            while let Err(error) = self.appender.try_append(&input(order_id)) {
                assert!(matches!(error, AppendError::Full { .. }), "{error}");
                std::thread::yield_now();
            }
        }
    }

    pub fn wait(&self, what: &str, is_there: impl Fn(&Appender) -> bool) {
        let deadline = clock::Deadline::after(Duration::from_secs(60));
        while !is_there(&self.appender) {
            assert!(!deadline.left().is_zero(), "{what} did not come in 60 s");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn end(self) -> (u64, u64) {
        self.appender.close().unwrap();
        self.shipper.end()
    }
}

pub fn input(order_id: u64) -> Input {
    let cancel = Cancel { order_id, account: 1, tag: 2, instrument: 0 };
    Input { time_ns: order_id, command: Command::Cancel(cancel) }
}

pub struct Follower {
    stop: Arc<AtomicBool>,
    pub thread: JoinHandle<FollowCounts>,
}

impl Follower {
    pub fn start(path: &Path, listener: &TcpListener) -> Follower {
        Follower::start_away(path, listener, Duration::ZERO)
    }

    /// A follower whose replies come this much later.
    pub fn start_away(path: &Path, listener: &TcpListener, delay: Duration) -> Follower {
        Follower::start_as(path, listener, delay, None)
    }

    /// A standby, which ends when its primary was silent for this long.
    pub fn start_standby(path: &Path, listener: &TcpListener, promote_after: Duration) -> Follower {
        Follower::start_as(path, listener, Duration::ZERO, Some(promote_after))
    }

    pub fn start_as(
        path: &Path,
        listener: &TcpListener,
        delay: Duration,
        promote_after: Option<Duration>,
    ) -> Follower {
        let distance = Distance { delay, ..Distance::default() };
        let settings = FollowSettings { distance, promote_after, tls: None };
        Follower::start_with(path, listener, options(Mode::Sync), settings)
    }

    pub fn start_with(
        path: &Path,
        listener: &TcpListener,
        options: Options,
        settings: FollowSettings,
    ) -> Follower {
        let stop = Arc::new(AtomicBool::new(false));
        let its_stop = Arc::clone(&stop);
        let mut store = DirectoryStore::open(path, options).unwrap();
        let listener = listener.try_clone().unwrap();
        let work = move || follow(&listener, &mut store, settings, &its_stop, &mut |_| {}).unwrap();
        Follower { stop, thread: std::thread::spawn(work) }
    }

    /// Waits for its end.
    pub fn join(self) -> FollowCounts {
        self.thread.join().unwrap()
    }

    pub fn end(self) -> FollowCounts {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

pub fn inputs(path: &Path) -> Vec<u64> {
    let order = |input: Result<(u64, Input), _>| {
        let (sequence, input) = input.unwrap();
        let Command::Cancel(cancel) = input.command else { panic!("{input:?}") };
        assert_eq!(sequence, cancel.order_id);
        cancel.order_id
    };
    Inputs::open(path).unwrap().map(order).collect()
}

pub fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}
