//! `feed`: one client, which is the source of a feed and the end that has the book.

use crate::conduct::{ConductError, Entrant};
use crate::evidence::{Evidence, Lengths, Outcome};
use crate::kind::rules;
use crate::kind::runner::{RuleCheck, Runner};
use crate::launch::Launch;
use crate::launch::observer::Observer;
use crate::progress::Teller;
use host::network::Network;
use plan::backend;
use plan::process::feed::FeedPlan;
use record::text::counted;
use record::{Verdict, directory};
use std::net::Ipv4Addr;

/// The client, as a command of ours.
const CLIENT: &str = "feed-bench";

/// The runner.
pub(crate) struct Feed;

impl Runner for Feed {
    fn run(
        &self,
        launch: &Launch,
        _lengths: Option<Lengths>,
        observer: &mut Observer<'_, '_>,
    ) -> Result<Outcome, ConductError> {
        let plan = plan(launch);
        observer
            .during(launch, |teller| launch.run_client(CLIENT, &plan, teller))
            .map(Outcome::from)
    }

    /// Below the kernel, rights, driver and build decide.
    fn unavailable(&self, launch: &Launch) -> Result<Option<String>, ConductError> {
        if !backend::is_below(&launch.entrant.backend) {
            return Ok(None);
        }
        let trial = FeedPlan { warm_up_messages: 0, messages: 1, ..plan(launch) };
        match launch.run_client(CLIENT, &trial, &mut Teller::new(None, launch.conduct, &[])) {
            Ok(_) => Ok(None),
            Err(ConductError::Process { why, .. }) if !launch.interrupt.is_set() => Ok(Some(why)),
            Err(error) => Err(error),
        }
    }

    fn rules(&self) -> &'static [RuleCheck] {
        &[("complete", rules::complete), ("recorded", recorded), ("book", book)]
    }

    fn pacer(&self, entrant: &Entrant) -> Option<usize> {
        entrant.cores.first().copied()
    }
}

/// Lost datagrams are in the log, too.
fn recorded(evidence: &Evidence) -> (Verdict, String) {
    let load = &evidence.result.load;
    let datagrams = load.tick.first().map_or(0, |tick| tick.datagrams);
    if load.lost == 0 {
        return rules::recorded(evidence, datagrams, "datagrams in the book");
    }
    let why = format!(
        "{datagrams} datagrams in the book; the log has {} latencies, with those of lost ones",
        evidence.recorded
    );
    (rules::held_if(evidence.recorded > datagrams), why)
}

/// A book that had every message is the publisher's. A lost one is a result: its figures hold the
/// time after which a datagram counts as lost.
fn book(evidence: &Evidence) -> (Verdict, String) {
    let load = &evidence.result.load;
    let Some(tick) = load.tick.first() else {
        return (Verdict::Broken, "the client says nothing of its book".to_owned());
    };
    let faults = tick.faults.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
    let at = tick.book_sequence;
    if faults > 0 {
        let why = format!("{} up to message {at}", counted(faults, "faulty datagram"));
        return (Verdict::Broken, why);
    }
    if load.lost > 0 {
        let why = format!(
            "the book was lost after message {at}: {} of {} never were in it; {} dropped for want \
             of room",
            load.lost,
            counted(load.sent, "message"),
            tick.kernel_drops
        );
        return (Verdict::Held, why);
    }
    let (ours, theirs) = (&tick.book_hash, &tick.exchange_book_hash);
    if theirs.is_empty() && !evidence.result.complete {
        let why = "the run broke off where the publisher's book is not known";
        return (Verdict::NotApplicable, why.to_owned());
    }
    let holds = ours == theirs && !ours.is_empty();
    let why = format!("after message {at} the book is {ours}, the publisher's {theirs}");
    (rules::held_if(holds), why)
}

/// The plan of both ends.
fn plan(launch: &Launch) -> FeedPlan {
    let scenario = &launch.conduct.scenario;
    let spec = &scenario.subject[launch.entrant.index];
    let cores = &launch.entrant.cores;
    FeedPlan {
        subject: launch.entrant.name.clone(),
        own: launch.networks.map_or(Ipv4Addr::LOCALHOST, |both| both.trader().address()),
        source_network: launch.networks.map(|both| Network::path(both.exchange())),
        backend: spec.backend.clone(),
        queue: spec.queue,
        datagram_bytes: scenario.feed.datagram_bytes,
        receive_buffer_bytes: scenario.feed.receive_buffer_bytes,
        rate_per_second: scenario.load.rate_per_second,
        seed: scenario.load.seed,
        warm_up_messages: scenario.messages(scenario.warm_up_seconds),
        messages: scenario.messages(scenario.seconds),
        source_core: cores.first().copied(),
        core: cores.get(1).copied(),
        scheduling: spec.scheduling,
        hlog: directory::hlog(launch.path, launch.number).display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Measure;
    use record::tick::Tick;
    use record::{ClientResult, Load};

    fn verdict(change: fn(&mut ClientResult, &mut Tick)) -> (Verdict, String) {
        let hash = || "12ab".to_owned();
        let mut tick = Tick { book_hash: hash(), exchange_book_hash: hash(), ..Tick::default() };
        let load = Load { sent: 10, received: 10, ..Load::default() };
        let mut result = ClientResult { complete: true, load, ..ClientResult::default() };
        change(&mut result, &mut tick);
        result.load.tick = vec![tick];
        book(&Evidence::of(Measure::Feed, &result))
    }

    #[test]
    fn a_whole_book_is_the_publishers_and_a_lost_one_is_a_result() {
        assert_eq!(verdict(|_, _| ()).0, Verdict::Held);
        assert_eq!(verdict(|_, tick| tick.book_hash = "12ac".to_owned()).0, Verdict::Broken);
        assert_eq!(verdict(|_, tick| tick.exchange_book_hash.clear()).0, Verdict::Broken);
        let neither = |_: &mut ClientResult, tick: &mut Tick| {
            tick.book_hash.clear();
            tick.exchange_book_hash.clear();
        };
        assert_eq!(verdict(neither).0, Verdict::Broken, "unknown is not equal");
        let broke_off = verdict(|result, tick| {
            result.complete = false;
            tick.exchange_book_hash.clear();
        });
        assert_eq!(broke_off.0, Verdict::NotApplicable);
        let (lost, why) = verdict(|result, tick| {
            (result.load.lost, tick.kernel_drops) = (3, 7);
            tick.exchange_book_hash.clear();
        });
        assert_eq!(lost, Verdict::Held);
        assert!(why.contains("3 of 10 messages never") && why.contains("7 dropped"), "{why}");
        let faulty = verdict(|result, tick| {
            result.load.lost = 3;
            tick.faults.insert("garbage".to_owned(), 1);
        });
        assert_eq!(faulty.0, Verdict::Broken);
    }
}
