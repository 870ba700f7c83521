//! A trader that follows a feed, over real sockets against a real exchange, and against the raw ticker that gives its floor.

mod ends;

use ends::{FLOW, Flow, exchange, follow, plan, ticker};
use measure::clock::Clock;
use measure::tick::{INTERVALS, STAGES};
use trader::tick_plan::{AuditPlan, RawPlan, TickPlan};
use transport::datagrams::DatagramHarm;
use transport::inject::Inject;

/// Every tick became an order, every order was answered, and all its stamps add up.
#[test]
fn every_tick_becomes_an_order_whose_way_is_known() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    for backend in ["block", "spin"] {
        let end = exchange(clock, FLOW, Inject::default());
        let files = directory.path().join(backend);
        std::fs::create_dir(&files).unwrap();
        let plan = TickPlan { backend: backend.into(), ..plan(&files, &end, clock, FLOW) };
        let led = follow(&plan);
        let (load, tick) = (&led.result.load, led.tick());
        assert!(led.result.complete, "{:?}", led.result);
        assert!(tick.datagrams > 100, "{tick:?}");
        assert_eq!((tick.gaps, tick.kernel_drops, tick.messages_replayed), (0, 0, 0), "{tick:?}");
        assert_eq!(
            (load.sent, load.received),
            (tick.datagrams, tick.datagrams),
            "{:?}",
            led.result
        );
        assert_eq!((load.lost, load.rejected, load.unexpected, load.duplicated), (0, 0, 0, 0));
        assert_eq!(tick.samples, tick.datagrams);
        assert_eq!((tick.samples_out_of_order, tick.samples_not_adding_up), (0, 0), "{tick:?}");
        assert_eq!(led.samples.len() as u64, tick.samples);
        assert_eq!(tick.book_hash, tick.exchange_book_hash, "{tick:?}");
        assert!(tick.refused.is_empty() && tick.faults.is_empty(), "{tick:?}");
        for interval in &INTERVALS {
            let tag = format!("t.{}.{}", interval.name, interval.kind.name());
            assert_eq!(led.series[&tag].0, tick.samples, "{tag}");
        }
        // Without receive stamps of the kernel two stages are one.
        let stages = STAGES
            .iter()
            .filter(|stage| led.series.contains_key(&format!("t.{}.stage", stage.name)));
        assert_eq!(stages.count(), if tick.kernel_stamps.is_empty() { 11 } else { 13 });
    }
}

#[test]
fn the_floor_is_the_same_loop_without_a_thought() {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let end = ticker(clock, FLOW, 120);
    let raw = RawPlan { datagram_bytes: 120, order_bytes: 250, reply_bytes: 310 };
    let plan = TickPlan { raw: Some(raw), ..plan(directory.path(), &end, clock, FLOW) };
    let led = follow(&plan);
    let (load, tick) = (&led.result.load, led.tick());
    assert!(led.result.complete, "{:?}", led.result);
    assert_eq!(tick.datagrams, 1_200);
    assert_eq!((load.sent, load.received, load.lost), (1_200, 1_200, 0));
    assert_eq!(
        (tick.samples, tick.samples_out_of_order, tick.samples_not_adding_up),
        (1_200, 0, 0)
    );
    assert_eq!((load.message_bytes.order, load.message_bytes.order_reply), (250, 310));
    assert_eq!(led.series["t.tick_to_gateway.service"].0, 1_200);
    assert_eq!(led.series["t.decision.service"].1, 0, "nothing is thought, nothing is stamped");
}
