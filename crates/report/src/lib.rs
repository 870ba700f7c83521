//! Run records to tables, plots and pages. It only renders: it sees records, not how they came about,
//! and it is the only one that formats a number for a person.

#![forbid(unsafe_code)]

pub mod axis;
mod number;
pub mod page;
pub mod plot;
pub mod sweep;
pub mod sweep_page;
pub mod table;

pub use table::table;
