//! A journal with a follower in one process: it catches up, keeps up, is lost and comes back; a
//! primary of an earlier term is fenced.

use engine::{Cancel, Command, EngineLimits, Input};
use journal::{AppendError, Appender, Identity, Inputs, JournalState, Mode, Options, Replication};
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
const LIMIT: Duration = Duration::from_millis(500);
const HEAD: &str = "{\"instruments\":[],\"start\":0}\n";

fn options(mode: Mode) -> Options {
    Options {
        mode: Mode::Async,
        segment_bytes: 1 << 14,
        reserve_inputs: 10,
        replication: Some(Replication { mode, lag_max: 10_000 }),
        ..Options::default()
    }
}

struct Primary {
    appender: Appender,
    shipper: Shipper,
}

/// A primary, which begins a term.
fn primary(path: &Path, follower: SocketAddr, mode: Mode) -> Primary {
    let identity = Identity { instruments: 1, limits: EngineLimits::matching_only(10, 10) };
    let (appender, replayed) = journal::open(path, identity, options(mode)).unwrap();
    term::begin(path, replayed.next_sequence, true).unwrap();
    if !path.join("register").exists() {
        std::fs::write(path.join("register"), HEAD).unwrap();
    }
    let settings =
        ShipSettings { journal: path.to_owned(), follower: follower.to_string(), limit: LIMIT };
    let shipping = appender.shipping().unwrap();
    let shipper = Shipper::start(settings, shipping, |_| {}, || {}).unwrap();
    Primary { appender, shipper }
}

impl Primary {
    fn append(&mut self, count: u64) {
        for _ in 0..count {
            let order_id = self.appender.next_sequence();
            // The next segment may not be there yet.
            while let Err(error) = self.appender.try_append(&input(order_id)) {
                assert!(matches!(error, AppendError::Full { .. }), "{error}");
                std::thread::yield_now();
            }
        }
    }

