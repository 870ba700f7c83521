//! The files of a journal's directory: names, headers, records, and the mark of durability.

pub mod directory;
pub mod header;
pub mod mark;
pub mod record;
pub mod segment;
