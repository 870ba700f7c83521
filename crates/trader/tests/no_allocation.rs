//! A trader that follows a feed does not allocate per tick in the steady state. It runs here against a real exchange in the same process,
//! under an allocator that counts: a run of several times the ticks must not allocate more than the other.

mod ends;

use counting::allocations_of_process;
use ends::{FLOW, Flow, exchange, follow, plan};
use measure::clock::Clock;
use trader::tick_plan::{AuditPlan, StrategyName, StrategyPlan, TickPlan};
use transport::inject::Inject;

/// Ticks that were traded on, messages that were sent, and allocations of both ends together but for setting the exchange up.
fn run(strategy: StrategyName, rate_per_second: f64) -> (u64, u64) {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let flow = Flow { rate_per_second, seconds: 0.8, ..FLOW };
    let end = exchange(clock, flow, Inject::default());
    let file = directory.path().join("audit").display().to_string();
    let plan = TickPlan {
        // It spins, so that idle turns rehearse.
        backend: "spin".into(),
        strategy: StrategyPlan { name: strategy, ..StrategyPlan::default() },
        audit: Some(AuditPlan { file, core: None }),
        ..plan(directory.path(), &end, clock, flow)
    };
    let before = allocations_of_process();
    let led = follow(&plan);
    let allocations = allocations_of_process() - before;
    assert!(led.result.complete, "{:?}", led.result);
    (led.tick().datagrams, allocations)
}

/// One test, so that nothing else allocates meanwhile.
#[test]
fn more_ticks_take_no_more_allocations() {
    for strategy in [StrategyName::Trigger, StrategyName::MarketMaking] {
        let (few, allocations_few) = run(strategy, 500.0);
        let (many, allocations_many) = run(strategy, 4_000.0);
        // A busy machine packs several inputs into one datagram.
        let more = many.saturating_sub(few);
        assert!(more > 300, "{few} ticks, then {many}");
        let difference = allocations_many.abs_diff(allocations_few);
        assert!(
            difference * 5 < more,
            "{strategy:?}: {allocations_few} allocations for {few} ticks, {allocations_many} for {many}"
        );
    }
}
