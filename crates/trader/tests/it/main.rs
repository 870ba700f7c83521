//! The integration tests of `trader` in one program, because linking dominates the build.
//! `no_allocation` needs a process of its own.

mod adapted_clocks;
mod bare;
mod bulk;
mod bursts;
mod datagrams;
mod ends;
mod fix_ticks;
mod raw;
mod sbe;
mod tick_to_trade;
mod top_ticks;
