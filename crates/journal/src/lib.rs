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
//! # Order of steps
//!
//! Append, then apply, then acknowledge inputs below [`Appender::acknowledged`]. Never apply an
//! input that [`Appender::try_append`] rejects. The writer ([`Options`]) is a thread that reads a
//! ring: it takes all inputs from the ring, encodes records, and makes them durable with one
//! `write` and one `fdatasync`, while the next group gathers.
//!
//! # Contents of the directory
//!
//! Segments, each with room for a number of inputs that is allocated when it is made. The next one
//! is made while one is written, so a full disk is detected early. Orders may use the allocated
//! room except the last [`Options::reserve_inputs`], which are reserved for cancels and the
//! operator's commands. So no accepted input finds the disk full. Orders are accepted again when
//! there is room. (File systems that copy on write don't guarantee allocated room: there a write
//! waits for room, and the ring fills.)
//!
//! Snapshots, by [`Snapshotter`]. Only [`remove_old`] removes old files.
//!
//! The mark of durability, `durable.mark`. Recovery rejects a log that ends before it.
//!
//! # Client ids
//!
//! The engine knows orders by number. [`Appender::try_append_named`] keeps the client id of an
//! order too, and recovery returns those of open orders ([`ReplayedJournal::client_ids`]). A client
//! id is at most [`CLIENT_ID_BYTES_MAX`] bytes long and takes a record, with a sequence of its own.
//! Journals of version 1 don't have them; they open, and get them from then on.
//!
//! # Deliveries
//!
//! [`Appender::try_append_delivery`] keeps what an order said of the tick that caused it
//! ([`Delivery`]), in a record of its own before the order. A replay skips these records; a
//! [`History`] returns them. Journals before version 3 have none.
//!
//! # The exchange's own orders
//!
//! Recovery returns how many orders, amendments and cancels of account 0 the log has, and their
//! checksum ([`ClientIds::own_commands`]), so that an exchange can go on with its own flow.
//!
//! # A copy on another machine
//!
//! With [`Options::replication`], a thread reads written records with a [`Tail`] and ships them to
//! a follower, which writes a [`LogCopy`]; [`Shipping`] takes its acknowledgements. The crate
//! `replica` does both. Records are shipped as soon as they are written, before they are durable
//! here, so that both disks work at the same time.
//!
//! # Losses
//!
//! | | `Sync` | `Async` |
//! |---|---|---|
//! | the process dies | no acknowledged input | inputs not yet written |
//! | the machine loses power | no acknowledged input | inputs not yet durable |
//!
//! The log is always a prefix of the accepted inputs. A failed `fdatasync` ends the journal
//! ([`JournalState::Failed`]); it is never tried again.
//!
//! See docs/decisions/009-journal-and-recovery.md.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod client_ids;
mod counts;
mod deliveries;
mod error;
mod file;
mod own_commands;
mod read;
mod snapshot;
mod write;

pub use client_ids::{CLIENT_ID_BYTES_MAX, ClientIdText, ClientIds, EndedOrder};
pub use counts::{EventCounts, InputCounts};
pub use deliveries::Delivery;
pub use error::{JournalError, is_no_room};
pub use file::header::{Identity, SEGMENT_BYTES_MAX};
pub use file::record::{CONTENT_BYTES, RECORD_BYTES};
pub use own_commands::OwnCommands;
pub use read::history::{History, RecordedInput};
pub use read::inputs::{Inputs, TornTail};
pub use read::replay::{ReplayedJournal, replay, replay_and_save};
pub use read::segment::{SegmentRead, read_segment};
pub use read::tail::{LogName, Tail};
pub use snapshot::Snapshot;
pub use snapshot::snapshotter::{Snapshotter, remove_old};
pub use write::appender::{AppendError, Appender, Watch};
pub use write::copy::LogCopy;
pub use write::open::open;
pub use write::options::{GROUP_INPUTS_MAX, Mode, Options, Replication, SEGMENT_BYTES_MIN};
pub use write::shipping::Shipping;
pub use write::state::JournalState;
