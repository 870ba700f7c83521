//! From the engine's inputs to durable records: the appender, the writer's thread, the prepared
//! segments.

pub mod ahead;
pub mod appender;
pub mod copy;
pub mod log;
pub mod open;
pub mod options;
pub mod renew;
pub mod shipping;
pub mod state;
pub mod writer;
