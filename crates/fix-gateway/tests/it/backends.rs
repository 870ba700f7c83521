//! Sessions beside streams of every kind.

use crate::setup::{Opened, Running, log_on};
use clock::Clock;
use std::os::fd::BorrowedFd;
use transport::{BACKENDS, Backend, acked, gateway};

const ORDER: &str = "35=D|11=a|55=BTC_USDT|54=1|60=@|40=2|44=100|38=1|59=1";

/// Orders, replies and a Logout reach their end, whatever the exchange waits for besides.
fn trades(case: &str, open: impl FnOnce(Clock, &[BorrowedFd<'_>]) -> Opened + Send + 'static) {
    let store = tempfile::tempdir().unwrap();
    let running = Running::over(store.path(), open);
    for comp_id in ["ONE", "TWO"] {
        let mut client = log_on(&running, comp_id, comp_id);
        client.ask(ORDER).has("35=8|150=0|11=a");
        client.ask("35=F|11=b|41=a|55=BTC_USDT|54=1|60=@").has("35=8|150=4|11=b|41=a");
        client.log_out();
    }
    let counts = running.stop();
    assert_eq!((counts.logons, counts.unavailable), (2, 0), "{case}: {counts:?}");
}

fn here() -> impl Iterator<Item = &'static Backend> {
    BACKENDS.iter().filter(|backend| {
        testing::opens(backend.row.name, || backend.open(Clock::calibrate()).map(drop))
    })
}

#[test]
fn sessions_trade_beside_sockets_of_every_backend() {
    for backend in here() {
        trades(backend.row.name, move |clock, bells| Opened {
            streams: backend.open_beside(clock, bells).unwrap(),
            is_woken: !backend.row.spins,
        });
    }
}

/// Two things wake one thread: a datagram, and a FIX client.
#[test]
fn sessions_trade_beside_sbe_over_udp() {
    for backend in here() {
        trades(&format!("{} and UDP", backend.row.name), move |clock, bells| {
            let socket = acked::bind("127.0.0.1:0").unwrap();
            let counts = acked::SharedCounts::default();
            let streams = acked::beside(backend, socket, bells, clock, counts).unwrap();
            Opened { streams, is_woken: !backend.row.spins }
        });
    }
}

/// Nothing wakes an exchange for FIX while it sleeps for its gateways.
#[test]
fn sessions_trade_beside_gateway_threads() {
    for backend in here() {
        trades(&format!("{} at a gateway", backend.row.name), move |clock, _| Opened {
            streams: gateway::open(1, backend, None, clock, |_| Ok(())).unwrap(),
            is_woken: false,
        });
    }
}
