//! A log of everything that a trader saw, decided and did (every tick, decision, order, reply and
//! fill), written to disk off the path, and its reader.
//!
//! ```text
//!   measuring thread             a wait-free ring             logger's thread
//!   Auditor::tell  ──64 bytes──> [Record] [Record] …  ──────> sleeps, drains, encodes, writes
//!      no room: counted                                       Logger::finish: the end of the file
//! ```
//!
//! The ring is `rtrb`'s: both ends are threads of one process, and the logger sleeps and drains in
//! one go, so that what [`ipc`'s ring] is better at (the first word of one message as soon as it
//! is there, processes) buys nothing here, and a record goes through as it is, without an encoding
//! on the path.
//!
//! [`ipc`'s ring]: ../ipc/ring/index.html
//!
//! See docs/decisions/014-tick-measurement.md.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod error;
mod file;
mod logger;
mod record;
mod summary;
mod windows;

pub use error::{AuditError, ReadError};
pub use file::codec::RECORD_BYTES;
pub use file::reader::{LogTail, Reader};
pub use file::{HEADER_BYTES, HEADER_TEXT_BYTES_MAX, Header, VERSION};
pub use logger::{Auditor, LogResult, Logger, RING_RECORDS_MAX, Settings, start};
pub use record::{Action, KINDS, Record, Side, TickKind, client_id};
pub use summary::summarise;
pub use windows::{WINDOWS_MAX, Windows};
