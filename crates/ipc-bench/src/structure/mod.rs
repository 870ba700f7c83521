//! The structures that carry messages. A structure is a row of [`STRUCTURES`] and a pair of ends.

pub(crate) mod ends;
mod ours;
mod peers;

use crate::plan::{ClientReport, Ends, Plan};
use crate::run::{IpcBenchError, Link};
use clock::range::OutOfRange;

/// A structure that this client knows.
pub struct Structure {
    /// As in a plan.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Whether its ends may be in two processes.
    pub between_processes: bool,
    pub(crate) run: fn(&Plan, &mut Link) -> Result<ClientReport, IpcBenchError>,
}

/// All of them.
pub const STRUCTURES: &[Structure] = &[
    Structure {
        name: "ring",
        about: "ours: bounded ring of one producer in shared memory",
        between_processes: true,
        run: ours::ring,
    },
    Structure {
        name: "ring-many",
        about: "ours: the same for many producers, of which there is one",
        between_processes: true,
        run: ours::ring_many,
    },
    Structure {
        name: "queue",
        about: "ours: append-only log in memory-mapped blocks",
        between_processes: true,
        run: ours::queue,
    },
    Structure {
        name: "queue-unchecked",
        about: "ours: the same without a check over each message's bytes, as the peers are",
        between_processes: true,
        run: ours::queue_unchecked,
    },
    Structure {
        name: "distributor",
        about: "ours: the newest value of each key",
        between_processes: true,
        run: ours::distributor,
    },
    Structure {
        name: "rtrb",
        about: "the crate rtrb: wait-free ring of one producer and one consumer",
        between_processes: false,
        run: peers::rtrb,
    },
    Structure {
        name: "crossbeam",
        about: "the crate crossbeam-queue: bounded queue of many producers and consumers",
        between_processes: false,
        run: peers::crossbeam,
    },
];

/// The structure of that name.
///
/// # Errors
/// If there is none.
pub fn find(name: &str) -> Result<&'static Structure, OutOfRange> {
    STRUCTURES.iter().find(|structure| structure.name == name).ok_or_else(|| {
        let names: Vec<&str> = STRUCTURES.iter().map(|structure| structure.name).collect();
        OutOfRange::new("structure", name, format!("this client knows {}", names.join(", ")))
    })
}

/// The structure that can carry a plan out with these ends.
///
/// # Errors
/// If there is none of that name, or its ends can't be in two processes.
pub fn find_for(name: &str, ends: Ends) -> Result<&'static Structure, OutOfRange> {
    let structure = find(name)?;
    if ends == Ends::Both || structure.between_processes {
        return Ok(structure);
    }
    let able = STRUCTURES.iter().filter(|one| one.between_processes).map(|one| one.name);
    let able: Vec<&str> = able.collect();
    let why = format!("it lies in one process's memory; between two are {}", able.join(", "));
    Err(OutOfRange::new("structure", name, why))
}

/// Carries the plan out. Ends early, with what was measured until then, when `link.stop` is set.
///
/// # Errors
/// If there is no result at all. A run that broke off has a result that says so.
pub fn run(plan: &Plan, link: &mut Link) -> Result<ClientReport, IpcBenchError> {
    plan.check()?;
    (find_for(&plan.structure, plan.ends)?.run)(plan, link)
}
