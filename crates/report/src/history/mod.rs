//! The records of a directory: as text and as a page.

mod page;
mod table;

pub use page::history_page;
pub use table::history;