    fn wait(&self, what: &str, is_there: impl Fn(&Appender) -> bool) {
        let deadline = clock::Deadline::after(Duration::from_secs(60));
        while !is_there(&self.appender) {
            assert!(!deadline.left().is_zero(), "{what} did not come in 60 s");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn end(self) -> (u64, u64) {
        self.appender.close().unwrap();
        self.shipper.end()
    }
}

fn input(order_id: u64) -> Input {
    let cancel = Cancel { order_id, account: 1, tag: 2, instrument: 0 };
    Input { time_ns: order_id, command: Command::Cancel(cancel) }
}

struct Follower {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<FollowCounts>,
}

impl Follower {
    fn start(path: &Path, listener: &TcpListener) -> Follower {
        Follower::start_away(path, listener, Duration::ZERO)
    }

    /// A follower whose replies come so much later.
    fn start_away(path: &Path, listener: &TcpListener, delay: Duration) -> Follower {
        let stop = Arc::new(AtomicBool::new(false));
        let its_stop = Arc::clone(&stop);
        let mut store = DirectoryStore::open(path, options(Mode::Sync)).unwrap();
        let listener = listener.try_clone().unwrap();
        let settings = FollowSettings { delay };
        let work = move || follow(&listener, &mut store, settings, &its_stop, &mut |_| {}).unwrap();
        Follower { stop, thread: std::thread::spawn(work) }
    }

    fn end(self) -> FollowCounts {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn inputs(path: &Path) -> Vec<u64> {
    let order = |input: Result<(u64, Input), _>| {
        let (sequence, input) = input.unwrap();
        let Command::Cancel(cancel) = input.command else { panic!("{input:?}") };
        assert_eq!(sequence, cancel.order_id);
        cancel.order_id
    };
    Inputs::open(path).unwrap().map(order).collect()
}

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Over several segments, with an account that comes between, and a follower that goes away and
/// comes back.
#[test]
fn a_follower_catches_up_and_keeps_up() {
    let place = tempfile::tempdir().unwrap();
    let (ours, theirs) = (place.path().join("a"), place.path().join("b"));
    let (listener, address) = listener();
    let mut primary = primary(&ours, address, Mode::Sync);
    primary.append(300);
    assert_eq!(primary.appender.acknowledged(), 0, "no follower has them");
    let follower = Follower::start(&theirs, &listener);
    primary.wait("the follower", |appender| appender.acknowledged() == 300);
    assert_eq!(follower.end().connections, 1);

    let register = format!("{HEAD}{{\"account\":\"a\",\"first_input\":300,\"inputs\":1}}\n");
    std::fs::write(ours.join("register"), &register).unwrap();
    primary.append(200);
    let follower = Follower::start(&theirs, &listener);
    primary.wait("the follower", |appender| appender.acknowledged() == 500);
    primary.append(1);
    primary.wait("the follower", |appender| appender.acknowledged() == 501);
    assert_eq!(primary.end(), (501, 501));
    follower.end();
    assert_eq!(inputs(&theirs), (0..501).collect::<Vec<u64>>());
    assert_eq!(std::fs::read_to_string(theirs.join("register")).unwrap(), register);
    assert_eq!(term::read(&ours).unwrap(), term::read(&theirs).unwrap());
}

#[test]
fn a_lost_follower_stops_everything_until_it_is_back() {
    let place = tempfile::tempdir().unwrap();
    let (listener, address) = listener();
    let mut primary = primary(&place.path().join("a"), address, Mode::Sync);
    let theirs = place.path().join("b");
    let follower = Follower::start(&theirs, &listener);
    primary.append(5);
    primary.wait("the follower", |appender| appender.acknowledged() == 5);
    follower.end();
    primary.append(1);
    primary.wait("the loss", |appender| appender.check_reserve().is_err());
    let rejected = primary.appender.try_append(&input(6));
    assert_eq!(rejected, Err(AppendError::NoFollower));
    assert_eq!(primary.appender.acknowledged(), 5);
    let follower = Follower::start(&theirs, &listener);
    primary.wait("the follower", |appender| appender.check_reserve().is_ok());
    primary.append(1);
    primary.wait("the follower", |appender| appender.acknowledged() == 7);
    assert_eq!(primary.end(), (7, 7));
    follower.end();
}

#[test]
fn an_asynchronous_follower_may_lag_up_to_its_limit() {
    let place = tempfile::tempdir().unwrap();
    let (listener, address) = listener();
    let path = place.path().join("a");
    let mut primary = primary(&path, address, Mode::Async);
    primary.append(9_999);
    assert_eq!(primary.appender.acknowledged(), 9_999);
    let order =
        engine::NewOrder { order_id: 1, ..engine::NewOrder::limit(engine::Side::Buy, 9, 5) };
    let order = Input { time_ns: 0, command: Command::New(order) };
    primary.append(1);
    let full = AppendError::Full { limit: "follower_lag_max", max: 10_000 };
    assert_eq!(primary.appender.try_append(&order), Err(full));
    primary.append(1);
    let follower = Follower::start(&place.path().join("b"), &listener);
    let shipping = primary.appender.shipping().unwrap();
    primary.wait("the follower", |_| shipping.replicated() == 10_001);
    primary.appender.try_append(&order).unwrap();
    primary.end();
    follower.end();
}

/// The follower is promoted and gets a follower of its own; then the old primary meets that one.
#[test]
fn an_old_primary_is_fenced() {
    let place = tempfile::tempdir().unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| place.path().join(name));
    let (listener, address) = listener();
    let mut old = primary(&a, address, Mode::Sync);
    let follower = Follower::start(&b, &listener);
    old.append(50);
    old.wait("the follower", |appender| appender.acknowledged() == 50);
    follower.end();
    old.append(3);

    let (its_listener, its_address) = self::listener();
    let mut promoted = primary(&b, its_address, Mode::Sync);
    assert_eq!(promoted.appender.next_sequence(), 50);
    let third = Follower::start(&c, &its_listener);
    promoted.append(10);
    promoted.wait("the follower", |appender| appender.acknowledged() == 60);
    promoted.end();
    third.end();

    let third = Follower::start(&c, &listener);
    old.wait("the end", |appender| matches!(appender.state(), JournalState::Failed { .. }));
    let JournalState::Failed { why } = old.appender.state() else { panic!("it has failed") };
    assert!(why.to_string().contains("term 2"), "{why}");
    assert_eq!(old.appender.try_append(&input(53)), Err(AppendError::Failed));
    assert_eq!(old.appender.acknowledged(), 50);
    assert_eq!(third.end().refused, 1);
    assert_eq!(inputs(&c), (0..60).collect::<Vec<u64>>());
    drop(old);

    // Its directory has records that nobody else has.
    let follower = Follower::start(&a, &its_listener);
    let rejected = primary(&b, its_address, Mode::Sync);
    let counts = loop {
        std::thread::sleep(Duration::from_millis(20));
        if follower.thread.is_finished() || rejected.shipper.connections() > 0 {
            panic!("it was taken");
        }
        if matches!(rejected.appender.check_reserve(), Err(AppendError::NoFollower)) {
            break follower.end();
        }
    };
    assert!(counts.refused > 0);
    assert_eq!(inputs(&a).len(), 53);
}

/// The delay stands for a distance: an acknowledgement comes no earlier.
#[test]
fn a_follower_far_away_acknowledges_later() {
    const DELAY: Duration = Duration::from_millis(100);
    let place = tempfile::tempdir().unwrap();
    let (listener, address) = listener();
    let mut primary = primary(&place.path().join("a"), address, Mode::Sync);
    let follower = Follower::start_away(&place.path().join("b"), &listener, DELAY);
    primary.append(1);
    primary.wait("the follower", |appender| appender.acknowledged() == 1);
    let begin_ns = clock::monotonic_ns();
    primary.append(10);
    primary.wait("the follower", |appender| appender.acknowledged() == 11);
    let took = Duration::from_nanos(clock::monotonic_ns() - begin_ns);
    assert!(took >= DELAY, "{took:?}");
    primary.end();
    follower.end();
}
