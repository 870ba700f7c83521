//! The session against its specification, against itself, and any bytes.

mod any_bytes;
mod cases;
mod guide;
mod hot;
mod properties;
mod standard;
mod two_sessions;
