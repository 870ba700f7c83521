//! Who carries the messages. A structure is a row of [`STRUCTURES`] and a pair of ends.

use crate::plan::{BadPlan, Plan, Told};
use crate::run::{Link, RelayError};
use crate::{ours, peers};

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is under way.
    Yes,
    /// There is no room now.
    Full,
    /// It can't be sent, now or later; [`Sender::complaint`] says why.
    Broken,
}

/// The producer's end.
pub trait Sender: Send {
    /// Sends one message.
    fn send(&mut self, message: &[u8]) -> Sent;

    /// Why a message could not be sent.
    fn complaint(&self) -> String {
        "a message was refused for good".to_owned()
    }
}

/// The consumer's end.
pub trait Receiver: Send {
    /// Hands what has come to `take`, a bounded number, and says how many. Never blocks.
    fn receive(&mut self, take: &mut impl FnMut(&[u8])) -> usize;

    /// Messages that newer ones replaced before they were read; `None` where nothing is ever replaced.
    fn conflated(&self) -> Option<u64> {
        None
    }

    /// Why nothing will come any more, if that is so. Asked while nothing comes.
    fn complaint(&self) -> Option<String> {
        None
    }
}

/// A structure that this client knows.
pub struct Structure {
    /// As in a plan.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    pub(crate) run: fn(&Plan, &mut Link) -> Result<Told, RelayError>,
}

/// All of them.
pub const STRUCTURES: &[Structure] = &[
    Structure {
        name: "ring",
        about: "ours: bounded ring of one producer in shared memory",
        run: ours::ring,
    },
    Structure {
        name: "ring-many",
        about: "ours: the same for many producers, of which there is one",
        run: ours::ring_many,
    },
    Structure {
        name: "queue",
        about: "ours: append-only log in memory-mapped blocks",
        run: ours::queue,
    },
    Structure {
        name: "queue-unchecked",
        about: "ours: the same without a check over each message's bytes, as the peers are",
        run: ours::queue_unchecked,
    },
    Structure {
        name: "distributor",
        about: "ours: the newest value of each key",
        run: ours::distributor,
    },
    Structure {
        name: "rtrb",
        about: "the crate rtrb: wait-free ring of one producer and one consumer",
        run: peers::rtrb,
    },
    Structure {
        name: "crossbeam",
        about: "the crate crossbeam-queue: bounded queue of many producers and consumers",
        run: peers::crossbeam,
    },
];

/// The structure of that name.
///
/// # Errors
/// If there is none.
pub fn find(name: &str) -> Result<&'static Structure, BadPlan> {
    STRUCTURES.iter().find(|structure| structure.name == name).ok_or_else(|| {
        let names: Vec<&str> = STRUCTURES.iter().map(|structure| structure.name).collect();
        BadPlan {
            key: "structure",
            value: name.to_owned(),
            why: format!("this client knows {}", names.join(", ")),
        }
    })
}

/// What there is to take at once at most: between two batches the consumer looks at the clock.
pub(crate) const BATCH_MAX: usize = 64;
