//! Market data: the engine's events for subscribers, as datagrams of the feed and as JSON.

mod channels;
mod departures;
mod encode;
pub mod json;
pub mod plant;
pub mod settings;
mod stamped_top;
mod states;
pub mod subscribers;
