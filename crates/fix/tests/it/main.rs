//! The session against its specification, against itself, and any bytes.

mod any_bytes;
mod cases;
mod properties;
mod two_sessions;
