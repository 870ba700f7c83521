//! The exit statuses of all commands.

/// Done, or a gate passed.
pub(crate) const DONE: u8 = 0;
/// A gate failed.
pub(crate) const GATE_FAILED: u8 = 1;
/// Usage or configuration.
pub(crate) const USAGE: u8 = 2;
/// The run is void, does not hold as far as asked, or was interrupted.
pub(crate) const NO_RESULT: u8 = 3;
/// A gate could be neither passed nor failed.
pub(crate) const INCONCLUSIVE: u8 = 4;
