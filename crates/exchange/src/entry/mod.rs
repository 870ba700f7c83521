//! Order entry: requests of clients and operators, and the exchange's own commands, on top of
//! [`crate::execution`].
//!
//! [`state`] holds the state; the modules below it are functions over the state. A module uses only
//! modules of the groups above its own.
//!
//! See docs/decisions/011-exchange-layers-and-gateway-threads.md.

pub mod disconnects;
mod leading;

mod commands;
mod entering;

mod deliveries;

mod accounts;

pub mod state;
mod status;

pub mod login;
mod operator;
mod orders;
mod subscriptions;
pub mod turn;

mod administration;

pub mod requests;
pub mod sbe;
