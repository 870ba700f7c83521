//! Market data: the engine's events for subscribers, as datagrams of the feed and as JSON.

mod channels;
mod departures;
pub mod json;
pub mod plant;
pub mod settings;
mod states;
pub mod subscribers;
