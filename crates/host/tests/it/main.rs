//! The integration tests of `host`, in one program: linking is most of what a test binary costs.
//! Beside it stand tests that need a process of their own: `locked_memory`, `memory`, `real_time`.

mod machines;
mod this_machine;
mod tree;
