//! What a client is told to do, and what it says: one structure, one run (clients/IPC.md).

use clock;
use clock::range::{OutOfRange, require, within};
use clock::schedule::{Arrival, Schedule};
use host::scheduling::Scheduling;
use record::Clock;
use serde::{Deserialize, Serialize};

/// A message holds its header at least.
pub const MESSAGE_BYTES_MIN: usize = 16;
/// The longest message.
pub const MESSAGE_BYTES_MAX: usize = 4096;
/// Messages of one run, warm-up included: 8 bytes of memory each.
pub const MESSAGES_MAX: u64 = 100_000_000;
/// Slots of a ring, or of a key.
pub const SLOTS_MAX: usize = 1 << 20;
/// Keys of a distributor.
pub const KEYS_MAX: usize = 4096;
/// Bytes of a queue's block.
pub const BLOCK_BYTES_MAX: u64 = 4 << 30;

/// The plan, one line of JSON on the client's stdin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Name of the subject, for messages.
    pub subject: String,
    /// Which structure; a client refuses what it doesn't know.
    pub structure: String,
    /// Length of every message.
    pub message_bytes: usize,
    /// Slots of a ring, or of each key of a distributor.
    pub slots: usize,
    /// Keys of a distributor: message number *i* belongs to key *i* modulo this.
    pub keys: usize,
    /// Block size of a queue.
    pub block_bytes: u64,
    /// Messages a second.
    pub rate_per_second: f64,
    /// How they are spread over time.
    #[serde(default)]
    pub arrival: Arrival,
    /// Messages of a burst, where arrival is `burst`.
    #[serde(default = "one")]
    pub burst: u64,
    /// Seed of random arrivals.
    #[serde(default)]
    pub seed: u64,
    /// Sent first, and thrown away.
    pub warm_up_messages: u64,
    /// Measured.
    pub messages: u64,
    /// The producer's core and the consumer's; `null`: don't pin.
    pub cores: [Option<usize>; 2],
    /// The class of both threads.
    pub scheduling: Scheduling,
    /// For the structure's files. It is there, and empty; who started us removes it.
    pub directory: String,
    /// The file of samples to write.
    pub samples: String,
    /// Which ends this process has.
    #[serde(default)]
    pub ends: Ends,
    /// The clock to stamp by, where two processes must have the same; without, the client
    /// calibrates one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<clock::Clock>,
}

/// Which ends of a structure a process has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// Both, in two threads.
    #[default]
    Both,
    /// The sending one. It makes the structure, before it says that it is ready.
    Producer,
    /// The receiving one, which finds the structure there.
    Consumer,
}

impl Ends {
    pub(crate) fn sends(self) -> bool {
        self != Ends::Consumer
    }

    pub(crate) fn receives(self) -> bool {
        self != Ends::Producer
    }
}

fn one() -> u64 {
    1
}

impl Plan {
    /// Checks what every structure needs.
    ///
    /// # Errors
    /// The first key that is out of range, with what it may be.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let bytes = MESSAGE_BYTES_MIN..=MESSAGE_BYTES_MAX;
        within("message_bytes", self.message_bytes, bytes, "a message has {} bytes")?;
        within("slots", self.slots, 1..=SLOTS_MAX, "there are {}")?;
        within("keys", self.keys, 1..=KEYS_MAX, "there are {}")?;
        within("block_bytes", self.block_bytes, 0..=BLOCK_BYTES_MAX, "a block has {} bytes")?;
        let rate = self.rate_per_second;
        require(
            rate > 0.0 && rate <= clock::schedule::RATE_PER_SECOND_MAX,
            "rate_per_second",
            rate,
            "messages a second are above 0 and at most 1e9",
        )?;
        require(self.burst >= 1, "burst", self.burst, "a burst is at least 1 message")?;
        let all = self.warm_up_messages.saturating_add(self.messages);
        require(
            self.messages >= 1 && all <= MESSAGES_MAX,
            "messages",
            all,
            format!("a run has 1 to {MESSAGES_MAX}, warm-up included: make more runs instead"),
        )
    }

    /// Warm-up included.
    pub fn messages_all(&self) -> u64 {
        self.warm_up_messages + self.messages
    }

    /// When each message is due, warm-up included.
    pub fn schedule(&self) -> Schedule {
        Schedule::new(self.rate_per_second, self.arrival, self.burst, self.seed)
    }
}

/// The first line that a client prints: its threads run, pinned, and wait for a line on stdin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// The producer's number as the system knows it, and the consumer's; of one end, its own alone.
    pub threads: Vec<i32>,
}

/// The line that a client waits for when it is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// `go`: start in a moment.
    Go,
    /// `go NS`: message 0 is due at that reading of the plan's clock.
    GoAt(u64),
}

impl Word {
    /// What the line says; `None` if it is no such word: then the client ends.
    pub fn read(line: &str) -> Option<Word> {
        let mut words = line.split_whitespace();
        let word = match (words.next()?, words.next()) {
            ("go", None) => Word::Go,
            ("go", Some(ns)) => Word::GoAt(ns.parse().ok()?),
            _ => return None,
        };
        words.next().is_none().then_some(word)
    }
}

impl std::fmt::Display for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Word::Go => f.write_str("go"),
            Word::GoAt(ns) => write!(f, "go {ns}"),
        }
    }
}

/// The last line that a client prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientReport {
    /// All was sent, and all came that could.
    pub complete: bool,
    /// Why not, one sentence each.
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
            // What a reader was told that it missed may lie in the warm-up.
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
    fn a_word_is_read_as_it_was_written() {
        for word in [Word::Go, Word::GoAt(0), Word::GoAt(u64::MAX)] {
            assert_eq!(Word::read(&format!("{word}\n")), Some(word));
        }
        for line in ["", "\n", "stop", "go now", "go -1", "go 1 2", "go 18446744073709551616"] {
            assert_eq!(Word::read(line), None, "{line}");
        }
    }

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
