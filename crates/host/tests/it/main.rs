//! The integration tests of `host` in one program, because linking is most of a test binary's cost.
//! Tests that need their own process are separate: `locked_memory`, `memory`, `real_time`.

mod machines;
mod this_machine;
mod tree;
