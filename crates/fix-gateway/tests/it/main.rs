//! The door before a real exchange: clients log on over sockets.

mod backends;
mod client;
mod market_data;
mod orders;
mod sessions;
mod setup;
