//! Run records to tables, plots and pages. It only renders: it sees records, not how they came about,
//! and it is the only one that formats a number for a person.

#![forbid(unsafe_code)]

pub mod axis;
mod number;
mod over_floor;
pub mod page;
pub mod plot;
pub mod table;
mod words;

pub use table::table;
