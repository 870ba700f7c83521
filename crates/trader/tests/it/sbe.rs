//! A load in SBE against a real exchange.

use crate::ends::{quiet_exchange, quiet_exchange_over_udp, quiet_exchange_with};
use clock::Clock;
use plan::faults::DatagramHarm;
use plan::process::orders::{AckedPlan, OrdersPlan, Wire};
use plan::tables::load::{Load, Model};
use record::MessageBytes;
use std::sync::atomic::AtomicBool;

fn plan(target: &str, directory: &tempfile::TempDir, load: Load) -> OrdersPlan {
    OrdersPlan {
        subject: "t".into(),
        target: target.to_owned(),
        wire: Wire::Sbe,
        backend: "block".into(),
        queue: Default::default(),
        core: None,
        scheduling: host::Scheduling::Other,
        load,
        warm_up_seconds: 0.1,
        seconds: 0.3,
        tls: None,
        inject: Default::default(),
        bulk: None,
        exchange_process: None,
        silence_ms_max: None,
        hlog: directory.path().join("001.hlog").display().to_string(),
        progress: false,
    }
}

#[test]
fn every_order_is_acknowledged_in_both_models() {
    let end = quiet_exchange(Clock::calibrate());
    are_acknowledged(&end.target, Wire::Sbe, 2_000.0, 300);
}

#[test]
fn every_order_is_acknowledged_over_udp() {
    let end = quiet_exchange_over_udp(Clock::calibrate());
    are_acknowledged(&end.target, Wire::SbeUdp(AckedPlan::default()), 2_000.0, 300);
}

/// A bad network costs time, and no order.
#[test]
fn every_order_is_acknowledged_over_udp_with_harm() {
    let end = quiet_exchange_over_udp(Clock::calibrate());
    let harm = DatagramHarm { drop_every: 10, duplicate_every: 7, reorder_every: 9 };
    are_acknowledged(&end.target, Wire::SbeUdp(AckedPlan { harm }), 500.0, 20);
}

fn are_acknowledged(target: &str, wire: Wire, rate_per_second: f64, least: u64) {
    let directory = tempfile::tempdir().unwrap();
    for model in [Model::Open, Model::PingPong] {
        let (accounts, connections) = (3, 3);
        let load = Load { model, rate_per_second, accounts, connections, ..Load::default() };
        let plan = OrdersPlan { wire, ..plan(target, &directory, load) };
        let result = trader::run(&plan, &AtomicBool::new(false), &mut |_| ()).unwrap();
        assert!(result.complete, "{:?}", result.failures);
        let load = &result.load;
        assert!(load.sent > least, "{load:?}");
        assert_eq!(
            (load.received, load.lost, load.rejected, load.unexpected),
            (load.sent, 0, 0, 0)
        );
        // The frames of the schema: heads of 14 bytes, and the blocks.
        let bytes = MessageBytes { order: 150, order_reply: 130, cancel: 87, cancel_reply: 112 };
        assert_eq!(load.message_bytes, bytes);
        let logged = record::hlog::totals(&std::fs::read(&plan.hlog).unwrap()[..]).unwrap();
        let of = |tag: &str| logged[&format!("t.{tag}.service")].len();
        assert_eq!(of("order") + of("cancel"), load.received);
        std::fs::remove_file(&plan.hlog).unwrap();
    }
}

/// Its pauses are longer than the silence that the exchange accepts.
#[test]
fn a_session_lives_through_the_pauses_of_a_slow_load() {
    let limits = exchange::Limits { sbe_silence_seconds_max: 1.0, ..Default::default() };
    let end = quiet_exchange_with(limits, Clock::calibrate());
    let directory = tempfile::tempdir().unwrap();
    let (rate_per_second, accounts, connections) = (0.6, 1, 1);
    let load =
        Load { model: Model::Open, rate_per_second, accounts, connections, ..Load::default() };
    let plan = OrdersPlan { seconds: 3.4, ..plan(&end.target, &directory, load) };
    let result = trader::run(&plan, &AtomicBool::new(false), &mut |_| ()).unwrap();
    assert!(result.complete, "{:?}", result.failures);
    let load = &result.load;
    let sent = load.sent + load.warm_up_sent;
    assert!(sent >= 2 && load.received == load.sent && load.unexpected == 0, "{load:?}");
}

#[test]
fn a_load_that_sbe_can_not_carry_is_an_error_with_advice() {
    let (end, directory) = (quiet_exchange(Clock::calibrate()), tempfile::tempdir().unwrap());
    let why = |load| {
        let plan = plan(&end.target, &directory, load);
        trader::run(&plan, &AtomicBool::new(false), &mut |_| ()).unwrap_err().to_string()
    };
    let two = Load { accounts: 2, connections: 1, ..Load::default() };
    assert!(why(two).contains("give each its own (load.connections = load.accounts)"));
    let load = Load { accounts: 1, connections: 1, ..Load::default() };
    let other = Load { instrument: "BTC_XYZ".to_owned(), ..load };
    assert!(why(other).contains("no instrument BTC_XYZ; it has BTC_USDT, "));
}
