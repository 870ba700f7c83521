//! `ipc`: messages from one thread to another. The plan and the words between a run and its clients
//! (clients/IPC.md).

use crate::range::{OutOfRange, require, within};
use crate::tables::ipc::{
    BLOCK_BYTES_MAX, KEYS_MAX, MESSAGE_BYTES_MAX, MESSAGE_BYTES_MIN, SLOTS_MAX,
};
use crate::tables::load::check_plain;
use clock::schedule::{Arrival, Schedule};
use host::scheduling::Scheduling;
use serde::{Deserialize, Serialize};

/// Messages of one run, warm-up included: 8 bytes of memory each.
pub const MESSAGES_MAX: u64 = 100_000_000;
/// The series of every message.
pub const MESSAGE: &str = "message";

/// The plan, one line of JSON on the client's stdin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IpcPlan {
    /// Name of the subject, for messages.
    pub subject: String,
    /// Which structure; a client rejects one that it doesn't know.
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
    pub ends: IpcEnds,
    /// The clock to stamp by, where two processes must have the same; without, the client
    /// calibrates one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<clock::Clock>,
}

/// Which ends of a structure a process has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IpcEnds {
    /// Both, in two threads.
    #[default]
    Both,
    /// The sending one. It makes the structure, before it says that it is ready.
    Producer,
    /// The receiving one, which finds the structure there.
    Consumer,
}

impl IpcEnds {
    /// The ends of each of that many processes, in the order in which they start.
    pub fn of(processes: usize) -> &'static [IpcEnds] {
        match processes {
            2 => &[IpcEnds::Producer, IpcEnds::Consumer],
            _ => &[IpcEnds::Both],
        }
    }

    /// Whether the process sends.
    pub fn sends(self) -> bool {
        self != IpcEnds::Consumer
    }

    /// Whether the process receives.
    pub fn receives(self) -> bool {
        self != IpcEnds::Producer
    }
}

/// A structure that carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structure {
    /// The name in a plan.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Whether its ends may be in two processes.
    pub between_processes: bool,
}

/// The structures that tickpath's own client knows.
pub const STRUCTURES: [Structure; 7] = [
    Structure {
        name: "ring",
        about: "ours: bounded ring of one producer in shared memory",
        between_processes: true,
    },
    Structure {
        name: "ring-many",
        about: "ours: the same for many producers, of which there is one",
        between_processes: true,
    },
    Structure {
        name: "queue",
        about: "ours: append-only log in memory-mapped blocks",
        between_processes: true,
    },
    Structure {
        name: "queue-unchecked",
        about: "ours: the same without a check over each message's bytes, as the peers are",
        between_processes: true,
    },
    Structure {
        name: "distributor",
        about: "ours: the newest value of each key",
        between_processes: true,
    },
    Structure {
        name: "rtrb",
        about: "the crate rtrb: wait-free ring of one producer and one consumer",
        between_processes: false,
    },
    Structure {
        name: "crossbeam",
        about: "the crate crossbeam-queue: bounded queue of many producers and consumers",
        between_processes: false,
    },
];

/// The structure of that name.
///
/// # Errors
/// If there is none.
pub fn find(name: &str) -> Result<Structure, OutOfRange> {
    STRUCTURES.into_iter().find(|structure| structure.name == name).ok_or_else(|| {
        let names = STRUCTURES.map(|structure| structure.name).join(", ");
        OutOfRange::new("structure", name, format!("this client knows {names}"))
    })
}

/// The structure that can carry a plan out with these ends.
///
/// # Errors
/// If there is none of that name, or its ends can't be in two processes.
pub fn find_for(name: &str, ends: IpcEnds) -> Result<Structure, OutOfRange> {
    let structure = find(name)?;
    if ends == IpcEnds::Both || structure.between_processes {
        return Ok(structure);
    }
    let able = STRUCTURES.iter().filter(|one| one.between_processes).map(|one| one.name);
    let able: Vec<&str> = able.collect();
    let why = format!("it lies in one process's memory; between two are {}", able.join(", "));
    Err(OutOfRange::new("structure", name, why))
}

fn one() -> u64 {
    1
}

impl IpcPlan {
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
        check_plain("arrival", self.arrival)?;
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
    /// The word on the line; `None` if it is no such word: then the client ends.
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
}
