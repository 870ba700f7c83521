//! Carries a scenario out: site -> stage -> one run -> one entrant -> record.

pub(crate) mod availability;
mod entrant;
mod settle;
pub(crate) mod site;
mod stage;
pub(crate) mod until;
