//! The integration tests of `ipc` in one program, because linking is most of a test binary's cost.
//! Tests that need their own process are separate: `loom`, `queue_loom`.

mod crash;
mod queue_crash;
mod queue_full_disk;
