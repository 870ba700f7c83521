//! Run records to tables. It only renders: it sees records, not how they came about, and it is the
//! only one that formats a number for a person.

#![forbid(unsafe_code)]

mod number;
mod progress;
pub mod table;

pub use progress::{Progress, progress};
pub use table::table;
