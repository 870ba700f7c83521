//! Run records to tables, plots and pages. It only renders: it sees records, not how they came about,
//! and it is the only one that formats a number for a person.

#![forbid(unsafe_code)]

pub mod axis;
mod context;
mod curves;
mod figures;
mod ladder;
mod number;
mod over_floor;
mod over_time;
pub mod page;
pub mod plot;
pub mod record_page;
pub mod sweep;
pub mod sweep_page;
pub mod table;
mod words;

pub use record_page::{Beside, record_page};
pub use table::table;
