//! Accounts: tokens, connections, limits, and the register on disk.

pub mod orders;
pub mod register;
pub mod risk;
pub mod sessions;
pub mod tokens;
