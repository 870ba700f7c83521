//! The integration tests of `exchange` in one program: linking is most of a test binary's cost.

mod accounts;
mod book;
mod crash;
mod crowds;
mod determinism;
mod dialogue;
mod driven;
mod feed;
mod feed_subscribers;
mod following;
mod gateway;
mod gateways;
mod hostile;
mod journal;
mod market_data;
mod no_allocation;
mod old_clients;
mod operator;
mod orders;
mod properties;
mod risk;
mod running;
mod sbe_any;
mod sbe_orders;
mod sbe_sessions;
mod stamps;
