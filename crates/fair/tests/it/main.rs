//! The integration tests of `fair` in one program, because linking is most of a test binary's cost.

mod model;
mod races;
