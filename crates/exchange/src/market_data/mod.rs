//! Market data: the engine's events for subscribers, as datagrams of the feed and as JSON.

pub mod json;
pub mod plant;
pub mod publishing;
pub mod requests;
pub mod subscribers;
