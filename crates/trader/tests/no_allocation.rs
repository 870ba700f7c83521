//! A trader that follows a feed does not allocate per tick. Here it runs against a real exchange in
//! the same process under a counting allocator: several times as many ticks may not allocate more.

#[path = "it/ends/mod.rs"]
mod ends;

use clock::Clock;
use counting::allocations_of_process;
use ends::{FLOW, Flow, exchange, follow, plan};
use plan::faults::Inject;
use plan::process::ticks::{AuditPlan, TickPlan};
use plan::tables::strategy::{StrategyName, StrategyPlan};

/// Ticks, and allocations of both ends without the exchange's set-up; an error if datagrams were
/// lost, because who recovers from a snapshot allocates.
fn run(
    backend: &str,
    strategy: StrategyName,
    rate_per_second: f64,
    seconds: f64,
) -> Result<(u64, u64), String> {
    let (clock, directory) = (Clock::calibrate(), tempfile::tempdir().unwrap());
    let flow = Flow { rate_per_second, seconds, ..FLOW };
    let end = exchange(clock, flow, Inject::default());
    let file = directory.path().join("audit").display().to_string();
    let plan = TickPlan {
        exchange_process: None,
        backend: backend.into(),
        strategy: StrategyPlan { name: strategy, ..StrategyPlan::default() },
        audit: Some(AuditPlan { file, core: None }),
        ..plan(directory.path(), &end.target, clock, flow)
    };
    let before = allocations_of_process();
    let led = follow(&plan);
    let allocations = allocations_of_process() - before;
    assert!(led.result.complete, "{:?}", led.result);
    testing::unless!(led.tick().gaps == 0, "{backend}: {} gaps", led.tick().gaps);
    Ok((led.tick().datagrams, allocations))
}

/// One test, so that nothing else allocates meanwhile.
#[test]
fn more_ticks_take_no_more_allocations() {
    let clock = Clock::calibrate();
    // Where the trader spins, idle turns rehearse.
    for (backend, strategy) in [
        ("spin", StrategyName::Trigger),
        ("spin", StrategyName::MarketMaking),
        ("io_uring", StrategyName::Trigger),
        ("io_uring_spin", StrategyName::MarketMaking),
    ] {
        if !testing::opens(backend, || transport::backend(backend).unwrap().open(clock).map(drop)) {
            continue;
        }
        testing::quiet::or_doubled("each datagram has one input and none is lost", |factor| {
            let seconds = 0.4 * f64::from(factor);
            let (few, allocations_few) = run(backend, strategy, 500.0, seconds)?;
            let (many, allocations_many) = run(backend, strategy, 4_000.0, seconds)?;
            // A busy machine packs several inputs into one datagram: too few ticks to judge.
            let more = many.saturating_sub(few);
            testing::unless!(more > 1_000, "{backend}: {few} ticks, then {many}");
            let difference = allocations_many.abs_diff(allocations_few);
            testing::unless!(
                difference * 5 < more,
                "{backend}, {strategy:?}: {allocations_few} allocations for {few} ticks, {allocations_many} for {many}"
            );
            Ok(())
        });
    }
}
