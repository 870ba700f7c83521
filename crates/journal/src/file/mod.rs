//! The contents of a journal's directory: names, headers, records, and the mark of how far the log
//! was durable.

pub mod directory;
pub mod header;
pub mod mark;
pub mod record;
pub mod segment;
