//! The trader. It sends orders and cancels on a schedule or in ping-pong, and stamps them:
//!
//! ```text
//!   load::{open_loop, ping_pong}   the two load models: which message is due when
//!        └─ load::desk             sends and reads, with the two stamps
//!             ├─ connections       the lanes and their writes
//!             ├─ ledger            messages in flight, and what is counted and recorded of them
//!             └─ session           encodes orders: `websocket` (JSON), `sbe`, `fix`, `raw` (floor)
//! ```
//!
//! Or it follows a feed and trades on it, and stamps each stage of a tick's path:
//!
//! ```text
//!   tick::run                      set-up, threads, end
//!        └─ tick::event_loop       `path` joins the stages; `listening` and `upkeep` do the rest
//!             ├─ (transport)       ① ingest: a datagram, stamped by the kernel and by us
//!             ├─ stages            from a datagram to an order; `rehearsal` keeps them warm
//!             │    ├─ logic        ② normalise: `feed::Follower`   ③ signal: `strategy`   ④ `risk`
//!             │    └─ session      ⑤ order: `exchange` fills a JSON `form`; `raw`: floor
//!             └─ samples           the stamps; after the run `series` and `result` evaluate them
//!   strategy::own_orders           our open orders, position and exposure
//! ```
//!
//! Between two hosts, the crate `between` finds the offset of their clocks from the messages of a
//! run.
//!
//! `session` is common to both: one WebSocket stack, messages encoded in advance, one decoder. So
//! is `stamped`: the segments of messages that the kernel stamps.
//!
//! One thread does all of it. While it measures it does not allocate, lock, print or encode a
//! histogram (invariant 4).

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod load;
pub mod risk;
#[cfg(test)]
mod scripted;
mod session;
mod stamped;
pub mod strategy;
mod tick;

pub use load::error::TraderError;
pub use load::run::run;
pub use tick::followed::properties as follower_properties;
pub use tick::run::follow;
