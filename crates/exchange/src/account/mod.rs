//! Accounts: tokens, connections, limits, and the register on disk.

pub mod ended;
pub mod orders;
pub mod register;
pub mod risk;
pub mod session_table;
pub mod sessions;
pub mod tokens;
