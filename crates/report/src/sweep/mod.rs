//! A sweep: its table for a terminal and its page.

mod page;
mod table;

pub use page::page;
pub use table::table;
