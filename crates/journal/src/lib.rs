//! The engine's inputs on disk: an append-only log of sequenced, checksummed records, snapshots,
//! and recovery.
//!
//! ```
//! use engine::*;
//! use journal::{Identity, Options};
//!
//! let place = tempfile::tempdir()?;
//! let identity = Identity { instruments: 1, limits: EngineLimits::matching_only(100, 10) };
//! let options = Options { segment_bytes: 1 << 16, reserve_inputs: 100, ..Options::default() };
//! let (mut appender, recovered) = journal::open(place.path(), identity, options)?;
//! let mut engine = recovered.engine;
//!
//! let order = NewOrder { order_id: 1, ..NewOrder::limit(Side::Buy, 99, 5) };
//! let input = Input { time_ns: 0, command: Command::New(order) };
//! let sequence = appender.try_append(&input)?;
//! engine.apply(&input, &mut |_| {});
//! assert_eq!(appender.close().unwrap(), sequence + 1, "durable");
//!
//! let replayed = journal::replay(place.path())?;
//! assert_eq!(replayed.state_hash, engine.state_hash());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # In which order
//!
//! Append, then apply, then acknowledge what [`Appender::acknowledged`] covers. An input that is
//! refused by [`Appender::try_append`] is not applied. The writer ([`Options`]) is a thread of its
//! own behind a ring: it takes all that is in the ring, makes records of it, and makes them
//! durable with one `write` and one `fdatasync`, while the next group gathers.
//!
//! # Contents of the directory
//!
//! Segments, each with room for a number of inputs that is allocated when it is made; the next one
//! is made while one is written. A full disk is known that early. Orders take the rest of the
//! allocated room except the last [`Options::reserve_inputs`], which are kept for cancels and the
//! operator's commands. So no accepted input finds the disk full. Orders are accepted again
//! when there is room. (On file systems that copy on write, allocation promises nothing: there a
//! write that finds no room waits for some, and the ring fills.)
//!
//! Snapshots, by [`Snapshotter`]. [`remove_old`] removes what is not needed any more; nobody else
//! does.
//!
//! The mark `durable.mark`: how far the log was durable. Recovery refuses a log that ends before
//! it.
//!
//! # Losses
//!
//! | | `Sync` | `Async` |
//! |---|---|---|
//! | the process dies | nothing that was acknowledged | what was not written |
//! | the machine loses power | nothing that was acknowledged | what was not durable |
//!
//! The log is always a prefix of the accepted inputs. `fdatasync` that fails is the end
//! ([`JournalState::Failed`]): it is never tried again.
//!
//! See docs/decisions/009-journal-and-recovery.md.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod counts;
mod error;
mod file;
mod read;
mod snapshot;
mod write;

pub use counts::{EventCounts, InputCounts};
pub use error::JournalError;
pub use file::header::{Identity, SEGMENT_BYTES_MAX};
pub use file::record::RECORD_BYTES;
pub use read::inputs::{Inputs, TornTail};
pub use read::replay::{ReplayedJournal, replay, replay_and_save};
pub use read::segment::{SegmentRead, read_segment};
pub use snapshot::Snapshot;
pub use snapshot::snapshotter::{Snapshotter, remove_old};
pub use write::appender::{AppendError, Appender, Watch};
pub use write::open::open;
pub use write::options::{GROUP_INPUTS_MAX, Mode, Options, SEGMENT_BYTES_MIN};
pub use write::state::JournalState;
