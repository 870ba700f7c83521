//! What a trader saw, decided and did: every tick, decision, order, reply and fill, off the path to disk, and read back.
//!
//! ```text
//!   measuring thread             a wait-free ring             logger's thread
//!   Auditor::tell  ──64 bytes──> [Record] [Record] …  ──────> sleeps, drains, encodes, writes; keeps its windows
//!      no room: counted                                       Logger::finish: the end of the file, what became of it
//! ```
//!
//! The ring is `rtrb`'s: both ends are threads of one process, and the logger sleeps and drains in one go, so that what [`ipc`'s ring]
//! is better at (the first word of one message as soon as it is there, processes) buys nothing here, and a record goes through as it is,
//! without an encoding on the path.
//!
//! [`ipc`'s ring]: ../ipc/ring/index.html

#![forbid(unsafe_code)]

mod codec;
mod error;
mod file;
mod logger;
mod reader;
mod record;
mod summary;
mod windows;
mod writer;

pub use codec::RECORD_BYTES;
pub use error::{AuditError, ReadError};
pub use file::{HEADER_BYTES, HEADER_TEXT_BYTES_MAX, Header, VERSION};
pub use logger::{Auditor, Finished, Logger, RING_RECORDS_MAX, Settings, start};
pub use reader::{Reader, Tail};
pub use record::{Action, KINDS, Record, Side, TickKind};
pub use summary::summarise;
pub use windows::{WINDOWS_MAX, Windows};
