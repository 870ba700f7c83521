//! The integration tests of `ipc`, in one program: linking is most of what a test binary costs.
//! Beside it stand tests that need a process of their own: `loom`, `queue_loom`.

mod crash;
mod queue_crash;
mod queue_full_disk;
