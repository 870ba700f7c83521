//! `tick`: an exchange with a feed and a flow, and a trader that follows it; or the raw ticker and
//! a trader without stages.

pub(crate) mod attribution;
pub(crate) mod exact;
pub(crate) mod files;
mod plan;
mod rules;

pub use self::plan::tick_plan;

use self::plan::{market_data, plan_of, raw};
use crate::conduct::{ConductError, Entrant};
use crate::evidence::moment::Moment;
use crate::evidence::taken::PreemptionWatch;
use crate::evidence::{Evidence, FeedExpectation, Lengths, Outcome};
use crate::kind::rules as shared;
use crate::kind::runner::{RuleCheck, Runner, either_end_may_sleep};
use crate::launch::observer::Observer;
use crate::launch::{Launch, Ready};
use crate::progress::Teller;
use ::plan::Scenario;
use ::plan::process::ticks::TickPlan;
use ::plan::tables::strategy::StrategyName;
use ::plan::tables::ticks::FeedDialect;
use record::Verdict;
use record::tick::Tick;
use rustix::process::Pid;
use std::time::Duration;

/// The runner.
pub(crate) struct Ticks;

impl Runner for Ticks {
    fn run(
        &self,
        launch: &Launch,
        lengths: Option<Lengths>,
        observer: &mut Observer<'_, '_>,
    ) -> Result<Outcome, ConductError> {
        launch.with_exchange(market_data(launch, lengths), |exchange, ready, _| {
            observer.during(launch, |teller| follow(launch, exchange, ready, lengths, teller))
        })
    }

    fn rules(&self) -> &'static [RuleCheck] {
        &[
            ("complete", shared::complete),
            ("replies", shared::replies),
            ("recorded", recorded),
            ("accepted", shared::accepted),
            ("clocks", shared::clocks),
            ("flow", rules::flow),
            ("ticks", rules::ticks),
            ("book", rules::book),
            ("orders", rules::orders),
            ("stages", rules::stages),
            ("receive_buffer", rules::receive_buffer),
            ("audit", rules::audit),
            ("accounted", shared::accounted),
            ("state", shared::state),
        ]
    }

    fn asked(&self, launch: &Launch) -> FeedExpectation {
        let scenario = &launch.conduct.scenario;
        let (warm_up_seconds, seconds) = launch.conduct.phases(launch.entrant);
        FeedExpectation {
            receive_buffer_bytes: scenario.feed.receive_buffer_bytes as u64,
            is_harmed: scenario.feed.harm().is_some() && !launch.entrant.is_floor,
            flow_seconds: warm_up_seconds + seconds,
            trades: scenario.strategy.name == StrategyName::MarketMaking,
            is_top: launch.entrant.feed == FeedDialect::JsonTop,
        }
    }

    fn may_sleep(&self, scenario: &Scenario, entrant: &Entrant) -> bool {
        either_end_may_sleep(scenario, entrant)
    }

    /// A market maker that is late quotes less.
    fn adapts(&self, scenario: &Scenario, _entrant: &Entrant) -> bool {
        scenario.strategy.name == StrategyName::MarketMaking
    }
}

fn recorded(evidence: &Evidence) -> (Verdict, String) {
    let in_order = |tick: &Tick| tick.samples.saturating_sub(tick.samples_out_of_order);
    let samples = evidence.result.load.tick.iter().map(in_order).sum();
    shared::recorded(evidence, samples, "samples")
}

/// Runs one trader and returns its result, and what took the cores of both ends meanwhile.
fn follow(
    launch: &Launch,
    exchange: Option<Pid>,
    ready: Ready,
    lengths: Option<Lengths>,
    teller: &mut Teller<'_>,
) -> Result<Outcome, ConductError> {
    let raw_plan = match (launch.entrant.is_floor, lengths) {
        (false, _) => None,
        (true, Some(lengths)) => Some(raw(lengths, launch.entrant.is_bare)),
        (true, None) => return Err(launch.failed("no message lengths are known yet".to_owned())),
    };
    let plan = TickPlan {
        exchange_process: exchange.map(|pid| pid.as_raw_nonzero().get().unsigned_abs()),
        ..plan_of(launch, &ready, raw_plan, teller.wants_seconds())
    };
    let start = ready.clock.map(Moment::now);
    let client = launch.start_client("trade", &plan)?;
    let watching = match (ready.clock, launch.entrant.is_floor) {
        (Some(clock), false) if launch.conduct.scenario.trace > 0 => {
            let warm_up = Duration::from_secs_f64(launch.conduct.phases(launch.entrant).0);
            let trader = ("trader", client.pid(), launch.entrant.cores.first().copied());
            let core = launch.placed.exchange.first().copied();
            let ends = exchange.map(|pid| ("exchange", pid, core)).into_iter().chain([trader]);
            Some(PreemptionWatch::start(&ends.collect::<Vec<_>>(), clock, warm_up))
        }
        _ => None,
    };
    let result = launch.result(client, teller)?;
    let moments = ready.clock.zip(start).map(|(clock, start)| (start, Moment::now(clock)));
    Ok(Outcome { taking: watching.map(PreemptionWatch::finish), moments, ..Outcome::from(result) })
}
