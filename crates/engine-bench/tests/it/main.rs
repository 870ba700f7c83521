//! The integration tests of `engine-bench` in one program, because linking dominates the build.

mod published;
mod tasks;
