//! Several records side by side: as text and as a page.

mod page;
mod table;

pub use page::side_by_side_page;
pub use table::side_by_side;
