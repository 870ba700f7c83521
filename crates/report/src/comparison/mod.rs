//! A comparison: as text and as a page.

mod page;
mod published;
mod table;
mod words;
mod worth;

pub use page::comparison_page;
pub use table::{comparison, gates};
pub use words::headlines;
pub(crate) use words::{figures, full_verdict, headline};
