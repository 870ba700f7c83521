//! Follows a feed, trades on it, and stamps each stage of a tick's path.
//!
//! See docs/decisions/013-tick-path.md.

mod addresses;
mod audit_trail;
mod bare;
mod clock_source;
mod counts;
mod departures;
mod event_loop;
mod feed_start;
mod finish;
mod fix_start;
pub(crate) mod followed;
mod followed_state;
mod frames;
mod going_on;
mod json_start;
mod link;
mod logic;
mod order_stream;
mod parts;
mod phase;
mod prepare;
mod raw_start;
mod receiver;
mod rehearsal;
mod rehearsal_prices;
mod rehearsal_tops;
mod releases;
mod replies;
mod result;
pub(crate) mod run;
mod samples;
mod series;
mod session;
mod stages;
mod stamped_orders;
