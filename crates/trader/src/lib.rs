//! The trader. It sends orders and cancels on a schedule or in ping-pong, and stamps them:
//!
//! ```text
//!   open_loop, ping_pong       when to send what                 (the two load models)
//!        └─ desk               lanes, messages in flight, the two stamps, the recorder
//!             ├─ in_flight     what has been sent and not yet answered
//!             └─ order_entry   how an order is said: `websocket` (JSON) or `raw` (the floor)
//! ```
//!
//! Or it follows a feed and trades on it, and stamps each stage of a tick's way:
//!
//! ```text
//!   tick_run                   set-up, the threads, the end
//!        └─ tick_loop          joins the five stages; beside it tick_replies (what comes back), tick_phase (what comes when)
//!             ├─ (transport)   ① ingest: a datagram, stamped by the kernel and by us
//!             ├─ stages        from a datagram to an order's bytes; `rehearsal` goes through them while nothing comes
//!             │    ├─ mind     ② normalise: `feed::Follower`   ③ `signal`, `market_maker`   ④ `risk`
//!             │    ├─ line     ⑤ order: `exchange_line` (JSON: a `form` is filled in) or `raw_line` (the floor)
//!             │    └─ own_orders    what lives of ours, the position, the exposure
//!             └─ samples       the stamps; tick_samples and tick_result make series and a result of them after the run
//! ```
//!
//! One thread does all of it. While it measures it does not allocate, lock, print or encode a
//! histogram (invariant 4).

#![forbid(unsafe_code)]

mod clock_source;
mod desk;
mod exchange_line;
mod feed_start;
mod form;
mod in_flight;
mod line;
pub mod market_maker;
mod mind;
mod open_loop;
pub mod order_entry;
mod outcome;
pub mod own_orders;
mod ping_pong;
pub mod plan;
mod progress;
mod raw;
mod raw_line;
mod rehearsal;
pub mod risk;
mod risk_profile;
pub mod run;
mod samples;
#[cfg(test)]
mod scripted;
pub mod signal;
mod stages;
mod tick_counts;
mod tick_loop;
mod tick_phase;
pub mod tick_plan;
mod tick_replies;
mod tick_result;
mod tick_run;
mod tick_samples;
mod web_session;
mod websocket;

pub use plan::Plan;
pub use run::{TraderError, run};
pub use tick_plan::TickPlan;
pub use tick_run::follow;
