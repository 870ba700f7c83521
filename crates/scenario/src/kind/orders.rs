//! `order-entry`: one client of an exchange, or of the raw echo that is its floor.

use crate::conduct::{ConductError, Entrant};
use crate::evidence::{Evidence, Lengths, Outcome};
use crate::kind::failure::{self, Victim};
use crate::kind::rules;
use crate::kind::runner::{RuleCheck, Runner, either_end_may_sleep};
use crate::launch::observer::Observer;
use crate::launch::{Launch, MarketData, Ready};
use crate::progress::Teller;
use plan::Scenario;
use plan::faults::Inject;
use plan::process::orders::{OrdersPlan, Wire};
use plan::tables::replica::Failure;
use plan::tables::subject::Dialect;
use record::{ClientResult, Verdict, directory};
use rustix::process::Pid;

/// The runner.
pub(crate) struct Orders;

impl Runner for Orders {
    fn run(
        &self,
        launch: &Launch,
        lengths: Option<Lengths>,
        observer: &mut Observer<'_, '_>,
    ) -> Result<Outcome, ConductError> {
        launch.with_exchange(MarketData::default(), |exchange, ready, cluster| {
            let wire = wire(launch, lengths)?;
            let run =
                || observer.during(launch, |teller| trade(launch, (exchange, ready), wire, teller));
            let victim = match cluster {
                Some(cluster) => Some(Victim::Leader(cluster)),
                None => exchange.map(Victim::Exchange),
            };
            let result = match victim.filter(|_| launch.failure() != Failure::None) {
                None => run(),
                Some(victim) => failure::midway(launch, victim, run),
            };
            result.map(Outcome::from)
        })
    }

    fn unavailable(&self, launch: &Launch) -> Result<Option<String>, ConductError> {
        launch.no_cluster()
    }

    fn rules(&self) -> &'static [RuleCheck] {
        &[
            ("complete", rules::complete),
            ("sent", rules::sent),
            ("replies", rules::replies),
            ("recorded", recorded),
            ("accepted", rules::accepted),
            ("accounted", rules::accounted),
            ("state", rules::state),
        ]
    }

    fn pacer(&self, entrant: &Entrant) -> Option<usize> {
        entrant.cores.first().copied()
    }

    fn may_sleep(&self, scenario: &Scenario, entrant: &Entrant) -> bool {
        either_end_may_sleep(scenario, entrant)
    }
}

fn recorded(evidence: &Evidence) -> (Verdict, String) {
    let load = &evidence.result.load;
    rules::recorded(evidence, load.received.saturating_sub(load.rejected), "acks")
}

/// The encoding of a subject's or a floor's messages.
fn wire(launch: &Launch, lengths: Option<Lengths>) -> Result<Wire, ConductError> {
    match (launch.entrant.is_floor, lengths) {
        (false, _) => Ok(launch.entrant.dialect.into()),
        (true, Some(lengths)) if launch.entrant.is_bare => Ok(Wire::Bare(lengths.messages)),
        (true, Some(lengths)) => Ok(match launch.entrant.dialect {
            Dialect::SbeUdp => Wire::RawDatagrams(lengths.messages),
            _ => Wire::Raw(lengths.messages),
        }),
        (true, None) => Err(launch.failed("no message lengths are known yet".to_owned())),
    }
}

/// Runs one client over that wire.
pub(crate) fn trade(
    launch: &Launch,
    exchange: (Option<Pid>, Ready),
    wire: Wire,
    teller: &mut Teller<'_>,
) -> Result<ClientResult, ConductError> {
    let plan = order_plan(launch, exchange, wire, teller.wants_seconds());
    carry_out(launch, &plan, teller)
}

/// Runs one client under that plan.
pub(crate) fn carry_out(
    launch: &Launch,
    plan: &OrdersPlan,
    teller: &mut Teller<'_>,
) -> Result<ClientResult, ConductError> {
    launch.run_client("trade", plan, teller)
}

