//! The integration tests of `fair` in one program, because linking is most of a test binary's cost.

mod entry;
mod holds;
mod model;
mod races;
