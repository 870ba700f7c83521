//! Limits and instruments of an exchange.

pub mod instruments;
pub mod limits;
