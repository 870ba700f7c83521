//! A trader that follows a feed does not allocate per tick. Here it runs against a real exchange in
//! the same process under a counting allocator: several times as many ticks may not allocate more.

#[path = "it/ends/mod.rs"]
mod ends;

use clock::Clock;
use counting::allocations_of_process;
use ends::{FLOW, Flow, exchange, exchange_below, follow, plan};
use host::network::Networks;
use plan::backend::is_below;
use plan::faults::Inject;
use plan::process::ticks::{AuditPlan, FeedPlan, TickPlan};
use plan::tables::strategy::{StrategyName, StrategyPlan};
use std::sync::Arc;

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
    let networks = is_below(backend).then(|| Arc::new(Networks::create().unwrap()));
    let end = match &networks {
        None => exchange(clock, flow, Inject::default()),
        Some(networks) => exchange_below(networks, clock, flow),
    };
    let own = networks.as_ref().map(|networks| networks.trader().address());
    let feed = match own {
        None => FeedPlan::default(),
        Some(address) => FeedPlan { listen: (address, 0).into(), ..FeedPlan::default() },
    };
    let file = directory.path().join("audit").display().to_string();
    let plan = TickPlan {
        exchange_process: None,
        feed,
        backend: backend.into(),
        strategy: StrategyPlan { name: strategy, ..StrategyPlan::default() },
        audit: Some(AuditPlan { file, core: None }),
        ..plan(directory.path(), &end.target, clock, flow)
    };
    let before = allocations_of_process();
    let led = match &networks {
        None => follow(&plan),
        Some(networks) => networks.trader().within(|| follow(&plan)).unwrap(),
    };
    let allocations = allocations_of_process() - before;
    assert!(led.result.complete, "{:?}", led.result);
    testing::unless!(led.tick().gaps == 0, "{backend}: {} gaps", led.tick().gaps);
    Ok((led.tick().datagrams, allocations))
}

/// Whether a backend can run here; otherwise the test is counted as skipped.
fn is_here(backend: &'static str, clock: Clock) -> bool {
    let open = || transport::backend(backend).unwrap().open(clock);
    if !is_below(backend) {
        return testing::opens(backend, || open().map(drop));
    }
    match Networks::create() {
        Ok(networks) => {
            let address = format!("{}:0", networks.exchange().address());
            let listen = || testing::opens(backend, || open()?.listen_at(&address).map(drop));
            networks.exchange().within(listen).unwrap()
        }
        Err(why) => {
            testing::skipped(testing::Need::Root, why);
            false
        }
    }
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
        ("af_xdp", StrategyName::MarketMaking),
    ] {
        if !is_here(backend, clock) {
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
