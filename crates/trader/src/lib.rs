//! The trader: it sends orders and cancels on a schedule or in ping-pong, and stamps them.
//!
//! ```text
//!   open_loop, ping_pong       when to send what                 (the two load models)
//!        └─ desk               lanes, messages in flight, the two stamps, the recorder
//!             ├─ in_flight     what has been sent and not yet answered
//!             └─ order_entry   how an order is said: `websocket` (JSON) or `raw` (the floor)
//! ```
//!
//! One thread does all of it. While it measures it does not allocate, lock, print or encode a
//! histogram (invariant 4).

#![forbid(unsafe_code)]

mod desk;
mod in_flight;
pub mod market_maker;
mod open_loop;
pub mod order_entry;
pub mod own_orders;
mod ping_pong;
pub mod plan;
mod progress;
mod raw;
pub mod risk;
pub mod run;
pub mod signal;
pub mod tick_plan;
mod websocket;

pub use plan::Plan;
pub use run::{TraderError, run};
pub use tick_plan::TickPlan;
