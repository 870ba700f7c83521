//! The integration tests of `feed` in one program, because linking is most of a test binary's cost.

mod book;
#[path = "../../../engine/tests/it/commands/mod.rs"]
mod commands;
mod exchange;
mod follow;
mod following;
mod long_snapshot;
mod network;
mod no_allocation;
mod packet;
mod publisher;
mod recovery;
