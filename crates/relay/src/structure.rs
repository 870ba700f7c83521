//! Who carries the messages. A structure is a row of [`STRUCTURES`] and a pair of ends.

use crate::plan::{BadPlan, Plan, Ready, Told};
use crate::run::{Link, RelayError};
use crate::{ours, peers};
use std::sync::atomic::AtomicBool;

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

/// Carries the plan out. Ends early, with what was measured until then, when `stop` is set.
///
/// # Errors
/// If there is no result at all. A run that broke off has a result that says so.
pub fn run(
    plan: &Plan,
    stop: &AtomicBool,
    ready: &mut dyn FnMut(&Ready) -> bool,
) -> Result<Told, RelayError> {
    plan.check()?;
    (find(&plan.structure)?.run)(plan, &mut Link { ready, stop })
}