pub(crate) fn order_plan(
    launch: &Launch,
    (pid, exchange): (Option<Pid>, Ready),
    wire: Wire,
    progress: bool,
) -> OrdersPlan {
    let scenario = &launch.conduct.scenario;
    let spec = &scenario.subject[launch.entrant.index];
    let (warm_up_seconds, seconds) = launch.conduct.phases(launch.entrant);
    OrdersPlan {
        subject: launch.entrant.name.clone(),
        target: exchange.address,
        wire,
        backend: spec.backend.clone(),
        queue: spec.queue,
        core: launch.entrant.cores.first().copied(),
        scheduling: spec.scheduling,
        load: scenario.load.clone(),
        warm_up_seconds,
        seconds,
        tls: launch.trust(exchange.certificate),
        // The floor is the control: it has no injected faults.
        inject: match launch.entrant.is_floor {
            true => Inject::default(),
            false => spec.inject.clone(),
        },
        bulk: None,
        exchange_process: pid.map(|pid| pid.as_raw_nonzero().get().unsigned_abs()),
        silence_ms_max: launch.loses_leader().then_some(scenario.follower.cluster_lost_ms),
        hlog: directory::hlog(launch.path, launch.number).display().to_string(),
        progress,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Evidence;
    use crate::kind::runner::{RuleCheck, Runner};
    use plan::Measure;
    use record::Verdict;
    use record::{ClientResult, ExchangeResult, Load, MessageBytes, Outage};

    fn fine() -> ClientResult {
        ClientResult {
            complete: true,
            load: Load {
                rate_per_second_offered: Some(1000.0),
                rate_per_second_achieved: 1000.0,
                sent: 900,
                warm_up_sent: 100,
                received: 900,
                message_bytes: MessageBytes { order: 900, ..MessageBytes::default() },
                ..Load::default()
            },
            ..ClientResult::default()
        }
    }

    /// `message_bytes.order` is used as the number of latencies in the log.
    fn verdicts(change: fn(&mut ClientResult, &mut ExchangeResult)) -> Vec<&'static str> {
        let mut result = fine();
        let mut exchange = ExchangeResult {
            orders: 500,
            cancels: 500,
            replay_equal: Some(true),
            counts: serde_json::json!({"amends": 0}),
            ..ExchangeResult::default()
        };
        change(&mut result, &mut exchange);
        let evidence = Evidence {
            exchange: Some(&exchange),
            planned: Some(900),
            recorded: result.load.message_bytes.order,
            ..Evidence::of(Measure::Orders, &result)
        };
        let broken = |(_, check): &&RuleCheck| check(&evidence).0 == Verdict::Broken;
        Orders.rules().iter().filter(broken).map(|(rule, _)| *rule).collect()
    }

    #[test]
    fn each_rule_breaks_by_its_own_cause_alone() {
        assert_eq!(verdicts(|_, _| ()), [""; 0]);
        assert_eq!(verdicts(|result, _| result.complete = false), ["complete"]);
        assert_eq!(verdicts(|result, _| result.load.rate_per_second_achieved = 900.0), [""; 0]);
        assert_eq!(verdicts(|result, _| result.load.sent = 899), ["sent", "accounted"]);
        assert_eq!(verdicts(|result, _| result.load.lost = 1), ["replies"]);
        assert_eq!(verdicts(|result, _| result.load.duplicated = 1), ["replies"]);
        assert_eq!(verdicts(|result, _| result.load.message_bytes.order = 899), ["recorded"]);
        assert_eq!(
            verdicts(|result, _| {
                result.load.rejected = 1;
                result.load.message_bytes.order = 899;
            }),
            ["accepted"]
        );
        assert_eq!(verdicts(|result, _| result.load.unexpected = 1), ["accepted"]);
        assert_eq!(verdicts(|_, exchange| exchange.cancels = 499), ["accounted"]);
        assert_eq!(verdicts(|_, exchange| exchange.replay_equal = Some(false)), ["state"]);
    }

    /// An exchange without its cluster rejects orders, and counts them.
    #[test]
    fn rejections_are_no_fault_where_a_leader_was_lost() {
        fn lose(result: &mut ClientResult) {
            let outage = Outage { exchange_stayed: true, ..Outage::default() };
            result.load.outages = vec![outage];
            result.load.rejected = 1;
            result.load.message_bytes.order = 899;
        }
        assert_eq!(verdicts(|result, _| lose(result)), [""; 0]);
        let verdicts = verdicts(|result, exchange| {
            lose(result);
            exchange.cancels = 499;
            result.load.unexpected = 1;
        });
        assert_eq!(verdicts, ["accepted", "accounted"]);
    }
}
