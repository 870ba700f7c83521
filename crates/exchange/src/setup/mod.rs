//! Parts of an exchange before it serves: limits, instruments, the start book, recovery from the
//! journal.

pub mod instruments;
pub mod limits;
pub mod opening;
pub mod start_book;
