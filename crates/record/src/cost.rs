//! Costs beside latency: processor time and losses.
//!
//! See docs/decisions/041-losses-in-a-verdict.md.

use crate::RunRecord;
use crate::load::Load;
use crate::merge::pooling;
use crate::processor::Processor;
use crate::run::HICCUP;
use serde::{Deserialize, Serialize};

/// The costs of all runs of a treatment, those of void rounds among them: a stack that loses
/// messages makes its runs void, and would otherwise seem to lose none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Cost {
    /// Messages of the measured parts.
    pub messages: u64,
    /// Messages without a reply.
    pub lost: u64,
    /// Messages of the feed that came by replay, because their datagrams did not arrive in time;
    /// `None` without a feed, or if a run can't tell.
    pub missed: Option<u64>,
    /// Processor time; `None` if a client does not say it.
    pub processor: Option<Processor>,
    /// Packets that network devices dropped; `None` if that was not looked at.
    pub packets_dropped: Option<u64>,
}

impl Cost {
    /// The sums over the subjects of these records, without tickpath's own floors.
    pub fn of(records: &[&RunRecord]) -> Cost {
        let subjects = records.iter().flat_map(|record| &record.subjects);
        let is_one = |name: &str| name != HICCUP;
        let subjects = subjects.filter(|one| !one.is_reference() && is_one(&one.name));
        let loads: Vec<Load> = subjects.map(|subject| subject.load.clone()).collect();
        let Load { sent, lost, processor, packets_dropped, .. } = pooling::load(&loads);
        Cost { messages: sent, lost, missed: missed(&loads), processor, packets_dropped }
    }

    /// Processor time per message, ns: the client's and the exchange's.
    pub fn ns_per_message(&self) -> [Option<f64>; 2] {
        let per_message = |ns: u64| (self.messages > 0).then(|| ns as f64 / self.messages as f64);
        let Some(processor) = &self.processor else { return [None, None] };
        [per_message(processor.client_ns), processor.exchange_ns.and_then(per_message)]
    }
}

/// Messages that the feeds missed in all; `None` without a feed, or if one can't tell.
fn missed(loads: &[Load]) -> Option<u64> {
    let of_run = |load: &Load| {
        let ticks = Some(&load.tick).filter(|ticks| !ticks.is_empty())?;
        ticks.iter().try_fold(0, |sum: u64, tick| Some(sum.saturating_add(tick.missed()?)))
    };
    let of_all = loads.iter().map(of_run);
    of_all.reduce(|sum, one| Some(sum?.saturating_add(one?))).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Subject;
    use crate::tick::Tick;

    fn subject(name: &str, sent: u64, client_ns: u64, exchange_ns: Option<u64>) -> Subject {
        let spinning = vec!["client".to_owned()];
        let processor = Some(Processor { client_ns, exchange_ns, spinning });
        let load = Load { sent, lost: 1, processor, packets_dropped: Some(2), ..Load::default() };
        Subject { name: name.to_owned(), load, ..Subject::default() }
    }

    fn record(subjects: Vec<Subject>) -> RunRecord {
        RunRecord { subjects, ..RunRecord::default() }
    }

    /// The floor costs as much as the subject, and is not its cost.
    #[test]
    fn runs_add_up_without_the_floor() {
        let one = record(vec![
            subject("rust", 10, 100, Some(300)),
            subject("floor", 10, 7, Some(7)),
            subject(HICCUP, 0, 7, None),
        ]);
        let other = record(vec![subject("rust", 30, 300, Some(100))]);
        let cost = Cost::of(&[&one, &other]);
        assert_eq!((cost.messages, cost.lost, cost.packets_dropped), (40, 2, Some(4)));
        assert_eq!(cost.ns_per_message(), [Some(10.0), Some(10.0)]);
        assert_eq!(cost.processor.unwrap().spinning, ["client"]);
    }

    #[test]
    fn a_run_without_a_figure_takes_it_from_all() {
        let known = record(vec![subject("rust", 10, 100, Some(100))]);
        let half = record(vec![subject("rust", 10, 100, None)]);
        let mut unknown = half.clone();
        unknown.subjects[0].load.processor = None;
        unknown.subjects[0].load.packets_dropped = None;
        assert_eq!(Cost::of(&[&known, &half]).ns_per_message(), [Some(10.0), None]);
        let cost = Cost::of(&[&known, &unknown]);
        assert_eq!((cost.ns_per_message(), cost.packets_dropped), ([None, None], None));
        assert_eq!(Cost::of(&[]).ns_per_message(), [None, None]);
    }

    /// A snapshot in place of messages hides how many there were, and so does an exchange that was
    /// not asked for its book at the same message.
    #[test]
    fn what_the_feed_missed_is_counted_or_unknown() {
        let with = |ticks: &[Tick]| {
            let subjects = ticks.iter().map(|tick| {
                let mut subject = subject("rust", 1, 1, None);
                subject.load.tick = vec![tick.clone()];
                subject
            });
            Cost::of(&[&record(subjects.collect())]).missed
        };
        let exchange_book_hash = "153d94a30771b452".to_owned();
        let known =
            Tick { messages_replayed: 3, snapshots: 1, exchange_book_hash, ..Tick::default() };
        let rebuilt = Tick { snapshots: 2, ..known.clone() };
        let apart = Tick { exchange_book_hash: String::new(), ..known.clone() };
        assert_eq!(with(&[known.clone(), known.clone()]), Some(6));
        assert_eq!((with(&[known.clone(), rebuilt]), with(&[known, apart])), (None, None));
        assert_eq!(Cost::of(&[&record(vec![subject("rust", 1, 1, None)])]).missed, None);
    }
}
