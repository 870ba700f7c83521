//! A comparison: as text and as a page.

mod page;
mod table;

pub use page::comparison_page;
pub(crate) use table::verdict;
pub use table::{comparison, gates};
