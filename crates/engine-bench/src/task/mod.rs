//! The tasks of a client.

pub(crate) mod logged;
pub(crate) mod open_loop;
pub(crate) mod passes;
pub(crate) mod soak;
pub(crate) mod timing;
