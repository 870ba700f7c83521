//! Market data: what the engine did, as datagrams of the feed and as JSON, for those who subscribe.

pub mod json;
pub mod plant;
pub mod publishing;
pub mod requests;
pub mod subscribers;
