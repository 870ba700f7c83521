//! The result that a client prints.

use record::Clock;
use serde::{Deserialize, Serialize};

/// The last line that a client prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientReport {
    /// Everything was sent, and every message arrived that could.
    pub complete: bool,
    /// Why it is incomplete, one sentence each.
    pub failures: Vec<String>,
    /// Messages of the measured part that were sent.
    pub sent: u64,
    /// The part of these that arrived.
    pub received: u64,
    /// How many did not, though nothing newer replaced them.
    pub lost: u64,
    /// Messages of a distributor that newer ones replaced before they were read.
    pub conflated: u64,
    /// How many came twice.
    pub duplicated: u64,
    /// How many came after a later one.
    pub out_of_order: u64,
    /// Messages that had to wait for room.
    pub held_back: u64,
    /// How often an end had to wait for a block of a queue that was not ready, warm-up included.
    pub blocks_late: u64,
    /// `CLOCK_MONOTONIC` when the first measured message was due, ns.
    pub start_monotonic_ns: u64,
    /// The same clock when the consumer was done, ns.
    pub end_monotonic_ns: u64,
    /// The clock that stamped.
    pub clock: Clock,
}

impl ClientReport {
    /// The result of both ends together.
    pub fn joined(producer: ClientReport, consumer: ClientReport) -> ClientReport {
        let missing = producer.sent.saturating_sub(consumer.received);
        ClientReport {
            complete: producer.complete && consumer.complete,
            failures: producer.failures.into_iter().chain(consumer.failures).collect(),
            sent: producer.sent,
            held_back: producer.held_back,
            // The reader's count of missed messages may include the warm-up.
            lost: missing.saturating_sub(consumer.conflated),
            conflated: consumer.conflated.min(missing),
            blocks_late: producer.blocks_late + consumer.blocks_late,
            ..consumer
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_was_told_that_it_missed_is_not_lost() {
        let end = |sent, received, conflated| ClientReport {
            complete: true,
            sent,
            received,
            conflated,
            ..ClientReport::default()
        };
        for (received, missed, lost, conflated) in
            [(100, 0, 0, 0), (100, 7, 0, 0), (90, 10, 0, 10), (90, 4, 6, 4), (90, 12, 0, 10)]
        {
            let told = ClientReport::joined(end(100, 0, 0), end(0, received, missed));
            assert_eq!((told.sent, told.received), (100, received));
            assert_eq!((told.lost, told.conflated), (lost, conflated), "{received} {missed}");
        }
    }
}
